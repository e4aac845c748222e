"""Functions that NumPy runs: memory lies as NumPy's would, operands are elements."""

from __future__ import annotations

import io
from typing import Any

import numpy
import pytest

import lazynp

FILLED = {
    "C": lambda np: np.zeros((2, 3)),
    "F": lambda np: np.zeros((2, 3), order="F"),
    "transposed": lambda np: np.zeros((2, 3)).T,
    "a sum in F": lambda np: np.ones((2, 3), order="F") * 2 + 1,
    "rows": lambda np: np.zeros((4, 3))[1:3],
    "columns": lambda np: np.zeros((2, 4))[:, 1:],
    "every second": lambda np: np.zeros(6)[::2],
    "backwards": lambda np: np.zeros(6)[::-1],
    "one": lambda np: np.zeros((4, 4))[1:2, 1:2],
    "0-d": lambda np: np.zeros(()),
    "none": lambda np: np.zeros((0, 3)),
}


@pytest.mark.parametrize("execution", ["adaptive", "compiled", "reference"])
@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize("method", ["random", "standard_normal", "standard_exponential"])
def test_generators_fill_memory_as_it_lies(method: str, name: str, execution: Any) -> None:
    def outcome(np: Any) -> Any:
        out = FILLED[name](np)
        try:
            assert getattr(np.random.default_rng(3), method)(out=out) is out
        except ValueError as error:
            return str(error), out.tolist()
        return numpy.asarray(out).tolist()

    with lazynp.config(execution=execution):
        assert outcome(lazynp) == outcome(numpy)


@pytest.mark.parametrize("name", ["isalpha", "isdigit", "str_len", "isspace"])
def test_positional_out_of_functions_of_text(name: str) -> None:
    def outcome(np: Any) -> Any:
        out = np.zeros(3, int if name == "str_len" else bool)
        assert getattr(np.strings, name)(np.array(["ab", "1", " "]), out) is out
        return out.tolist()

    assert outcome(lazynp) == outcome(numpy)


class Boxed:
    """An object whose `__array__` gives an array of the program's."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.x


def test_objects_that_give_lazy_arrays_are_elements() -> None:
    x = lazynp.array([1.0, 2.0])
    lazynp.testing.assert_allclose(Boxed(x), [1.0, 2.0])
    lazynp.testing.assert_array_equal([1.0, 2.0], Boxed(x))
    lazynp.testing.assert_array_less(Boxed(x), Boxed(x + 1))
    with pytest.raises(AssertionError):
        lazynp.testing.assert_array_equal(Boxed(x), [1.0, 3.0])
    assert lazynp.ma.array(Boxed(x)).tolist() == [1.0, 2.0]
    assert float(lazynp.random.default_rng(0).choice(Boxed(x[:1]))) == 1.0
    written = io.StringIO()
    lazynp.savetxt(written, Boxed(x), fmt="%d")
    assert written.getvalue() == "1\n2\n"


def test_objects_that_give_numpys_arrays_are_numpys_to_convert() -> None:
    class Counting(Boxed):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Counting)

    lazynp.testing.assert_equal(Counting(numpy.ones(2)), Counting(numpy.zeros(2)))
