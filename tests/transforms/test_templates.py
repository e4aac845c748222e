"""Rules recorded once for a kind of operands, and then repeated: the same results, and errors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jvp, vjp
from lazynp._fronts import BUILT
from lazynp._node import VALUE, aval_of_node, escaped
from lazynp.transforms import _backward, _jvp, _kept, _linearize, _templates
from lazynp.transforms._tape import LinearTracer
from tests.helpers import be_eager

X, Y = np.array([0.3, -0.7, 1.2]), np.array([1.0, 2.0, 3.0])
BINARY = [np.add, np.subtract, np.multiply, np.divide, np.arctan2, np.maximum, np.power]
OPERANDS = [X + 2.0, Y[:, None], np.float64(1.5), 2, 0.5, np.array([1, 2, 3]), Y.astype("f4")]


def untemplated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jvp, "KINDS", frozenset())
    monkeypatch.setattr(_backward, "KINDS", frozenset())
    monkeypatch.setattr(_kept, "_LONGEST", -1)


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_templates_are_the_rules(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pair of kinds of operands, with every choice of moving operands, twice."""

    def outcomes() -> list[Any]:
        found = []
        for x, y in itertools.product(OPERANDS, repeat=2):
            for f, z in ((lambda z, y=y: function(z, y), x), (lambda z, x=x: function(x, z), y)):
                if getattr(z, "dtype", np.dtype(float)).kind != "f" or type(z) is int:
                    continue
                out, pull = vjp(f, z)
                (ct,) = pull(np.ones(out.shape, out.dtype))
                found += [out, ct, jvp(f, (z,), (np.ones_like(z),))[1]]
            if all(getattr(z, "dtype", None) == np.float64 for z in (x, y)):
                out, pull = vjp(function, x, y)
                found += [out, *pull(np.ones(out.shape))]
        return list(map(numpy.asarray, found))

    with np.config(execution="reference"):
        first, again = outcomes(), outcomes()
        assert _linearize._rules and _backward._transposes
        untemplated(monkeypatch)
        want = outcomes()
    for got in (first, again):
        for g, w in zip(got, want, strict=True):
            assert g.dtype == w.dtype and g.shape == w.shape
            numpy.testing.assert_array_equal(g, w)


def test_which_operand_moves_is_part_of_a_template() -> None:
    def f(x: Any) -> Any:
        return x * 2.0 * x + 3.0 * (x * x) * 2.0

    assert float(grad(f)(3.0)) == 48.0 and float(grad(grad(f))(3.0)) == 16.0
    scale = np.array(4.0)
    assert float(grad(lambda x: scale * x)(3.0)) == 4.0
    assert float(grad(lambda x: x * scale)(3.0)) == 4.0


def test_rules_that_raise_do_so_each_time() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="no derivative by x"):
            grad(lambda x: np.special.zeta(x, 1.0))(2.0)
        with pytest.raises(ValueError, match="broadcast"):
            grad(lambda x: (x * np.ones(2)).sum())(X)


def test_c_applies_a_template_as_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same nodes and the same tape, for all kinds of operands that C takes."""
    front = _linearize._replayed
    if front is _linearize._replay:
        pytest.skip("the C part is not there")

    def f(x: Any) -> Any:
        y = np.float32(2.0) * x + True * x - 0 * x[0] + (-0.0) * x[::-1]
        u = np.zeros((6, 5)) * x[0, 0]
        u[1:3] = y[0, :5] * 3
        u[1] += u[2] / 2 - u[0] * (-0.5)
        z = np.where(u > 0, u, u**2).sum(0) @ np.exp(u[1]) + np.maximum(u, 0.5)[2, 3]
        return z + x[1, -1] * np.pi + (+x).mean() + abs(y).max()

    def outcome(by: Any) -> Any:
        tapes: list[Any] = []
        monkeypatch.setattr(_linearize, "_replayed", by)
        monkeypatch.setattr(
            _linearize, "Linearized", lambda tape, *a: (tapes.append(tape), kept(tape, *a))[1]
        )
        x = np.asarray(numpy.linspace(-1.0, 1.3, 12).reshape(2, 6))
        with np.config(promotion=False):  # a slow machine would make a program of it: more tapes
            value = numpy.asarray(grad(f)(x))
        (tape,) = tapes
        return (
            value,
            [
                (
                    t,
                    [m.index if type(m) is LinearTracer else aval_of_node(m) for m in operands],
                    out.index,
                    out.aval,
                )
                for t, out, _, _, *operands in [i for i in tape if type(i) is tuple]
            ],
            {i[2:4] for i in tape if type(i) is tuple},
        )

    kept = _linearize.Linearized
    outcome(_linearize._replay)  # makes the templates
    outcome(front)
    _linearize._rules.clear()  # as when the table is full: C, too, forgets them
    outcome(_linearize._replay)
    (value, tape, places), (want, items, lines) = outcome(front), outcome(_linearize._replay)
    numpy.testing.assert_array_equal(value, want)
    assert tape == items and len(items) > 25
    assert places == lines


_OPERATIONS = (
    [(f"** {k!r}", lambda x, k=k: x**k) for k in (0, 1, 2, 3, 4, 5, -1, -2, 0.5, 2.0, 1.5, -0.5)]
    + [(f"power {k!r}", lambda x, k=k: np.power(x, k)) for k in (2, 3, 0.5, 2.0, 1.7)]
    + [("2.0 **", lambda x: 2.0**x), ("** array", lambda x: x ** np.array(1.3))]
    + [(">", lambda x: x * (x > 0.5)), ("== 1", lambda x: x * (x == 1))]
    + [("all", lambda x: x * (x > 0).all()), ("isnan", lambda x: x * ~np.isnan(x))]
    + [("floor", lambda x: x - np.floor(x)), ("number", lambda x: x if x.max() > 1 else -x)]
)


@pytest.mark.parametrize("f", [f for _, f in _OPERATIONS], ids=[name for name, _ in _OPERATIONS])
def test_constant_exponents_and_flat_functions_run_in_c(f: Any, monkeypatch: Any) -> None:
    """The same values and slopes as by the rules, and once it is warm, Python is not asked."""
    if not BUILT:
        pytest.skip("the C part is not there")
    asked: list[str] = []
    process = _jvp.JVPTrace.process

    def counted(self: Any, primitive: Any, operands: Any, params: Any) -> Any:
        asked.append(primitive.name)
        return process(self, primitive, operands, params)

    def pushed(g: Any) -> Any:
        return lambda x, *more: jvp(lambda x: g(x, *more), (x,), (np.ones_like(x) * 0.7,))[1]

    def looped(x: Any, rounds: int) -> Any:
        for _ in range(rounds):
            y = f(x)
        return y.sum()

    for x in (np.array([0.3, 0.7, 1.2]), np.float64(1.3), np.array([0.5, 1.0], "f4"), 1.25):
        by_hand, want = [], []
        with np.config(execution="adaptive", promotion=False), monkeypatch.context() as patch:
            grad(looped)(x, 3)  # makes the templates
            for transformed in (grad, pushed):
                transformed(looped)(x, 3)
                by_hand.append(numpy.asarray(transformed(looped)(x, 3)))
            patch.setattr(_jvp.JVPTrace, "process", counted)
            for _ in range(40):
                asked.clear()
                grad(looped)(x, 23)
            many = len(asked)
            untemplated(patch)
            patch.setattr(_linearize, "_replayed", lambda *a: None)
            want = [numpy.asarray(t(lambda x: f(x).sum())(x)) for t in (grad, pushed)]
        assert many <= 4 or type(x) is float, asked  # NumPy's functions make other numbers of these
        for g, w in zip(by_hand, want, strict=True):
            assert g.dtype == w.dtype
            numpy.testing.assert_array_equal(g, w)


def test_numbers_are_stored_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ints and zeros, as at the edges of a grid: with NumPy's signs of zero, and without Python."""
    if not BUILT:
        pytest.skip("the C part is not there")
    asked: list[str] = []

    def stored(np: Any, x: Any, rounds: int) -> Any:
        for _ in range(rounds):
            y = x * 1.0
            y[0, :], y[:, 0], y[-1], y[1, 1] = 0, -0.0, 2, 0.0
            y[1:, -1] = 1
        return y + np.copysign(1.0, y)

    x = numpy.arange(1.0, 13.0).reshape(3, 4)
    with np.config(execution="adaptive", promotion=False):
        value, pull = vjp(lambda x: stored(np, x, 3), np.array(x))
        for _ in range(20):
            grad(lambda x: stored(np, x, 20).sum())(np.array(x))
        process = _jvp.JVPTrace.process
        monkeypatch.setattr(
            _jvp.JVPTrace, "process", lambda *a: (asked.append(a[1].name), process(*a))[1]
        )
        slope = grad(lambda x: stored(np, x, 20).sum())(np.array(x))
    assert asked.count("update_slice") <= 22  # the first store into each array: it is noted
    numpy.testing.assert_array_equal(value, stored(numpy, x, 1))
    want = numpy.zeros((3, 4))
    want[1, 2] = 1.0
    numpy.testing.assert_array_equal(slope, want)
    numpy.testing.assert_array_equal(pull(np.ones((3, 4)))[0], want)


def test_a_line_of_the_user_is_the_place_of_what_c_applies() -> None:
    def f(x: Any) -> Any:
        saved.append(np.sin(x) * 2.0)
        return saved[0]

    for _ in range(3):
        saved: list[Any] = []
        grad(f)(1.0)
        line = f.__code__.co_firstlineno + 1
        assert f"test_templates.py:{line}," in str(escaped(saved[0]._node[VALUE]))
        assert float(np.cos(saved[0])) == math.cos(math.sin(1.0) * 2.0)


FACTORED: dict[str, Any] = {
    "cholesky": lambda a: np.linalg.cholesky(a @ a.T + np.eye(len(a))),
    "eigh": lambda a: np.linalg.eigh(a + a.T)[1] ** 2,
    "svd": lambda a: np.linalg.svd(a, full_matrices=False)[0] ** 2,
    "qr": lambda a: np.linalg.qr(a)[1],
    "triangle": lambda a: np.tril(a) @ np.triu(a),
}


@pytest.mark.parametrize("size", [3, 40])  # masks that are kept, and larger ones
@pytest.mark.parametrize("name", FACTORED)
def test_what_depends_on_no_operand_is_computed_once(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = numpy.random.default_rng(size).normal(size=(size, size))
    weights = numpy.cos(numpy.arange(size * size).reshape(size, size))

    def loss(x: Any) -> Any:
        return (FACTORED[name](x) * weights).sum()

    computed: list[Any] = []
    original = _templates.Ahead._computed

    def noted(self: Any, constants: Any) -> Any:
        made = original(self, constants)
        computed.extend(n for n in made if n is not None)
        return made

    monkeypatch.setattr(_templates.Ahead, "_computed", noted)
    _linearize._rules.clear()
    with np.config(execution="adaptive"):
        be_eager()
        first = numpy.asarray(grad(loss)(np.array(a)))
        count = len(computed)
        again = [numpy.asarray(grad(loss)(np.array(a))) for _ in range(3)]
    assert len(computed) == count
    assert all(aval_of_node(n).nbytes <= _templates.Ahead.largest for n in computed)
    if name == "cholesky" and size == 3:
        assert [n for n in computed if n[VALUE] is not None]
    for got in again:
        numpy.testing.assert_array_equal(got, first)
    untemplated(monkeypatch)
    with np.config(execution="reference"):
        want = numpy.asarray(grad(loss)(np.array(a)))
    numpy.testing.assert_allclose(first, want, rtol=1e-9, atol=1e-9 * abs(want).max())
