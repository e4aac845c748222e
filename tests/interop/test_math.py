"""`math` and `cmath` as the user's modules get them under `install`: Python's, but for traced
numbers.
"""

from __future__ import annotations

import builtins
import cmath
import math
import pickle
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _script, grad, jit, jvp, vmap
from lazynp.interop import cmath as our_cmath, math as our_math

ours: Any = our_math
theirs: Any = math

# (module, number) -> a number; where the number is
REAL: dict[str, tuple[Callable[[Any, Any], Any], float]] = {
    **{name: (lambda m, x, name=name: getattr(m, name)(x), 0.4)
       for name in "acos asin atan atanh cos sin tan cosh sinh tanh asinh exp expm1 fabs "
       "degrees radians sqrt log log2 log10 log1p erf erfc gamma lgamma".split()},
    **{name: (lambda m, x, name=name: getattr(m, name)(x), 0.4)
       for name in ("cbrt", "exp2") if hasattr(math, name)},
    "acosh": (lambda m, x: m.acosh(x), 1.4),
    "pow": (lambda m, x: m.pow(x, 2.5) + m.pow(2.0, x), 0.4),
    "atan2": (lambda m, x: m.atan2(x, 0.7) + m.atan2(-2, x), 0.4),
    "hypot": (lambda m, x: m.hypot(x, 1, x * x), 0.4),
    "fmod": (lambda m, x: m.fmod(x, 0.7) + m.fmod(3.0, x), 2.4),
    "remainder": (lambda m, x: m.remainder(x, 0.7), 2.4),
    "copysign": (lambda m, x: m.copysign(x, -1.0), 0.4),
    "ldexp": (lambda m, x: m.ldexp(x, 3), 0.4),
    "log to a base": (lambda m, x: m.log(x, 3.0) + m.log(5.0, x), 0.4),
    "dist": (lambda m, x: m.dist([x, 1.0], (2.0, x * x)), 0.4),
    "fsum": (lambda m, x: m.fsum([x, x * x, 2.0]), 0.4),
    "fsum of a generator": (lambda m, x: m.fsum(x * k for k in range(3)), 0.4),
    "prod": (lambda m, x: m.prod([x, x, 2.0]), 0.4),
    "modf": (lambda m, x: m.modf(x * 7)[0] * m.modf(x * 7)[1], 0.4),
    "frexp": (lambda m, x: m.frexp(x)[0], 0.4),
    "constants": (lambda m, x: m.sin(x * m.pi) * m.e, 0.4),
}  # fmt: skip
COMPLEX: dict[str, Callable[[Any, Any], Any]] = {
    **{name: lambda m, x, name=name: abs(getattr(m, name)(x + 0.3j))
       for name in "acos asin atan atanh acosh asinh cos sin tan cosh sinh tanh exp log log10 "
       "sqrt".split()},
    "of a real number": lambda m, x: abs(m.exp(x) * m.sqrt(-x)),
    "to a base": lambda m, x: abs(m.log(x + 1j, 2)),
    "phase": lambda m, x: m.phase(x + 0.3j),
    "polar": lambda m, x: m.polar(x + 0.3j)[0] * m.polar(x + 0.3j)[1],
    "rect": lambda m, x: abs(m.rect(x, x) + 1),
}  # fmt: skip


def _slope(f: Callable[[Any], Any], x: float) -> float:
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6


def _check(f: Callable[[Any], Any], want: Any, slope: float, x: float) -> None:
    with np.config(execution="reference"):
        value, moved = jvp(f, (x,), (1.0,))
        found = [moved, grad(f)(x), vmap(grad(f))(np.array([x, x]))[1]]
    assert float(value) == pytest.approx(want, rel=1e-14)
    assert [float(v) for v in found] == pytest.approx([slope] * 3, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", REAL)
def test_real(name: str) -> None:
    f, x = REAL[name]
    assert f(ours, x) == f(theirs, x)
    _check(lambda x: f(ours, x), f(theirs, x), _slope(lambda x: f(theirs, x), x), x)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex(name: str) -> None:
    f, m = COMPLEX[name], cmath
    assert f(our_cmath, 0.4) == f(m, 0.4)
    _check(lambda x: f(our_cmath, x), f(m, 0.4), _slope(lambda x: f(m, x), 0.4), 0.4)


def test_under_jit() -> None:
    """Also without a branch, and with functions that the jitted code takes by their names."""
    sine, gamma = ours.sin, ours.gamma

    def f(x: Any) -> Any:
        return ours.exp(-x) * sine(x) + gamma(x) + ours.remainder(x, 0.3) + ours.sqrt(4.0)

    def g(x: Any) -> Any:
        return f(x) if ours.floor(x * 10) == 4 else x

    want = theirs.exp(-0.4) * theirs.sin(0.4) + theirs.gamma(0.4) + theirs.remainder(0.4, 0.3) + 2
    with np.config(execution="reference"):
        for h in (f, g):
            assert float(jit(h)(0.4)) == pytest.approx(want, rel=1e-14)
            assert float(jit(grad(h))(0.4)) == pytest.approx(float(grad(h)(0.4)), rel=1e-12)
        with pytest.raises(ValueError, match="math domain error"):
            float(jit(lambda x: ours.sqrt(x))(-1.0))


def test_integers_and_bools() -> None:
    """They have no derivative, and are Python's where the value is known."""
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen[:] = [ours.floor(x), ours.ceil(x), ours.trunc(x), ours.isnan(x), ours.isclose(x, 2.5)]
        return x * seen[0] + ours.ulp(x)

    assert float(grad(f)(2.5)) == 2.0
    assert seen == [2, 3, 2, False, True] and {type(s) for s in seen} == {int, bool}
    found = vmap(lambda x: (ours.floor(x), ours.isfinite(x)))(np.array([2.5, numpy.inf]))
    assert found[0][0] == 2 and found[0].dtype == int and found[1].tolist() == [True, False]


def test_results_are_numbers_of_pythons() -> None:
    """Beside an array of lower precision they take its dtype."""
    single = np.ones(2, "f4")
    out, moved = jvp(lambda x: ours.sin(x) * single, (numpy.float32(0.5),), (numpy.float32(1),))
    assert out.dtype == moved.dtype == numpy.float32
    assert type(ours.sin(np.array(0.5))) is float and type(ours.sin(np.float64(0.5))) is float


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: ours.sqrt(x), ValueError, "math domain error|nonnegative"),
        (lambda x: ours.exp(-1000 * x), OverflowError, "math range error"),
        (lambda x: ours.sin(x, x), TypeError, "argument"),
        (lambda x: ours.sin(np.array([x, x])), TypeError, "0-dimensional"),
        (lambda x: ours.sin(x + 1j), numpy.exceptions.ComplexWarning, "imaginary part"),
        (lambda x: ours.dist([x], [x, x]), ValueError, "dimensions"),
    ],
)
def test_errors_are_pythons(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        grad(lambda x: call(x) * 1.0)(-1.0)


def test_names_are_those_of_the_module() -> None:
    for module, like in ((math, our_math), (cmath, our_cmath)):
        names = {n for n in dir(module) if not n.startswith("_")}
        assert names <= set(dir(like))
    assert ours.sin.__name__ == "sin" and ours.sin.__doc__ == math.sin.__doc__
    assert ours.gcd is math.gcd and ours.pi is math.pi
    assert pickle.loads(pickle.dumps(ours.sin)) is ours.sin


def test_who_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of the user's, under `install`. Libraries get Python's."""
    monkeypatch.setattr(builtins, "__import__", _script._import)
    users: dict[str, Any] = {"__name__": "__main__"}
    source = "import math, cmath as c\nfrom math import sin, inf\nimport os.path"
    exec(compile(source, "<string>", "exec"), users)
    assert users["math"] is our_math and users["c"] is our_cmath
    assert users["sin"] is ours.sin and users["inf"] == math.inf
    library: dict[str, Any] = {"__name__": "pick", "__file__": numpy.__file__}
    exec(compile(source, "<string>", "exec"), library)
    assert library["math"] is math and library["c"] is cmath and library["sin"] is math.sin


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(builtins, "__import__", builtins.__import__)
    yield types.SimpleNamespace(user_ns={"math": math, "c": cmath, "np": numpy, "x": 2})
    _script.uninstall()


def test_a_notebook_gets_it_by_the_extension(notebook: Any) -> None:
    _script.load_ipython_extension(notebook)
    assert notebook.user_ns == {"math": our_math, "c": our_cmath, "np": np, "x": 2}
    _script.unload_ipython_extension(notebook)
    assert notebook.user_ns == {"math": math, "c": cmath, "np": numpy, "x": 2}
