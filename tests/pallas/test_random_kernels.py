"""Random kernels: statements on Refs, branches and loops, against the loop in NumPy; derivatives
against differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from hypothesis import given, settings, strategies as st

import lazynp as np
import lazynp.pallas as pl
from tests.pallas.oracle import by_loop

S, B = np.ShapeDtype, pl.BlockSpec
N = 4  # elements of a block
INDICES = st.sampled_from([..., 0, 2, -1, slice(1, 3), slice(None, None, 2), "id", "ds"])
Statement = tuple[Any, ...]


def statements(depth: int) -> Any:
    simple = st.tuples(
        st.sampled_from(["store", "add", "scale", "swap", "mask", "atomic"]),
        st.sampled_from(["o", "s"]), INDICES, st.sampled_from(["x", "o", "s"]), INDICES,
    )  # fmt: skip
    if not depth:
        return st.lists(simple, min_size=1, max_size=3)
    inner = statements(depth - 1)
    nested = st.one_of(
        st.tuples(st.just("when"), st.integers(0, 2), inner),
        st.tuples(st.just("loop"), st.integers(0, 3), inner),
    )
    return st.lists(st.one_of(simple, nested), min_size=1, max_size=4)


def kernel_of(program: list[Statement]) -> Callable[..., None]:
    """A kernel that runs on Refs and on NumPy's views alike."""

    def kernel(x: Any, _: Any, o: Any, s: Any) -> None:
        lazy = not isinstance(o, numpy.ndarray)

        @pl.when(pl.program_id(0) == 0)
        def _() -> None:
            s[...] = 0.5

        _run(program, {"x": x, "o": o, "s": s}, pl.program_id(0), lazy)

    return kernel


def _run(program: list[Statement], refs: dict[str, Any], number: Any, lazy: bool) -> None:
    """number: of the program, or of the round of a loop; it is in bounds of a block."""
    for statement in program:
        kind, *rest = statement
        if kind == "when":
            limit, inner = rest
            pl.when(number > limit)(lambda inner=inner: _run(inner, refs, number, lazy))
        elif kind == "loop":
            count, inner = rest
            if lazy:
                pl.loop(0, count)(lambda i, inner=inner: _run(inner, refs, i, lazy))
            else:
                for i in range(count):
                    _run(inner, refs, i, lazy)
        else:
            _simple(kind, *rest, refs, number, lazy)


def _simple(
    kind: str, name: str, to: Any, source: str, of: Any, refs: dict[str, Any], number: Any,
    lazy: bool,
) -> None:  # fmt: skip
    target, to = refs[name], _index(to, number, lazy)
    value = numpy.tanh(refs[source][_index(of, number, lazy)]).sum()
    if kind == "store":
        target[to] = value
    elif kind == "add":
        target[to] += value
    elif kind == "scale":
        target[to] = target[to] * 0.5 + value * target[0]
    elif kind == "swap":
        old = pl.swap(target, to, value) if lazy else numpy.copy(target[to])
        if not lazy:
            target[to] = value
        target[0] += numpy.sum(old)
    elif kind == "mask":
        mask = numpy.arange(N) % 2 == 0
        if lazy:
            pl.store(target, pl.ds(number, N), value, mask=mask & (number + np.arange(N) < N))
        else:
            for k in range(N - number):
                if mask[k]:
                    target[number + k] = value
    elif lazy:
        pl.atomic_add(target, (np.asarray([0, 1, 1]),), value)
    else:
        numpy.add.at(target, [0, 1, 1], value)


def _index(index: Any, number: Any, lazy: bool) -> Any:
    if index == "id":
        return number
    if index == "ds":
        return pl.ds(number, 1) if lazy else slice(number, number + 1)
    return index


def options(visits: int) -> dict[str, Any]:
    """Three programs; each block of the output is visited so often."""
    return {
        "grid": (3,), "in_specs": [B((N,), lambda i: i), None],
        "out_specs": [B((N,), lambda i: i // visits)], "scratch_shapes": [pl.VMEM((N,), "f8")],
        "input_output_aliases": {1: 0},
    }  # fmt: skip


@settings(max_examples=10, deadline=None)
@given(statements(2), st.sampled_from([1, 3]), st.sampled_from([False, True]))
def test_values(program: list[Statement], visits: int, interpret: bool) -> None:
    kernel, out = kernel_of(program), [S((12,), "f8")]
    args = [numpy.linspace(-1, 1, 12), numpy.linspace(0, 1, 12)]
    call = pl.pallas_call(kernel, out, interpret=interpret, **options(visits))
    (want,) = by_loop(kernel, out, args, **options(visits))
    numpy.testing.assert_allclose(call(*args)[0], want, rtol=1e-9, atol=1e-12)
    with np.disable_jit():
        numpy.testing.assert_allclose(call(*args)[0], want, rtol=1e-9, atol=1e-12)


@settings(max_examples=3, deadline=None)
@given(statements(1), st.sampled_from([1, 3]))
def test_derivatives(program: list[Statement], visits: int) -> None:
    call = pl.pallas_call(kernel_of(program), [S((12,), "f8")], **options(visits))
    x, y = numpy.linspace(-1, 1, 12), numpy.linspace(0, 1, 12)
    dx, dy = numpy.cos(numpy.arange(12.0)), numpy.sin(numpy.arange(12.0))

    def f(x: Any, y: Any) -> Any:
        return (call(x, y)[0] * np.linspace(1, 2, 12)).sum()

    h = 1e-6
    want = (float(f(x + h * dx, y + h * dy)) - float(f(x - h * dx, y - h * dy))) / (2 * h)
    _, forward = np.jvp(f, (x, y), (dx, dy))
    gx, gy = np.grad(f, argnums=(0, 1))(x, y)
    numpy.testing.assert_allclose(float(forward), want, rtol=1e-4, atol=1e-6)
    numpy.testing.assert_allclose(float(gx @ dx + gy @ dy), float(forward), rtol=1e-9, atol=1e-12)
