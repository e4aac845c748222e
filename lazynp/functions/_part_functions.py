"""What NumPy's functions and methods give of slices of unknown size (`_parts`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array, new_scalar
from lazynp._dimensions import table
from lazynp._extents import broadcast_shapes
from lazynp._node import aval_of_node
from lazynp.functions import indexing, products, reductions, rounding, special, ufuncs
from lazynp.functions._checks import refuse
from lazynp.functions._operands import broadcast, cast
from lazynp.functions._part_joins import appended, beside, differences, joined, stacked
from lazynp.functions._part_order import in_order, least, median
from lazynp.functions._parts import Part, mask_of, moved, ndim_of
from lazynp.functions._regions import Region
from lazynp.functions._ufunc import ufunc
from lazynp.functions._with_size import arrays, function_again, ufunc_again, with_size
from lazynp.primitives import elementwise, shaping

# -- by element, and products ----------------------------------------------------------------------


def by_element(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """An elementwise function of parts and of values that broadcast to them."""
    if table() is None:
        return _by_element(function, operands)
    try:
        return _by_element(function, operands)
    except (TypeError, ValueError):
        return function(*arrays(tuple(operands)))


def _by_element(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    first = next(x for x in operands if type(x) is Part)
    for x in operands:
        if type(x) is not Part and not isinstance(x, (Array, np.ndarray, np.generic, *_NUMBERS)):
            first.unknown()
    ndim = max(map(ndim_of, operands))
    regions: list[Region | None] = [None] * ndim
    for x in operands:
        for axis, region in enumerate(x.regions if type(x) is Part else (), ndim - ndim_of(x)):
            if region is not None and regions[axis] is None:
                regions[axis] = region
    found = tuple(regions)
    operands = [moved(x, found[ndim - x.ndim :]) if type(x) is Part else x for x in operands]
    for x in operands:
        of = x.regions if type(x) is Part else (None,) * ndim_of(x)
        shape = x.whole.shape if type(x) is Part else np.shape(x)
        for axis, (region, size) in enumerate(zip(of, shape, strict=True), ndim - ndim_of(x)):
            wanted = regions[axis]
            if wanted is not None and not (wanted.same(region) if region else size == 1):
                first.unknown()
    shapes = [x.whole.shape if type(x) is Part else np.shape(x) for x in operands]
    shape = broadcast_shapes(*shapes)
    mask = mask_of(found, shape)
    out = function(*[_operand(x, mask, first.dtype) for x in operands])
    if isinstance(out, tuple):
        return tuple([Part(o, found) for o in out])
    return Part(out, found)


_NUMBERS = (bool, int, float, complex)


def _operand(x: Any, mask: Array, dtype: np.dtype[Any]) -> Any:
    """An operand with 1 outside, where functions and their derivatives are defined. Each operand is
    selected for itself: where a derivative is not, its select drops the cotangent.
    """
    if type(x) is Part:
        return x.filled(1)
    if not isinstance(x, Array) or x.dtype.kind not in "fc":
        return x
    if not x.ndim and aval_of_node(x._read()).weak:  # it takes the dtype of the part
        number: Any = 0.0 if x.dtype.kind == "f" else 0j
        x = cast(new_array(x._read()), np.result_type(dtype, number))
    one = shaping.full(1, shape=(), dtype=x.dtype)
    return elementwise.select(mask, broadcast(new_array(x._read()), mask.shape), one)


def product(a: Any, b: Any) -> Any:
    """`a @ b` of parts and arrays of one or two axes."""
    some = a if type(a) is Part else b
    for x in (a, b):
        if not isinstance(x, (Part, Array, np.ndarray)) or not 1 <= ndim_of(x) <= 2:
            some.unknown()
    if type(a) is Part and type(b) is Part:
        b = moved(b, (a.regions[-1], *b.regions[1:]))
    of_a, of_b = (x.regions if type(x) is Part else (None,) * ndim_of(x) for x in (a, b))
    inner, other = of_a[-1], of_b[0]
    if not (other is None if inner is None else inner.same(other)):
        some.unknown()
    out = products.matmul(_along(a, -1), _along(b, 0))
    left = (*of_a[:-1], *of_b[1:])
    return Part(out, left) if any(left) else out


def _along(x: Any, axis: int) -> Any:
    """An operand of a product with 0 outside, along the axis that is summed over. (Along others,
    what is outside makes what is outside of the result.)
    """
    if type(x) is not Part:
        return x
    summed = [None] * x.ndim
    summed[axis] = x.regions[axis]  # type: ignore[call-overload]
    return Part(x.whole, tuple(summed)).filled(0) if any(summed) else new_array(x.whole._read())


def outer(a: Any, b: Any) -> Any:
    """`np.outer` of two vectors."""
    some = a if type(a) is Part else b
    for x in (a, b):
        if not isinstance(x, (Part, Array, np.ndarray)) or ndim_of(x) != 1:
            some.unknown()
    return by_element(ufuncs.multiply, (_spread(a, (-1, 1)), _spread(b, (1, -1))))


def _spread(x: Any, shape: tuple[int, int]) -> Any:
    if type(x) is not Part:
        return x.reshape(shape)
    regions = (x.regions[0], None) if shape[1] == 1 else (None, x.regions[0])
    return Part(x.whole.reshape(shape), regions)


# -- along axes ------------------------------------------------------------------------------------


def reduced(x: Part, function: Callable[..., Any], axis: Any, options: dict[str, Any]) -> Any:
    """`function(x, axis=axis)` for reductions that take `where`."""
    if axis is not None and type(axis) is not int:
        x.unknown()
    axes = set(range(x.ndim)) if axis is None else {axis % x.ndim if -x.ndim <= axis < x.ndim
                                                   else x.unknown()}  # fmt: skip
    left = tuple(r for k, r in enumerate(x.regions) if k not in axes)
    whole = x.filled(1)  # its derivative outside would be 0 times what is there
    out = function(whole, axis=axis, where=x.mask(), **options)
    return Part(out, left) if any(left) else out


def _reduction(name: str) -> Any:
    function = getattr(reductions, name)

    def reduce(self: Part, axis: Any = None, **options: Any) -> Any:
        return self.unknown() if options else reduced(self, function, axis, {})

    return reduce


def _refuse_empty(x: Part, axis: Any, message: str) -> None:
    """Of one axis: of several, whether NumPy raises for an empty one depends on the others."""
    if x.dtype.kind == "c" or x.ndim != 1 or axis not in (None, 0, -1):
        x.unknown()
    refuse(ufuncs.logical_not(reductions.any(x.mask())), ValueError, message)


def _extremum(name: str) -> Any:
    function, message = getattr(reductions, name), empty_text(name)

    def reduce(self: Part, axis: Any = None, **options: Any) -> Any:
        if options:
            return self.unknown()
        _refuse_empty(self, axis, message)
        return reduced(self, function, axis, {"initial": least(self.dtype, name)})

    return reduce


def empty_text(name: str) -> str:
    """What NumPy says of the maximum or minimum of nothing."""
    words = {"max": "maximum", "min": "minimum"}[name]
    return f"zero-size array to reduction operation {words} which has no identity"


def _variance(name: str) -> Any:
    function = getattr(reductions, name)

    def reduce(self: Part, axis: Any = None, *, ddof: Any = 0, **options: Any) -> Any:
        return self.unknown() if options else reduced(self, function, axis, {"ddof": ddof})

    return reduce


def _place(name: str) -> Any:
    """argmax and argmin: the place in the window, which counts from the start of the slice. If the
    slice holds nothing but the least of its dtype, that may also stand before it.
    """
    function = getattr(reductions, name)

    def place(self: Part, axis: Any = None, **options: Any) -> Any:
        if options:
            return self.unknown()
        _refuse_empty(self, axis, f"attempt to get {name} of an empty sequence")
        (region,) = self.regions
        start = self.unknown() if region is None else region.bounds[0]
        found = function(self.filled(least(self.dtype, name[3:])))
        first = elementwise.maximum(start, 0)
        return new_scalar(elementwise.subtract(elementwise.maximum(found, first), first)._read())

    return place


def _running(name: str, neutral: int) -> Any:
    function = getattr(reductions, name)

    def run(self: Part, axis: Any = None) -> Any:
        axis = 0 if axis is None and self.ndim == 1 else axis
        if type(axis) is not int or not -self.ndim <= axis < self.ndim:
            return self.unknown()
        return Part(function(self.filled(neutral), axis=axis), self.regions)

    return run


def _norm(x: Part) -> Any:
    """Euclid's, of all elements."""
    size = ufuncs.absolute(x)
    return ufuncs.sqrt(reduced(by_element(ufuncs.multiply, (size, size)), reductions.sum, None, {}))


def _flipped(x: Part, axis: Any = None) -> Any:
    axes = range(x.ndim) if axis is None else (axis,)
    if not all(type(a) is int and -x.ndim <= a < x.ndim for a in axes):
        return x.unknown()
    backwards = {a % x.ndim for a in axes}
    return x[tuple([slice(None, None, -1 if a in backwards else None) for a in range(x.ndim)])]


def _converted(x: Part, dtype: Any) -> Any:
    return Part(x.filled(1).astype(dtype), x.regions)  # type: ignore[attr-defined]


def _copied(x: Part) -> Part:
    return Part(x.filled(1), x.regions)


def _clipped(x: Part, low: Any = None, high: Any = None) -> Any:
    if low is None or high is None:
        return x.unknown()
    return by_element(rounding.clip, (x, low, high))


def _where(condition: Any, x: Any, y: Any) -> Any:
    return by_element(indexing.where, (condition, x, y))


# -- NumPy's names ---------------------------------------------------------------------------------


UFUNC_REDUCTIONS: dict[str, str] = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min",
    "logical_and": "all", "logical_or": "any",
}  # fmt: skip
_METHODS: dict[str, Any] = {
    **{n: _reduction(n) for n in ("sum", "prod", "mean", "any", "all")},
    **{n: _variance(n) for n in ("var", "std")},
    **{n: _extremum(n) for n in ("max", "min")},
    **{n: _place(n) for n in ("argmax", "argmin")},
    "cumsum": _running("cumsum", 0), "cumprod": _running("cumprod", 1), "copy": _copied,
    "clip": _clipped, "dot": product, "astype": _converted,
}  # fmt: skip
_FUNCTIONS: dict[str, Any] = {
    **{n: f for n, f in _METHODS.items() if n != "astype"},
    "amax": _METHODS["max"], "amin": _METHODS["min"], "inner": product, "matmul": product,
    "outer": outer, "flip": _flipped, "norm": _norm, "where": _where,
    "vdot": lambda a, b: product(ufuncs.conjugate(a), b),
    "count_nonzero": lambda x: reduced(ufuncs.not_equal(x, 0), reductions.sum, None, {}),
    "transpose": lambda x: x.T,
    "concatenate": joined, "append": appended, "vstack": stacked, "hstack": beside,
    "diff": differences, "sort": in_order, "median": median,
}  # fmt: skip
_OF_VECTORS = {"inner", "vdot"}
_OF_LISTS = {"concatenate", "vstack", "hstack"}


def part_ufunc(self: Part, function: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    reduction = UFUNC_REDUCTIONS.get(function.__name__)
    if method == "reduce" and reduction is not None and inputs[0] is self:
        return getattr(self, reduction)(**kwargs)
    name = function.__name__
    ours: Any = getattr(ufuncs, name, None) or getattr(special, name, None)
    if method != "__call__" or kwargs or not isinstance(ours, ufunc):
        return self.unknown()
    if function.__name__ == "matmul":
        return product(*inputs)
    numpys = getattr(function, "_numpy", function)
    return self.unknown() if numpys.signature else by_element(ours, inputs)


def part_function(self: Part, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    name = str(function.__name__)
    ours = _FUNCTIONS.get(name)
    given = args[0] if name in _OF_LISTS and args else args[: 3 if name == "where" else 2]
    if ours is None or not any(x is self for x in given):
        return self.unknown()
    if name in _OF_VECTORS and any(ndim_of(x) != 1 for x in args):
        return self.unknown()
    try:
        return ours(*args, **kwargs)
    except TypeError:  # other options
        return self.unknown()


def _product_reflected(x: Part, y: Any) -> Any:
    return product(y, x)


Part.__array_ufunc__ = with_size(part_ufunc, ufunc_again)  # type: ignore[attr-defined]
Part.__array_function__ = with_size(part_function, function_again)  # type: ignore[attr-defined]
Part.__matmul__ = with_size(product, products.matmul)  # type: ignore[attr-defined]
Part.__rmatmul__ = with_size(  # type: ignore[attr-defined]
    _product_reflected, lambda x, y: products.matmul(y, x)
)
for _name, _function in _METHODS.items():
    _function.__name__ = _name
    setattr(Part, _name, with_size(_function))
