"""Sums of products of matrices, where a factor is one number in every place: XLA misreads it."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.lowering import _misread

pytestmark = pytest.mark.own_policy

X = numpy.random.default_rng(3).normal(size=(64, 64))
S = numpy.array(1.5)


def in_loop(np: Any, x: Any, s: Any) -> Any:
    factor, total = np.full((64, 64), 2.0), 0.0
    for _ in range(20):
        total = total * 0.5 + (x @ factor).sum()
    return total


PROGRAMS = {
    "a constant": lambda np, x, s: (x @ np.ones((64, 64))).sum(),
    "a number known at the call": lambda np, x, s: (x @ np.full((64, 64), s)).sum(0),
    "a number computed": lambda np, x, s: (x @ np.full((64, 64), x.sum())).sum(1),
    "a broadcast": lambda np, x, s: (x @ np.broadcast_to(s, (64, 64))).sum(),
    "a slice": lambda np, x, s: (x @ np.full((128, 64), 2.0)[::2]).sum(),
    "negative": lambda np, x, s: (x @ -np.ones((64, 64))).sum(),
    "zeros": lambda np, x, s: (x @ np.zeros((64, 64))).sum(),
    "few rows": lambda np, x, s: (x[:, :3] @ np.ones((3, 64))).sum(),
    "of float32": lambda np, x, s: (x.astype("f4") @ np.ones((64, 64), "f4")).sum(0),
    "after a product": lambda np, x, s: (x @ x @ np.ones((64, 64))).sum(),
    "before absolute values": lambda np, x, s: abs(x @ np.ones((64, 64))).sum(),
    "stacks": lambda np, x, s: np.matmul(np.stack([x, x]), np.ones((2, 64, 64))).sum(2),
    "one of a stack": lambda np, x, s: np.matmul(np.stack([x, x]), np.ones((64, 64))).sum(),
    "beside another sum": lambda np, x, s: (x @ np.ones((64, 64))).sum() + (x + 1).sum(),
    "a row, a column": lambda np, x, s: (x @ np.broadcast_to(x[0], (64, 64))).sum(0),
    "both": lambda np, x, s: (np.ones((64, 64)) @ np.ones((64, 64)) + x).sum(),
    "in a loop": in_loop,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_of_products_with_one_number(name: str) -> None:
    program = PROGRAMS[name]
    with np.config(execution="compiled"):
        got = numpy.asarray(np.jit(lambda x, s: program(np, x, s))(np.asarray(X), np.asarray(S)))
    want = program(numpy, X, S)
    rtol = 1e-4 if numpy.asarray(want).dtype == numpy.float32 else 1e-9
    numpy.testing.assert_allclose(got, want, rtol, rtol * 1e3)


def test_gradient_whose_cotangent_is_one_number() -> None:
    def total(x: Any) -> Any:
        return np.grad(lambda w: (x.T @ w).sum())(np.zeros((64, 64))).sum(1)

    with np.config(execution="compiled"):
        got = numpy.asarray(np.jit(total)(np.asarray(X)))
    numpy.testing.assert_allclose(got, X.sum(1) * 64, 1e-9, 1e-9)


def optimised(function: Any) -> str:
    return str(np.jit(function).lower(np.asarray(X)).compile().as_text())


def test_only_programs_that_are_misread_are_compiled_again() -> None:
    fused = optimised(lambda x: (x @ x + 1).sum())
    apart = optimised(lambda x: (x @ np.ones((64, 64))).sum())
    assert not _misread.is_misread(fused)
    assert not _misread.is_misread(apart)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_misread, "is_misread", lambda text: False)
        with np.config(cache="off"):
            misread = optimised(lambda x: (x @ np.full((64, 64), 3.0)).sum())
    if "__ynn_fusion" in misread:  # later releases of jaxlib may fuse otherwise
        assert _misread.is_misread(misread)
