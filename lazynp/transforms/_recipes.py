"""Transformed functions that can be made again: of what they are made, and who may run their calls.

`grad(f)` is a function that knows that it is `grad` of f. So a layer above can make `grad` of
another function that is like f, and run a call in another way, such as by a kept program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazynp._recorder import local
from lazynp._tracebacks import show_users


class Recipe:
    """What a transformed function is made of: `maker(function, *options)`.

    moving: the places of the arguments that are differentiated by. values: of a call's arguments,
    those of the function whose result is the first of the call's results; None if no call of the
    function gives that. front: a place for the runner. through: the recipe of the function that
    makes the calls of this one, if there is one.
    """

    __slots__ = ("maker", "function", "options", "moving", "values", "front", "through")

    def __init__(
        self, maker: Callable[..., Any], function: Callable[..., Any], options: tuple[Any, ...],
        moving: tuple[int, ...], values: Values | None, through: Recipe | None,
    ) -> None:  # fmt: skip
        self.maker, self.function, self.options, self.moving = maker, function, options, moving
        self.values, self.through = values, through
        self.front: Any = None


Values = Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]


def as_called(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """`Recipe.values`, where the function gets the arguments of the call."""
    return args, kwargs


# (recipe, function as it is without a runner, args, kwargs) -> result; at most one
runners: list[Callable[[Recipe, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]] = []


def with_recipe(
    plain: Callable[..., Any], maker: Callable[..., Any], function: Callable[..., Any],
    *options: Any, moving: int | Sequence[int] = (), values: Values | None = None,
    through: Callable[..., Any] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function that does what `plain` does, and knows that it is `maker(function, *options)`.

    Calls within another transformation go to `plain`. through: such a function, which `plain`
    calls.
    """
    places = (moving,) if isinstance(moving, int) else tuple(moving)
    recipe = Recipe(maker, function, options, places, values, recipe_of(through))

    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            if through is not None or local.level or local.recorder.staging or not runners:
                return plain(*args, **kwargs)
            return runners[0](recipe, plain, args, kwargs)
        except BaseException as error:
            show_users(error)
            raise

    name: Any = getattr(function, "__name__", None) or type(function).__name__
    called.__name__, called.__doc__ = name, getattr(function, "__doc__", None)
    inner = name if recipe_of(function) is None else function.__qualname__
    called.__qualname__ = f"{maker.__name__} of {inner}"  # what its repr shows
    called.__wrapped__ = function  # type: ignore[attr-defined]
    called.recipe = recipe  # type: ignore[attr-defined]
    return called


def recipe_of(function: Any) -> Recipe | None:
    """None for other functions, also for those that `functools.wraps` made to look like one."""
    if function is None or getattr(function, "__code__", None) is not _CODE:
        return None
    return function.recipe


_CODE: Any = ...  # no code: `with_recipe` asks before it is known
_CODE = with_recipe(len, len, len).__code__
