"""`testing` compares arrays of derived classes by the ufuncs of the class, as NumPy's does."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp

PROGRAMS = """
t.assert_array_equal(m, c)
t.assert_equal(m, c)
t.assert_almost_equal(m, c)
t.assert_array_almost_equal(m, c)
t.assert_allclose(m, c)
t.assert_allclose(desired=m, actual=c)
t.assert_array_less(m, c)
t.assert_array_less(m, c * 2)
t.assert_allclose(m, [1, 2, 3])
t.assert_allclose(m, [1, 2, 4])
t.assert_equal(c, c)
t.assert_array_equal(n, n)
t.assert_allclose(n, n)
t.assert_equal([m, m], [c, c])
t.assert_equal({"a": m}, {"a": c})
t.assert_array_equal(m, c[:2])
t.assert_array_equal(m, 1.0)
t.assert_array_max_ulp(m, c)
t.assert_equal(m, 3 * c)
""".strip().split("\n")


def measured(m: Any) -> Any:
    """A class of lengths with a factor."""

    class Length(m.ndarray):
        factor: Any

        def __array_finalize__(self, source: Any) -> None:
            self.factor = getattr(source, "factor", 1.0)

        def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
            if "out" in options:
                options["out"] = tuple([o.view(m.ndarray) for o in options["out"]])
            bare = [x.view(m.ndarray) * x.factor if isinstance(x, Length) else x for x in inputs]
            done = getattr(function, method)(*bare, **options)
            return of(done) if isinstance(done, m.ndarray) and done.dtype == float else done

    def of(values: Any, factor: float = 1.0) -> Any:
        made = m.asarray(values, float).view(Length)
        made.factor = factor
        return made

    return of


@pytest.mark.parametrize("program", PROGRAMS)
def test_arrays_are_compared_by_the_ufuncs_of_their_class(program: str) -> None:
    def outcome(m: Any) -> Any:
        of = measured(m)
        names = {
            "t": m.testing, "m": of([1.0, 2, 3]), "c": of([100.0, 200, 300], 0.01),
            "n": of([1.0, numpy.nan]),
        }  # fmt: skip
        try:
            return eval(program, names)
        except AssertionError as error:
            return str(error).split("ACTUAL")[0].split(" 0:")[0]

    assert outcome(lazynp) == outcome(numpy)
