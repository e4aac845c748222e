"""lazynp's own errors: what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazynp
from lazynp._errors import Failure, InternalError, Model, Shown, nan_error

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


class Coded(Exception):
    def __init__(self, code: int, why: str) -> None:
        super().__init__(f"{code}: {why}")
        self.code = code


def _bits(x: float) -> int:
    return int(np.float64(x).view(np.int64))


def test_a_model_gives_exceptions_like_the_one_that_it_was_made_of() -> None:
    first = Coded(3, "no")
    first.__cause__ = KeyError("k")
    model = Model(first, {}, {})
    one, other = model.error(()), model.error(())
    assert one is not other and one is not first
    assert type(one) is Coded and one.args == ("3: no",) and one.code == 3
    assert one.__cause__ is first.__cause__
    one.add_note("mine")
    assert not hasattr(other, "__notes__")


@pytest.mark.parametrize("error", [
    KeyError(), KeyError("k"), KeyError(3), OSError(2, "gone", "file"), SystemExit(3),
    StopIteration(1), UnicodeDecodeError("utf8", b"x", 0, 1, "bad"), ImportError("m", name="n"),
    ValueError("a", 1),
], ids=repr)  # fmt: skip
def test_models_of_builtin_exceptions(error: BaseException) -> None:
    made = Model(error, {}, {}).error(())
    assert type(made) is type(error) and made.args == error.args and str(made) == str(error)
    for name in ("errno", "filename", "code", "value", "reason", "name"):
        assert getattr(made, name, None) == getattr(error, name, None)


def test_what_stands_for_numbers_is_filled_in() -> None:
    number = object()
    half, count = Shown(0, np.dtype(np.float32), False), Shown(1, np.dtype(np.int64), True)
    text = "|0::| and |0:r:|, |1::04d|, |1%x|".replace("|", chr(0))
    error = ValueError(text, number)
    text, value = (
        Model(error, {0: half, 1: count}, {id(number): count}).error((_bits(0.5), 26)).args
    )
    assert text == "0.5 and np.float32(0.5), 0026, 1a"
    assert type(value) is int and value == 26


def test_models_are_equal_if_their_exceptions_are() -> None:
    def model(*args: Any) -> Model:
        return Model(ValueError(*args), {}, {})

    assert model("a", 1) == model("a", 1) and hash(model("a")) == hash(model("a"))
    assert model(1) != model(True) and model("a") != model("b")
    assert model([1], np.arange(3)) != model([1], np.arange(3))


@pytest.mark.parametrize("name", [
    "checkpoint", "grad", "jacfwd", "jacrev", "jit", "make_jaxpr", "value_and_grad", "vmap",
])  # fmt: skip
def test_what_is_no_function_is_refused_where_it_is_given(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: a callable is required, got 3"):
        getattr(lazynp, name)(3)


@pytest.mark.parametrize("body, what", [
    (lambda i, x: (x, x), r"trees of one structure, got \* and \(\*, \*\)"),
    (lambda i, x: lazynp.append(x, i), r"the same types, but leaf 0 is f64\[2\] and f64\[3\]"),
])  # fmt: skip
def test_the_value_of_a_fori_loop_is_named_as_the_user_knows_it(body: Any, what: str) -> None:
    value = "the value and the value that the body returns"
    with pytest.raises(TypeError, match=f"^fori_loop: {value} must (be|have) {what}$"):
        lazynp.fori_loop(0, 3, body, lazynp.ones(2))
