"""Operands: convert arguments to arrays, and store results into `out`."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, as_operand, new_array, new_scalar, write_lock
from lazynp._avals import SCALAR_DTYPES, on_device
from lazynp._errstate import warn
from lazynp._extents import broadcast_shapes, shown
from lazynp._flush import host_value
from lazynp._node import Node, leaf
from lazynp._overrides import ask, passes_for
from lazynp._recorder import elsewhere, local
from lazynp._sizes import Size
from lazynp._strides import dense_order, may_write
from lazynp.functions._nested import assemble, holds_lazy, opened
from lazynp.functions._stores import write_into
from lazynp.primitives import elementwise, shaping


def operand_of(x: Any) -> Any:
    """`as_operand`, which keeps lazy arrays in a list lazy."""
    if isinstance(x, (list, tuple, deque)):
        x = list(x) if isinstance(x, deque) else x
        if holds_lazy(x):
            return assemble(x)._read()
        try:
            return as_operand(x)
        except ValueError:
            if not holds_lazy(x := opened(x)):
                raise
        return assemble(x)._read()
    return as_operand(x)


def as_array(x: Any) -> Array:
    """Anything that NumPy accepts as an array, as an Array (an Array is not copied; a view is
    read).
    """
    if type(x) is NDArray or type(x) is Scalar:
        return x
    if isinstance(x, Array):
        ask(x)
        return as_array(x.__array__()) if passes_for(x, Array) else x
    operand = operand_of(x)
    if type(operand) is not list:
        return scalar_array(operand)
    made = new_array(operand)
    if isinstance(x, np.ndarray) and not x.flags.c_contiguous:
        made._order = dense_order(x)
    return made


def scalar_array(x: Any) -> Array:
    """A Python scalar as a 0-d Array of NumPy's dtype for it."""
    value = np.asarray(x)  # an object if no integer dtype holds it
    return new_array(there_by_default(leaf(value if value.dtype.kind == "O" else value[()])))


def there_by_default(node: Node) -> Node:
    """What was made of no array, where new arrays are made."""
    return elsewhere[0](node) if elsewhere and not local.recorder.staging else node


def plain(x: Any) -> Array:
    """An owner with the same value, the form that rules and reductions take."""
    return new_array(as_array(x)._read())


def scalar_if_0d(x: Array) -> Array:
    """The kind of result that NumPy returns: a Scalar if 0-d."""
    if x.ndim:
        return x
    if on_device(x.dtype):
        return new_scalar(x._read())
    return host_value(x._read())[()]  # an object, string, date


def kind_of(x: Any) -> Any:
    """The argument for `np.result_type`: a number of Python's is weak, and so is what stands for
    one (a size, a number that jit traces).
    """
    if type(x) in SCALAR_DTYPES:
        return type(x)(0)
    if type(x) is Size:
        return 0
    array = as_array(x)
    weak = not array.ndim and array.aval.weak
    return _WEAK.get(array.dtype.kind, array.dtype) if weak else array.dtype


_WEAK: dict[str, Any] = {"i": 0, "f": 0.0, "c": 0j}


def numpys(x: Any) -> Any:
    """Traced numbers of Python's as NumPy's own: a function of NumPy's gives no others."""
    if type(x) is tuple:
        return tuple([numpys(v) for v in x])
    if not isinstance(x, Array) or not x.aval.weak:
        return x
    made = elementwise.convert(x, dtype=x.dtype, weak=False)
    return new_scalar(made._read()) if type(x) is Scalar else new_array(made._read())


def cast(x: Any, dtype: Any) -> Array:
    """The array in this dtype; the array itself if it has it already."""
    array, dtype = as_array(x), np.dtype(dtype)
    return array if array.dtype == dtype else elementwise.convert(array, dtype=dtype)


def warn_of_lost_imaginary_part() -> None:
    text = "Casting complex values to real discards the imaginary part"
    warn(text, np.exceptions.ComplexWarning)


def broadcast(x: Array, shape: tuple[int, ...]) -> Array:
    """The value broadcast to a shape, as a new array. Raises ValueError as NumPy does."""
    if x.shape == shape:
        return x
    first = len(shape) - x.ndim
    if first < 0 or any(n not in (1, m) for n, m in zip(x.shape, shape[first:], strict=True)):
        raise ValueError(
            f"could not broadcast input array from shape {tuple_text(x.shape)} into shape "
            f"{tuple_text(shape)}"
        )
    return shaping.broadcast_in_dim(x, shape=shape, dims=tuple(range(first, len(shape))))


def broadcast_with(results: tuple[Any, ...], outs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Broadcast results without an `out` to the shape of the `out` arrays."""
    shape = broadcast_shapes(*[o.shape for o in outs if o is not None])
    ready = [as_array(r) for r in results]
    if len(shape) < ready[0].ndim or shape == ready[0].shape:
        return results
    pairs = zip(ready, outs, strict=True)
    return tuple([broadcast(r, shape) if o is None else r for r, o in pairs])


def tuple_text(shape: tuple[int, ...]) -> str:
    """As Python writes a tuple, but without spaces, as NumPy's messages do."""
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def check_writeable(
    out: Any, what: str = "return arrays must be of ArrayType", name: str = "output array"
) -> None:
    if isinstance(out, np.ndarray):  # memory that someone else owns: a buffer, a memmap
        if not out.flags.writeable:
            raise ValueError(f"{name} is read-only")
        return
    if not isinstance(out, Array) or isinstance(out, Scalar):
        raise TypeError(what)
    if not may_write(out):
        raise ValueError(f"{name} is read-only")


def check_shapes(
    inputs: list[tuple[int, ...]],
    outs: list[tuple[int, ...]],
    masks: Sequence[tuple[int, ...]] = (),
) -> None:
    """Raise NumPy's errors if operands, masks and outputs do not fit together."""
    try:
        shape = broadcast_shapes(*inputs, *outs, *masks)
    except ValueError:
        listed = shown((*inputs, *outs, *masks))
        raise ValueError(
            f"operands could not be broadcast together with shapes {listed} "
        ) from None
    for out in outs:
        if out != shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {tuple_text(out)} doesn't match the "
                f"broadcast shape {tuple_text(shape)}"
            )


def _copied(value: Any, out: Any) -> None:
    np.copyto(out, value, casting="unsafe")


def store(result: Any, out: Any, casting: str = "same_kind", name: str = "") -> Any:
    """Store a result into `out` with NumPy's checks, and return `out`; the result if `out` is
    None.
    """
    if out is None:
        return result
    check_writeable(out)
    result = as_array(result)
    if not np.can_cast(result.dtype, out.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast {f'ufunc {name!r} ' if name else ''}output from {result.dtype!r} to "
            f"{out.dtype!r} with casting rule {casting!r}"
        )
    check_shapes([result.shape], [out.shape])
    if write_into(out, (result,), _copied):
        return out
    if isinstance(out, np.ndarray):
        np.copyto(out, host_value(result._read()), casting="unsafe")
        return out
    if result.dtype.kind == "c" and out.dtype.kind in "iuf":
        warn_of_lost_imaginary_part()
    with write_lock:
        out._write(broadcast(cast(result, out.dtype), out.shape)._read())
    return out
