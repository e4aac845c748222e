"""NumPy's kernels without its warnings: the user's state is as it was, whatever happens."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

from lazynp._quiet import quiet_context, quiet_result, quietly


def _divide(x: Any) -> Any:
    return numpy.divide(x, numpy.zeros(2))


ONES = numpy.ones(2)


@pytest.mark.parametrize("state", ["warn", "raise", "ignore"])
def test_nothing_is_said_and_nothing_changed(state: Any) -> None:
    with numpy.errstate(all=state), warnings.catch_warnings():
        warnings.simplefilter("error")
        before = numpy.geterr()
        assert numpy.isinf(quietly(_divide, [ONES])).all()
        assert numpy.isinf(quiet_result(quiet_context(), _divide, ONES)).all()
        assert numpy.geterr() == before


def test_parameters_are_passed() -> None:
    assert quietly(numpy.sum, [numpy.ones((2, 3))], axis=0).tolist() == [2.0, 2.0, 2.0]


def test_errors_come_through() -> None:
    def fails(_: Any) -> Any:
        raise RuntimeError("of the function")

    before = numpy.geterr()
    for call in (lambda: quietly(fails, [1]), lambda: quiet_result(quiet_context(), fails, 1)):
        with pytest.raises(RuntimeError, match="of the function"):
            call()
    assert numpy.geterr() == before


def test_a_context_in_use_is_done_without() -> None:
    """A destructor may ask for a value while one is computed."""
    quiet = quiet_context()

    def again(x: Any) -> Any:
        return quiet_result(quiet, _divide, x)

    assert numpy.isinf(quiet_result(quiet, again, ONES)).all()
