"""Tracebacks: the user's frames alone, unless the error is a defect or all frames are asked for."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _tracebacks


@pytest.fixture(autouse=True)
def as_users_see_them(lazy: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tracebacks, "everything", False)


def files(function: Callable[[], Any], error: type[BaseException]) -> list[str]:
    """The files of the frames below this one."""
    with pytest.raises(error) as caught:
        function()
    return [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)][1:]


def ours(names: list[str]) -> list[str]:
    package = np.__file__.rsplit("__init__", 1)[0]
    return [name for name in names if name.startswith(package)]


WRONG = {
    "grad": (lambda: np.grad(lambda x: x**2)(np.ones(3)), TypeError),
    "value_and_grad": (lambda: np.value_and_grad(lambda x: x**2)(np.ones(3)), TypeError),
    "vmap": (lambda: np.vmap(lambda x, y: x + y)(np.ones(3), np.ones(4)), ValueError),
    "jit": (lambda: np.jit(lambda x: x.tolist())(np.ones(3)), TypeError),
    "jit of reshape": (lambda: np.jit(lambda x: x.reshape(4, 2))(np.ones(6)), ValueError),
    "jit of grad": (lambda: np.jit(np.grad(lambda x: x + x))(np.ones(3)), TypeError),
    "jvp": (lambda: np.jvp(lambda x: x, np.ones(3), np.ones(3)), TypeError),
    "hvp": (lambda: np.hvp(lambda x: x.sum(), np.ones(3), np.ones(3)), TypeError),
    "reshape": (lambda: np.ones((2, 3)).reshape(4, 2), ValueError),
    "np.reshape": (lambda: np.reshape(np.ones((2, 3)), (4, 2)), ValueError),
    "concatenate": (lambda: np.concatenate([np.ones((2, 2)), np.ones((3, 3))]), ValueError),
    "operator": (lambda: np.array(["a"]) * np.array(["b"]), TypeError),
    "unary operator": (lambda: -np.array(["a"]), TypeError),
    "inv": (lambda: np.linalg.inv(np.zeros((2, 2))), numpy.linalg.LinAlgError),
}


@pytest.mark.parametrize("name", WRONG)
def test_no_frame_is_ours(name: str) -> None:
    function, error = WRONG[name]
    found = files(function, error)
    assert found[0] == __file__
    assert not ours(found)


def test_the_users_inner_frames_are_kept() -> None:
    def inner(x: Any) -> Any:
        raise ArithmeticError(x.shape)

    def outer(x: Any) -> Any:
        return np.vmap(inner)(x)

    with pytest.raises(ArithmeticError) as caught:
        np.jit(outer)(np.ones((2, 3)))
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names == ["test_the_users_inner_frames_are_kept", "outer", "inner"]


def test_what_was_caught_meanwhile_is_kept() -> None:
    def f(x: Any) -> Any:
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError("second") from error

    with pytest.raises(ValueError, match="second") as caught:
        np.grad(f)(1.0)
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError)
    assert [frame.name for frame in traceback.extract_tb(cause.__traceback__)] == ["f"]


def test_frames_are_kept_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    function, error = WRONG["grad"]
    with np.config(debug=True):
        assert ours(files(function, error))
    monkeypatch.setattr(_tracebacks, "everything", True)
    assert ours(files(function, error))


def test_defects_keep_their_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    function = np.jit(lambda x: x)
    monkeypatch.setattr("lazynp.transforms._jit.config", object())
    assert ours(files(lambda: function(1.0), AttributeError))


def test_errors_of_the_user_that_look_like_defects() -> None:
    def f(x: Any) -> Any:
        raise AssertionError(x.shape)

    assert not ours(files(lambda: np.jit(f)(1.0), AssertionError))


def test_bodies_are_rewritten_where_transformations_are_called_by_users() -> None:
    """`control` knows transformations by where their code is."""

    def body(i: Any, c: Any) -> Any:
        if c > 3:
            c = c - 1
        return c + i

    def f(x: Any) -> Any:
        total = np.fori_loop(0, 5, body, x)
        last, _ = np.scan(lambda c, i: (body(i, c), c), total, np.arange(3.0))
        return np.while_loop(lambda c: c < 90 and c > 1, lambda c: body(c, c), last)

    plain = 2.0
    for i in [0, 1, 2, 3, 4, 0.0, 1.0, 2.0]:
        plain = body(i, plain)
    while 1 < plain < 90:
        plain = body(plain, plain)
    assert float(np.jit(f)(2.0)) == plain
