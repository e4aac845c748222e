"""ranked and argranked: as the sort and the stable argsort have these elements, and their rules."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.primitives.ranks import argranked, ranked
from tests.primitives.harness import run_lowered
from tests.primitives.rules import check_batch, check_jvp


def _rows(kind: str, length: int) -> Any:
    rng = numpy.random.default_rng(length)
    x = rng.normal(size=(3, length))
    if kind == "few":
        x = x.round()
    elif kind == "nan":
        x[1, ::3] = numpy.nan
    elif kind == "signed zeros":
        x = numpy.where(rng.random(x.shape) < 0.5, 0.0, -0.0)
    elif kind == "integers":
        return rng.integers(-5, 5, size=x.shape)
    elif kind == "complex":
        return x.round(1) + 1j * x[::-1]
    return x


@pytest.mark.parametrize("length", [1, 4, 300, 301])
@pytest.mark.parametrize("kind", ["floats", "few", "nan", "signed zeros", "integers", "complex"])
def test_they_are_elements_of_the_sorted_rows(kind: str, length: int) -> None:
    x = _rows(kind, length)
    ranks = (*range((length - 1) // 2, length // 2 + 1), length - 1, 0)
    order = numpy.argsort(x, axis=-1, kind="stable")
    want = numpy.take_along_axis(x, order, -1)[:, list(ranks)]
    with numpy.errstate(all="ignore"):
        for got in (ranked.reference(x, ranks=ranks), run_lowered(ranked, x, ranks=ranks)[0]):
            numpy.testing.assert_array_equal(got, want)
            if kind == "signed zeros":
                numpy.testing.assert_array_equal(numpy.signbit(got), numpy.signbit(want))
    places = order[:, list(ranks)]
    numpy.testing.assert_array_equal(argranked.reference(x, ranks=ranks), places)
    numpy.testing.assert_array_equal(run_lowered(argranked, x, ranks=ranks)[0], places)


def test_rules() -> None:
    x = numpy.random.default_rng(0).normal(size=(4, 5))
    check_jvp(ranked, (x,), (0,), ranks=(2, 4))
    for prim in (ranked, argranked):
        check_batch(prim, (numpy.stack([x, -x]),), (True,), ranks=(0, 3))
    with pytest.raises(ValueError, match="ranked: ranks below the length"):
        ranked(np.ones(3), ranks=(3,))


@pytest.mark.parametrize("length", [5, 6, 300, 301])
def test_the_derivative_of_a_median_is_that_of_the_sorted_elements(length: int) -> None:
    """Of equal elements, those that a stable sort has in the middle."""

    def by_sort(x: Any) -> Any:
        ordered = np.sort(x, axis=-1)
        return ordered[..., (length - 1) // 2 : length // 2 + 1].mean(-1).sum()

    for x in (_rows("floats", length), _rows("few", length)):
        x = np.array(x)
        for derive in (np.grad, lambda f: np.jit(np.grad(f)), np.jacfwd):
            got = derive(lambda x: np.median(x, axis=-1).sum())(x)
            numpy.testing.assert_array_equal(got, derive(by_sort)(x))
