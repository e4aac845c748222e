"""Loops whose number of rounds depends on values, but has a bound: they have a reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp import cond, fori_loop, grad, hessian, jit, jvp, make_jaxpr, vmap, while_loop
from lazynp.transforms._looping import counted_loop
from tests.transforms.test_elements import equations

N = 7


def by_python(
    lower: Any, upper: Any, body: Any, state: Any, going: Any = None, bound: Any = None
) -> Any:
    for i in range(int(lower), int(upper))[:bound]:
        if going is not None and not going(state):
            break
        state = body(i, state)
    return state


def python_loop(lower: Any, upper: Any, body: Any, state: Any) -> Any:
    return by_python(lower, upper, body, state)


def python_cond(p: Any, yes: Any, no: Any) -> Any:
    return yes() if p else no()


Loops = tuple[Any, Any, Any]  # fori_loop, counted_loop, cond
OURS: Loops = (fori_loop, counted_loop, cond)
PYTHON: Loops = (python_loop, by_python, python_cond)


def triangle(loops: Loops, x: Any) -> Any:
    fori, _, _ = loops
    return fori(0, N, lambda i, a: fori(i + 1, N, lambda j, a: a + x[i] * x[j] ** 2, a), 0.0)


def lu(loops: Loops, x: Any) -> Any:
    """The inner loops begin where the outer ones are, and write the array."""
    fori, _, _ = loops
    m = (x[:, None] * x + np.eye(N) * N if isinstance(x, np.ndarray) else numpy.outer(x, x)
         + numpy.eye(N) * N)  # fmt: skip
    m = m.copy()

    def row(k: Any, i: Any, m: Any) -> Any:
        m[i, k] = m[i, k] / m[k, k]

        def element(j: Any, m: Any) -> Any:
            m[i, j] = m[i, j] - m[i, k] * m[k, j]
            return m

        return fori(k + 1, N, element, m)

    m = fori(0, N - 1, lambda k, m: fori(k + 1, N, lambda i, m: row(k, i, m), m), m)
    return (m * m).sum()


def insertion_sort(loops: Loops, x: Any) -> Any:
    """A loop that ends early, by a flag, within a loop; and branches that write."""
    fori, counted, cond = loops
    x = x.copy()

    def insert(i: Any, x: Any) -> Any:
        def step(t: Any, s: Any) -> Any:
            x, _ = s
            j = i - t

            def swap() -> Any:
                x[j], x[j - 1] = x[j - 1], x[j]
                return np.bool_(True)

            return x, cond(x[j] < x[j - 1], swap, lambda: np.bool_(False))

        return counted(0, i, step, (x, np.bool_(True)), going=lambda s: s[1])[0]

    x = fori(1, N, insert, x)
    return (x * (numpy.arange(N) + 1.0)).sum() + x[0] * x[1]


def until(loops: Loops, x: Any) -> Any:
    """`return` from a loop: a sum until it is large."""
    _, counted, _ = loops

    def body(i: Any, s: Any) -> Any:
        total, _ = s
        total = total + x[i] ** 2
        return total, total < 1.0

    return counted(0, N, body, (0.0, np.bool_(True)), going=lambda s: s[1])[0]


def inner_scan(loops: Loops, x: Any) -> Any:
    """A loop of fixed length, over rows, in one that ends early."""
    fori, counted, _ = loops
    y = x.copy()

    def body(i: Any, s: Any) -> Any:
        total, _ = s

        def inner(j: Any, a: Any) -> Any:
            y[j] = y[j] + 0.5 * y[i]
            return a + y[j] * x[i]

        total = fori(0, 3, inner, total)
        return total, total < 2.0

    total = counted(0, N, body, (0.0, np.bool_(True)), going=lambda s: s[1])[0]
    return total + (y * y).sum()


def inner_unbounded(loops: Loops, x: Any) -> Any:
    """A loop without a bound over what no derivative passes, in one with a bound."""
    fori, _, _ = loops

    def body(i: Any, j: Any, a: Any) -> Any:
        if loops is OURS:
            n = while_loop(lambda n: n * n < j, lambda n: n + 1, 0)
        else:
            n = 0
            while n * n < j:
                n += 1
        return a + x[j] * n * x[i]

    return fori(0, N, lambda i, a: fori(i + 1, N, lambda j, a: body(i, j, a), a), 0.0)


def guarded_square_root(loops: Loops, x: Any) -> Any:
    """Once the loop is over, another round would not be a number."""
    _, counted, _ = loops

    def body(i: Any, s: Any) -> Any:
        left, total = s
        return left - x[i], total + np.sqrt(left) * x[i]

    return counted(0, N, body, (1.0, 0.0), going=lambda s: s[0] > 0.3)[1]


FUNCTIONS = [
    triangle, lu, insertion_sort, until, inner_scan, inner_unbounded, guarded_square_root,
]  # fmt: skip


def point(seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).random(N)


def differences(f: Callable[[Any], Any], x: Any) -> Any:
    h, out = 1e-6, []
    for i in range(len(x)):
        ahead, behind = x.copy(), x.copy()
        ahead[i] += h
        behind[i] -= h
        out.append((float(f(ahead)) - float(f(behind))) / (2 * h))
    return numpy.array(out)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_and_gradients(f: Any) -> None:
    x = point()
    ours = lambda x: f(OURS, x)  # noqa: E731
    numpy.testing.assert_allclose(jit(ours)(np.array(x)), f(PYTHON, x))
    want = grad(lambda x: f(PYTHON, x))(np.array(x))
    numpy.testing.assert_allclose(want, differences(lambda x: f(PYTHON, x), x), rtol=1e-5,
                                  atol=1e-7)  # fmt: skip
    numpy.testing.assert_allclose(jit(grad(ours))(np.array(x)), want, rtol=1e-10, atol=1e-12)
    pushed = jvp(ours, (np.array(x),), (np.ones(N),))[1]
    numpy.testing.assert_allclose(pushed, want.sum(), rtol=1e-9)


@pytest.mark.parametrize("f", [triangle, insertion_sort, until, inner_scan, guarded_square_root])
def test_examples(f: Any) -> None:
    """Each example takes its own number of rounds."""
    xs = numpy.stack([point(seed) for seed in range(3)])
    many = vmap(grad(lambda x: f(OURS, x)))(np.array(xs))
    for got, x in zip(many, xs, strict=True):
        want = grad(lambda x: f(PYTHON, x))(np.array(x))
        numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_examples_of_which_some_are_done() -> None:
    """Their index is not used beyond what was proved, in no mode."""

    def f(x: Any, n: Any) -> Any:
        return fori_loop(0, np.minimum(n, N), lambda i, a: a + x[i] * x[N - 1 - i], 0.0)

    x, lengths = point(), [0, 3, N]
    want = [sum(x[i] * x[N - 1 - i] for i in range(n)) for n in lengths]
    many = vmap(f, (None, 0))
    numpy.testing.assert_allclose(many(np.array(x), np.array(lengths)), want)
    slopes = vmap(grad(f), (None, 0))(np.array(x), np.array(lengths))
    for got, n in zip(slopes, lengths, strict=True):
        of_n = lambda x, n=n: sum(x[i] * x[N - 1 - i] for i in range(n))  # noqa: E731
        numpy.testing.assert_allclose(got, differences(of_n, x), rtol=1e-6, atol=1e-8)


def test_second_derivatives() -> None:
    x = np.array(point())
    for f in (triangle, until):
        got = hessian(lambda x, f=f: f(OURS, x))(x)
        want = hessian(lambda x, f=f: f(PYTHON, x))(x)
        numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("bound", [0, 1, 3, 100])
@pytest.mark.parametrize("lower, upper", [(0, N), (2, 5), (4, 4), (5, 2)])
def test_bounds(lower: int, upper: int, bound: int) -> None:
    """Ints and traced numbers; the bound holds in every mode."""

    def f(x: Any, lower: Any, upper: Any, loop: Any) -> Any:
        return loop(lower, upper, lambda i, a: a * 0.5 + x[i] ** 2, 0.0, bound=bound)

    x = point()
    want = f(x, lower, upper, by_python)
    of_want = differences(lambda x: f(x, lower, upper, by_python), x)
    for traced in (True, False):
        if traced:
            ours = lambda x, lo, hi: f(x, lo, hi, counted_loop)  # noqa: E731
        else:
            ours = lambda x, lo, hi: f(x, lower, upper, counted_loop)  # noqa: E731
        numpy.testing.assert_allclose(jit(ours)(np.array(x), lower, upper), want)
        got = jit(grad(ours))(np.array(x), lower, upper)
        numpy.testing.assert_allclose(got, of_want, rtol=1e-5, atol=1e-7)


def test_without_a_bound() -> None:
    f = lambda x, n: fori_loop(0, n, lambda i, a: a * x, 1.0)  # noqa: E731
    assert float(jit(grad(f))(2.0, np.asarray(3))) == 12.0
    assert float(jit(grad(f))(2.0, 3)) == 12.0  # the int becomes static
    assert float(jit(jvp, static_argnums=0)(lambda x: f(x, 3), (2.0,), (1.0,))[1]) == 12.0
    assert float(grad(lambda x: while_loop(lambda a: a < 9.0, lambda a: a * x, 1.0))(2.0)) == 32


def test_a_bad_index_counts_only_in_rounds_that_run() -> None:
    def f(x: Any, k: Any, n: Any) -> Any:
        return counted_loop(0, n, lambda i, a: a + x[k[i]] ** 2, 0.0, bound=N)

    x, k = np.arange(4.0), np.array([0, 1, 2, 3, 9, 9, 9])
    assert jit(grad(f))(x, k, 4).tolist() == [0, 2, 4, 6]
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        jit(grad(f))(x, k, 5)


@pytest.mark.parametrize("f", [triangle, lu, insertion_sort, until])
def test_no_round_is_dense(f: Any) -> None:
    """The rounds that are masked change single elements, in both directions."""
    size = N * N if f is lu else N
    jaxpr = make_jaxpr(grad(lambda x: f(OURS, x)))(np.array(point()))
    loops = [e.params["jaxpr"] for e in equations(jaxpr) if e.primitive.name == "scan"]
    assert loops and not any(e.primitive.name == "while" for e in equations(jaxpr))
    inner = [j for j in loops if not any(e.primitive.name == "scan" for e in equations(j))]
    for eqn in (e for j in inner for e in equations(j)):
        if eqn.primitive.name not in ("slice", "update_slice", "add_slice"):
            if eqn.outputs:
                assert max(v.aval.size for v in eqn.outputs) < size, eqn.primitive.name


@settings(deadline=None, max_examples=10)
@given(st.data())
def test_generated_nests(data: Any) -> None:
    """Two loops with bounds of values, early ends, and writes before, in and after the inner."""
    index = st.sampled_from(["i", "j", "i - j", "1", "-1"])
    outer = st.sampled_from(["i", "i - 1", "2", "-1"])
    value = lambda i: data.draw(  # noqa: E731
        st.tuples(i, i).map(lambda t: f"0.5 * x[{t[0]}] + c * x[{t[1]}] ** 2 * 0.3")
    )
    write = lambda i: f"x[{data.draw(i)}] = {value(i)}"  # noqa: E731
    lines = [
        "def run(fori, counted, cond, x):",
        "    x = x.copy()",
        "    def outer(i, s):",
        "        c, on = s",
        f"        {write(outer) if data.draw(st.booleans()) else 'pass'}",
        "        def inner(j, c):",
        f"            {write(index) if data.draw(st.booleans()) else 'pass'}",
        f"            return c * 0.7 + {value(index)}",
        f"        c = counted({data.draw(st.sampled_from(['0', 'i', '1']))}, "
        f"{data.draw(st.sampled_from(['i', 'N', '3']))}, inner, c, "
        f"going=lambda c: c < {data.draw(st.sampled_from(['0.6', '9.0']))})",
        f"        {write(outer) if data.draw(st.booleans()) else 'pass'}",
        f"        return c, c + x[1] < {data.draw(st.sampled_from(['1.0', '9.0']))}",
        "    c, on = counted(0, N - 1, outer, (x[0] * 1.0, c0), going=lambda s: s[1])",
        "    return c + (x * x).sum()",
    ]
    names: dict[str, Any] = {"N": N, "c0": np.bool_(True)}
    exec("\n".join(lines), names)
    x = point()
    numpy.testing.assert_allclose(
        jit(lambda x: names["run"](*OURS, x))(np.array(x)), names["run"](*PYTHON, x), rtol=1e-10
    )
    want = grad(lambda x: names["run"](*PYTHON, x))(np.array(x))
    got = jit(grad(lambda x: names["run"](*OURS, x)))(np.array(x))
    numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("bound", [2.5, 3.0, 3j, numpy.float64(3), numpy.arange(3), [3], "3", None])
def test_bounds_are_integers(bound: Any) -> None:
    """As those of a range."""
    for transform in (lambda f: f, np.jit):
        for bounds in ((0, bound), (bound, 3)):
            run = transform(lambda b=bounds: np.fori_loop(*b, lambda i, x: x + i, 0.0))
            with pytest.raises(TypeError, match=r"fori_loop: (lower|upper|arrays)"):
                run()
    assert float(np.fori_loop(numpy.int8(1), np.array(4), lambda i, x: x + i, 0.0)) == 6


def sweeps_of_a_sum(n, x):
    for _ in range(n - 1):
        for k in range(1, n // 2 + 1):
            x = x * 1.01 + k
    return x


def test_an_int_in_sums_that_bound_ranges_is_known() -> None:
    jitted = np.jit(sweeps_of_a_sum)
    x = np.array(2.0)
    slope = np.grad(jitted, argnums=1)(12, x)
    assert float(slope) == pytest.approx(1.01 ** (11 * 6))
    assert float(jitted(20, x)) == pytest.approx(sweeps_of_a_sum(20, 2.0))
    assert float(jitted(np.array(20), x)) == pytest.approx(sweeps_of_a_sum(20, 2.0))
