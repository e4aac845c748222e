"""Slices at places that have no value: under jit, in loops, under vmap and grad."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp import fori_loop, grad, jit, jvp, vmap
from tests.helpers import loaded

FILE = Path(__file__).with_name("windows.py")
PLAIN, OURS = loaded(FILE, "plain_windows", numpy), loaded(FILE, "our_windows", np)
NAMES = [n for n, f in vars(PLAIN).items() if inspect.isfunction(f) and n[0] != "_"]


def operands(dtype: Any = float) -> tuple[Any, Any]:
    rng = numpy.random.default_rng(3)
    return tuple((rng.standard_normal(s) * 3).astype(dtype) for s in ((12,), (6, 8)))  # type: ignore[return-value]


def same(got: Any, want: Any) -> None:
    if want is None:
        assert got is None
        return
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    numpy.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_as_numpy_runs_it(name: str) -> None:
    theirs = operands()
    ours = [np.array(x) for x in theirs]
    want = getattr(PLAIN, name)(*theirs)
    jitted = jit(getattr(OURS, name))
    same(jitted(*ours), want)
    for x, y in zip(ours, theirs, strict=True):
        same(x, y)
    assert ("unrolled" in str(np.explain(jitted))) == (name in PLAIN.UNROLLED)


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.int32, numpy.uint8, complex, bool])
@pytest.mark.parametrize("name", ["moving_sum", "overlapping", "rows_in_turn", "empty"])
def test_dtypes(name: str, dtype: Any) -> None:
    theirs = operands(dtype)
    ours = [np.array(x) for x in theirs]
    want = getattr(PLAIN, name)(*theirs)
    got = jit(getattr(OURS, name))(*ours)
    assert want is None and got is None or numpy.allclose(got, want)
    for x, y in zip(ours, theirs, strict=True):
        assert x.dtype == y.dtype
        numpy.testing.assert_allclose(numpy.asarray(x), y, rtol=1e-5)


def summed(module: ModuleType, name: str, x: Any, a: Any) -> Any:
    """Of everything that the kernel computes, so that all of it has a gradient."""
    x, a = x * 1.0, a * 1.0
    out = getattr(module, name)(x, a)
    return (x * x).sum() + (a * a).sum() + (0.0 if out is None else (out * 1.0).sum())


DIFFERENTIABLE = [n for n in NAMES if n not in ("comparisons", "trailing_axes")]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives(name: str) -> None:
    x, a = operands()
    x, a = x / 3, a / 3
    along = numpy.random.default_rng(5).standard_normal(12)
    h = 1e-6
    want = (summed(PLAIN, name, x + h * along, a) - summed(PLAIN, name, x - h * along, a)) / (2 * h)
    jitted = jit(lambda x, a: summed(OURS, name, x, a))
    given_ = np.array(x), np.array(a)
    slope = grad(jitted)(*given_)
    numpy.testing.assert_allclose(slope @ along, want, rtol=2e-5, atol=1e-6)
    numpy.testing.assert_allclose(jit(grad(jitted))(*given_), slope, rtol=1e-12)
    _, tangent = jvp(lambda x: jitted(x, given_[1]), (given_[0],), (np.array(along),))
    numpy.testing.assert_allclose(tangent, want, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_batches(name: str) -> None:
    pairs = [(x + k, a - k) for k in range(3) for x, a in [operands()]]
    want = [summed(PLAIN, name, x, a) for x, a in pairs]
    given_ = [np.stack(c) for c in zip(*pairs, strict=True)]
    for f in (vmap(jit(lambda x, a: summed(OURS, name, x, a))),
              jit(vmap(jit(lambda x, a: summed(OURS, name, x, a))))):  # fmt: skip
        numpy.testing.assert_allclose(f(*given_), want, rtol=1e-10)


# -- places that differ between examples -----------------------------------------------------------

PLACES = numpy.array([3, 0, 5, 3])
AT: list[Any] = [
    lambda x, i: x[i : i + 4],
    lambda x, i: x[i + 4 : i : -1],
    lambda x, i: x[i : i + 7 : 3],
    lambda x, i: x[-i - 4 : -i - 1],
    lambda x, i: x[i + 2 : i],
    lambda x, i: x.reshape(3, 4).T[1:3, i // 2 : i // 2 + 1],
    lambda x, i: x[None, i : i + 2, None],
]


@pytest.mark.parametrize("f", AT)
def test_examples_at_places_of_their_own(f: Any) -> None:
    x = numpy.arange(12.0)
    want = numpy.stack([f(x, i) for i in PLACES])
    ours = np.array(x)
    same(vmap(lambda i: f(ours, i))(np.array(PLACES)), want)
    both = vmap(f)(np.stack([ours] * 4), np.array(PLACES))
    same(both, want)

    def stored(x: Any, i: Any) -> Any:
        x = x * 1.0
        f(x, i)[...] = -1.0
        return x

    want = numpy.stack([stored(x, i) for i in PLACES])
    same(vmap(lambda i: stored(ours, i))(np.array(PLACES)), want)
    slopes = vmap(lambda i: grad(lambda x: (f(x, i) ** 2).sum())(ours))(np.array(PLACES))
    for slope, i in zip(slopes, PLACES, strict=True):
        dense = numpy.zeros(12)
        f(dense, i)[...] = 2 * f(x, i)
        numpy.testing.assert_allclose(slope, dense)


def test_the_examples_of_two_transformations_are_pairs() -> None:
    """The bounds have the same values, or values at one distance, but not in each pair."""
    x, places = np.arange(12.0), np.array([0, 3, 5])
    for more in (places, places + 2, places * 1):
        with pytest.raises(TypeError, match="another for each example"):
            vmap(lambda i: vmap(lambda j: x[i : j + 3])(more))(places)  # noqa: B023
    got = vmap(lambda i: vmap(lambda j: x[i : i + 3] + x[j : j + 3])(places))(places)
    want = [[numpy.arange(i, i + 3) + numpy.arange(j, j + 3) for j in places] for i in places]
    same(got, numpy.array(want, float))


def test_what_is_refused_says_so() -> None:
    x = np.arange(12.0)
    with pytest.raises(TypeError, match="another for each example"):
        vmap(lambda i: x[i : i + 8])(np.array(PLACES))
    with pytest.raises(TypeError, match="another for each example"):
        vmap(lambda i: x[i:])(np.array(PLACES))
    numpy.testing.assert_array_equal(jit(lambda x, i: x[i : i + 3])(x, np.array(3)), [3, 4, 5])
    with pytest.raises(TypeError, match="not known"):
        jit(lambda x: fori_loop(0, 3, lambda i, s: s + x[:: i + 1].sum(), 0.0))(x)
    with pytest.raises(ValueError, match=r"from shape \(2,\) into shape \(3,\)"):
        jit(lambda x: fori_loop(0, 3, lambda i, s: _store(s, i), x))(x)


def _store(x: Any, i: Any) -> Any:
    x[i : i + 3] = np.zeros(2)
    return x


def test_narrow_counters_that_wrap_round() -> None:
    """i + 200 wraps round in uint8, so the distance of the bounds proves nothing."""
    x = np.arange(300.0)
    for add, fits in ((5, True), (200, False)):
        f = lambda i: x[i : i + numpy.uint8(add)]  # noqa: B023, E731
        places = np.array([3, 100], numpy.uint8)
        if fits:
            same(vmap(f)(places), numpy.stack([numpy.arange(3.0, 8), numpy.arange(100.0, 105)]))
        else:
            with pytest.raises(TypeError, match="another for each example"):
                vmap(f)(places)


# -- generated -------------------------------------------------------------------------------------


@st.composite
def _slices(draw: Any) -> str:
    """A slice of two bounds at a distance, of a counter or what follows from it."""
    place = draw(st.sampled_from(["i", "2 * i", "11 - i", "i % 4", "i // 2", "-i", "i - 12", "k"]))
    low, size = draw(st.integers(-2, 3)), draw(st.integers(-1, 4))
    step = draw(st.sampled_from(["", "", " : 1", " : 2", " : -1", " : -2"]))
    bounds = f"{place} + {low}", f"{place} + {low + size}"
    if "-" in step and draw(st.booleans()):
        bounds = bounds[::-1]
    return f"{bounds[0]} : {bounds[1]}{step}"


@st.composite
def _statements(draw: Any) -> str:
    to, of = draw(_slices()), draw(_slices())
    return draw(
        st.sampled_from(
            [
                f"x[{to}] += x[{of}].sum() * 0.5 + 1",
                f"s = s + (x[{of}] * 0.5).sum() - x[{to}].sum()",
                f"x[{to}] = s * 0.25",
                f"v = x[{to}]; v *= 0.75; v[:1] += s",
                f"y[{to}] = x[{to}]",
                f"k = (k + 1) % 7; y[{of}] -= 0.5",
                f"s = s * 0.5 + (x[{of}][:2].sum() if s > 1 else 1.0)",
            ]
        )
    )


@settings(deadline=None, max_examples=60)
@given(
    st.lists(_statements(), min_size=1, max_size=4),
    st.sampled_from(["range(9)", "range(2, 10)", "range(1, 11, 2)", "range(10, 0, -1)"]),
)
def test_generated_loops(tmp_path_factory: Any, body: list[str], over: str) -> None:
    source = "def f(x):\n    s, k, y = 0.0, 0, x * 2.0\n    for i in " + over + ":\n"
    source += "".join(f"        {s}\n" for s in body) + "    return s, k, y\n"
    path = tmp_path_factory.mktemp("generated") / "program.py"
    path.write_text(source)
    namespace: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), namespace)
    theirs = numpy.arange(12.0) * 0.3 - 1
    ours = np.array(theirs)
    want, got = namespace["f"](theirs), jit(namespace["f"])(ours)
    for g, w in zip(got, want, strict=True):
        numpy.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-10, err_msg=source)
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10, err_msg=source)
