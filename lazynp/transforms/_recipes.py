"""Transformed functions that can be made again: of what they are made, and who may run their calls.

`grad(f)` is a function that knows that it is `grad` of f. So a layer above can make `grad` of
another function that is like f, and run a call in another way, such as by a kept program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from lazynp._recorder import local
from lazynp._tracebacks import show_users


class Recipe:
    """What a transformed function is made of: `maker(function, *options)`.

    moving: the places of the arguments that are differentiated by. values: of a call's arguments,
    those of the function whose result is the first of the call's results; None if no call of the
    function gives that. front: a place for the runner. through: the recipe of the function that
    makes the calls of this one, if there is one. plain: does it, without a runner.
    """

    __slots__ = ("maker", "function", "options", "moving", "values", "front", "through", "plain")

    def __init__(
        self, maker: Callable[..., Any], function: Callable[..., Any], options: tuple[Any, ...],
        moving: tuple[int, ...], values: Values | None, through: Recipe | None,
        plain: Callable[..., Any],
    ) -> None:  # fmt: skip
        self.maker, self.function, self.options, self.moving = maker, function, options, moving
        self.values, self.through, self.plain = values, through, plain
        self.front: Any = None

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        plain = self.plain
        if self.through is not None or local.level or local.recorder.staging or not runners:
            return plain(*args, **kwargs)
        return runners[0](self, plain, args, kwargs)

    def with_plain(self, plain: Callable[..., Any]) -> Recipe:
        """The same, done in another way."""
        made = Recipe(
            self.maker, self.function, self.options, self.moving, self.values, self.through, plain
        )
        made.front = self.front
        return made

    def __reduce__(self) -> Any:
        """It is made again: packages that send functions to other processes (cloudpickle, joblib,
        dask) pickle what a function refers to.
        """
        return _recipe_again, (self.maker, self.function, *self.options)


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
    recipe = Recipe(maker, function, options, places, values, recipe_of(through), plain)

    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return recipe.run(args, kwargs)
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


class Made:
    """What `maker(function, **options)` does, for the function that it returns: with no other
    reference, that one can be pickled where `function` can.
    """

    __slots__ = ("call", "made_of")

    def __init__(self, call: Callable[..., Any], *made_of: Any) -> None:
        self.call, self.made_of = call, made_of

    def __reduce__(self) -> Any:
        return _made_again, self.made_of


def remade(
    call: Callable[..., Any],
    maker: Callable[..., Any],
    function: Callable[..., Any],
    **options: Any,
) -> Callable[..., Any]:  # fmt: skip
    """A function that looks like `function`, does what `call` does, and is pickled as
    `maker(function, **options)`.
    """
    made = Made(call, maker, function, options)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return made.call(*args, **kwargs)

    called.made = made  # type: ignore[attr-defined]
    return called


def within(x: Any, convert: Callable[[Any], Any]) -> Any:
    """Converted: a function, or what a transformed function does."""
    if isinstance(x, Recipe):
        plain = convert(x.plain)
        return x if plain is x.plain else x.with_plain(plain)
    if isinstance(x, Made):
        call = convert(x.call)
        return x if call is x.call else Made(call, *x.made_of)
    return convert(x)


def _recipe_again(maker: Callable[..., Any], function: Any, *options: Any) -> Recipe:
    return maker(function, *options).recipe


def _made_again(maker: Callable[..., Any], function: Any, options: dict[str, Any]) -> Made:
    return maker(function, **options).made


def recipe_of(function: Any) -> Recipe | None:
    """None for other functions, also for those that `functools.wraps` made to look like one."""
    if function is None:
        return None
    code = getattr(function, "__code__", None)
    same = code is _CODE
    if not same and isinstance(code, CodeType):  # equal, if it was unpickled
        same = code.co_name == _NAME and code == _CODE
    return function.recipe if same else None


# CPython 3.11 compares codes of two names as if there were no limit of recursion: past it, the
# comparison has a result and an exception, a SystemError. So the names are compared before.
_NAME = "called"


_CODE: Any = ...  # no code: `with_recipe` asks before it is known
_CODE = with_recipe(len, len, len).__code__
