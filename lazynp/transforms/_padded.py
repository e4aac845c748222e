"""The program of a bucket: operands are padded, and what lies behind a size has no meaning.

Each primitive here keeps it so: what lies in front of the size is what it would be without padding,
whatever lies behind (NaN). A program with any other primitive, or with a size that does not grow
with those of its axes, has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array
from lazynp._avals import aval_of
from lazynp._dimensions import LENGTH, OPERATORS
from lazynp._extents import mapped
from lazynp._jaxpr import Eqn, Jaxpr, Literal
from lazynp._memo import cached
from lazynp._sizes import Atom, Dim, Size
from lazynp.primitives import elementwise, indexing, shaping, sorting
from lazynp.transforms._call import delivered
from lazynp.transforms._stage import literal, stage_closed

_INT = np.dtype(np.int64)


class Refused(Exception):
    """The program is in no bucket."""


# -- sizes -----------------------------------------------------------------------------------------


def _rises(n: Dim, axes: Collection[Atom]) -> bool:
    """Whether a size does not fall where those of the axes grow, by how it is written."""
    if type(n) is not Size:
        return True
    for monomial, count in n.terms.items():
        if not monomial:
            continue
        if len(monomial) > 1 or count < 0:
            return False
        for atom in monomial:
            if not atom.op:
                if atom not in axes:
                    return False
            elif atom.op in ("maximum", "minimum"):
                if not all(_rises(a, axes) for a in atom.args):
                    return False
            elif atom.op != "floor_divide" or type(atom.args[1]) is Size or atom.args[1] <= 0:
                return False
            elif not _rises(atom.args[0], axes):
                return False
    return True


class Padding:
    """The program at a bucket, as it is written. buckets: of the axes. sizes: operands."""

    def __init__(self, buckets: dict[Atom, int], sizes: dict[Atom, Array]) -> None:
        self.buckets, self.sizes = buckets, sizes

    def fits(self, size: Dim) -> bool:
        """Whether its number at the bucket is the most that it may be."""
        return _rises(size, self.buckets)

    def number(self, size: Dim) -> int:
        """A size at the bucket."""
        return size.at(self.buckets.__getitem__) if type(size) is Size else size

    def valid(self, size: Dim) -> Any:
        """A size at the call, as an operand."""
        if type(size) is not Size:
            return size
        total: Any = size.terms.get((), 0)
        for monomial, count in size.terms.items():
            if monomial:
                first, *others = map(self._atom, monomial)
                for other in others:
                    first = elementwise.multiply(first, other)
                term = first if count == 1 else elementwise.multiply(first, count)
                total = elementwise.add(term, total)
        return total

    def _atom(self, atom: Atom) -> Any:
        if not atom.op:
            return self.sizes[atom]
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
            if not all(map(self.fits, var.aval.shape)):
                raise Refused
        params = {k: mapped(p, self.number) for k, p in eqn.params.items()}
        rule = _RULES.get(eqn.primitive.name)
        if rule is not None:
            return (rule(self, eqn, operands, params),)
        if eqn.primitive.kind != "elementwise" and eqn.primitive.name not in _PLAIN:
            raise Refused
        if eqn.primitive.name == "check":  # the places that may be at fault may be behind a size
            operands = operands[:1]
        out = eqn.primitive(*operands, **params)  # type: ignore[operator]
        return out if eqn.primitive.multiple_results else (out,)

    def sized(self, eqn: Eqn, place: int, axes: Sequence[int] | None = None) -> dict[int, Any]:
        """The axes of an operand that have sizes, of those given."""
        shape = eqn.inputs[place].aval.shape
        chosen = range(len(shape)) if axes is None else axes
        return {a: shape[a] for a in chosen if type(shape[a]) is Size}


def _reduce(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
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
    raise Refused


def _place(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """argmax, argmin: the first of equal ones is in front of the size."""
    (x,) = operands
    value = _neutral(eqn.primitive.name.removeprefix("arg"), x.dtype)
    return eqn.primitive(p.filled(x, p.sized(eqn, 0, (params["axis"],)), value), **params)  # type: ignore[operator]


def _sorted(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """What is behind the size stays there: nothing is greater, and equal ones keep their order."""
    (x,) = operands
    if x.dtype.kind not in "fiu":
        raise Refused
    sized = p.sized(eqn, 0, (params["axis"],))
    return eqn.primitive(p.filled(x, sized, _last(x.dtype)), **params)  # type: ignore[operator]


def _contract(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    contracted, _ = params["dimension_numbers"]
    made = [
        p.filled(x, p.sized(eqn, k, axes), 0)
        for k, (x, axes) in enumerate(zip(operands, contracted, strict=True))
    ]
    return eqn.primitive(*made, **params)  # type: ignore[operator]


def _reshape(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
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
        raise Refused
    if math.prod(operands[0].aval.shape) != math.prod(params["shape"]):
        raise Refused
    return shaping.reshape(operands[0], **params)


def _slice(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """A step backwards goes from place to place: where it ends, nothing is kept. So does a slice
    whose start is known only in the program, like its size.
    """
    sized = p.sized(eqn, 0)
    back = [
        k for k, a in enumerate(params["axes"])
        if a in sized and params["strides"][k] < 0 or _moves(eqn, k)
    ]  # fmt: skip
    if not back:
        _check_starts(p, eqn, 1, params)
        return shaping.slice(*operands, **params)
    x, *starts = operands
    for k in back:
        x = _taken(x, _places(k, starts[k], params), params["axes"][k])
    rest = [k for k in range(len(starts)) if k not in back]
    if not rest:
        return x
    _check_starts(p, eqn, 1, params, rest)
    some = {n: tuple([params[n][k] for k in rest]) for n in ("axes", "sizes", "strides")}
    return shaping.slice(x, *[starts[k] for k in rest], **some, shape=params["shape"])


def _moves(eqn: Eqn, k: int, first: int = 1) -> bool:
    return not isinstance(eqn.inputs[first + k], Literal) and type(eqn.params["sizes"][k]) is Size


def _places(k: int, start: Any, params: dict[str, Any]) -> Any:
    """Those of a slice on its axis number k."""
    count, step = params["sizes"][k], params["strides"][k]
    places = elementwise.multiply(shaping.iota(shape=(count,), axis=0, dtype=_INT), step)
    return elementwise.add(places, start)


def _taken(x: Array, places: Any, axis: int) -> Array:
    """The elements at these places of an axis; those before it have no meaning."""
    if not x.shape[axis]:  # nothing in front of the size, whatever that is
        shape = (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])
        return shaping.full(0, shape=shape, dtype=x.dtype)
    places = elementwise.minimum(elementwise.maximum(places, 0), x.shape[axis] - 1)
    found = indexing.take(x, places, axes=(axis,))
    order = (*range(1, axis + 1), 0, *range(axis + 1, x.ndim))
    return shaping.transpose(found, permutation=order) if axis else found


def _reverse(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    (x,) = operands
    sized = p.sized(eqn, 0, params["axes"])
    for axis, size in sized.items():
        last = elementwise.subtract(p.valid(size), 1)
        places = shaping.iota(shape=(x.shape[axis],), axis=0, dtype=_INT)
        x = _taken(x, elementwise.subtract(last, places), axis)
    rest = tuple([a for a in params["axes"] if a not in sized])
    return shaping.reverse(x, axes=rest) if rest else x


def _take(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """What is behind the size of the indices takes the first place."""
    places = [p.filled(x, p.sized(eqn, k), 0) for k, x in enumerate(operands[1:], 1)]
    return indexing.take(operands[0], *places, **params)


def _put(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """What is behind the size of the indices is written to a row that is cut off."""
    x, u, *places = operands
    if not any(p.sized(eqn, k) for k in range(2, len(operands))):
        return indexing.put(*operands, **params)
    beyond = x.shape[params["axes"][0]]
    given = [p.filled(i, p.sized(eqn, k), beyond if k == 2 else 0) for k, i in enumerate(places, 2)]
    return _put_inside(x, u, given, params)


def _put_inside(x: Array, u: Array, places: list[Any], params: dict[str, Any]) -> Array:
    """`put`, where the first of the places may be one too far."""
    axis, shape = params["axes"][0], x.shape
    more = tuple([int(a == axis) for a in range(x.ndim)])
    wide = shaping.pad(x, 0, low=(0,) * x.ndim, high=more, interior=(0,) * x.ndim)
    out = indexing.put(wide, u, *places, **params)
    return shaping.slice(out, 0, axes=(axis,), sizes=(shape[axis],), strides=(1,), shape=shape)


def _searched(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """Nothing is greater than what is behind the size."""
    ordered, values = operands
    if ordered.ndim != 1 or ordered.dtype.kind not in "fiu":
        raise Refused
    sized = p.sized(eqn, 0)
    found = sorting.searchsorted(p.filled(ordered, sized, _last(ordered.dtype)), values, **params)
    return elementwise.minimum(found, p.valid(sized[0])) if sized else found


def _last(dtype: np.dtype[Any]) -> Any:
    """What is sorted last."""
    return math.nan if dtype.kind == "f" else int(np.iinfo(dtype).max)


def _accumulate(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """An element of the result is made of those before it; in reverse, of those behind it."""
    (x,) = operands
    if params.get("reverse"):
        neutral = {"cumsum": "sum", "cumprod": "prod"}[eqn.primitive.name]
        sized = p.sized(eqn, 0, (params["axis"],))
        x = p.filled(x, sized, _neutral(neutral, x.dtype))
    return eqn.primitive(x, **params)  # type: ignore[operator]


def _check_starts(
    p: Padding, eqn: Eqn, first: int, params: dict[str, Any], chosen: Sequence[int] | None = None
) -> None:
    """Slices start at numbers, or take one place that the size tells. chosen: of its axes."""
    sized = p.sized(eqn, 0)
    for k, axis in enumerate(params["axes"]):
        if chosen is not None and k not in chosen:
            continue
        start, size, step = eqn.inputs[first + k], params["sizes"][k], params["strides"][k]
        if axis not in sized:
            if type(eqn.params["sizes"][k]) is Size and not _within(eqn, start, size, step, axis):
                raise Refused
            continue
        if step <= 0:
            raise Refused
        if isinstance(start, Literal):
            last = int(start.value) + max(size - 1, 0) * step
            if int(start.value) < 0 or last >= max(p.number(sized[axis]), 1) and size:
                raise Refused
        elif type(eqn.params["sizes"][k]) is Size or size != 1:
            raise Refused


def _within(eqn: Eqn, start: Any, size: int, step: int, axis: int) -> bool:
    """Whether a slice of that size, which is the most it may be, fits the axis."""
    if not isinstance(start, Literal) or step <= 0 or int(start.value) < 0:
        return False
    return int(start.value) + max(size - 1, 0) * step < max(eqn.inputs[0].aval.shape[axis], 1)


def _update(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """Only what is in front of the size of the values is written."""
    x, u, *starts = operands
    if len(starts) == 1 and params["strides"][0] < 0 and params["axes"][0] in p.sized(eqn, 0):
        axis = params["axes"][0]
        order = (axis, *[a for a in range(x.ndim) if a != axis])
        u = shaping.transpose(u, permutation=order) if axis else u
        places = p.filled(_places(0, starts[0], params), {0: eqn.params["sizes"][0]}, x.shape[axis])
        return _put_inside(x, u, [places], {"axes": (axis,), "mode": "set"})
    moved = [k for k in range(len(starts)) if _moves(eqn, k, 2)]
    if moved:
        return _update_moved(p, eqn, operands, params, moved)
    _check_starts(p, eqn, 2, params)
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
        raise Refused
    mask = None
    for axis, (size, start) in sizes.items():
        if not isinstance(start, Literal):
            raise Refused
        end = elementwise.add(p.valid(size), int(start.value))
        here = elementwise.less(shaping.iota(shape=out.aval.shape, axis=axis, dtype=_INT), end)
        mask = here if mask is None else elementwise.logical_and(mask, here)
    assert mask is not None
    return elementwise.select(mask, out, x)


def _update_moved(
    p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any], moved: Sequence[int]
) -> Array:
    """Where starts are known only in the program, like the sizes: each place in a block of x takes
    the value that belongs there.
    """
    x, u, *starts = operands
    axes, sizes = params["axes"], params["sizes"]
    still = [k for k in range(len(axes)) if k not in moved]
    if any(params["strides"][k] != 1 for k in moved):
        raise Refused
    if any(type(eqn.params["sizes"][k]) is Size for k in still):
        raise Refused
    full, block = list(x.shape), list(x.shape)
    for k, axis in enumerate(axes):
        full[axis] = sizes[k]
        block[axis] = x.shape[axis] if k in moved else sizes[k]
    u, mask = shaping.reshape(u, shape=tuple(full)), None
    some = {n: tuple([params[n][k] for k in still]) for n in ("axes", "sizes", "strides")}
    given = [starts[k] for k in still]
    old = shaping.slice(x, *given, **some, shape=tuple(block)) if still else x
    for k in moved:
        places = shaping.iota(shape=(x.shape[axes[k]],), axis=0, dtype=_INT)
        back = elementwise.subtract(places, elementwise.convert(starts[k], dtype=_INT))
        end = p.valid(eqn.params["sizes"][k])
        here = elementwise.logical_and(
            elementwise.greater_equal(back, 0), elementwise.less(back, end)
        )
        here = shaping.broadcast_in_dim(here, shape=tuple(block), dims=(axes[k],))
        mask = here if mask is None else elementwise.logical_and(mask, here)
        u = _taken(u, back, axes[k])
    assert mask is not None
    new = elementwise.select(mask, u, old)
    return shaping.update_slice(x, new, *given, **some, shape=tuple(block)) if still else new


def _concatenate(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    """Each comes behind the size of the one before, over what has no meaning there."""
    axis = params["axis"]
    sizes = [a.aval.shape[axis] for a in eqn.inputs]
    if not any(type(n) is Size for n in sizes[:-1]):
        return shaping.concatenate(*operands, **params)
    shape = tuple(map(p.number, eqn.outputs[0].aval.shape))
    most, whole = sum(map(p.number, sizes)), shape[axis]
    if most < whole:
        raise Refused
    shape = (*shape[:axis], most, *shape[axis + 1 :])  # all may be as long as they can be
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
    if most == whole:
        return out
    shape = (*shape[:axis], whole, *shape[axis + 1 :])
    return shaping.slice(out, 0, axes=(axis,), sizes=(whole,), strides=(1,), shape=shape)


def _pad(p: Padding, eqn: Eqn, operands: list[Array], params: dict[str, Any]) -> Array:
    low, high = eqn.params["low"], eqn.params["high"]
    if any(type(n) is Size or n < 0 for n in (*low, *high)) or any(params["interior"]):
        raise Refused
    x, value = operands
    out: Any = shaping.pad(x, value, **params)
    for axis, size in p.sized(eqn, 0).items():
        mask = p.inside(out.aval.shape, {axis: size}, low[axis])
        spread = shaping.broadcast_in_dim(value, shape=out.aval.shape, dims=())
        out = elementwise.select(mask, out, spread)
    return out


Rule = Callable[[Padding, Eqn, list[Array], dict[str, Any]], Array]
_RULES: dict[str, Rule] = {
    **{f"reduce_{n}": _reduce for n in ("sum", "prod", "max", "min", "or", "and")},
    "argmax": _place, "argmin": _place, "sort": _sorted, "argsort": _sorted,
    "dot_general": _contract, "dot_no_nan": _contract, "reshape": _reshape,
    "slice": _slice, "update_slice": _update,
    "concatenate": _concatenate, "pad": _pad, "reverse": _reverse, "take": _take, "put": _put,
    "cumsum": _accumulate, "cumprod": _accumulate, "searchsorted": _searched,
}  # fmt: skip
# an element of the result is made of elements at its place, and before it
_PLAIN = {
    "full", "iota", "broadcast_in_dim", "transpose", "put_mask", "check", "constant", "stack",
}  # fmt: skip


@cached()
def padded(raw: Jaxpr, axes: tuple[Atom, ...], buckets: tuple[int, ...]) -> Jaxpr | None:
    """`(sizes, padded operands) -> padded results`; None if it is in no bucket."""
    places, k = dict(zip(axes, buckets, strict=True)), len(axes)
    numbers: Any = lambda size: size.at(places.__getitem__)  # noqa: E731
    avals = [aval_of(mapped(v.aval.shape, numbers), v.aval.dtype, v.aval.weak)
             for v in raw.inputs[k:]]  # fmt: skip

    def run(xs: list[Array]) -> list[Array]:
        made = Padding(places, dict(zip(axes, xs, strict=False)))
        env: dict[Any, Array] = dict(zip(raw.inputs, xs, strict=True))

        def read(a: Any) -> Array:
            return literal(a) if isinstance(a, Literal) else env[a]

        for eqn in raw.eqns:
            outs = made.equation(eqn, [read(a) for a in eqn.inputs])
            env.update(zip(eqn.outputs, outs, strict=True))
        return [read(a) for a in raw.outputs]

    try:
        return delivered(stage_closed(run, [*[LENGTH] * k, *avals]))
    except Refused:
        return None
