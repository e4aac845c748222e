"""What NumPy runs at once warns as NumPy does, at the user's line."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _errstate
from lazynp._fronts import BUILT
from tests import test_errstate
from tests.helpers import be_eager, is_eager
from tests.test_errstate import QUIET, ROWS, X

in_c = pytest.mark.skipif(not BUILT, reason="without the C, fewer operations warn, and fewer write")


@pytest.fixture(autouse=True)
def _at_once() -> Iterator[None]:
    """As in a loop of small operations."""
    before = is_eager()
    with np.config(execution="adaptive"):
        be_eager()
        yield
    be_eager(before)


def _told(program: Callable[[Any], Any], module: Any) -> list[tuple[str, str]]:
    """The warnings that a program gives by default, which name its lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program(module)
    assert module is numpy or {w.filename for w in caught} <= {__file__, test_errstate.__file__}
    return [(str(w.message), w.category.__name__) for w in caught]


@in_c
@pytest.mark.parametrize("row", [r for r in (*ROWS, *QUIET) if r != "dtype"])  # two operations here
def test_what_runs_at_once_warns_as_numpy(row: str) -> None:
    """The second time by the fast path, and by NumPy's inner loops without a ufunc around them."""
    program = {**QUIET, **ROWS}[row]
    want = _told(program, numpy)
    assert bool(want) == (row in ROWS and row != "under")
    for _ in range(3):
        assert _told(program, np) == want


DIVISIONS: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda np: np.divmod(5, 0),
    "floats": lambda np: np.divmod(5.0, 0),
    "a list": lambda np: np.divmod([5, 1], [0, 1]),
    "an array and a list": lambda np: np.divmod(np.array([5.0, 1.0]), [0, 1]),
    "arrays": lambda np: np.divmod(np.array([5, 1]), np.array([0, 1])),
    "a number and an array": lambda np: divmod(5, np.array([0, 1])),
    "an array and a number": lambda np: divmod(np.array([0.0, 1.0]), 0),
    "an element": lambda np: np.divmod(np.array([1.0, 2.0]).sum(), 0),
    "none": lambda np: (np.divmod(5, 2), np.modf(2.5), divmod(7, np.array([3, 2]))),
}


@in_c
@pytest.mark.parametrize("form", DIVISIONS)
def test_divisions_with_two_results_warn_once(form: str) -> None:
    program = DIVISIONS[form]
    want = _told(program, numpy)
    assert bool(want) == (form != "none")
    for _ in range(3):
        assert _told(program, np) == want


def test_functions_with_two_results_of_numbers() -> None:
    for name, xs in (
        ("divmod", (7, -2)),
        ("divmod", (-7.5, 2)),
        ("modf", (-2.5,)),
        ("frexp", (6,)),
    ):
        got, want = getattr(np, name)(*xs), getattr(numpy, name)(*xs)
        assert got == want and [type(x) for x in got] == [type(x) for x in want]


BIG = [[1e308, 1e308, 2.0], [1.0, 2.0, 3.0]]
REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "dtype": lambda np: np.sum(np.array(BIG), dtype="f4"),
    "method": lambda np: np.array(BIG).sum(None, "f4"),
    "out": lambda np: np.sum(np.array(BIG), axis=1, out=np.zeros(2)),
    "where": lambda np: np.sum(np.array(BIG), where=np.array([True, True, False])),
    "where without": lambda np: np.sum(np.array(BIG), where=np.array([True, False, False])),
    "initial": lambda np: np.sum(np.array(BIG), 1, initial=1e308, keepdims=True),
    "array": lambda np: np.prod(np.array(BIG), initial=np.array(4.0)),
    "all": lambda np: np.prod(
        np.array(BIG), 1, None, np.zeros(2), where=np.array([[True], [False]]), initial=2.0
    ),
    "none": lambda np: np.max(np.array(BIG), initial=3.0, where=np.array(BIG) < 2.0),
}


@pytest.mark.parametrize("form", REDUCTIONS)
def test_reductions_with_options_warn(form: str) -> None:
    program = REDUCTIONS[form]
    want = _told(program, numpy)
    assert bool(want) == (form not in ("none", "where without"))
    for _ in range(3):
        assert _told(program, np) == want
    with numpy.errstate(all="ignore"):
        ours, theirs = program(np), program(numpy)
    assert repr(ours.tolist()) == repr(theirs.tolist()) and ours.dtype == theirs.dtype


STORES = [
    "x[1] = v", "x[1] = numpy.float64(v)", "x[1:] = v", "x[[1]] = v", "x.flat[1] = v",
    pytest.param("x.fill(v)", marks=in_c),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f2", "f4", "c8"])
@pytest.mark.parametrize("store", STORES)
def test_stores_that_overflow_warn_at_the_users_line(store: str, dtype: str) -> None:
    code = compile(store, __file__, "exec")
    x = np.zeros(3, dtype)
    for _ in range(3):
        said = _told(lambda np: exec(code, {"x": x, "v": 1e39, "numpy": numpy}), np)
        want = _told(
            lambda np: exec(code, {"x": np.zeros(3, dtype), "v": 1e39, "numpy": np}), numpy
        )
        assert said == want and said


SPECIAL = [0.0, -0.0, 1.0, -1.5, 1e300, -1e308, 5e-324, numpy.inf, -numpy.inf, numpy.nan]
UFUNCS = sorted(
    n for n in np.__all__
    if isinstance(getattr(numpy, n, None), numpy.ufunc) and not getattr(numpy, n).signature
)  # fmt: skip


@in_c
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
@pytest.mark.parametrize("name", [n for n in UFUNCS if n != "divmod"])  # two operations here
def test_ufuncs_of_special_values_warn_as_numpys(name: str, dtype: str) -> None:
    with numpy.errstate(all="ignore"):
        values = numpy.array(SPECIAL).astype(dtype)

    def whole(module: Any) -> Any:
        x = module.array(values)
        y = module.array(values[::-1].copy())
        return getattr(module, name)(*(x, y)[: getattr(numpy, name).nin])

    def single(module: Any) -> Any:
        x = module.array(values)
        for k in (0, 3, 5, 7, 9):
            getattr(module, name)(*(x[k], x[-k])[: getattr(numpy, name).nin])

    for program in (whole, single):
        try:
            want = _told(program, numpy)
        except (TypeError, ValueError):
            continue
        for _ in range(2):
            assert _told(program, np) == want


ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]


@in_c
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8", "i1"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_operators_of_numbers_warn_as_numpys(name: str, dtype: str) -> None:
    with numpy.errstate(all="ignore"):
        values = numpy.array([*SPECIAL, 100.0]).astype(dtype)
    operate = getattr(operator, name)
    for i in range(len(values)):
        for j in range(len(values)):
            for other in (values[j], values[j].item()):

                def program(module: Any, i: int = i, other: Any = other) -> None:
                    try:
                        operate(module.array(values)[i], other)
                    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
                        pass

                assert _told(program, np) == _told(program, numpy), (values[i], other)


def test_the_files_of_fronts_are_there() -> None:
    """A file that is renamed would make its functions silent."""
    assert all(map(os.path.isfile, _errstate._FRONTS))


def test_the_state_of_numpy_decides() -> None:
    x = np.array(X)
    for program in (lambda: 1 / x, lambda: x[0] / x[1], lambda: np.log(x), lambda: +x / 0):
        with numpy.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            program()
        with numpy.errstate(all="raise"), pytest.raises(FloatingPointError, match="encountered in"):
            program()


@in_c
def test_a_warning_may_be_an_error() -> None:
    """Nothing else of the operation is lost then: what it has written is there, as in NumPy."""
    found = []
    for module in (numpy, np):
        y = module.zeros(3)
        for _ in range(2):
            x = module.array(X)
            with pytest.raises(RuntimeWarning, match="divide by zero"):
                x /= 0.0
            with pytest.raises(RuntimeWarning, match="divide by zero"):
                module.divide(1.0, module.array(X), out=y)
            with pytest.raises(RuntimeWarning, match="divide"):
                _ = y[0] / 0.0
        found.append((x.tolist(), y.tolist()))
    assert str(found[0]) == str(found[1])


def test_what_the_user_has_not_called_is_silent() -> None:
    """Derivatives, and functions that are composed of others."""
    x = np.array([0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            np.grad(lambda x: np.sqrt(x).sum())(x)
            np.jvp(np.sqrt, (x,), (x,))
            np.special.logsumexp(np.array([-numpy.inf, -numpy.inf]))
            np.special.xlogy(x, x)
            np.sinc(x)


@in_c
def test_warnings_that_repeat_are_found_by_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python found out about code and state holds until another state comes."""
    asked: list[str] = []
    real = _errstate._called_by_user
    monkeypatch.setattr(_errstate, "_called_by_user", lambda: asked.append("") or real())
    x, z = np.array(X), np.zeros(3)

    def program() -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(5):
                _ = x / z, np.log(z), z[0] / z[1], (x * numpy.inf).astype(int)
        return [str(w.message).split(" encountered in ")[-1] for w in caught]

    each = ["divide", "divide", "log", "scalar divide", "multiply", "cast"]
    for mode in ("warn", "ignore", "warn"):
        monkeypatch.setattr(_errstate, "_called_by_user", lambda: asked.append("") or real())
        asked.clear()
        with numpy.errstate(all=mode):
            assert program() == (each * 5 if mode == "warn" else [])
        assert len(asked) <= 2


@pytest.mark.parametrize(
    "form",
    [
        "np.divide(x, 0, dtype=np.float32)", "np.divide(x, 0, dtype='f8')",
        "np.exp(x * 1e4, casting='equiv')", "np.sqrt(x, order='F')", "np.divide(x, 0, order='C')",
        "np.floor_divide(x, 0, casting='unsafe')", "np.add(1e308, 1e308 * abs(x), subok=False)",
        "np.divide(x, 0, signature='dd->d')", "np.divmod(x, 0, order='K')",
        "np.multiply(x.T, x.T, dtype='f4', order='C')", "np.add(x, 1, dtype='i4')",
        "np.add(x, 1, dtype='i4', casting='unsafe')", "np.negative(x, dtype=object)",
        "np.add(x, [1], casting='no')",
        "np.divide(x, 0, where=[True, False, True], out=np.zeros((2, 3)))",
        "np.log(x, where=x > -2, out=None)", "np.log(x, where=x > 0, out=None)[x > 0]",
        "np.log(x, where=[x[0] > 0, [True] * 3])[x > 0]",
        "np.divide([1, 1], [0.0, 2], where=[True, True])", "np.sqrt(x, where=[True], dtype='f4')",
        "np.power(x, -1.0, where=[x[0] != 5], out=np.zeros((2, 3), 'f4'), casting='same_kind')",
        "np.log(x, where=x > -2, out=np.zeros((2, 3), int))", "np.log(x, where=[True, False])",
        "np.floor_divide(np.array([1, 2]), [0, 0], where=np.array([True, False]))[:1]",
    ],
)  # fmt: skip
def test_ufuncs_with_options_warn(form: str) -> None:
    found = []
    for xp in (np, numpy):
        x = xp.array([[1.0, 0.0, -1.0], [2.0, 3.0, 4.0]])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                out = eval(form, {"np": xp, "x": x})
            except (TypeError, ValueError) as error:
                found.append(str(error))
                continue
        each = out if isinstance(out, tuple) else (out,)
        told = [(o.dtype, o.strides, repr(o.tolist())) for o in each]
        found.append((told, sorted(str(w.message) for w in said)))
    assert found[0] == found[1]
