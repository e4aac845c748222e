"""lazynp's own errors: what they say."""

from __future__ import annotations

import pytest

from lazynp._errors import Failure, InternalError, nan_error

CODE = compile("\n\nf()\n", "user.py", "exec")


@pytest.mark.parametrize("length, cut", [(10, False), (30_000, True)])
def test_an_internal_error_shows_the_module(length: int, cut: bool) -> None:
    shown = str(InternalError("it broke", "m" * length))
    assert shown.startswith("it broke\n--- module ---\nm") and shown.endswith("...") is cut
    assert str(InternalError("it broke")) == "it broke"


def test_a_nan_names_the_line() -> None:
    offset = next(begin for begin, _, line in CODE.co_lines() if line == 3)
    assert "recorded at user.py:3" in str(nan_error("log", CODE, offset))
    assert "a place that is not known" in str(nan_error("log", None, 0))


def test_a_failure_names_the_value_at_fault() -> None:
    error = Failure(IndexError, "index {} is out of bounds", "user.py:3").error(7)
    assert type(error) is IndexError and str(error) == "index 7 is out of bounds"
    assert error.__notes__ == ["in a traced function, recorded at user.py:3"]
