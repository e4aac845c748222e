"""Sizes that the data decide: x[m], nonzero, unique and their like under jit, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._jaxpr import check

N = {0: "n"}
LENGTHS = (5, 3, 0, 1, 8)
POLICIES = ("adaptive", "compiled", "reference")
Function = Callable[[Any, Any], Any]


def vector(n: int) -> Any:
    return numpy.arange(float(n)) * 7 % 5 - 1


def stored(np: Any, x: Any) -> Any:
    y = np.array(x)
    y[y > 0] = np.arange((y > 0).sum()) * 2.0
    return y


def two_by_two(np: Any, x: Any) -> Any:
    return np.outer(x, x)


FUNCTIONS: dict[str, Function] = {
    "a count": lambda np, x: np.ones(((x > 0).sum(),)),
    "selected": lambda np, x: x[x > 0],
    "one mask, one size": lambda np, x: x[x > 0] * (x + 1)[x > 0] + np.arange((x > 0).sum()),
    "its length": lambda np, x: x[x > 0].shape[0] * 2,
    "sorted": lambda np, x: np.sort(x[x > 0]),
    "accumulated": lambda np, x: np.cumsum(x[x != 0]),
    "differences": lambda np, x: np.diff(x[x > 0]),
    "part of it": lambda np, x: x[x > 0][1:] - x[x > 0][:-1],
    "joined": lambda np, x: np.concatenate([x[x > 0], x, x[x < 0]]),
    "its order": lambda np, x: x[x > 0][np.argsort(-x[x > 0], kind="stable")],
    "median": lambda np, x: np.median(np.append(x[x > 0], 1.0)),
    "norm": lambda np, x: np.linalg.norm(x[x > 0]),
    "rows": lambda np, x: two_by_two(np, x)[x > 0],
    "columns": lambda np, x: two_by_two(np, x)[:, x > 0],
    "of a matrix": lambda np, x: two_by_two(np, x)[two_by_two(np, x) > 1],
    "nonzero": lambda np, x: np.nonzero(x),
    "nonzero of a matrix": lambda np, x: np.nonzero(two_by_two(np, x)),
    "flatnonzero": lambda np, x: np.flatnonzero(two_by_two(np, x)),
    "argwhere": lambda np, x: np.argwhere(two_by_two(np, x) > 1),
    "where": lambda np, x: np.where(x > 0)[0],
    "places": lambda np, x: x[np.nonzero(x > 0)] + np.where(x > 0)[0],
    "compress": lambda np, x: np.compress(x > 0, x),
    "compress along an axis": lambda np, x: np.compress(x > 0, two_by_two(np, x), axis=1),
    "extract": lambda np, x: np.extract(x > 0, x),
    "unique": lambda np, x: np.unique(x),
    "unique with its options": lambda np, x: np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    ),
    "repeat": lambda np, x: np.repeat(x, abs(x).astype(int)),
    "stored": stored,
}


def flat(out: Any) -> list[Any]:
    return [numpy.asarray(x) for x in (out if isinstance(out, tuple) else (out,))]


def outcome(function: Any, x: Any) -> Any:
    with numpy.errstate(all="ignore"):
        try:
            return flat(function(x))
        except Exception as error:
            return type(error)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_one_trace_gives_numpys_results(name: str, policy: str) -> None:
    function = FUNCTIONS[name]
    by_size = np.jit(lambda x: function(np, x), abstracted_axes=N)
    by_shape = np.jit(lambda x: function(np, x))
    with np.config(execution=policy):
        for n in LENGTHS if policy != "compiled" else LENGTHS[:2]:
            want = outcome(lambda x: function(numpy, x), vector(n))
            for f in (by_size, by_shape):
                got = outcome(f, vector(n))
                assert type(got) is type(want), (n, got, want)
                if isinstance(want, list):
                    for a, b in zip(got, want, strict=True):
                        assert a.dtype == b.dtype
                        numpy.testing.assert_allclose(a, b, rtol=1e-12, err_msg=str(n))
    assert by_size._cache_size() == 1


@pytest.mark.parametrize("name", ["selected", "one mask, one size", "rows", "unique", "repeat"])
def test_jaxprs(name: str) -> None:
    jaxpr = np.make_jaxpr(lambda x: FUNCTIONS[name](np, x), abstracted_axes=N)(vector(4))
    check(jaxpr)
    assert [flag for _, flag in jaxpr.out_type] == [False, True]
    size, got = np.eval_jaxpr(jaxpr, 5, vector(5))
    numpy.testing.assert_array_equal(got, FUNCTIONS[name](numpy, vector(5)))
    assert int(size) == got.shape[0]


@pytest.mark.parametrize("name", ["selected", "accumulated", "part of it", "joined", "repeat",
                                  "rows", "of a matrix", "compress"])  # fmt: skip
def test_derivatives(name: str) -> None:
    """Inside and outside of a function that is traced once."""

    def loss(np: Any, x: Any) -> Any:
        return (FUNCTIONS[name](np, x) ** 2).sum()

    inside = np.jit(np.grad(lambda x: loss(np, x)), abstracted_axes=N)
    outside = np.grad(np.jit(lambda x: loss(np, x), abstracted_axes=N))
    for n in (5, 3):
        x = vector(n) + 0.25
        steps = numpy.eye(n) * 1e-6
        want = [(loss(numpy, x + s) - loss(numpy, x - s)) / 2e-6 for s in steps]
        for f in (inside, outside):
            numpy.testing.assert_allclose(f(x), want, rtol=1e-6, atol=1e-6)


def test_slices_between_integers_of_the_program() -> None:
    """Of an array whose size is a number: one trace for all bounds."""
    f = np.jit(lambda x, i, j: (x[i:j], x[:j], x[i:][::-1]))
    x = vector(8)
    for i in (0, 2, -3, 9):
        for j in (1, 4, -1, 11):
            for got, want in zip(f(x, i, j), (x[i:j], x[:j], x[i:][::-1]), strict=True):
                numpy.testing.assert_array_equal(got, want)
    assert f._cache_size() == 1


@pytest.mark.parametrize("function", [
    lambda np, n: np.tile(np.arange(2), n), lambda np, n: np.repeat(np.arange(3), n),
    lambda np, n: np.pad(np.ones(2), (1, n)),
    lambda np, n: np.pad(np.ones((2, 2)), ((n, 0), (1, n))),
    lambda np, n: np.resize(np.arange(3), (n, 2)), lambda np, n: np.tri(n),
    lambda np, n: np.arange(10)[:n], lambda np, n: np.arange(10)[n : n + 2],
])  # fmt: skip
def test_integers_wherever_numpy_takes_a_size(function: Function) -> None:
    f = np.jit(lambda n: function(np, n))
    for n in (3, 0, 1, 5):
        numpy.testing.assert_array_equal(f(n), function(numpy, n))
    assert f._cache_size() == 1


def test_what_still_needs_a_value() -> None:
    for ask in (list, bool):
        with pytest.raises(TypeError, match="only traced"):
            np.jit(lambda x, ask=ask: ask(x[x > 0]))(vector(5))
    with pytest.raises(ValueError, match="could not be broadcast"):
        np.jit(lambda x: x[x > 0] + x[x > 1])(vector(5))
    with pytest.raises(TypeError, match="another for each example"):
        np.vmap(lambda x: np.sort(x[x > 0]))(np.ones((2, 3)))


def test_an_error_after_a_size_was_read_writes_nothing() -> None:
    def f(x: Any) -> Any:
        x += 1
        return x[x > 2].max()

    jitted, x = np.jit(f, abstracted_axes=N), np.zeros(3)
    with pytest.raises(ValueError, match="zero-size array"):
        jitted(x)
    numpy.testing.assert_array_equal(x, numpy.zeros(3))
    assert float(jitted(np.arange(4.0))) == 4.0


def test_a_function_that_decides_within_another() -> None:
    inner = np.jit(lambda x: x[x > 0])
    f = np.jit(lambda x: np.sort(inner(x)) * inner(x).shape[0], abstracted_axes=N)
    for n in (5, 2):
        x = vector(n)
        numpy.testing.assert_array_equal(f(x), np.sort(x[x > 0]) * (x > 0).sum())


@pytest.mark.parametrize("policy", POLICIES)
def test_results_of_pieces_share_no_memory_with_operands(policy: str) -> None:
    f = np.jit(
        lambda x: (np.ones(((x > 1).sum(),)), x[::-1] + 0, x.reshape(-1, 1)), abstracted_axes=N
    )
    with np.config(execution=policy):
        x = np.array(vector(5))
        _, turned, column = f(x)
        want = numpy.asarray(column).copy()
        turned[0] = 100.0
        numpy.testing.assert_array_equal(column, want)
        numpy.testing.assert_array_equal(x, vector(5))


@pytest.mark.parametrize(("axes", "shapes"), [
    (N, [(5, 3), (0, 3), (1, 3), (7, 3)]),
    ({0: "n", 1: "m"}, [(6, 2), (3, 0), (0, 2), (4, 9)]),
])  # fmt: skip
def test_unique_rows(axes: Any, shapes: Any) -> None:
    def unique(np: Any, x: Any) -> Any:
        return (
            *np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=0),
            np.unique(x, axis=-1, equal_nan=False),
        )

    f = np.jit(lambda x: unique(np, x), abstracted_axes=axes)
    with np.config(execution="reference"):
        for n, m in shapes:
            x = numpy.arange(n * m).reshape(n, m) // 2 % 2 * 1.0
            x[-1:, -1:] = numpy.nan
            for got, want in zip(f(x), unique(numpy, x), strict=True):
                assert got.shape == want.shape and got.dtype == want.dtype
                numpy.testing.assert_array_equal(got, want)
    assert f._cache_size() == 1


def test_unique_rows_of_a_fixed_number() -> None:
    x = np.array([[2, 1], [0, 3], [2, 1]])
    values, counts = np.unique(x, return_counts=True, axis=0, size=3, fill_value=9)
    numpy.testing.assert_array_equal(values, [[0, 3], [2, 1], [9, 9]])
    numpy.testing.assert_array_equal(counts, [1, 2, 0])


BINNED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "means": lambda np, x, i: np.bincount(i, weights=x) / np.bincount(i),
    "products": lambda np, x, i: np.bincount(i, x) * np.bincount(i, x * x),
    "less their means": lambda np, x, i: x - (np.bincount(i, x) / np.bincount(i))[i],
    "at least five": lambda np, x, i: (
        np.bincount(i, x, minlength=5) / np.maximum(np.bincount(i, minlength=5), 1)
    ),
    "of groups": lambda np, x, i: np.bincount(np.unique(i, return_inverse=True)[1], x)
    / np.unique(i, return_counts=True)[1].sum(),
    "groups": lambda np, x, i: (
        lambda found: found[0] * np.bincount(found[1], x) / found[2]
    )(np.unique(i, return_inverse=True, return_counts=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", BINNED)
def test_bins_of_the_same_places_have_one_size(name: str) -> None:
    f = BINNED[name]
    jitted = np.jit(lambda x, i: f(np, x, i))
    x = numpy.array([0.3, 1.7, -0.4, 2.2])
    with numpy.errstate(invalid="ignore"):
        for i in ([0, 1, 0, 1], [3, 0, 3, 0], [5, 5, 1, 0], [0, 0, 0, 0]):
            numpy.testing.assert_array_equal(jitted(x, numpy.array(i)), f(numpy, x, numpy.array(i)))
    gradient = np.jit(np.grad(lambda x, i: np.nansum(f(np, x, i))))
    wanted = np.grad(lambda x, i: np.nansum(f(np, x, i)))
    i = numpy.array([0, 1, 0, 1])
    numpy.testing.assert_allclose(gradient(x, i), wanted(x, i), rtol=1e-12)


@pytest.mark.parametrize("axes", [None, {0: "n"}])
def test_no_text_holds_for_all_sizes(axes: Any) -> None:
    lowered = np.jit(lambda x: x[x > 0], abstracted_axes=axes).lower(numpy.ones(3))
    numpy.testing.assert_array_equal(lowered.compile()(numpy.ones(3)), numpy.ones(3))
    for text in (lowered.as_text, lambda: lowered.as_text("cuda"), lowered.compile().as_text):
        with pytest.raises(TypeError, match="lower: the function has sizes .* give size="):
            text()
