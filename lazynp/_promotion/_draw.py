"""A draw of random numbers: a method of a generator of NumPy's, and its arguments."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp.functions._host import to_host

# those that draw one number after the other, each alike, however many are asked for
_EACH = {"random", "random_sample", "ranf", "sample", "standard_normal", "standard_exponential",
         "normal", "uniform", "exponential", "integers", "randint"}  # fmt: skip
_BY_SHAPE = {"rand": "random_sample", "randn": "standard_normal"}
PARAMETERS = {"normal": ("loc", "scale", "size"), "uniform": ("low", "high", "size"),
               "exponential": ("scale", "size"), "random": ("size",), "random_sample": ("size",),
               "ranf": ("size",), "sample": ("size",), "standard_normal": ("size",),
               "standard_exponential": ("size",), "integers": ("low", "high", "size"),
               "randint": ("low", "high", "size")}  # fmt: skip
Value = Callable[[str], Any]  # of a variable, by its name


class Variable:
    """An array that the rounds only read, as an argument."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"`{self.name}`"


class Draw:
    """A draw of each round. form: what a round gets: NDArray, Scalar, float, int or bool."""

    def __init__(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.method, self.args, self.kwargs = method, args, kwargs
        self.form: Any = None
        self.table, self.first = 0, 0  # where its numbers are
        self.shape: tuple[int, ...] = ()
        self.dtype: Any = None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def is_like(self, other: Draw) -> bool:
        """Whether both draw the same, with the same arguments."""
        a, b = self.method, other.method
        return (
            a.__self__ is b.__self__ and a.__name__ == b.__name__
            and _written_out(self.args) == _written_out(other.args)
            and _written_out(self.kwargs) == _written_out(other.kwargs)
        )  # fmt: skip

    def of(self, generators: dict[int, Any]) -> Draw:
        """The same draw of another generator, if there is one for this one's."""
        made, own = copy.copy(self), self.method.__self__
        made.method = getattr(generators.get(id(own), own), self.method.__name__)
        return made

    def ready(self, method: Any, value: Value) -> Callable[[], Any]:
        """What lets NumPy draw. value: of a variable."""
        args, named = self.given(value)
        return lambda: method(*args, **named)

    def given(self, value: Value) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, for NumPy."""

        def known(x: Any) -> Any:
            return to_host(value(x.name)) if type(x) is Variable else x

        return tuple(map(known, self.args)), {k: known(v) for k, v in self.kwargs.items()}

    def at_once(self) -> tuple[Any, ...] | None:
        """What tells how to draw many of them at once: method and arguments without the size."""
        name = self.method.__name__
        if name in _BY_SHAPE:
            return None if self.kwargs else (_BY_SHAPE[name],)
        if name not in _EACH or self.kwargs.keys() & {"dtype", "endpoint", "method", "out"}:
            return None
        names = PARAMETERS[name]
        if len(self.args) > len(names):
            return None
        given = dict(zip(names, self.args, strict=False)) | self.kwargs
        given.pop("size", None)
        if any(not isinstance(v, (bool, int, float)) for v in given.values()):
            return None
        return name, *sorted(given.items())

    def one_by_one(self, most: int) -> tuple[Draw, tuple[int, ...]] | None:
        """The draw of a single number, and the shape of those that this one draws, each alike; None
        if there are none or more than `most`, or if it has other arguments.
        """
        at_once = self.at_once()
        given = {} if at_once is None else dict(at_once[1:])
        known = [given[n] for n in PARAMETERS.get(self.method.__name__, ()) if n in given]
        size = self._size()
        if at_once is None or size is None or not 0 < np.prod(size) <= most:
            return None
        if list(given) != sorted(PARAMETERS[at_once[0]][: len(given)]):  # `high` without `low`
            return None
        return Draw(getattr(self.method.__self__, at_once[0]), tuple(known), {}), size

    def _size(self) -> tuple[int, ...] | None:
        """The argument that says how many are drawn, as a shape."""
        name = self.method.__name__
        given = dict(zip(PARAMETERS.get(name, ()), self.args)) | self.kwargs
        size: Any = self.args if name in _BY_SHAPE else given.get("size")
        whole: tuple[Any, ...] = tuple(size) if type(size) in (tuple, list) else (size,)
        return whole if whole and all(type(n) is int and n >= 0 for n in whole) else None


def _written_out(x: Any) -> Any:
    """Arguments, for comparisons."""
    if isinstance(x, dict):
        return [(k, _written_out(v)) for k, v in x.items()]
    if isinstance(x, (tuple, list)):
        return [type(x), *map(_written_out, x)]
    return (x.dtype, x.shape, x.tobytes()) if isinstance(x, np.ndarray) else (type(x), repr(x))
