"""What a call of SciPy's is about: whether its arguments are traced, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy

import lazynp as np
from lazynp._array import Array
from lazynp._avals import Aval, aval_of
from lazynp._node import is_tracer
from lazynp._primitive import NOT_LINEAR, Missing, Primitive, host_only
from lazynp._recorder import local
from lazynp._values import knowable
from lazynp.primitives._matrices import stacked_batch


def is_traced(x: Any) -> bool:
    """Whether a transformation interprets this: it carries a tangent, or has no single value."""
    if isinstance(x, Array):
        node = x._read()
        return is_tracer(node) or not knowable(node)
    if isinstance(x, (list, tuple)):
        return any(map(is_traced, x))
    if isinstance(x, dict):
        return any(map(is_traced, x.values()))
    return hasattr(type(x), "_traced")  # an object of SciPy's with traced parts


def any_traced(args: Any, kwargs: Any) -> bool:
    """Whether one of the arguments of a call is traced."""
    return bool(local.level) and (is_traced(args) or is_traced(kwargs))


def refuse(name: str, option: str) -> NoReturn:
    """For an option under which the function has no derivative here."""
    raise TypeError(f"{name}: no derivative is implemented for {option}")


def only(name: str, **options: tuple[Any, Any]) -> None:
    """Refuse options other than the given ones: `only("f", mode=(mode, None))`."""
    for option, (given, allowed) in options.items():
        if given is not allowed and not (numpy.ndim(given) == 0 and given == allowed):
            refuse(name, f"{option}={given!r}")


def inexact(*xs: Any) -> list[Any]:
    """The arrays in their common dtype, float64 at least for integers."""
    arrays = [np.asarray(x) for x in xs]
    dtype = numpy.result_type(*[a.dtype for a in arrays])
    if dtype.kind not in "fc":
        dtype = numpy.dtype(numpy.float64)
    return [a.astype(dtype) for a in arrays]


def stacked(*xs: Any) -> list[Any]:
    """The matrices, with the leading dimensions that they broadcast to."""
    lead = numpy.broadcast_shapes(*[x.shape[:-2] for x in xs])
    return [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in xs]


# -- functions that SciPy computes -----------------------------------------------------------------


def on_host(
    name: str,
    abstract: Callable[..., tuple[Aval, ...]],
    reference: Callable[..., tuple[Any, ...]],
    jvp: Callable[..., Any],
    transpose: Callable[..., Any] | Missing = NOT_LINEAR,
) -> Primitive:
    """A primitive on stacks of matrices that runs `reference` by SciPy, under jit as well.

    All operands have the same leading dimensions. Every call has the parameter `effect=False`.
    """
    primitive = Primitive(
        name,
        abstract=abstract,
        reference=reference,
        lower=host_only("SciPy computes it, on the host"),
        jvp=jvp,
        transpose=transpose,
        batch=stacked_batch(lambda: primitive),
        multiple_results=True,
        kind="host",
    )
    return primitive


def each(function: Callable[..., Any], ranks: Sequence[int], *xs: Any) -> Any:
    """`function` of the last `ranks` dimensions of each operand, for every index in front."""
    lead = xs[0].shape[: xs[0].ndim - ranks[0]]
    if not lead:
        return numpy.asarray(function(*xs))
    flat = [x.reshape(-1, *x.shape[x.ndim - r :]) for x, r in zip(xs, ranks, strict=True)]
    rows = [numpy.asarray(function(*row)) for row in zip(*flat, strict=True)]
    if not rows:
        return None
    return numpy.stack(rows).reshape(*lead, *rows[0].shape)


def like(x: Any, shape: Sequence[int], dtype: Any = None) -> Aval:
    return aval_of(tuple(shape), numpy.dtype(dtype or x.dtype))
