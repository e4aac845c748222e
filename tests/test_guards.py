"""What a program read from outside changes between its calls: each call gives what Python gives.

Each case is a function and what changes at the fourth of its eight calls.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._promotion import promote
from tests import promotion_objects as module
from tests.promoting import promoting

STATE = types.SimpleNamespace(rate=1.0)
MASKED = numpy.ma.array([1.0, 2.0])


def doubled(x: Any) -> Any:
    return x * 2.0


def tripled(x: Any) -> Any:
    return x * 3.0


def scaled(x: Any, by: Any = 2.0, *, more: Any = 1.0) -> Any:
    return x * by * more


class Twice:
    def of(self, x: Any) -> Any:
        return x * 2.0


class Thrice:
    def of(self, x: Any) -> Any:
        return x * 3.0


class Between(Twice):
    pass


class Lowest(Between):
    pass


OBJECT, INHERITING = Twice(), Lowest()

Setting = Callable[[pytest.MonkeyPatch], None]
CASES: dict[str, tuple[Callable[..., Any], Setting]] = {
    "getattr: names in a tuple": (
        lambda x: (x * sum(getattr(STATE, name) for name in ("rate",))).sum(),
        lambda m: m.setattr(STATE, "rate", 2.0),
    ),
    "getattr: a computed name": (
        lambda x: (x * getattr(STATE, f"{'ra'}te")).sum(),
        lambda m: m.setattr(STATE, "rate", 2.0),
    ),
    "getattr: of a module": (
        lambda x: (x * getattr(module, "_".join(["A", "RATE"]), 5.0)).sum(),
        lambda m: m.setattr(module, "A_RATE", 2.0, raising=False),
    ),
    "hasattr: computed names": (
        lambda x: (x * (3.0 if any(hasattr(STATE, n) for n in ("a", "b")) else 2.0)).sum(),
        lambda m: m.setattr(STATE, "b", 1, raising=False),
    ),
    "code of a helper": (
        lambda x: doubled(x).sum(),
        lambda m: m.setattr(doubled, "__code__", tripled.__code__),
    ),
    "code of a method": (
        lambda x: OBJECT.of(x).sum(),
        lambda m: m.setattr(Twice.of, "__code__", Thrice.of.__code__),
    ),
    "defaults": (
        lambda x: scaled(x).sum(),
        lambda m: m.setattr(scaled, "__defaults__", (3.0,)),
    ),
    "defaults by name": (
        lambda x: scaled(x).sum(),
        lambda m: m.setattr(scaled, "__kwdefaults__", {"more": 3.0}),
    ),
    "defaults by name, in place": (
        lambda x: scaled(x).sum(),
        lambda m: m.setitem(scaled.__kwdefaults__, "more", 3.0),  # type: ignore[arg-type]
    ),
    "class of an object": (
        lambda x: OBJECT.of(x).sum(),
        lambda m: m.setattr(OBJECT, "__class__", Thrice),
    ),
    "bases of a class": (
        lambda x: INHERITING.of(x).sum(),
        lambda _: setattr(Between, "__bases__", (Thrice,)),
    ),
    "a masked array": (
        lambda x: (x * MASKED[0]).sum(),
        lambda _: MASKED.__setitem__(0, 3.0),
    ),
}  # fmt: skip


@pytest.fixture
def restored() -> Iterator[None]:
    """What `monkeypatch` cannot restore."""
    yield
    Between.__bases__ = (Twice,)
    MASKED[0] = 1.0


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("kind", ["a derivative", "a hot function"])
def test_what_changes_outside_shows_at_the_next_call(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, change = CASES[name]
    with promoting():
        function: Any = plain
        if kind == "a derivative":
            function = np.grad(plain)
        else:
            assert promote(plain)
        for k in range(8):
            if k == 4:
                change(monkeypatch)
            x = np.asarray(numpy.arange(3.0) + k)
            got = numpy.asarray(function(x))
            with np.config(promotion=False):
                want = numpy.asarray((np.grad(plain) if kind == "a derivative" else plain)(x))
            numpy.testing.assert_array_equal(got, want)


def test_a_helper_that_gets_a_front_is_the_same() -> None:
    function = np.grad(CASES["code of a helper"][0])
    with promoting():
        for k in range(5):
            if k == 3:
                before = np.stats().promotions
                assert before and promote(doubled)
            assert function(np.ones(3)).tolist() == [2.0] * 3
        assert np.stats().promotions == before, "the program was dropped"


LIBRARIES = [
    (np, "sin", lambda x: np.sin(x).sum()), (math, "sin", lambda x: x.sum() * math.sin(0.5)),
    (np.linalg, "norm", lambda x: (np.linalg.norm(x) * x).sum()),
]  # fmt: skip


@pytest.mark.parametrize(("library", "name", "function"), LIBRARIES, ids=["np", "math", "linalg"])
@pytest.mark.parametrize("kind", ["a call", "a derivative"])
def test_a_name_of_a_library_that_is_bound_anew(
    library: Any, name: str, function: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tests do that patch functions."""
    f = types.FunctionType(function.__code__, globals())
    run = np.grad(f) if kind == "a derivative" else f
    before, x = np.stats().promotions, np.ones(3)
    with promoting(), np.config(background=False):
        assert kind == "a derivative" or promote(f)
        first = [run(x) for _ in range(5)]
        assert np.stats().promotions > before
        with monkeypatch.context() as patch:
            patch.setattr(library, name, lambda x: x * 3.0)
            got = [numpy.asarray(run(x)) for _ in range(4)]
            want = types.FunctionType(function.__code__, globals())
            want = numpy.asarray((np.grad(want) if kind == "a derivative" else want)(x))
        last = run(x)
    assert all(numpy.allclose(g, want) for g in got) and not numpy.allclose(first[0], want)
    numpy.testing.assert_allclose(last, first[0], rtol=1e-12)


def read_only(k: int) -> Any:
    held = numpy.ones(3)
    held.flags.writeable = bool(k % 2)
    return lambda x: (x * (2.0 if held.flags.writeable else 3.0)).sum()


def one_list_by_two_names(k: int) -> Any:
    first = [1.0]
    second = first if k % 2 else [1.0]
    return lambda x: (x * first[0] * (2.0 if first is second else 3.0)).sum()


def one_dict_in_lists(k: int) -> Any:
    part = {"w": 1.0}
    parts = [part, part if k % 2 else {"w": 1.0}]
    return lambda x: (x * parts[0]["w"] * (2.0 if parts[0] is parts[1] else 3.0)).sum()


@pytest.mark.parametrize("make", [read_only, one_list_by_two_names, one_dict_in_lists])
def test_what_a_function_made_anew_holds(make: Any) -> None:
    before = np.stats().promotions
    with promoting():
        got = [np.grad(make(k))(np.ones(3)).tolist() for k in range(8)]
    assert got == [[2.0 if k % 2 else 3.0] * 3 for k in range(8)]
    assert np.stats().promotions > before
