"""Transformed functions that can be made again: of what they are made, and who may run their calls.

`grad(f)` is a function that knows that it is `grad` of f. So a layer above can make `grad` of
another function that is like f, and run a call in another way, such as by a kept program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lazynp._recorder import local

# (transformed function, as it is without a runner, args, kwargs) -> result; at most one
runners: list[Callable[[Any, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]] = []


class Recipe(NamedTuple):
    """maker: a transformation. It is called with the function and the options. moving: the places
    of the arguments that are differentiated by.
    """

    maker: Callable[..., Any]
    function: Callable[..., Any]
    options: tuple[Any, ...]
    moving: tuple[int, ...] = ()


def with_recipe(
    plain: Callable[..., Any], maker: Callable[..., Any], function: Callable[..., Any],
    *options: Any, moving: int | Sequence[int] = (),
) -> Callable[..., Any]:  # fmt: skip
    """A function that does what `plain` does, and knows that it is `maker(function, *options)`.

    Calls within another transformation go to `plain`.
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        if local.level or local.recorder.staging or not runners:
            return plain(*args, **kwargs)
        return runners[0](called, plain, args, kwargs)

    name: Any = getattr(function, "__name__", None) or type(function).__name__
    called.__name__ = name
    called.__wrapped__ = function  # type: ignore[attr-defined]
    places = (moving,) if isinstance(moving, int) else tuple(moving)
    called.recipe = Recipe(maker, function, options, places)  # type: ignore[attr-defined]
    called.front = None  # type: ignore[attr-defined]  # a place for the runner
    return called


def recipe_of(function: Any) -> Recipe | None:
    """None for other functions, also for those that `functools.wraps` made to look like one."""
    ours = getattr(function, "__code__", None) is _CODE
    return function.recipe if ours else None


_CODE = with_recipe(len, len, len).__code__
