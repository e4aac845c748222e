"""Generalised ufuncs: products over core dimensions, with NumPy's calling conventions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lazynp._array import Array, NDArray
from lazynp._avals import Aval, on_device
from lazynp._extents import any_sized, named, stand_in
from lazynp._memo import cached
from lazynp._ufunc_loops import resolve_dtypes
from lazynp.functions import ufuncs
from lazynp.functions._arguments import by_either_name, dtype_of_no_array
from lazynp.functions._contract import Labels, contract, ordered_labels
from lazynp.functions._eager import by_method
from lazynp.functions._foreign import elsewhere, overridden
from lazynp.functions._host import host_into, needs_host
from lazynp.functions._operands import as_array, cast, check_writeable, plain, scalar_if_0d, store
from lazynp.functions._ufunc import ufunc
from lazynp.primitives import contraction, shaping

normalize_axis_index = np.lib.array_utils.normalize_axis_index

_Core = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


class Generalized(ufunc):
    """A generalised ufunc; it has no reductions."""

    __slots__ = ()

    if TYPE_CHECKING:  # the signature, which an editor shows

        def __call__(
            self, x1: Any, x2: Any, /, out: Any = None, *, axes: Any = ..., axis: Any = ...,
            keepdims: Any = False, casting: Any = "same_kind", order: Any = "K",
            dtype: Any = None, subok: bool = True, signature: Any = None,
        ) -> Any:  # fmt: skip
            """Over the core dimensions of the operands, as NumPy's function of that name."""

    def __init__(self, reference: np.ufunc, function: Callable[..., Any], doc: str) -> None:
        self.__name__, self.__doc__ = reference.__name__, doc
        self.__module__ = "lazynp"  # where pickle finds it
        function.__name__ = function.__qualname__ = self.__name__  # which Python's errors show
        self._numpy, self.nin, self.nout = reference, reference.nin, reference.nout
        self._apply = self._with_options = function  # type: ignore[method-assign]
        self._call = by_method(reference, self.nin, function=reference)(function)
        self._fast = None

    def check_in_place(self, x: Any, y: Any) -> None:
        values = [np.empty((0, 0), v.dtype) if isinstance(v, Array) else v for v in (x, y)]
        try:
            self._numpy(*values, out=values[0])
        except ValueError:
            pass  # of these shapes

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


def _told(options: dict[str, Any], out: Any) -> dict[str, Any]:
    """The options that were given: others need not know the rest."""
    told = {k: v for k, v in options.items() if v is not _GENERALIZED[k]}
    return told if out is None or out is Ellipsis else {**told, "out": (out,)}


def generalized(name: str, core: _Core, conjugate: bool, doc: str = "") -> Generalized:
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
        sig: Any = None,
    ) -> Any:
        signature = by_either_name(signature, sig)
        (out,) = out if isinstance(out, tuple) else (out,)
        plainly = type(x1) is NDArray and type(x2) is NDArray and out is None
        if not plainly and overridden(x1, x2, out):
            options = {"axes": axes, "axis": axis, "keepdims": keepdims, "casting": casting}
            options |= {"order": order, "dtype": dtype, "subok": subok, "signature": signature}
            return elsewhere(made, "__call__", (x1, x2), _told(options, out))
        x, y = as_array(x1), as_array(x2)
        if out is Ellipsis:  # as None, but never a scalar
            given = {"keepdims": keepdims, "casting": casting, "dtype": dtype}
            return plain(function(x, y, axes=axes, axis=axis, signature=signature, **given))
        if out is not None:
            check_writeable(out)
        if name == "matmul" and _is_plain(out, axes, axis, keepdims, dtype, signature):
            numbers = direct(x.aval, y.aval)
            if numbers is not None:
                return scalar_if_0d(contraction.dot_general(x, y, dimension_numbers=numbers))
        options = {"axes": axes, "axis": axis, "keepdims": keepdims}
        given = {k: v for k, v in options.items() if v is not np._NoValue and v is not False}
        signature = signature if dtype is None else (None, None, dtype_of_no_array(dtype))
        chosen = {"casting": casting} | ({} if signature is None else {"signature": signature})
        if needs_host(x, y):
            return host_into(reference, x, y, out=out, **given, **chosen)
        of_x, of_y, of_out = _core_labels(core, x.ndim, y.ndim)
        places = _core_axes(given, x, y, (of_x, of_y, of_out))
        if places is None or not _fits(x, of_x, y, of_y, places):
            raise _numpys_error(reference, x, y, out, given)
        dtypes = resolve_dtypes(reference, (x.dtype, y.dtype, None), **chosen)
        x, y = cast(x, dtypes[0]), cast(y, dtypes[1])
        result = _core_product(x, y, (of_x, of_y, of_out), places, bool(keepdims), conjugate)
        if out is not None and not _out_fits(out, result, len(of_out), given, casting):
            raise _numpys_error(reference, x, y, out, {**given, "casting": casting})
        return store(scalar_if_0d(result), out, casting, name)

    doc = f"See `numpy.{name}`. `order` and `subok` have no effect. {doc}".strip()
    made = Generalized(reference, function, doc)
    return made


def _is_plain(out: Any, axes: Any, axis: Any, keepdims: Any, dtype: Any, signature: Any) -> bool:
    """Whether all options have their default effect."""
    return (
        out is None and axes is np._NoValue and axis is np._NoValue
        and keepdims is False and dtype is None and signature is None
    )  # fmt: skip


@cached()
def direct(x: Aval, y: Aval) -> Any:
    """The dimension numbers if a matmul is one plain contraction; else None."""
    if x.dtype != y.dtype or not on_device(x.dtype) or not x.ndim or not y.ndim:
        return None
    i, j = x.ndim - 1, max(0, y.ndim - 2)
    loop = y.shape[:-2]
    if x.shape[i] != y.shape[j] or loop and (x.ndim != y.ndim or x.shape[:-2] != loop):
        return None
    batch = tuple(range(len(loop)))
    return ((i,), (j,)), (batch, batch)


def _core_labels(core: _Core, x_ndim: int, y_ndim: int) -> _Core:
    """The core labels of matmul, without `n?` or `m?` where an operand is a vector."""
    missing = set()
    if core[0][0] == "n?" and x_ndim == 1:
        missing.add("n?")
    if core[1][-1] == "m?" and y_ndim == 1:
        missing.add("m?")
    x, y, out = (tuple(label for label in labels if label not in missing) for labels in core)
    return x, y, out


def _core_axes(given: dict[str, Any], x: Array, y: Array, labels: _Core) -> list[list[int]] | None:
    """The axes of the core dimensions of inputs and output; None if NumPy would object."""
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
        x = conjugated(x)
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
    """Core labels at their places, loop labels elsewhere."""
    loop = iter(ordered_labels("loop", ndim - len(where)))
    at = dict(zip(where, labels, strict=True))
    return tuple(at[k] if k in at else next(loop) for k in range(ndim))


def _out_fits(out: Any, result: Array, core: int, given: dict[str, Any], casting: Any) -> bool:
    """Whether `out` fits: its core dimensions must match exactly; only the others broadcast."""
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
    """The exception that NumPy raises for operands of these shapes; it checks before it reads an
    element.
    """
    misfit = ValueError(f"{reference.__name__}: operands do not fit: {x.aval}, {y.aval}")
    arrays = (x, y, out) if isinstance(out, Array) else (x, y)
    dummies = [np.broadcast_to(np.zeros((), v.dtype), stand_in(v.shape)) for v in arrays]
    if isinstance(out, Array):
        given = {**given, "out": np.empty_like(dummies.pop())}
    try:
        reference(*dummies, **given)
    except (TypeError, ValueError) as error:
        named_error = named(error, [v.shape for v in arrays]) if any_sized(*arrays) else error
        return named_error.with_traceback(None)
    return misfit


def conjugated(x: Array) -> Array:
    return ufuncs.conjugate(x) if x.dtype.kind == "c" else x
