"""`for` over slices between traced bounds, and over what a mask selects: as Python on NumPy."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np


def neighbours(m):
    total = 0.0
    for j in range(20):
        for v in m[2][max(j - 1, 0) : min(j + 2, 20)]:
            total = total * 0.5 + v
    return total


def generators(m):
    r, total = m[2], 0.0
    for j in range(20):
        total += sum(v * v for v in r[j:])
        if any(v > 0.9 for v in r[:j]):
            total += 1
        if all(v > 0.1 for v in r[j : j + 3]):
            total += 1
    return total


def rows_of_a_sparse_matrix(m):
    begins, places = np.array([0, 3, 3, 8, 12, 20]), (m[0] * 20).astype(int)
    y = np.zeros(5)
    for i in range(5):
        for k, j in enumerate(places[begins[i] : begins[i + 1]]):
            y[i] += m[3, begins[i] + k] * m[1, j]
        row = slice(begins[i], begins[i + 1])
        for j, v in zip(places[row], m[3][row]):
            y[i] += v * m[1, j]
    return y


def bounds_of_each_kind(m):
    total = 0.0
    for j in range(1, 15):
        for row in m[j - 1 : j + 2]:
            total = total * 0.9 + row[j]
        for row in m[:, j : j + 2]:
            total = total * 0.9 + row.sum()
        for row in m[j:, j - 1 : j + 1]:
            total = total * 0.9 + row.sum()
        for v in reversed(m[1][j:]):
            total = total * 0.7 + v
        for v in m[1][-j:]:
            total = total * 0.7 + v
        for v in m[1][j - 5 : j + 30]:
            total = total * 0.7 + v
        for v in m[1][j + 2 : j]:
            total = total * 0.7 + v
        for v, k in zip(m[1][j:], range(j, 12)):
            total = total * 0.7 + v * k
    return total


def written_meanwhile(m):
    r = m[0]
    for j in range(12):
        for k, v in enumerate(r[j : j + 3]):
            if v > 0.5:
                r[j + k] = v * 0.5
                r[(j + k + 1) % 20] += 0.25
                break
        else:
            r[j] = 1
    return r


def left_early(m):
    count = 0
    for j in range(10):
        for v in m[0][j:]:
            if v < 0.2:
                continue
            if v > 0.97:
                return count, v
            count += 1
    return count, -1.0


def selected(m):
    total = 0.0
    for k in range(20):
        for v in m[k][m[k] > 0.6]:
            total = total * 0.5 + v
    for v in m[0][m[0] > 5]:
        total += v
    for i, row in enumerate(m[m[:, 0] > 0.5]):
        total = total * 0.5 + row[i % 7]
        if total > 1.2:
            break
    for a, b in zip(m[m > 0.9], m[1]):
        total = total * 0.5 + a * b
    return total + sum(v * v for v in m[0][m[0] > 0.5])


def selected_are_copies(m):
    w, total = m[0], 0.0
    for v in w[w > 0.4]:
        total = total * 0.5 + v
        w[:] = w * 0.9
    z = w[w > 0.1]
    z[:] = 2.0
    for v in z:
        total += v
    return total, w


def builtins_of_parts(m):
    out, r = np.zeros(20), m[2]
    for j in range(1, 20):
        out[j] = sum(r[:j]) + max(r[j:]) - min(r[:j]) + sum(r[j:], 1.5) + sum(r[j:] > 0.5)
        out[j] += any(r[:j] > 0.9) + 2 * all(r[:j] > 0.1) + sorted(r[:j])[j // 3]
        out[j] += sorted(r[j:])[-1] + len(sorted(r[:j])) + sum(sorted(r[: j + 1])[:2])
    return out


FUNCTIONS = [
    builtins_of_parts, neighbours, generators, rows_of_a_sparse_matrix, bounds_of_each_kind,
    written_meanwhile, left_early, selected, selected_are_copies,
]  # fmt: skip
SMOOTH = [builtins_of_parts, neighbours, rows_of_a_sparse_matrix, bounds_of_each_kind]


def _samples() -> list[Any]:
    return list(numpy.random.default_rng(3).uniform(size=(3, 20, 20)))


def _parts(x: Any) -> Any:
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_loops_over_parts(f: Any) -> None:
    jitted = np.jit(f)
    for m in _samples():
        plain, ours = m.copy(), np.array(m)
        want, got = f(plain), jitted(ours)
        for a, b in zip(_parts(got), _parts(want), strict=True):
            numpy.testing.assert_allclose(a, b, rtol=1e-12)
            assert a.dtype == numpy.asarray(b).dtype
        numpy.testing.assert_allclose(ours, plain, rtol=1e-12)
    assert "unrolled" not in str(np.explain(jitted))


@pytest.mark.parametrize("f", FUNCTIONS[:-1], ids=lambda f: f.__name__)
def test_batches_of_loops_over_parts(f: Any) -> None:
    samples = _samples()
    many = np.vmap(f)(np.array(numpy.stack(samples)))
    for k, m in enumerate(samples):
        for a, b in zip(_parts(many), _parts(f(m.copy())), strict=True):
            numpy.testing.assert_allclose(a[k], b, rtol=1e-12)


@pytest.mark.parametrize("f", SMOOTH, ids=lambda f: f.__name__)
def test_derivatives_of_loops_over_parts(f: Any) -> None:
    m, rng = _samples()[0], numpy.random.default_rng(4)
    direction = rng.uniform(size=m.shape)
    if f is rows_of_a_sparse_matrix:
        direction[0] = 0  # decides places

    def total(x):
        return np.sum(f(x))

    step = 1e-6
    slope = (f(m + step * direction).sum() - f(m - step * direction).sum()) / (2 * step)
    gradient = np.jit(np.jacfwd(total))(np.array(m)) if f is rows_of_a_sparse_matrix else (
        np.jit(np.grad(total))(np.array(m))
    )  # fmt: skip
    numpy.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-6)


def of_nothing(x, k):
    total = 0.0
    for j in range(3, 30):
        total += max(x[k:j])
    return total


def beyond(x, k):
    total = 0.0
    for j in range(3, 30):
        total += x[2:j][k]
    return total


def as_a_list(x, k):
    total = 0.0
    for j in range(3, 30):
        total += len(sorted(x[:j]) * k)
    return total


def test_errors_of_builtins_of_parts() -> None:
    x = numpy.arange(40.0)
    assert jit_of(of_nothing)(x, 2) == of_nothing(x, 2)
    with pytest.raises(ValueError) as error:
        jit_of(of_nothing)(x, 5)
    with pytest.raises(ValueError, match=str(error.value).replace("(", r"\(").replace(")", r"\)")):
        of_nothing(x, 5)
    assert jit_of(beyond)(x, -1) == beyond(x, -1)
    for k in (1, -2):
        with pytest.raises(IndexError, match=f"index {k} is out of bounds"):
            jit_of(beyond)(x, k)
        with pytest.raises(IndexError):
            beyond(x, k)
    with pytest.raises(TypeError, match="a bound, a size"):  # no product with each element
        jit_of(as_a_list)(x, 2)


def jit_of(f: Any) -> Any:
    return lambda x, k: np.jit(f)(np.array(x), k)


@pytest.mark.parametrize("values", [[numpy.nan, 1.0], [1.0, numpy.nan], [2.0, -0.0, 0.0]])
def test_extremes_of_parts_are_pythons(values: Any) -> None:
    """Python's `max` compares from the first one on, and so keeps a nan only there."""

    def extremes(x):
        out = np.zeros(40)
        for j in range(1, 20):
            out[j], out[20 + j] = max(x[j:]), min(x[:j])
        return out

    x = numpy.resize(values, 20)
    numpy.testing.assert_array_equal(np.jit(extremes)(np.array(x)), extremes(x))


def test_sums_of_long_arrays_are_loops() -> None:
    x = numpy.random.default_rng(0).uniform(size=300)
    total = np.jit(lambda x: sum(x) + sum(x > 0.5) + sorted(x)[7])
    assert total(np.array(x)) == sum(x) + sum(x > 0.5) + sorted(x)[7]
    assert len(str(np.make_jaxpr(total)(np.array(x))).splitlines()) < 700


def backwards(x, bounds):
    """Both are of one size, wherever the bounds are: beyond the array, counted from its end, or
    the wrong way round.
    """
    out, rows, total = np.zeros(len(x)), np.zeros((len(x), 2)), 0.0
    pairs = np.stack([x, 2 - x], 1)
    for k in range(len(bounds) - 1):
        i, e = bounds[k], bounds[k + 1]
        y = np.sort(x[i:e])
        out[i:e] += np.cumsum(x[i:e])[::-1]
        out[i:e] -= (np.flip(x[i:e]) * 2)[::-1] + y[::-1]
        out[i:e] = np.cumsum(out[i:e][::-1])[::-1] * 0.5
        out[i:e] *= np.where(x[i:e] > 0, x[i:e][::-1], y)
        rows[i:e] += pairs[i:e][::-1, ::-1]
        rows[i:e] += np.cumsum(pairs[i:e], axis=0)[::-1] * np.cumprod(pairs[i:e], axis=-1)
        rows[i:e, 0] -= x[i:e][::-1]
        total += y[::-1] @ x[i:e] + np.abs(x[i:e] - y).sum()
    return out, rows, total


BOUNDS = [[0, 5, 9, 17, 40], [0, 5, 5, 3, 40, 44, 41, 60], [-40, -35, -2, 39, -1, 2, -41, 3]]


@pytest.mark.parametrize("execution", ["reference", "compiled"])
def test_slices_and_the_same_backwards(execution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = numpy.random.default_rng(0).normal(size=40)
    jitted = np.jit(backwards)
    for bounds in BOUNDS:
        with monkeypatch.context() as m:
            m.setitem(globals(), "np", numpy)
            want = backwards(x.copy(), bounds)
        with np.config(execution=execution):
            got = jitted(np.array(x), np.array(bounds))
        for ours, numpys in zip(got, want, strict=True):
            numpy.testing.assert_allclose(ours, numpys, rtol=1e-12, atol=1e-12)
    assert "unrolled" not in str(np.explain(jitted))


def test_derivatives_of_slices_backwards() -> None:
    def f(x: Any, bounds: Any) -> Any:
        total = 0.0
        for k in range(len(bounds) - 1):
            part = x[bounds[k] : bounds[k + 1]]
            total += (np.cumsum(part)[::-1] * part**2).sum()
        return total

    x, bounds, step = numpy.random.default_rng(0).normal(size=12), numpy.array([0, 3, 8, 12]), 1e-6
    slopes = np.grad(np.jit(f))(np.array(x), np.array(bounds))
    for k in range(12):
        moved = [f(np.array(x + s * numpy.eye(12)[k]), bounds) for s in (step, -step)]
        assert float(slopes[k]) == pytest.approx(float(moved[0] - moved[1]) / (2 * step), rel=1e-5)
