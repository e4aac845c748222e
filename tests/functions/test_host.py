"""Functions that NumPy runs write into memory that lies as NumPy's would."""

from __future__ import annotations

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
