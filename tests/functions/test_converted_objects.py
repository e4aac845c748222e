"""Objects whose `__array__` gives an array of a class of its own."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp

pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of matrices

GIVEN = {
    "derived": lambda np, kind: np.arange(4.0).reshape(2, 2).view(kind),
    "matrix": lambda np, kind: np.asmatrix(np.arange(4.0).reshape(2, 2)),
    "masked": lambda np, kind: np.ma.array([[1.0, 2.0]], mask=[[True, False]]),
    "records": lambda np, kind: np.zeros(2, "i4,f4").view(np.recarray),
    "array": lambda np, kind: np.arange(4.0),
    "number": lambda np, kind: np.array(2.0),
}
HOW = [
    "np.asanyarray(o)",
    "np.asarray(o)",
    "np.array(o)",
    "np.array(o, subok=True)",
    "np.array(o, subok=True, ndmin=3)",
    "np.array(o, order='F')",
    "np.asanyarray(o, order='F')",
    "np.ascontiguousarray(o)",
    "np.copy(o)",
    "np.copy(o, subok=True)",
    "np.require(o)",
    "np.asanyarray(o)[0] + np.asanyarray(o)",
]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", GIVEN)
def test_the_class_is_kept_where_numpy_keeps_it(name: str, how: str) -> None:
    def outcome(np: Any) -> Any:
        class Kind(np.ndarray):  # type: ignore[name-defined,misc]
            pass

        class Object:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                return GIVEN[name](np, Kind)

        try:
            made = eval(how, {"np": np, "o": Object()})
        except Exception as error:  # whichever it is
            return type(error)
        kind: Any = type(made)
        return kind.__name__.replace("Scalar", "float64"), made.dtype, made.shape, made.tolist()

    if name == "number" and how == HOW[-1]:
        how = "np.asanyarray(o) + 1"
    assert outcome(lazynp) == outcome(numpy)
