"""Generators of NumPy's, which are not lazynp's, and arrays of lazynp."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy
import pytest
from numpy.random import RandomState, default_rng

import lazynp as np


@pytest.mark.parametrize("made", [default_rng, RandomState])
@pytest.mark.parametrize("rows", [slice(None), slice(1, None)])
def test_rows_are_not_lost(made: Any, rows: slice) -> None:
    x = np.arange(8.0).reshape(4, 2)
    with warnings.catch_warnings(), pytest.raises(TypeError, match="use lazynp.random"):
        warnings.simplefilter("ignore")
        made(0).shuffle(x[rows])
    assert x.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    x[0], x[1] = x[1], x[0].copy()
    assert x.tolist() == [[2, 3], [0, 1], [4, 5], [6, 7]]


@pytest.mark.parametrize("made", [default_rng, RandomState])
def test_elements_are_shuffled_as_a_list(made: Any) -> None:
    x, wanted = np.arange(8.0), list(numpy.arange(8.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made(0).shuffle(x)
    made(0).shuffle(wanted)
    assert x.tolist() == wanted


def test_ours_shuffles_rows() -> None:
    x, wanted = np.arange(8.0).reshape(4, 2), numpy.arange(8.0).reshape(4, 2)
    np.random.default_rng(0).shuffle(x)
    default_rng(0).shuffle(wanted)
    assert x.tolist() == wanted.tolist()


def test_other_stores_of_rows_are_no_shuffling() -> None:
    x = np.arange(8.0).reshape(4, 2)
    np.random.default_rng(0).shuffle(np.arange(3))
    x.__setitem__(0, x[1])
    x.__setitem__(slice(1, 3), x[2:])
    operator.setitem(x, 3, x[0])
    assert x.tolist() == [[2, 3], [4, 5], [6, 7], [2, 3]]
