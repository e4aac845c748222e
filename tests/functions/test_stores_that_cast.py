"""Arrays stored into arrays of other dtypes: NumPy's values, its error, its warning of complex
numbers, and no other warning. With what an eager loop does, and without.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import be_eager

DTYPES = "?bBhHiIlLefdFD"
VALUES: list[list[float]] = [[0, 1, 2], [-1, 2.5, 300], [1e300, numpy.nan, numpy.inf]]


def row(x: Any, v: Any) -> None:
    x[1] = v


def columns(x: Any, v: Any) -> None:
    x[:, 1:] = v[1:]


def rows_by_index(x: Any, v: Any) -> None:
    x[[0, 2]] = v


def through_a_view(x: Any, v: Any) -> None:
    x[1][...] = v


def of_its_own(x: Any, v: Any) -> None:
    x[0] = v
    x[1] = v[::-1]
    x.T[0] = x[1, 0]


FORMS: list[Callable[[Any, Any], None]] = [row, columns, rows_by_index, through_a_view, of_its_own]


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("into", DTYPES)
def test_as_numpy(into: str, form: Callable[[Any, Any], None], eager: bool) -> None:
    be_eager(eager)
    for of in DTYPES:
        for values in VALUES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                source = numpy.array(values).astype(of)
            found: list[Any] = []
            for module in (np, numpy):
                x, v = module.zeros((4, 3), into), module.asarray(source.copy())
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    try:
                        form(x, v)
                        error = None
                    except Exception as wrong:
                        error = type(wrong)
                kinds = [w.category.__name__ for w in said]
                told = "ComplexWarning" in kinds
                found.append((error, numpy.asarray(x).tobytes(), told, {*kinds}))
            assert found[0][:3] == found[1][:3], (into, of, values)
            assert found[0][3] <= found[1][3], (into, of, values)  # what is recorded warns of less
