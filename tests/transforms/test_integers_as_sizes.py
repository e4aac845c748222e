"""Integers of every dtype as sizes, and jitted functions whose integers become sizes elsewhere."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]
FORMS: list[Any] = [
    lambda np, n: np.ones(n + 1),
    lambda np, n: np.zeros((n, 2 * n)),
    lambda np, n: np.arange(20.0)[:n],
    lambda np, n: np.arange(20.0)[n : n + 2],
    lambda np, n: np.linspace(0, 1, n),
    lambda np, n: np.ones(n) + np.zeros(n),
    lambda np, n: np.full(n, 7).reshape(n, 1) * np.ones(n - 1),
    lambda np, n: np.concatenate([np.ones(n), np.zeros(n // 2)]),
]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("form", FORMS)
def test_of_every_dtype(form: Any, dtype: str) -> None:
    jitted = np.jit(lambda n: form(np, n))
    for n in (3, 1, 6):
        want = form(numpy, n)
        got = numpy.asarray(jitted(np.array(n, dtype)))
        assert got.dtype == want.dtype
        numpy.testing.assert_array_equal(got, want)
    assert jitted._cache_size() == 1


@pytest.mark.parametrize("dtype", INTEGERS)
def test_elements_of_arrays(dtype: str) -> None:
    jitted = np.jit(lambda s: np.ones((s[0] + 1, s[1])))
    for shape in ([2, 3], [0, 1], [4, 4]):
        assert jitted(np.array(shape, dtype)).shape == (shape[0] + 1, shape[1])
    assert jitted._cache_size() == 1


def test_sizes_are_of_64_bits() -> None:
    text = str(np.make_jaxpr(lambda n: np.ones(n))(np.array(3, "int32")))
    assert "a:i32[]" in text and "b:i64[]" in text and "f64[b]" in text


def test_short_integers_wrap_around() -> None:
    with pytest.raises(ValueError, match="negative dimensions"):
        np.jit(lambda n: np.ones(n + n))(np.array(100, "int8"))


# -- nested ----------------------------------------------------------------------------------------

inner = np.jit(lambda n: np.ones(n + 1))


def test_one_trace_serves_every_size() -> None:
    traces = [0]

    def outer(n):
        traces[0] += 1
        return inner(n) * 2

    for jitted in (np.jit(outer), np.jit(outer)):
        traces[0] = 0
        for n in (3, 4, 0, 6):
            assert jitted(n).tolist() == [2.0] * (n + 1)
        assert traces[0] == 1
    assert np.jit(outer)(np.array(2)).tolist() == [2.0] * 3


def test_where_the_integer_comes_from() -> None:
    x = np.arange(4.0)
    loop = np.jit(lambda x: np.fori_loop(0, 3, lambda i, a: a + inner(i).sum(), 0.0))
    assert loop(x) == 1 + 2 + 3
    assert np.jit(lambda x: inner((x > 1).sum()))(x).shape == (3,)
    assert np.jit(lambda s: inner(s[0]))(np.array([2, 5])).shape == (3,)
    both = np.jit(lambda n: np.ones(np.jit(lambda m: 2 * m)(n)))
    assert both(3).shape == (6,)
    assert "ones" not in str(np.make_jaxpr(inner)(3)) and np.make_jaxpr(inner)(3).out_type


def test_with_abstracted_axes_around() -> None:
    jitted = np.jit(lambda x: inner(x.shape[0]) * x.sum(), abstracted_axes={0: "n"})
    for n in (1, 3, 5):
        assert jitted(np.ones(n)).tolist() == [float(n)] * (n + 1)
    assert jitted._cache_size() == 1


# -- transformations inside ------------------------------------------------------------------------


def test_hessians_with_sizes_that_the_data_decide() -> None:
    def f(x):
        return (np.sort(x[x > 0]) ** 3 * np.arange((x > 0).sum())).sum()

    for make in (np.hessian, lambda f: np.jacfwd(np.grad(f)), np.jacrev):
        jitted = np.jit(make(f), abstracted_axes={0: "n"})
        for n in (4, 1, 3):
            x = np.arange(float(n)) - 0.5
            numpy.testing.assert_allclose(jitted(x), make(f)(x), atol=1e-12)


def test_medians_of_unknown_size() -> None:
    def f(x):
        return np.median(np.concatenate([x, np.zeros(1)]))

    for make in (np.jacfwd, np.hessian):
        jitted = np.jit(make(f), abstracted_axes={0: "n"})
        for n in (4, 1, 2, 5):
            x = np.arange(1.0, n + 1)
            numpy.testing.assert_allclose(jitted(x), make(f)(x))


def test_checkpoints_with_sizes() -> None:
    functions = [
        lambda x: (np.roll(x, 1) * x).sum(),
        lambda x: np.sin(np.concatenate([x, x[1:]])).sum(),
        lambda x: (np.pad(x, 1, mode="edge") ** 3).sum(),
        lambda x: x.mean() * x.var(),
    ]
    for f in functions:
        inside = np.jit(np.grad(np.checkpoint(f)), abstracted_axes={0: "n"})
        outside = np.grad(np.jit(np.checkpoint(f), abstracted_axes={0: "n"}))
        for n in (4, 2, 5):
            x = np.arange(1.0, n + 1)
            want = np.grad(f)(x)
            numpy.testing.assert_allclose(inside(x), want)
            numpy.testing.assert_allclose(outside(x), want)
        assert inside._cache_size() == 1


def test_two_sizes_for_one_name() -> None:
    x, y = np.ones(4), np.ones(3)
    axes = {0: "n"}
    message = "the axes named 'n' must have one size, got 4 and 3"
    for call in (
        lambda: np.make_jaxpr(lambda x, y: x, abstracted_axes=axes)(x, y),
        lambda: np.jit(lambda x, y: x, abstracted_axes=axes).lower(x, y),
        lambda: np.jit(lambda x, y: x, abstracted_axes=axes)(x, y),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("axes", [((None,),), (None, None), (None,), ({},), ()])
def test_nothing_is_abstracted(axes: Any) -> None:
    jitted = np.jit(lambda x: x * 2, abstracted_axes=axes)
    assert jitted(np.ones((2, 2))).sum() == 8.0
    jitted(np.ones((3, 2)))
    assert jitted._cache_size() == 2


DROPPED: list[Any] = [
    lambda np, n: np.ones(n),
    lambda np, n: np.empty((2, n)) * 2,
    lambda np, n: np.full(n, 3).sum(),
    lambda np, n: np.zeros(n - 1),
    lambda np, n: np.ones(np.array([n, 2])),
]


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize("form", DROPPED)
def test_negative_where_nothing_uses_the_array(form: Any, dtype: str) -> None:
    def function(np: Any, n: Any) -> Any:
        form(np, n)
        return n + 1

    jitted = np.jit(lambda n: function(np, n))
    for n in (3, -1, 1, -2):
        try:
            want = function(numpy, n)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)):
                jitted(np.array(n, dtype))
        else:
            assert jitted(np.array(n, dtype)) == want


def _steps(np: Any, x: Any) -> Any:
    y = np.zeros(x.shape[0] - 2)
    y[:] = x[2:] - x[:-2]
    return y


CREATED: list[Any] = [
    lambda np, x: np.ones(x.shape[0] - 1) + x[1:],
    lambda np, x: np.zeros((x.shape[0] - 1, 2)) + x[:-1, None],
    lambda np, x: np.full(x.shape[0] - 3, 2.0) * np.diff(x, n=3),
    _steps,
]


@pytest.mark.parametrize("function", CREATED)
def test_the_size_of_a_new_array_is_not_negative(function: Any) -> None:
    """So `maximum(n - 1, 0)` is n - 1 behind `ones(n - 1)`; other calls raise NumPy's error."""
    jitted = np.jit(lambda x: function(np, x), abstracted_axes={0: "n"})
    for n in (4, 0, 3, 1, 2, 7):
        x = numpy.arange(n * 1.0)
        try:
            want = function(numpy, x)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)):
                jitted(x)
        else:
            numpy.testing.assert_array_equal(jitted(x), want)
    assert jitted._cache_size() == 1


def test_what_a_branch_creates_says_nothing_of_other_calls() -> None:
    def function(p: Any, x: Any) -> Any:
        if p:
            return (np.ones(x.shape[0] - 1) * 2).sum()
        return x.sum() + x[1:].shape[0]

    jitted = np.jit(function, abstracted_axes=({}, {0: "n"}))
    assert [float(jitted(False, numpy.ones(n))) for n in (3, 0, 1)] == [5, 0, 1]
    assert [float(jitted(True, numpy.ones(n))) for n in (3, 1)] == [4, 0]
    with pytest.raises(ValueError, match="negative dimensions"):
        jitted(True, numpy.ones(0))


REPEATED: list[Any] = [
    lambda np, n: np.repeat(np.arange(3), [n, 1, n]),
    lambda np, n: np.repeat(np.arange(3), [n]),
    lambda np, n: np.repeat(np.arange(3), np.array([n])),
    lambda np, n: np.repeat(np.ones((2, 2)), (n, 2), axis=1),
    lambda np, n: np.repeat(np.arange(n), [2]),
    lambda np, n: np.repeat(np.arange(3), np.array([n, n, 2])[1:2]),
    lambda np, n: np.repeat(np.arange(3), np.array([n, 1])),
]


@pytest.mark.parametrize("function", REPEATED)
def test_repeats_by_an_array_of_integers(function: Any) -> None:
    """One of them is for all elements."""
    jitted = np.jit(lambda n: function(np, n))
    for n in (2, 0, 1, 3, -1):
        try:
            want = function(numpy, n)
        except ValueError as error:
            kind = "negative" if "negative" in str(error) else "could not be broadcast"
            with pytest.raises(ValueError, match=kind):
                jitted(n)
        else:
            numpy.testing.assert_array_equal(jitted(n), want)


def test_repeats_by_an_argument_of_one_element() -> None:
    jitted = np.jit(lambda x, c: np.repeat(x, c), abstracted_axes=({0: "n"}, {}))
    for n, c in ((3, 2), (1, 0), (0, 3), (4, 1)):
        x = numpy.arange(n)
        want = numpy.repeat(x, [c])
        numpy.testing.assert_array_equal(jitted(x, numpy.array([c])), want)
    assert jitted._cache_size() == 1
