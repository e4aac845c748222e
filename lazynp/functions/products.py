"""Products of vectors, matrices and arrays: chapter "Linear algebra" of NumPy's manual."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from lazynp import _views
from lazynp._array import Array, NDArray
from lazynp._avals import Aval, on_device
from lazynp._strides import layout
from lazynp.functions import ufuncs
from lazynp.functions._contract import Labels, contract, ordered_labels
from lazynp.functions._eager import by_numpy
from lazynp.functions._einsum import einsum, einsum_path
from lazynp.functions._foreign import elsewhere, overridden
from lazynp.functions._getset import getitem
from lazynp.functions._host import host_call, host_into, needs_host
from lazynp.functions._recording import as_array, cast, composed, plain, scalar_if_0d, store
from lazynp.functions._stores import write_into
from lazynp.functions._ufunc import ufunc
from lazynp.primitives import contraction, shaping

__all__ = [
    "cross", "dot", "einsum", "einsum_path", "inner", "kron", "matmul", "matvec", "outer",
    "tensordot", "vdot", "vecdot", "vecmat",
]  # fmt: skip

normalize_axis_index = np.lib.array_utils.normalize_axis_index


# -- dot and its kin -------------------------------------------------------------------------------


def _same_dtype(a: Any, b: Any) -> tuple[Array, Array]:
    """Both as arrays of the common dtype; Python scalars are arrays here, not weak."""
    x, y = as_array(a), as_array(b)
    dtype = np.result_type(x.dtype, y.dtype)
    return cast(x, dtype), cast(y, dtype)


def _not_aligned(x: Array, y: Array, i: int, j: int) -> ValueError:
    return ValueError(
        f"shapes {_text(x.shape)} and {_text(y.shape)} not aligned: "
        f"{x.shape[i]} (dim {i}) != {y.shape[j]} (dim {j})"
    )


def _text(shape: tuple[int, ...]) -> str:
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _summed_along(x: Array, i: int, y: Array, j: int) -> Array:
    """The sum of products along axis i of x and j of y; the other axes of both remain."""
    if x.shape[i] != y.shape[j]:
        raise _not_aligned(x, y, i, j)
    xs: list[Hashable] = [("x", k) for k in range(x.ndim)]
    ys: list[Hashable] = [("y", k) for k in range(y.ndim)]
    xs[i] = ys[j] = "sum"
    out = tuple(label for label in (*xs, *ys) if label != "sum")
    return contract(x, tuple(xs), y, tuple(ys), out)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """See `numpy.dot`."""
    if out is None:
        return _plain_dot(a, b)
    return out if write_into(out, (a, b), np.dot) else _dot(a, b, out)


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    x, y = as_array(a), as_array(b)
    if out is None and x.ndim <= 2 and y.ndim <= 2:
        numbers = _direct(x.aval, y.aval)  # it is the product of matrices
        if numbers is not None:
            return scalar_if_0d(contraction.dot_general(x, y, dimension_numbers=numbers))
    if needs_host(x, y):
        return host_into(np.dot, x, y, out=out)
    x, y = _same_dtype(x, y)
    if not x.ndim or not y.ndim:
        result = ufuncs.multiply(x, y)
    else:
        result = scalar_if_0d(_summed_along(x, x.ndim - 1, y, max(0, y.ndim - 2)))
    if out is not None and not isinstance(out, (Array, np.ndarray)):
        raise TypeError("'out' must be an array")
    if out is not None and not _acceptable(out, result):
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, "
            "and be a C-Array)"
        )
    return store(result, out)


_plain_dot = composed(_dot, np.dot)


def _acceptable(out: Any, result: Array) -> bool:
    if isinstance(out, np.ndarray):  # NumPy's, from another library
        same = out.dtype == result.dtype and out.shape == result.shape
        return same and out.flags.c_contiguous
    return isinstance(out, Array) and out.aval is result.aval and layout(out).flags.c_contiguous


@by_numpy(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """See `numpy.vdot`."""
    x, y = as_array(a), as_array(b)
    if needs_host(x, y):
        return host_into(np.vdot, x, y, out=None)
    if x.size != y.size:
        raise ValueError(f"cannot reshape array of size {y.size} into shape {_text((x.size,))}")
    x, y = _same_dtype(x, y)
    x, y = (shaping.reshape(plain(v), shape=(v.size,)) for v in (x, y))
    return scalar_if_0d(_summed_along(_conjugated(x), 0, y, 0))


def _conjugated(x: Array) -> Array:
    return ufuncs.conjugate(x) if x.dtype.kind == "c" else x


@by_numpy(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    """See `numpy.inner`."""
    x, y = as_array(a), as_array(b)
    if needs_host(x, y):
        return host_into(np.inner, x, y, out=None)
    x, y = _same_dtype(x, y)
    if not x.ndim or not y.ndim:
        return ufuncs.multiply(x, y)
    return scalar_if_0d(_summed_along(x, x.ndim - 1, y, y.ndim - 1))


@by_numpy(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """See `numpy.outer`."""
    x, y = plain(a), plain(b)
    column = shaping.reshape(x, shape=(x.size, 1))
    return ufuncs.multiply(column, shaping.reshape(y, shape=(1, y.size)), out=out)


@by_numpy(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """See `numpy.tensordot`."""
    axes_a, axes_b = _tensordot_axes(axes)
    x, y = as_array(a), as_array(b)
    if needs_host(x, y):
        return host_into(np.tensordot, x, y, (axes_a, axes_b), out=None)
    if any(x.shape[i] != y.shape[j] for i, j in zip(axes_a, axes_b, strict=False)):
        raise ValueError("shape-mismatch for sum")
    if len(axes_a) != len(axes_b):
        raise ValueError("shape-mismatch for sum")
    x, y = _same_dtype(x, y)
    xs: list[Hashable] = [("x", k) for k in range(x.ndim)]
    ys: list[Hashable] = [("y", k) for k in range(y.ndim)]
    for n, (i, j) in enumerate(zip(axes_a, axes_b, strict=True)):
        xs[i] = ys[j] = n
    out = tuple(label for label in (*xs, *ys) if not isinstance(label, int))
    return contract(x, tuple(xs), y, tuple(ys), out)


def _tensordot_axes(axes: Any) -> tuple[list[int], list[int]]:
    try:
        iter(axes)
    except TypeError:
        n = operator.index(axes)
        return list(range(-n, 0)), list(range(n))
    pair = []
    for of_one in axes:
        try:
            pair.append([operator.index(i) for i in of_one])
        except TypeError:
            pair.append([operator.index(of_one)])
    axes_a, axes_b = pair
    if len(set(axes_a)) != len(axes_a) or len(set(axes_b)) != len(axes_b):
        raise ValueError("duplicate axes are not allowed in tensordot")
    return axes_a, axes_b


@by_numpy(np.kron)
def kron(a: Any, b: Any) -> Any:
    """See `numpy.kron`."""
    x, y = as_array(a), as_array(b)
    if not x.ndim or not y.ndim:
        return ufuncs.multiply(x, y)
    n = max(x.ndim, y.ndim)
    x_shape = (1,) * (n - x.ndim) + x.shape
    y_shape = (1,) * (n - y.ndim) + y.shape
    spread_x = [m for size in x_shape for m in (size, 1)]
    spread_y = [m for size in y_shape for m in (1, size)]
    product = ufuncs.multiply(
        shaping.reshape(plain(x), shape=tuple(spread_x)),
        shaping.reshape(plain(y), shape=tuple(spread_y)),
    )
    shape = tuple(p * q for p, q in zip(x_shape, y_shape, strict=True))
    return shaping.reshape(product, shape=shape)


# -- cross -----------------------------------------------------------------------------------------


@by_numpy(np.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """See `numpy.cross`."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = as_array(a), as_array(b)
    if needs_host(x, y):
        return host_call(np.cross, x, y, axisa, axisb, axisc)
    if x.ndim < 1 or y.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    x = _axis_last(x, normalize_axis_index(axisa, x.ndim, msg_prefix="axisa"))
    y = _axis_last(y, normalize_axis_index(axisb, y.ndim, msg_prefix="axisb"))
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if 2 in (x.shape[-1], y.shape[-1]):
        warnings.warn(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors "
            "instead. (deprecated in NumPy 2.0)",
            DeprecationWarning,
            stacklevel=2,
        )
    ndim = max(x.ndim, y.ndim)
    if 3 in (x.shape[-1], y.shape[-1]):
        axisc = normalize_axis_index(axisc, ndim, msg_prefix="axisc")
    return _cross_last(*_same_dtype(x, y), axisc)


def _cross_last(x: Array, y: Array, axisc: int) -> Array:
    """Of vectors along the last axes; a third component that is not there is zero."""
    multiply, subtract = ufuncs.multiply, ufuncs.subtract
    x0, x1, *x2 = (plain(getitem(x, (..., k))) for k in range(x.shape[-1]))
    y0, y1, *y2 = (plain(getitem(y, (..., k))) for k in range(y.shape[-1]))
    last = plain(subtract(multiply(x0, y1), multiply(x1, y0)))
    if not x2 and not y2:
        return last
    if x2 and y2:
        first = subtract(multiply(x1, y2[0]), multiply(x2[0], y1))
        second = subtract(multiply(x2[0], y0), multiply(x0, y2[0]))
    elif y2:
        first, second = multiply(x1, y2[0]), ufuncs.negative(multiply(x0, y2[0]))
    else:
        first, second = ufuncs.negative(multiply(x2[0], y1)), multiply(x2[0], y0)
    parts = [shaping.reshape(plain(p), shape=(*p.shape, 1)) for p in (first, second, last)]
    joined = shaping.concatenate(*parts, axis=last.ndim)
    order = list(range(last.ndim))
    order.insert(axisc, last.ndim)
    return plain(_views.transpose(joined, order))


def _axis_last(x: Array, axis: int) -> Array:
    if axis == x.ndim - 1:
        return x
    return _views.transpose(x, [*(k for k in range(x.ndim) if k != axis), axis])


# -- generalised ufuncs ----------------------------------------------------------------------------

_Core = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


class _Generalized(ufunc):
    """A ufunc over arrays: it has no reductions."""

    __slots__ = ()

    def __init__(self, reference: np.ufunc, function: Callable[..., Any], doc: str) -> None:
        self.__name__, self.__doc__ = reference.__name__, doc
        self._numpy, self.nin, self.nout = reference, reference.nin, reference.nout
        self._call = self._apply = self._with_options = function  # type: ignore[method-assign]
        self._fast = None

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("Reduction not defined on ufunc with signature")

    reduce = accumulate = reduceat = _refuse

    def outer(self, *_: Any, **__: Any) -> Any:
        raise TypeError("method outer is not allowed in ufunc with non-trivial signature")

    def at(self, *_: Any) -> None:
        raise TypeError(
            f"{self.__name__}.at does not support ufunc with non-trivial signature: "
            f"{self.__name__} has signature {self.signature}."
        )


_GENERALIZED = {"axes": np._NoValue, "axis": np._NoValue, "keepdims": False}
_GENERALIZED |= {"casting": "same_kind", "order": "K", "dtype": None, "subok": True}
_GENERALIZED |= {"signature": None}


def _generalized(name: str, core: _Core, conjugate: bool, doc: str = "") -> ufunc:
    """A function with the interface of NumPy's generalised ufunc of this name.

    core: the labels of the core dimensions of both inputs and of the output.
    """
    reference: np.ufunc = getattr(np, name)

    def function(
        x1: Any,
        x2: Any,
        /,
        out: Any = None,
        *,
        axes: Any = np._NoValue,
        axis: Any = np._NoValue,
        keepdims: Any = False,
        casting: Any = "same_kind",
        order: Any = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
    ) -> Any:
        if isinstance(out, tuple):
            (out,) = out
        plainly = type(x1) is NDArray and type(x2) is NDArray and out is None
        if not plainly and overridden(x1, x2, out):
            told = {"axes": axes, "axis": axis, "keepdims": keepdims, "casting": casting}
            told |= {"order": order, "dtype": dtype, "subok": subok, "signature": signature}
            told = {k: v for k, v in told.items() if v is not _GENERALIZED[k]}
            told |= {} if out is None else {"out": (out,)}
            return elsewhere(made, "__call__", (x1, x2), told)
        x, y = as_array(x1), as_array(x2)
        if out is Ellipsis:  # as None, but never a scalar
            given = {"keepdims": keepdims, "casting": casting, "dtype": dtype}
            return plain(function(x, y, axes=axes, axis=axis, signature=signature, **given))
        if name == "matmul" and _is_plain(out, axes, axis, keepdims, dtype, signature):
            numbers = _direct(x.aval, y.aval)
            if numbers is not None:
                return scalar_if_0d(contraction.dot_general(x, y, dimension_numbers=numbers))
        options = {"axes": axes, "axis": axis, "keepdims": keepdims}
        given = {k: v for k, v in options.items() if v is not np._NoValue and v is not False}
        if dtype is not None:
            signature = (None, None, dtype)
        chosen = {"casting": casting}
        if signature is not None:
            chosen["signature"] = signature
        if needs_host(x, y):
            return host_into(reference, x, y, out=out, **given, **chosen)
        of_x, of_y, of_out = _core_labels(core, x.ndim, y.ndim)
        places = _core_axes(given, x, y, (of_x, of_y, of_out))
        if places is None or not _fits(x, of_x, y, of_y, places):
            raise _numpys_error(reference, x, y, out, given)
        dtypes = reference.resolve_dtypes((x.dtype, y.dtype, None), **chosen)
        x, y = cast(x, dtypes[0]), cast(y, dtypes[1])
        result = _core_product(x, y, (of_x, of_y, of_out), places, bool(keepdims), conjugate)
        if out is not None and not _out_fits(out, result, len(of_out), given, casting):
            raise _numpys_error(reference, x, y, out, {**given, "casting": casting})
        return store(scalar_if_0d(result), out, casting, name)

    doc = f"See `numpy.{name}`. `order` and `subok` have no effect. {doc}".strip()
    made = _Generalized(reference, function, doc)
    return made


def _is_plain(out: Any, axes: Any, axis: Any, keepdims: Any, dtype: Any, signature: Any) -> bool:
    """Whether no option was given that has an effect."""
    return (
        out is None and axes is np._NoValue and axis is np._NoValue
        and keepdims is False and dtype is None and signature is None
    )  # fmt: skip


@functools.lru_cache(4096)
def _direct(x: Aval, y: Aval) -> Any:
    """The dimension numbers, where a matmul is one contraction and nothing more; else None."""
    if x.dtype != y.dtype or not on_device(x.dtype) or not x.ndim or not y.ndim:
        return None
    i, j = x.ndim - 1, max(0, y.ndim - 2)
    loop = y.shape[:-2]
    if x.shape[i] != y.shape[j] or loop and (x.ndim != y.ndim or x.shape[:-2] != loop):
        return None
    batch = tuple(range(len(loop)))
    return ((i,), (j,)), (batch, batch)


def _core_labels(core: _Core, x_ndim: int, y_ndim: int) -> _Core:
    """For matmul, whose dimensions `n?` and `m?` are missing where an operand is a vector."""
    missing = set()
    if core[0][0] == "n?" and x_ndim == 1:
        missing.add("n?")
    if core[1][-1] == "m?" and y_ndim == 1:
        missing.add("m?")
    x, y, out = (tuple(label for label in labels if label not in missing) for labels in core)
    return x, y, out


def _core_axes(given: dict[str, Any], x: Array, y: Array, labels: _Core) -> list[list[int]] | None:
    """Which axes are the core dimensions of inputs and output; None if NumPy would object."""
    counts = [len(group) for group in labels]
    if x.ndim < counts[0] or y.ndim < counts[1] or ("axis" in given and "axes" in given):
        return None
    vectors = counts == [1, 1, 0] and labels[0] == labels[1] == ("n",)
    if ("axis" in given or given.get("keepdims")) and not vectors:
        return None
    loop = max(x.ndim - counts[0], y.ndim - counts[1])
    out_count = 1 if given.get("keepdims") else counts[2]
    wanted = [list(range(-n, 0)) for n in (*counts[:2], out_count)]
    if "axis" in given:
        wanted = [[operator.index(given["axis"])] * len(w) for w in wanted]
    if "axes" in given:
        entries = _axes_entries(given["axes"], [*counts[:2], out_count])
        if entries is None:
            return None
        wanted = entries
    ndims = (x.ndim, y.ndim, loop + out_count)
    places = [[normalize_axis_index(a, n) for a in w] for w, n in zip(wanted, ndims, strict=True)]
    return places if all(len(set(p)) == len(p) for p in places) else None


def _axes_entries(axes: Any, counts: list[int]) -> list[list[Any]] | None:
    if not isinstance(axes, list):
        return None
    entries = list(axes)
    if len(entries) == 2 and not counts[2]:
        entries.append(())
    if len(entries) != 3:
        return None
    lists: list[list[Any]] = [[e] if isinstance(e, (int, np.integer)) else list(e) for e in entries]
    return lists if [len(e) for e in lists] == counts else None


def _fits(
    x: Array, of_x: Sequence[str], y: Array, of_y: Sequence[str], places: list[list[int]]
) -> bool:
    sizes: dict[str, int] = {}
    for array, labels, where in ((x, of_x, places[0]), (y, of_y, places[1])):
        for label, axis in zip(labels, where, strict=True):
            if sizes.setdefault(label, array.shape[axis]) != array.shape[axis]:
                return False
    loops = [
        [n for k, n in enumerate(array.shape) if k not in where]
        for array, where in ((x, places[0]), (y, places[1]))
    ]
    return all(
        n == m or n == 1 or m == 1
        for n, m in zip(reversed(loops[0]), reversed(loops[1]), strict=False)
    )


def _core_product(
    x: Array, y: Array, core: _Core, places: list[list[int]], keepdims: bool, conjugate: bool
) -> Array:
    if conjugate:
        x = _conjugated(x)
    xs, ys = (
        _labelled(array.ndim, labels, where)
        for array, labels, where in zip((x, y), core, places, strict=False)
    )
    loops = max(x.ndim - len(core[0]), y.ndim - len(core[1]))
    loop = ordered_labels("loop", loops)
    result = contract(x, xs, y, ys, (*loop, *core[2]))
    if keepdims:
        result = shaping.reshape(result, shape=(*result.shape, 1))
    final = _labelled(result.ndim, range(result.ndim - loops), places[2])
    now = (*loop, *range(result.ndim - loops))
    if final == now:
        return result
    return shaping.transpose(result, permutation=tuple(map(now.index, final)))


def _labelled(ndim: int, labels: Sequence[Hashable], where: Sequence[int]) -> Labels:
    """Core labels at their places, labels of the loop elsewhere."""
    loop = iter(ordered_labels("loop", ndim - len(where)))
    at = dict(zip(where, labels, strict=True))
    return tuple(at[k] if k in at else next(loop) for k in range(ndim))


def _out_fits(out: Any, result: Array, core: int, given: dict[str, Any], casting: Any) -> bool:
    """Core dimensions must be those of the output; only the others are broadcast."""
    if not isinstance(out, Array):
        return True
    if not np.can_cast(result.dtype, out.dtype, casting):
        return False
    if "axes" in given or "axis" in given or not core:
        return True
    return out.ndim >= result.ndim and out.shape[-core:] == result.shape[-core:]


def _numpys_error(
    reference: np.ufunc, x: Array, y: Array, out: Any, given: dict[str, Any]
) -> Exception:
    """What NumPy raises for operands of these shapes: it checks before it reads an element."""
    dummies = [np.broadcast_to(np.zeros((), v.dtype), v.shape) for v in (x, y)]
    if isinstance(out, Array):
        given = {**given, "out": np.empty(out.shape, out.dtype)}
    try:
        reference(*dummies, **given)
    except (TypeError, ValueError) as error:
        return error.with_traceback(None)
    return ValueError(f"{reference.__name__}: operands do not fit: {x.aval}, {y.aval}")


matmul = _generalized("matmul", (("n?", "k"), ("k", "m?"), ("n?", "m?")), conjugate=False)
vecdot = _generalized("vecdot", (("n",), ("n",), ()), conjugate=True)
matvec = _generalized("matvec", (("m", "n"), ("n",), ("m",)), conjugate=False)
vecmat = _generalized("vecmat", (("n",), ("n", "m"), ("m",)), conjugate=True)
matmul_operator = composed(matmul, np.matmul)
