"""Shapes, reductions, sorting, indexing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp.lowering._core import Body, Value, Values, concatenated
from lazynp.lowering._elementwise import Elementwise
from lazynp.lowering._text import dims, flag, ints

_LIBRARY_DTYPES = (np.dtype("f4"), np.dtype("f8"))  # XLA has library reductions for these
# the operations by which XLA reduces across devices
_ACROSS_DEVICES = frozenset(
    f"stablehlo.{name}" for name in ("add", "and", "maximum", "minimum", "multiply", "or")
)
_OF_BITS = frozenset(("stablehlo.and", "stablehlo.or"))  # across devices, of bools only
_SMALL = 4096
_FEW = 2  # integers: what a check has found
_FEW_ROWS, _WIDE = 128, 4096  # elements; see `is_wide`


def _reads_renamed(x: Value, u: Value) -> bool:
    """Whether u is computed from memory that may hold x under other dimensions.

    XLA (0.10.2, whatever the barriers) then updates that memory in place while it still computes u
    from it: `m = x.reshape(3, 4); m[1:] = m[:-1]` copies the first row down. XLA moves reshapes
    from operands to results, and inserts its own for axes of length one.
    """
    memory = _reachable(x, x.aval.size)
    if 1 not in x.aval.shape and not any(v.renames for v in memory):
        return False
    return not memory.isdisjoint(_reachable(u))


def _reachable(value: Value, size: int | None = None) -> set[Value]:
    """All values that this value is computed from, and itself; with a size, only through values of
    that size.
    """
    found, stack = {value}, [value]
    while stack:
        for operand in stack.pop().operands:
            if operand not in found and (size is None or operand.aval.size == size):
                found.add(operand)
                stack.append(operand)
    return found


def _same_axis(before: Sequence[int], after: Sequence[int], axis: int) -> int | None:
    """Where an axis is after a reshape that only adds and drops axes of length one; else None."""
    kept = [i for i, n in enumerate(before) if n != 1]
    now = [i for i, n in enumerate(after) if n != 1]
    if axis not in kept or [before[i] for i in kept] != [after[i] for i in now]:
        return None
    return now[kept.index(axis)]


class Structure(Elementwise):
    """Operations that move or combine elements."""

    # -- shape ---------------------------------------------------------------------------------

    def broadcast_in_dim(self, x: Value, shape: tuple[int, ...], dims: Sequence[int]) -> Value:
        out = aval_of(tuple(shape), x.aval.dtype)
        if x.static is not None:
            return Value("", out, x.static, x.literal)
        if out is x.aval and tuple(dims) == tuple(range(out.ndim)):
            return x
        made = self.op(
            "stablehlo.broadcast_in_dim", x, out=out, attrs=f"broadcast_dimensions = {ints(dims)}"
        )
        if x.counts is not None and out.shape[dims[x.counts]] == x.aval.shape[x.counts]:
            made.counts = dims[x.counts]
        return made

    def splat(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Broadcast a 0-d value to this shape."""
        return self.broadcast_in_dim(x, shape, ())

    def reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        out = aval_of(tuple(shape), x.aval.dtype)
        if out is x.aval:
            return x
        if x.static is not None:
            return Value("", out, x.static, x.literal)
        made = self.op("stablehlo.reshape", x, out=out)
        if x.counts is not None:
            made.counts = _same_axis(x.aval.shape, out.shape, x.counts)
        return made

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        if tuple(perm) == tuple(range(x.aval.ndim)):
            return x
        out = aval_of(tuple(x.aval.shape[p] for p in perm), x.aval.dtype)
        return self.op("stablehlo.transpose", x, out=out, attrs=f"permutation = {ints(perm)}")

    def reverse(self, x: Value, axes: Sequence[int]) -> Value:
        if not axes:
            return x
        return self.op("stablehlo.reverse", x, out=x.aval, attrs=f"dimensions = {ints(axes)}")

    def concatenate(self, xs: Values, axis: int) -> Value:
        if len(xs) == 1:
            return xs[0]
        out = concatenated(xs, axis)
        return self.op("stablehlo.concatenate", *xs, out=out, attrs=f"dimension = {axis} : i64")

    def slice(
        self,
        x: Value,
        starts: Sequence[int],
        limits: Sequence[int],
        strides: Sequence[int] | None = None,
    ) -> Value:
        strides = [1] * x.aval.ndim if strides is None else strides
        shape = tuple(
            max(0, -(-(hi - lo) // step))
            for lo, hi, step in zip(starts, limits, strides, strict=True)
        )
        out = aval_of(shape, x.aval.dtype)
        if out is x.aval:
            return x
        return self.op(
            "stablehlo.slice", x, out=out,
            attrs=f"limit_indices = {ints(limits)}, start_indices = {ints(starts)}, "
            f"strides = {ints(strides)}",
        )  # fmt: skip

    def dynamic_slice(self, x: Value, starts: Values, sizes: Sequence[int]) -> Value:
        """Slice. XLA clamps the starts so that the slice fits."""
        cut = [a for a, n in enumerate(x.aval.shape) if sizes[a] != n]
        few = math.prod(sizes) <= _FEW and x.aval.dtype.kind in "iu" and not self.looping
        if self.mesh is not None and few and len(cut) == 1 and sizes[cut[0]] == 1:
            return self._picked(x, cut[0], starts[cut[0]])
        return self.op(
            "stablehlo.dynamic_slice", x, *starts,
            out=aval_of(tuple(sizes), x.aval.dtype),
            attrs=f"slice_sizes = {ints(sizes)}",
        )  # fmt: skip

    def _picked(self, x: Value, axis: int, start: Value) -> Value:
        """The integers at one place of an axis, as a sum. If the axis is split, devices add a few
        numbers; for a slice, each of them would gather the whole array.
        """
        aval, sizes = x.aval, list(x.aval.shape)
        last = self.constant(sizes[axis] - 1, start.aval.dtype)
        start = self.op("minimum", start, last, out=start.aval)
        start = self.op("maximum", start, self.constant(0, start.aval.dtype), out=start.aval)
        places = self.iota(aval.shape, axis, start.aval.dtype)
        there = self.compare(places, self.splat(start, aval.shape), "EQ")
        kept = self.select(there, x, self.constant(0, aval.dtype, aval.shape))
        sizes[axis] = 1
        zero = self.constant(0, aval.dtype)
        return self.reshape(self._reduce_by("stablehlo.add", kept, zero, (axis,)), tuple(sizes))

    def dynamic_update_slice(self, x: Value, u: Value, starts: Values) -> Value:
        """Update a slice. XLA clamps the starts so that the update fits."""
        if _reads_renamed(x, u):
            return self._update_apart(x, u, starts)
        return self.op("stablehlo.dynamic_update_slice", x, u, *starts, out=x.aval)

    def _update_apart(self, x: Value, u: Value, starts: Values) -> Value:
        """The same by writing to separate memory and selecting."""
        zeros = self.constant(0, x.aval.dtype, x.aval.shape)
        out = self.op("stablehlo.dynamic_update_slice", zeros, u, *starts, out=x.aval)
        for axis, (n, size) in enumerate(zip(x.aval.shape, u.aval.shape, strict=True)):
            if size < n:
                place = self.iota(x.aval.shape, axis, starts[axis].aval.dtype)
                first = self.splat(starts[axis], x.aval.shape)
                limit = self.constant(size, place.aval.dtype, x.aval.shape)
                after = self.compare(place, first, "LT")
                before = self.compare(
                    self.op("subtract", place, first, out=place.aval), limit, "GE"
                )
                out = self.select(self.or_(after, before), x, out)
        return out

    def pad(
        self,
        x: Value,
        value: Value,
        low: Sequence[int],
        high: Sequence[int],
        interior: Sequence[int] | None = None,
    ) -> Value:
        interior = [0] * x.aval.ndim if interior is None else interior
        shape = tuple(
            lo + hi + d + max(0, d - 1) * i
            for d, lo, hi, i in zip(x.aval.shape, low, high, interior, strict=True)
        )
        if self.mesh is not None:
            x, interior = self._apart(x, value, interior), [0] * x.aval.ndim
            starts = [max(0, -n) for n in low]
            limits = [n - max(0, -h) for n, h in zip(x.aval.shape, high, strict=True)]
            if any(start >= limit for start, limit in zip(starts, limits, strict=True)):
                return self.splat(value, shape)
            # where each device has all of x, XLA takes another part of it if an edge is cut
            x = self.slice(x, starts, limits)
            low, high = [max(0, n) for n in low], [max(0, n) for n in high]
        return self.op(
            "stablehlo.pad", x, value,
            out=aval_of(shape, x.aval.dtype),
            attrs=f"edge_padding_high = {ints(high)}, edge_padding_low = {ints(low)}, "
            f"interior_padding = {ints(interior)}",
        )  # fmt: skip

    def _apart(self, x: Value, value: Value, interior: Sequence[int]) -> Value:
        """x with the value between its elements. Where a result is split, XLA loses some elements
        that such a pad moves apart, or fails to compile it. So each element becomes a short row.
        """
        for axis, more in enumerate(interior):
            *lead, n = x.aval.shape[: axis + 1]
            tail = x.aval.shape[axis + 1 :]
            if not more or n < 2:
                continue
            rows = self.reshape(x, (*lead, n, 1, *tail))
            none = [0] * rows.aval.ndim
            beyond = list(none)
            beyond[axis + 1] = more
            row = self.reshape(self.pad(rows, value, none, beyond), (*lead, n * (more + 1), *tail))
            x = self._rows(row, axis, 0, n * (more + 1) - more)
        return x

    # -- reductions and sorting ----------------------------------------------------------------

    def reduce(
        self, xs: Values, inits: Values, axes: Sequence[int], body: Body, name: str = ""
    ) -> list[Value]:
        """`body(b, accs, elems) -> values`, all 0-d; it must not refer to computed outer values.

        name: of the one operation that the body is. XLA reduces over several devices only by some
        of these, so for all others the axes are made whole.
        """
        axes = tuple(sorted(axes))
        bits = name in _OF_BITS and xs[0].aval.dtype.kind != "b"
        if self.mesh is not None and (bits or name not in _ACROSS_DEVICES):
            xs = [self.whole(x, axes) for x in xs]
        shape = tuple(d for i, d in enumerate(xs[0].aval.shape) if i not in axes)
        scalars = [v.aval for v in inits]
        n = len(xs)
        region = self.region(scalars * 2, lambda b, args: body(b, args[:n], args[n:]))
        outs = [aval_of(shape, x.aval.dtype) for x in xs]
        return list(
            self.op(
                "stablehlo.reduce", *xs, *inits,
                out=outs, attrs=f"dimensions = {ints(axes)}", regions=[region],
            )
        )  # fmt: skip

    def whole(self, x: Value, axes: Sequence[int]) -> Value:
        """The value with these axes on each device in full."""
        parts = ["{}" if axis in axes else "{?}" for axis in range(x.aval.ndim)]
        return self.constrained(x, f"#sdy.sharding<@mesh, [{', '.join(parts)}]>")

    def evenly(self, x: Value) -> Value:
        """The value with axes that the devices do not divide evenly on each device in full. Where
        XLA splits one of those, it scatters what it has filled the last part up with, or aborts.
        """
        if self.mesh is None:
            return x
        uneven = [a for a, n in enumerate(x.aval.shape) if n % self.mesh.size]
        return self.whole(x, uneven) if uneven else x

    def constrained(self, x: Value, sharding: str) -> Value:
        """The value, split over the mesh as the text says."""
        if self.mesh is None:
            return x
        return self.op("sdy.sharding_constraint", x, out=x.aval, attrs=f"sharding = {sharding}")

    def reduce_max(self, x: Value, axes: Sequence[int]) -> Value:
        """The largest element, or nan if there is one; x is real or bool."""
        return self._reduce_extremum("stablehlo.maximum", x, axes)

    def reduce_min(self, x: Value, axes: Sequence[int]) -> Value:
        """The smallest element, or nan if there is one; x is real or bool."""
        return self._reduce_extremum("stablehlo.minimum", x, axes)

    def is_wide(self, x: Aval, axes: Sequence[int]) -> bool:
        """Whether the reduction turns few rows into a wide one. XLA's loop over such rows is 15 to
        70 times slower than NumPy's (6 rows of 100 000: 5.8 ms; 100 of 10 000: 3.0 ms); `folded` is
        as fast as NumPy.
        """
        if not self.platform.host or not axes or max(axes) == x.ndim - 1:
            return False
        rows = math.prod(x.shape[a] for a in axes)
        return 1 < rows <= _FEW_ROWS and x.size >= rows * _WIDE

    def folded(self, name: str, x: Value, axes: Sequence[int]) -> Value:
        """Reduce by an elementwise operation on halves; a sum has the error of pairwise
        summation.
        """
        for axis in axes:
            rest = []
            while (n := x.aval.shape[axis]) > 1:
                half = n // 2
                if n % 2:
                    rest.append(self._rows(x, axis, n - 1, n))
                first, second = self._rows(x, axis, 0, half), self._rows(x, axis, half, 2 * half)
                x = self.binary(name, first, second)
            for row in rest:
                x = self.binary(name, x, row)
        kept = tuple(n for a, n in enumerate(x.aval.shape) if a not in axes)
        return self.reshape(x, kept)

    def _rows(self, x: Value, axis: int, start: int, stop: int) -> Value:
        starts, limits = [0] * x.aval.ndim, list(x.aval.shape)
        starts[axis], limits[axis] = start, stop
        return self.slice(x, starts, limits)

    def _reduce_extremum(self, name: str, x: Value, axes: Sequence[int]) -> Value:
        """XLA's library reduction loses nan but is fast: on 1e6 float32 it takes the time of
        np.max. A reducer that keeps nan takes 8 times that, and compiles for 25 to 40 ms. So
        combine the library's reduction with the sum of squares, which is nan exactly if an element
        is: 1.6 times np.max, 11 ms. Small arrays do not use the library, and one loop compiles
        faster than two.
        """
        if self.is_wide(x.aval, axes) and self.mesh is None:
            return self.folded(name, x, axes)
        dtype, sign = x.aval.dtype, -1 if name == "stablehlo.maximum" else 1
        if dtype.kind == "f":
            init = self.constant(sign * np.inf, dtype)
        elif dtype.kind == "b":
            init = self.constant(sign > 0, dtype)
        else:
            limits = np.iinfo(dtype)
            init = self.constant(limits.max if sign > 0 else limits.min, dtype)
        if self.mesh is not None:
            return self._extremum_across(name, x, init, axes)
        if dtype not in _LIBRARY_DTYPES or x.aval.size <= _SMALL or not self.platform.host:
            return self._reduce_by(name, x, init, axes)
        extremum = self._reduce_by(name, x, init, axes, spelled_out=False)
        squares = self.op("stablehlo.multiply", x, x, out=x.aval)
        witness = self._reduce_by("stablehlo.add", squares, self.constant(0, dtype), axes)
        nan = self.constant(np.nan, dtype, extremum.aval.shape)
        return self.select(self.compare(witness, witness, "NE"), nan, extremum)

    def _extremum_across(self, name: str, x: Value, init: Value, axes: Sequence[int]) -> Value:
        """The extremum over several devices: theirs loses nan, so whether there is one is asked
        apart.
        """
        dtype = x.aval.dtype
        if dtype.kind == "b":
            name = "stablehlo.or" if name == "stablehlo.maximum" else "stablehlo.and"
        extremum = self._reduce_by(name, x, init, axes, spelled_out=False)
        if dtype.kind != "f":
            return extremum
        wrong = self.compare(x, x, "NE")
        none = self.constant(False, wrong.aval.dtype)
        found = self._reduce_by("stablehlo.or", wrong, none, axes, spelled_out=False)
        return self.select(found, self.constant(np.nan, dtype, extremum.aval.shape), extremum)

    def _reduce_by(
        self, name: str, x: Value, init: Value, axes: Sequence[int], spelled_out: bool = True
    ) -> Value:
        def body(b: Structure, accs: Values, elems: Values) -> Value:
            if spelled_out:
                return b.binary(name, accs[0], elems[0])
            return b.op(name, accs[0], elems[0], out=accs[0].aval)

        return self.reduce([x], [init], axes, body, name)[0]

    def reduce_window(
        self,
        x: Value,
        init: Value,
        body: Body,
        window: Sequence[int],
        strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
    ) -> Value:
        """`body(b, acc, elem) -> value`."""
        shape = tuple(
            max(0, (d + lo + hi - w) // s + 1)
            for d, w, s, (lo, hi) in zip(x.aval.shape, window, strides, padding, strict=True)
        )
        pairs = "[" + ", ".join(dims(p) for p in padding) + "]"
        return self.op(
            "stablehlo.reduce_window", x, init,
            out=[aval_of(shape, x.aval.dtype)],
            attrs=f"padding = dense<{pairs}> : tensor<{len(padding)}x2xi64>, "
            f"window_dimensions = {ints(window)}, window_strides = {ints(strides)}",
            regions=[self.region([init.aval] * 2, lambda b, args: body(b, *args))],
        )[0]  # fmt: skip

    def sort(self, xs: Values, axis: int, comparator: Body, stable: bool = True) -> list[Value]:
        """`comparator(b, lhs, rhs) -> bool value`: whether lhs sorts strictly before rhs."""
        scalars = [aval_of((), x.aval.dtype) for x in xs for _ in "lr"]
        region = self.region(scalars, lambda b, args: comparator(b, args[::2], args[1::2]))
        return list(
            self.op(
                "stablehlo.sort", *xs,
                out=[x.aval for x in xs],
                attrs=f"dimension = {axis} : i64, is_stable = {flag(stable)}",
                regions=[region],
            )
        )  # fmt: skip

    # -- indexing ------------------------------------------------------------------------------

    def gather(
        self,
        x: Value,
        indices: Value,
        *,
        offset_dims: Sequence[int],
        collapsed_slice_dims: Sequence[int],
        start_index_map: Sequence[int],
        index_vector_dim: int,
        slice_sizes: Sequence[int],
        operand_batching_dims: Sequence[int] = (),
        start_indices_batching_dims: Sequence[int] = (),
        indices_are_sorted: bool = False,
    ) -> Value:
        """StableHLO's gather. XLA clamps indices that are out of bounds."""
        dropped = {*collapsed_slice_dims, *operand_batching_dims}
        window = [s for i, s in enumerate(slice_sizes) if i not in dropped]
        batch = [d for i, d in enumerate(indices.aval.shape) if i != index_vector_dim]
        offsets, batches = iter(window), iter(batch)
        rank = len(window) + len(batch)
        shape = tuple(next(offsets if i in offset_dims else batches) for i in range(rank))
        numbers = (
            f"#stablehlo.gather<offset_dims = {dims(offset_dims)}, "
            f"collapsed_slice_dims = {dims(collapsed_slice_dims)}, "
            f"operand_batching_dims = {dims(operand_batching_dims)}, "
            f"start_indices_batching_dims = {dims(start_indices_batching_dims)}, "
            f"start_index_map = {dims(start_index_map)}, index_vector_dim = {index_vector_dim}>"
        )
        return self.op(
            "stablehlo.gather", x, indices,
            out=aval_of(shape, x.aval.dtype),
            attrs=f"dimension_numbers = {numbers}, "
            f"indices_are_sorted = {flag(indices_are_sorted)}, slice_sizes = {ints(slice_sizes)}",
        )  # fmt: skip

    def scatter(
        self,
        x: Value,
        indices: Value,
        updates: Value,
        body: Body,
        *,
        update_window_dims: Sequence[int],
        inserted_window_dims: Sequence[int],
        scatter_dims_to_operand_dims: Sequence[int],
        index_vector_dim: int,
        input_batching_dims: Sequence[int] = (),
        scatter_indices_batching_dims: Sequence[int] = (),
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Value:
        """`body(b, current, update) -> value`. XLA drops updates that are out of bounds."""
        numbers = (
            f"#stablehlo.scatter<update_window_dims = {dims(update_window_dims)}, "
            f"inserted_window_dims = {dims(inserted_window_dims)}, "
            f"input_batching_dims = {dims(input_batching_dims)}, "
            f"scatter_indices_batching_dims = {dims(scatter_indices_batching_dims)}, "
            f"scatter_dims_to_operand_dims = {dims(scatter_dims_to_operand_dims)}, "
            f"index_vector_dim = {index_vector_dim}>"
        )
        scalar = aval_of((), x.aval.dtype)
        x, indices, updates = map(self.evenly, (x, indices, updates))
        return self.op(
            "stablehlo.scatter", x, indices, updates,
            out=[x.aval],
            attrs=f"indices_are_sorted = {flag(indices_are_sorted)}, "
            f"scatter_dimension_numbers = {numbers}, unique_indices = {flag(unique_indices)}",
            regions=[self.region([scalar] * 2, lambda b, args: body(b, *args))],
        )[0]  # fmt: skip
