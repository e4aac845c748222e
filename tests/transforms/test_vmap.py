"""vmap against loops; in_axes and out_axes; the limits of a batched value."""

import numpy
import pytest

import lazynp as np
from lazynp import vmap

X = numpy.arange(12.0).reshape(3, 4) / 5


def loop(f, *batches):
    rows = [numpy.asarray(f(*map(np.asarray, row))) for row in zip(*batches, strict=True)]
    return numpy.stack(rows)


def in_place(x):
    y = np.zeros(4)
    y[0] = x.sum()
    y[1:] += x[1:] * 2
    y[::-1][0] -= x[0]
    y[y > 2] = 1.5
    return y


FUNCTIONS = [
    np.sin,
    in_place,
    lambda x: np.sort(-x)[::-1],
    lambda x: x.reshape(2, 2).T @ x[:2],
    lambda x: np.cumsum(x) / (1 + x.max()),
    lambda x: np.where(x > 1, x, 0.0).sum(),
    lambda x: np.concatenate([x, x[:1]]),
    lambda x: np.argmax(x),
    lambda x: 3.0,
    lambda x: np.outer(x, x).diagonal(),
]


@pytest.mark.parametrize("f", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_against_a_loop(f) -> None:
    numpy.testing.assert_allclose(vmap(f)(np.asarray(X)), loop(f, X))


def test_axes() -> None:
    x, y = np.asarray(X), np.arange(3.0)
    numpy.testing.assert_allclose(vmap(lambda a: a.sum(), in_axes=1)(x), X.sum(0))
    numpy.testing.assert_allclose(vmap(lambda a: a.sum(), in_axes=-1)(x), X.sum(0))
    numpy.testing.assert_allclose(
        vmap(lambda a, b: a * b, (0, 0))(x, y), X * numpy.arange(3)[:, None]
    )
    numpy.testing.assert_allclose(vmap(lambda a, b: a + b[0], (0, None))(x, y), X)
    numpy.testing.assert_allclose(vmap(lambda a: a, out_axes=1)(x), X.T)
    numpy.testing.assert_allclose(vmap(lambda a: a, out_axes=-1)(x), X.T)
    out = vmap(
        lambda t: {"s": t["u"] * t["v"], "n": t["v"]}, ({"u": 1, "v": None},), {"s": 0, "n": None}
    )
    got = out({"u": np.asarray(X[:, :1].T.repeat(3, 0).T), "v": 2.0})
    assert got["s"].shape == (3, 3) and float(got["n"]) == 2.0
    assert vmap(lambda: 1.0, axis_size=3)().shape == (3,)
    numpy.testing.assert_allclose(vmap(lambda a, *, k: a * k)(y, k=y), numpy.arange(3) ** 2)


def test_nested() -> None:
    x = np.asarray(X)
    got = vmap(lambda a: vmap(lambda b: a * b)(x[0]).sum(0))(x)
    numpy.testing.assert_allclose(got, X * X[0].sum())


def test_errors_name_the_argument() -> None:
    x = np.asarray(X)
    with pytest.raises(ValueError, match="axis 2 of argument 0"):
        vmap(np.sin, in_axes=2)(x)
    with pytest.raises(ValueError, match="argument 0 has 3 along axis 0, argument 1 has 2"):
        vmap(lambda a, b: a)(x, np.ones(2))
    with pytest.raises(ValueError, match="2 entries, but there are 1"):
        vmap(np.sin, in_axes=(0, 0))(x)
    with pytest.raises(ValueError, match="at least one argument must be mapped"):
        vmap(np.sin, in_axes=None)(x)
    with pytest.raises(ValueError, match="out_axes is None"):
        vmap(np.sin, out_axes=None)(x)


def branching(a):
    if a.sum() > 1:
        return a * 2.0
    return -a


def test_a_batched_value_has_no_single_value() -> None:
    without_source = eval("lambda a: a if a.sum() > 1 else -a")
    with pytest.raises(TypeError, match=r"<string>:1 is another for each example.*cond"):
        vmap(without_source)(np.asarray(X))
    want = [x * 2.0 if x.sum() > 1 else -x for x in X]
    numpy.testing.assert_allclose(vmap(np.jit(branching))(np.asarray(X)), want)
    with pytest.raises(TypeError, match="where"):
        vmap(lambda a: np.sort(a[a > 1]))(np.asarray(X))


def test_writes() -> None:
    outside, mapped, scratch = np.zeros(4), np.zeros((3, 4)), np.zeros(4)

    def batched_write(a):
        outside[1:] = a[1:]
        return a

    with pytest.raises(ValueError, match="'outside' of f64.4. is an array from outside"):
        vmap(batched_write)(np.asarray(X))
    numpy.testing.assert_array_equal(outside, [0, 0, 0, 0])

    def same_write(a):
        scratch[0] = 7.0
        return a

    vmap(same_write)(np.asarray(X))
    numpy.testing.assert_array_equal(scratch, [7, 0, 0, 0])

    def argument_write(m, a):
        m[1:] += a[1:]

    vmap(argument_write)(mapped, np.asarray(X))
    numpy.testing.assert_allclose(mapped[:, 1:], X[:, 1:])
    with pytest.raises(ValueError, match="argument 0"):
        vmap(argument_write, (None, 0))(outside, np.asarray(X))


def test_indices_that_differ() -> None:
    i = np.array([0, 2, -1])
    got = vmap(lambda a, k: a[k])(np.asarray(X), i)
    numpy.testing.assert_allclose(got, X[range(3), [0, 2, -1]])

    def store(a, k):
        y = np.zeros(4)
        y[k] = a[k]
        y[k] += 1
        return y

    expected = loop(lambda a, k: store(a, int(k)), X, numpy.asarray(i))
    numpy.testing.assert_allclose(vmap(store)(np.asarray(X), i), expected)
    row = vmap(lambda m, k: m[k].sum(), (None, 0))(np.asarray(X), np.array([2, 0]))
    numpy.testing.assert_allclose(row, X.sum(1)[[2, 0]])
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        vmap(lambda a, k: a[k])(np.asarray(X), np.array([0, 4, 1]))


def test_views_of_a_row_chosen_by_a_mapped_index_write_through() -> None:
    def f(k):
        m = np.zeros((3, 2))
        row = m[k]
        row[1] = 5.0
        return m

    got = numpy.asarray(vmap(f)(np.array([2, 0])))
    assert got[0, 2, 1] == 5 and got[1, 0, 1] == 5 and got.sum() == 10


def test_factorizations() -> None:
    m = np.stack([np.eye(2) * 2, np.eye(2) + 0.5])
    got = vmap(np.linalg.solve)(m, np.ones((2, 2)))
    numpy.testing.assert_allclose(got, numpy.linalg.solve(m, numpy.ones((2, 2, 1)))[..., 0])
    with pytest.raises(numpy.linalg.LinAlgError):
        vmap(np.linalg.inv)(np.stack([np.eye(2), np.zeros((2, 2))]))
