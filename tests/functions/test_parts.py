"""Slices of unknown size in loops under jit: their values, and that nothing outside counts."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp import fori_loop, grad, jit, jvp, make_jaxpr, vmap
from lazynp._jaxpr import jaxprs_in
from lazynp.transforms.control import _loops
from tests.helpers import loaded

FILE = Path(__file__).with_name("triangles.py")
PLAIN, OURS = loaded(FILE, "plain_triangles", numpy), loaded(FILE, "our_triangles", np)
NAMES = [n for n, f in vars(PLAIN).items() if inspect.isfunction(f) and n[0] != "_"]


def operands() -> tuple[Any, Any]:
    rng = numpy.random.default_rng(4)
    return rng.random(6) + 0.5, rng.standard_normal((6, 6))


def staged(f: Any) -> Any:
    return jit(f, loops="stage")


def same(got: Any, want: Any) -> None:
    if want is None:
        assert got is None
        return
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    numpy.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_as_numpy_runs_it(name: str) -> None:
    theirs = operands()
    want = getattr(PLAIN, name)(*theirs)
    for make in (jit,) if name in PLAIN.UNROLLED else (jit, staged):
        ours = [np.array(x) for x in operands()]
        jitted = make(getattr(OURS, name))
        same(jitted(*ours), want)
        for x, y in zip(ours, theirs, strict=True):
            same(x, y)
        assert ("unrolled" in str(np.explain(jitted))) == (name in PLAIN.UNROLLED)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in PLAIN.UNROLLED])
def test_in_quarters(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops in pieces, each with windows of its own."""
    monkeypatch.setattr(_loops, "BYTES", 0)
    monkeypatch.setattr(_loops, "ROUNDS", 4)
    theirs, ours = operands(), [np.array(x) for x in operands()]
    want = getattr(PLAIN, name)(*theirs)
    jitted = jit(getattr(OURS, name), loops="stage")
    same(jitted(*ours), want)
    for x, y in zip(ours, theirs, strict=True):
        same(x, y)


def test_quarters_hold_less() -> None:
    """The largest array in the loops."""

    def f(a):
        for k in range(a.shape[0] - 1):
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
        return a.sum()

    def largest(n: int) -> list[int]:
        loops = [e for e in make_jaxpr(jit(f))(np.ones((n, n))).eqns[0].params["jaxpr"].eqns
                 if e.primitive.name == "scan"]  # fmt: skip
        bodies = [j for e in loops for j in jaxprs_in(e.params)]
        return [max(e.outputs[0].aval.size for e in j.eqns
                    if e.primitive.name == "select") for j in bodies]  # fmt: skip

    assert largest(40) == [39 * 39]
    assert largest(401) == [400**2, 300**2, 200**2, 100**2]


def mode(name: str) -> str:
    return "auto" if name in PLAIN.UNROLLED else "stage"


def summed(module: ModuleType, name: str, x: Any, a: Any) -> Any:
    x, a = x * 1.0, a * 1.0
    out = getattr(module, name)(x, a)
    return (x * x).sum() + (a * a).sum() + (0.0 if out is None else (out * 1.0).sum())


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name: str) -> None:
    x, a = operands()
    along = numpy.random.default_rng(5).standard_normal(6)
    h = 1e-6
    want = (summed(PLAIN, name, x + h * along, a) - summed(PLAIN, name, x - h * along, a)) / (2 * h)
    jitted = jit(lambda x, a: summed(OURS, name, x, a), loops=mode(name))
    given_ = np.array(x), np.array(a)
    slope = grad(jitted)(*given_)
    numpy.testing.assert_allclose(slope @ along, want, rtol=1e-4, atol=1e-5)
    numpy.testing.assert_allclose(jit(grad(jitted))(*given_), slope, rtol=1e-10)
    _, tangent = jvp(lambda x: jitted(x, given_[1]), (given_[0],), (np.array(along),))
    numpy.testing.assert_allclose(tangent, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_batches(name: str) -> None:
    pairs = [(x + k / 4, a - k / 4) for k in range(3) for x, a in [operands()]]
    want = [summed(PLAIN, name, x, a) for x, a in pairs]
    given_ = [np.stack(c) for c in zip(*pairs, strict=True)]
    got = jit(vmap(jit(lambda x, a: summed(OURS, name, x, a), loops=mode(name))))(*given_)
    numpy.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize("bad", [numpy.nan, numpy.inf])
def test_nothing_outside_counts(bad: float) -> None:
    """Nor does its derivative, for what is read and for the numbers beside it."""

    def f(x, a, c):
        out = c * 0.0
        for k in range(1, 4):
            out = out + (np.sqrt(x[:k] - c) / x[:k]).sum() + a[:3, :k].sum() + x[:k].max()
            out = out + (a[:k, :k] @ x[:k]).sum() + np.outer(x[:k], a[0, :k]).sum()
            out = out + (c * x[:k] + 2.0 / x[:k]).prod() + (x[:k] * c).mean()
        return out

    x, a = operands()
    x += 1.0
    clean = x.copy(), a.copy()
    x[3:] = a[3:] = a[:, 3:] = bad
    clean[0][3:], clean[1][3:], clean[1][:, 3:] = 1.0, 0.0, 0.0
    jitted = staged(f)
    ours = np.array(x), np.array(a), np.array(1.0)
    same(jitted(*ours), f(*clean, 1.0))
    for place in range(3):
        got = grad(jitted, place)(*ours)
        want = grad(jitted, place)(np.array(clean[0]), np.array(clean[1]), np.array(1.0))
        assert numpy.isfinite(numpy.asarray(got)).all()
        numpy.testing.assert_allclose(got, want, rtol=1e-10)


def test_dtypes_are_those_of_numpy() -> None:
    def f(x, y):
        for k in range(4):
            y[:k] = y[:k] + x[:k]
            y[:k] *= 2
            s = x[:k].sum()
            p = x[:k] @ x[:k]
        return s, p, y

    for dtype in (numpy.int32, numpy.uint8, numpy.float32, numpy.complex64, numpy.int64):
        x = numpy.arange(5).astype(dtype)
        for got, want in zip(staged(f)(np.array(x), np.array(x)), f(x, x.copy()), strict=True):
            same(got, want)

    def g(x, c):
        for k in range(5):
            x[:k] = x[:k] * c + 0.5
            c = c + 1.0
        return x

    x = numpy.arange(5, dtype=numpy.float32)
    same(staged(g)(np.array(x), 1.0), g(x.copy(), 1.0))


def test_errors() -> None:
    def into_integers(x):
        for k in range(9):
            x[: k % 6] += 0.5

    x = numpy.arange(6)
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output") as theirs:
        into_integers(x)
    with pytest.raises(type(theirs.value).__mro__[1], match="Cannot cast ufunc 'add' output"):
        jit(into_integers)(np.arange(6))

    def empty(x):
        out = 0.0
        for k in range(9):
            out = out + x[k - k % 2 : k].max()
        return out

    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        empty(numpy.arange(12.0))
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        jit(empty)(np.arange(12.0))

    def does_not_fit(x):
        for k in range(9):
            x[:k] = numpy.zeros(12)

    with pytest.raises(ValueError, match="could not broadcast"):
        jit(does_not_fit)(np.arange(12.0))


SIZED: list[Any] = [  # by a size that is a value of the program
    lambda np, x, k: x[:k],
    lambda np, x, k: np.sort(x[:k]),
    lambda np, x, k: np.cumsum(x[:k]),
    lambda np, x, k: np.cumsum(x[:k], dtype=int),
    lambda np, x, k: np.concatenate([x[:k], x]),
    lambda np, x, k: x[:k].sum(keepdims=True),
]
REFUSED: list[Any] = [
    lambda x, k: x[:k] + np.ones(12),
    lambda x, k: (x[:k] + np.ones((2, 1))) @ x,
    lambda x, k: x[:k] + x[1 : k + 2],
    lambda x, k: x[:k] @ x,
    lambda x, k: x[:: k + 1].sum(),
    lambda x, k: bool(x[:k]),
    lambda x, k: float(x[:k]),
    lambda x, k: np.add(x[:k], 1.0, out=x),
    lambda x, k: list(x[:k]),
]


def test_what_needs_the_size_gets_it() -> None:
    x = np.arange(12.0)
    for f in SIZED:
        got = jit(lambda x: fori_loop(0, 3, lambda k, s: s + f(np, x, k).sum(), 0.0))(x)  # noqa: B023
        want = sum([f(numpy, numpy.arange(12.0), k).sum() for k in range(3)])
        assert float(got) == float(want)
        with pytest.raises(TypeError, match="another for each example"):
            vmap(lambda k: f(np, x, k))(np.arange(3))  # noqa: B023


def test_elements_of_parts_differ_between_examples() -> None:
    x = numpy.arange(12.0)
    got = vmap(lambda k: np.array(x)[k : 2 * k + 1][k - 1])(np.arange(6))
    same(got, numpy.array([x[k : 2 * k + 1][k - 1] for k in range(6)]))
    with pytest.raises(IndexError):
        vmap(lambda k: np.array(x)[k : 2 * k][k])(np.arange(6))


def test_len_of_a_part_is_a_number() -> None:
    f = jit(lambda x: fori_loop(0, 5, lambda k, s: s + len(x[: k + 1]) * k, 0.0))
    assert float(f(np.arange(3.0))) == sum(min(k + 1, 3) * k for k in range(5))


def test_what_is_refused_says_so() -> None:
    x = np.arange(12.0)
    text = "not known|broadcast|operands do not fit|mismatch in its core"
    for f in REFUSED:
        with pytest.raises((TypeError, ValueError), match=text):
            jit(lambda x: fori_loop(0, 3, lambda k, s: s + f(x, k), 0.0))(x)  # noqa: B023
        with pytest.raises((TypeError, ValueError), match=f"another for each example|{text}"):
            vmap(lambda k: f(x, k))(np.arange(3))  # noqa: B023


# -- generated -------------------------------------------------------------------------------------

BOUND = st.sampled_from(["", "i", "i + 1", "i - 2", "j", "-i", "7 - i", "3", "-2", "n", "n + 9"])
PART = st.tuples(BOUND, BOUND).map(lambda t: f"{t[0]} : {t[1]}")


@st.composite
def _statements(draw: Any) -> str:
    s, t = draw(PART), draw(PART)
    return draw(
        st.sampled_from(
            [
                f"x[{s}] += 0.25 * x[{s}] + y[{s}]",
                f"x[{s}] = c",
                f"c = c * 0.5 + (x[{s}] * y[{s}]).sum() - x[{t}].prod() * 0.01",
                f"c = c * 0.5 + x[{s}] @ y[{s}] * 0.1",
                f"a[{s}, {t}] -= 0.1 * np.outer(x[{s}], y[{t}])",
                f"a[j, {s}] = a[{s}, i] * 0.5",
                f"x[{s}] = a[{s}, {t}] @ y[{t}] * 0.1",
                f"v = y[{s}]; v *= 0.5; c = c + v.sum(); y[i] = 0.5; c = c - v.sum()",
                f"y += a[{s}].sum(axis=0) * 0.1",
                f"y[{s}] = np.minimum(np.abs(y[{s}]), 2.0) if c > 0 else y[{s}]",
                "x[:k] += 0.5 * y[1 : k + 1]",
                "x[k:] -= y[: 6 - k][::-1] * 0.5",
                "c = c * 0.5 + x[6 - k :] @ y[:k] * 0.1 + np.flip(y[k:]) @ x[k:] * 0.1",
                "a[:k, k:] += np.flip(a[:k, k:], 0) * 0.1 + y[: 6 - k]",
                "y[k:] = np.cumsum(np.where(x[k:] > 0.5, x[: 6 - k], 0.25)) * 0.2",
                "j = (j + 1) % 5",
                "n = n + j",
            ]
        )
    )


@settings(deadline=None, max_examples=40)
@given(st.lists(_statements(), min_size=1, max_size=4), st.booleans())
def test_generated_loops(tmp_path_factory: Any, body: list[str], back: bool) -> None:
    over = "range(6, -4, -1)" if back else "range(-3, 7)"
    source = "def f(x, a):\n    c, j, n, y = 1.0, 0, 0, x * 0.5\n    for i in " + over + ":\n"
    lines = [s.replace("[i]", "[i - 1]").replace(", i]", ", i - 1]") for s in body]
    lines.insert(0, "k = abs(i) % 6")
    source += "".join(f"        {s}\n" for s in lines) + "    return c, j, n, y\n"
    path = tmp_path_factory.mktemp("generated") / "program.py"
    path.write_text(source)
    theirs, ours = operands(), [np.array(x) for x in operands()]
    made = []
    for namespace in ({"np": numpy}, {"np": np}):
        exec(compile(source, str(path), "exec"), namespace)
        made.append(namespace["f"])
    want, got = made[0](*theirs), jit(made[1])(*ours)
    for g, w in zip((*got, *ours), (*want, *theirs), strict=True):
        numpy.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-9, err_msg=source)
