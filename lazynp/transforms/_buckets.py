"""One compiled program for the sizes of a bucket: up to a power of two.

Operands are padded to the bucket, and what lies behind the size of an axis has no meaning. Each
primitive here keeps it so: what lies in front of the size is what it would be without padding,
whatever lies behind (NaN). A function with any other primitive, or with a size that does not grow
with that of its axis, is in no bucket.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp import _cost
from lazynp._array import Array, new_array
from lazynp._avals import aval_of
from lazynp._config import config
from lazynp._dimensions import LENGTH, OPERATORS
from lazynp._extents import mapped
from lazynp._flush import host_value
from lazynp._jaxpr import Eqn, Jaxpr, Literal
from lazynp._memo import cached
from lazynp._node import leaf
from lazynp._sizes import Atom, Dim, Size
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._call import delivered, jit_call
from lazynp.transforms._sizing import SizedProgram
from lazynp.transforms._stage import literal, stage_closed

_INT = np.dtype(np.int64)
_PADDING = 150.0  # microseconds: of padding operands, and taking parts of results
_KEPT = 256  # sizes whose calls are counted
_lock = threading.Lock()
_OFTEN = 32  # calls at one size, from which it gets a program of its own


class _Refused(Exception):
    """The program is in no bucket."""


# -- sizes -----------------------------------------------------------------------------------------


def _rises(n: Dim, axis: Atom) -> bool:
    """Whether a size does not fall where that of the axis grows, by how it is written."""
    if type(n) is not Size:
        return True
    for monomial, count in n.terms.items():
        if not monomial:
            continue
        if len(monomial) > 1 or count < 0:
            return False
        for atom in monomial:
            if not atom.op:
                if atom is not axis:
                    return False
            elif atom.op in ("maximum", "minimum"):
                if not all(_rises(a, axis) for a in atom.args):
                    return False
            elif atom.op != "floor_divide" or type(atom.args[1]) is Size or atom.args[1] <= 0:
                return False
            elif not _rises(atom.args[0], axis):
                return False
    return True


class _Padding:
    """The program at a bucket, as it is written. n: the size of the axis, an operand."""

    def __init__(self, axis: Atom, bucket: int, n: Array) -> None:
        self.axis, self.bucket, self.n = axis, bucket, n

    def number(self, size: Dim) -> int:
        """A size at the bucket."""
        return size.at(lambda _: self.bucket) if type(size) is Size else size

    def valid(self, size: Dim) -> Any:
        """A size at the call, as an operand."""
        if type(size) is not Size:
            return size
        total: Any = size.terms.get((), 0)
        for monomial, count in size.terms.items():
            for atom in monomial:
                term = self._atom(atom)
                term = term if count == 1 else elementwise.multiply(term, count)
                total = elementwise.add(term, total)
        return total

    def _atom(self, atom: Atom) -> Any:
        if not atom.op:
            return self.n
        sides = [self.valid(a) for a in atom.args]
        return OPERATORS[atom.op](*sides) if any(isinstance(s, Array) for s in sides) else sides[0]

    def inside(self, shape: Sequence[int], sizes: dict[int, Any], first: int = 0) -> Array | None:
        """Where an array of this shape is in front of the sizes of these axes; None: everywhere."""
        mask = None
        for axis, size in sizes.items():
            places = shaping.iota(shape=tuple(shape), axis=axis, dtype=_INT)
            here = elementwise.less(places, self._end(size, first))
            mask = here if mask is None else elementwise.logical_and(mask, here)
        return mask

    def _end(self, size: Dim, first: int) -> Any:
        end = self.valid(size)
        return elementwise.add(end, first) if first and isinstance(end, Array) else end

    def filled(self, x: Array, sizes: dict[int, Any], value: Any) -> Array:
        """The array with a value behind the sizes of these axes."""
        mask = self.inside(x.aval.shape, sizes)
        if mask is None:
            return x
        other = shaping.full(value, shape=x.aval.shape, dtype=x.dtype)
        return elementwise.select(mask, x, other)

    # -- equations ---------------------------------------------------------------------------------

    def equation(self, eqn: Eqn, operands: list[Array]) -> Sequence[Array]:
        for var in eqn.outputs:
            if not all(_rises(n, self.axis) for n in var.aval.shape):
                raise _Refused
        params = {k: mapped(p, self.number) for k, p in eqn.params.items()}
        rule = _RULES.get(eqn.primitive.name)
        if rule is not None:
            return (rule(self, eqn, operands, params),)
        if eqn.primitive.kind != "elementwise" and eqn.primitive.name not in _PLAIN:
            raise _Refused
        if params.get("reverse"):
            raise _Refused
        out = eqn.primitive(*operands, **params)  # type: ignore[operator]
        return out if eqn.primitive.multiple_results else (out,)

    def sized(self, eqn: Eqn, place: int, axes: Sequence[int] | None = None) -> dict[int, Any]:
        """The axes of an operand that have sizes, of those given."""
        shape = eqn.inputs[place].aval.shape
        chosen = range(len(shape)) if axes is None else axes
        return {a: shape[a] for a in chosen if type(shape[a]) is Size}


def _reduce(p: _Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    (x,) = operands
    name = eqn.primitive.name
    value = _neutral(name.removeprefix("reduce_"), x.dtype)
    return eqn.primitive(p.filled(x, p.sized(eqn, 0, params["axes"]), value), **params)  # type: ignore[operator]


def _neutral(name: str, dtype: np.dtype[Any]) -> Any:
    if name == "sum":  # of -0.0 alone it is -0.0
        return {"f": -0.0, "c": complex(-0.0, -0.0)}.get(dtype.kind, 0)
    if name in ("or", "prod"):
        return int(name == "prod")
    if name == "and":
        return np.invert(np.zeros((), dtype))[()]
    if dtype.kind == "f":
        return -math.inf if name == "max" else math.inf
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return int(limits.min if name == "max" else limits.max)
    raise _Refused


def _place(p: _Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """argmax, argmin: the first of equal ones is in front of the size."""
    (x,) = operands
    value = _neutral(eqn.primitive.name.removeprefix("arg"), x.dtype)
    return eqn.primitive(p.filled(x, p.sized(eqn, 0, (params["axis"],)), value), **params)  # type: ignore[operator]


def _sorted(p: _Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """What is behind the size stays there: nothing is greater, and equal ones keep their order."""
    (x,) = operands
    if x.dtype.kind not in "fiu":
        raise _Refused
    last = math.nan if x.dtype.kind == "f" else int(np.iinfo(x.dtype).max)
    return eqn.primitive(p.filled(x, p.sized(eqn, 0, (params["axis"],)), last), **params)  # type: ignore[operator]


def _contract(p: _Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    contracted, _ = params["dimension_numbers"]
    made = [
        p.filled(x, p.sized(eqn, k, axes), 0)
        for k, (x, axes) in enumerate(zip(operands, contracted, strict=True))
    ]
    return eqn.primitive(*made, **params)  # type: ignore[operator]


def _reshape(p: _Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """In C order, so only the first axis may be padded, or each stays an axis."""
    before, after = [
        [n for n in shape if type(n) is Size or n != 1]
        for shape in (eqn.inputs[0].aval.shape, eqn.outputs[0].aval.shape)
    ]
    same = len(before) == len(after) and all(
        a is b or a == b for a, b in zip(before, after, strict=True)
    )
    first = all(type(n) is not Size for n in (*before[1:], *after[1:]))
    if not same and not first:
        raise _Refused
    if math.prod(operands[0].aval.shape) != math.prod(params["shape"]):
        raise _Refused
    return shaping.reshape(operands[0], **params)


def _slice(p: _Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    _check_starts(p, eqn, 1, params)
    return shaping.slice(*operands, **params)


def _check_starts(p: _Padding, eqn: Eqn, first: int, params: dict[str, Any]) -> None:
    """Slices start at numbers, or take one place that the size itself tells."""
    sized = p.sized(eqn, 0)
    for k, axis in enumerate(params["axes"]):
        start, size, step = eqn.inputs[first + k], params["sizes"][k], params["strides"][k]
        if axis not in sized:
            if type(eqn.params["sizes"][k]) is Size:
                raise _Refused
            continue
        if step <= 0:
            raise _Refused
        if isinstance(start, Literal):
            last = int(start.value) + max(size - 1, 0) * step
            if int(start.value) < 0 or last >= max(p.number(sized[axis]), 1) and size:
                raise _Refused
        elif type(eqn.params["sizes"][k]) is Size or size != 1:
            raise _Refused


def _update(p: _Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """Only what is in front of the size of the values is written."""
    _check_starts(p, eqn, 2, params)
    x, u, *starts = operands
    sizes = {
        axis: (eqn.params["sizes"][k], eqn.inputs[2 + k])
        for k, axis in enumerate(params["axes"])
        if type(eqn.params["sizes"][k]) is Size
    }
    out = shaping.update_slice(x, u, *starts, **params)
    whole = [a for a in p.sized(eqn, 0) if a not in params["axes"]]
    if not sizes:
        return out
    if any(s != 1 for s in params["strides"]) or not all(type(a) is int for a in whole):
        raise _Refused
    mask = None
    for axis, (size, start) in sizes.items():
        if not isinstance(start, Literal):
            raise _Refused
        end = elementwise.add(p.valid(size), int(start.value))
        here = elementwise.less(shaping.iota(shape=out.aval.shape, axis=axis, dtype=_INT), end)
        mask = here if mask is None else elementwise.logical_and(mask, here)
    assert mask is not None
    return elementwise.select(mask, out, x)


def _concatenate(p: _Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """Each comes behind the size of the one before, over what has no meaning there."""
    axis = params["axis"]
    sizes = [a.aval.shape[axis] for a in eqn.inputs]
    if not any(type(n) is Size for n in sizes[:-1]):
        return shaping.concatenate(*operands, **params)
    shape = tuple(map(p.number, eqn.outputs[0].aval.shape))
    if sum(map(p.number, sizes)) != shape[axis]:
        raise _Refused
    out: Any = shaping.full(0, shape=shape, dtype=operands[0].dtype)
    start: Any = 0
    for x, size in zip(operands, sizes, strict=True):
        if x.aval.shape[axis]:
            out = shaping.update_slice(
                out, x, start, axes=(axis,), sizes=(x.aval.shape[axis],), strides=(1,),
                shape=x.aval.shape,
            )  # fmt: skip
        start = elementwise.add(p.valid(size), start) if type(size) is Size else (
            elementwise.add(start, size) if isinstance(start, Array) else start + size
        )  # fmt: skip
    return out


def _pad(p: _Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    low, high = eqn.params["low"], eqn.params["high"]
    if any(type(n) is Size or n < 0 for n in (*low, *high)) or any(params["interior"]):
        raise _Refused
    x, value = operands
    out: Any = shaping.pad(x, value, **params)
    for axis, size in p.sized(eqn, 0).items():
        mask = p.inside(out.aval.shape, {axis: size}, low[axis])
        spread = shaping.broadcast_in_dim(value, shape=out.aval.shape, dims=())
        out = elementwise.select(mask, out, spread)
    return out


Rule = Callable[[_Padding, Eqn, list[Array], dict[str, Any]], Array]
_RULES: dict[str, Rule] = {
    **{f"reduce_{n}": _reduce for n in ("sum", "prod", "max", "min", "or", "and")},
    "argmax": _place, "argmin": _place, "sort": _sorted, "argsort": _sorted,
    "dot_general": _contract, "dot_no_nan": _contract, "reshape": _reshape, "slice": _slice,
    "update_slice": _update, "concatenate": _concatenate, "pad": _pad,
}  # fmt: skip
# an element of the result is made of elements at its place, and before it
_PLAIN = {"full", "iota", "broadcast_in_dim", "transpose", "cumsum", "cumprod", "put_mask"}


@cached()
def padded(raw: Jaxpr, axis: Atom, bucket: int) -> Jaxpr | None:
    """`(size, padded operands) -> padded results`; None if it is in no bucket."""
    numbers: Any = lambda size: size.at(lambda _: bucket)  # noqa: E731
    avals = [aval_of(mapped(v.aval.shape, numbers), v.aval.dtype, v.aval.weak)
             for v in raw.inputs[1:]]  # fmt: skip

    def run(xs: list[Array]) -> list[Array]:
        made = _Padding(axis, bucket, xs[0])
        env: dict[Any, Array] = dict(zip(raw.inputs, xs, strict=True))

        def read(a: Any) -> Array:
            return literal(a) if isinstance(a, Literal) else env[a]

        for eqn in raw.eqns:
            outs = made.equation(eqn, [read(a) for a in eqn.inputs])
            env.update(zip(eqn.outputs, outs, strict=True))
        return [read(a) for a in raw.outputs]

    try:
        return delivered(stage_closed(run, [LENGTH, *avals]))
    except _Refused:
        return None


# -- which way a call runs -------------------------------------------------------------------------


class Buckets:
    """What a function of one size has spent, and which programs that has earned."""

    def __init__(self, sized: SizedProgram) -> None:
        self.raw, self.axis = sized.raw, sized.axes[0]
        self.calls: dict[int, int] = {}  # at each size that was met last
        self.exact: set[int] = set()  # sizes with programs of their own
        self.costs: dict[int, tuple[float, float]] = {}  # microseconds, of each bucket
        self.spent: dict[int, float] = {}  # microseconds by reference, of each bucket
        self.largest = 1
        self.cheap = False  # NumPy is as fast as the program of a bucket would be
        self.compiling = sum(_cost.compiling(e.primitive, e.params) for e in self.raw.eqns)

    def way(self, n: int, exact: Jaxpr) -> Jaxpr | bool | None:
        """The program of a bucket; True for the exact program, False for neither yet; None if it is
        in no bucket.
        """
        with _lock:
            self.largest = max(self.largest, n)
            if n not in self.calls and len(self.calls) >= _KEPT:
                del self.calls[next(iter(self.calls))]
            self.calls[n] = self.calls.get(n, 0) + 1
        bucket = 1 << max(n - 1, 0).bit_length()
        program = padded(self.raw, self.axis, bucket)
        if program is None:
            return None
        if n in self.exact:
            return True
        room = math.ceil(math.log2(max(self.largest, 2))) + 2
        with _lock:
            if self.calls.get(n, 0) >= _OFTEN and len(self.exact) < room:
                self.exact.add(n)
                return True
        if config.execution == "adaptive":
            if bucket not in self.costs:
                self.costs[bucket] = _cost.by_reference(exact), _cost.work(program) + _PADDING
            by_numpy, by_program = self.costs[bucket]
            self.cheap = by_numpy <= by_program
            if not self.cheap:
                self.spent[bucket] = self.spent.get(bucket, 0.0) + by_numpy
            if self.cheap or self.spent[bucket] < self.compiling:
                return False
        return program


def run_in_bucket(program: Jaxpr, n: int, operands: Sequence[Array], exact: Jaxpr, name: str
                  ) -> list[Array]:  # fmt: skip
    """The results of the exact program, by that of its bucket."""
    given = [
        new_array(leaf(_to(host_value(x._read()), v.aval.shape)))
        for x, v in zip(operands, program.inputs[1:], strict=True)
    ]
    size = new_array(leaf(np.int64(n)))
    outs = jit_call(size, *given, jaxpr=program, name=name, compiled="generic")
    return [
        new_array(leaf(_part(host_value(x._read()), v.aval.shape)))
        for x, v in zip(outs, exact.outputs, strict=True)
    ]


def _to(x: Any, shape: tuple[int, ...]) -> Any:
    if np.shape(x) == shape:
        return x
    out = np.zeros(shape, x.dtype)
    out[tuple([slice(n) for n in x.shape])] = x
    return out


def _part(x: Any, shape: tuple[int, ...]) -> Any:
    if np.shape(x) == shape:
        return x
    return np.ascontiguousarray(x[tuple([slice(n) for n in shape])])
