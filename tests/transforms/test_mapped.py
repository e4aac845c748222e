"""vmap of functions with Python's branches and loops, against a loop over the examples."""

import numpy
import pytest

import lazynp as np
from lazynp import grad, jacfwd, jit, vmap

X = numpy.array([[0.1, 1.0, -2.0], [0.5, -1.0, 3.0], [-0.7, 0.2, 0.0]])


def branch(x):
    if x.sum() > 0:
        return x * 2
    return -x


def positive_squares(x):
    s = 0.0
    for v in x:
        if v > 0.3:
            s += v**2
        elif v < -1:
            s -= v
    return s


def halvings(x):
    n, y = 0, abs(x[0])
    while y > 0.01:
        y = y / 2
        n += 1
    return n + y


def first_negative(x):
    for i in range(3):
        if x[i] < 0:
            return i * 1.0
    return -1.0


def in_place(x):
    if x[0] > 0.3:
        x[1] = 5.0
    else:
        x[2] = x[0]
    return x.sum()


def checked(x):
    if x[0] > 10:
        raise ValueError("too large")
    return x


FUNCTIONS = [
    branch,
    positive_squares,
    halvings,
    first_negative,
    in_place,
    checked,
    lambda x: x if x.sum() > 1 else -x,
    lambda x: max(x[0], x[1], x[2]),
    lambda x: float(x[0]) * 2,
    lambda x: x[0] if x[0] > 0.3 and not x[1] > 0 or x[2] > 5 else -x[2],
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_branches_and_loops_on_values(f) -> None:
    ours, rows = np.asarray(X).copy(), X.copy()
    got = vmap(f)(ours)
    want = numpy.stack([f(row) for row in rows])
    numpy.testing.assert_array_equal(got, want)
    numpy.testing.assert_array_equal(ours, rows)  # what it writes
    numpy.testing.assert_array_equal(vmap(f, 1)(np.asarray(X.T).copy()), want)
    numpy.testing.assert_array_equal(jit(vmap(f))(np.asarray(X).copy()), want)


def test_derivatives_through_them() -> None:
    x = np.asarray(X)
    each = [numpy.asarray(grad(positive_squares)(np.asarray(row))) for row in X]
    numpy.testing.assert_array_equal(vmap(grad(positive_squares))(x), each)
    numpy.testing.assert_array_equal(grad(lambda x: vmap(positive_squares)(x).sum())(x), each)
    slopes = jacfwd(lambda x: vmap(halvings)(x).sum())(x)
    want = [numpy.asarray(jacfwd(halvings)(np.asarray(row))) for row in X]
    numpy.testing.assert_allclose(slopes, want)
    inner = vmap(vmap(lambda a, t: a if a > t else a * a, (0, None)), (0, None))
    numpy.testing.assert_array_equal(inner(x, 0.3), numpy.where(X > 0.3, X, X * X))


def test_trees_outer_axes_and_errors() -> None:
    picked = vmap(lambda d, t: {"a": d["x"] if d["x"].sum() > t else d["y"]}, (0, None), 1)
    got = picked({"x": np.asarray(X), "y": np.ones((3, 3))}, 0.0)["a"]
    want = numpy.where(X.sum(1)[:, None] > 0, X, 1.0).T
    numpy.testing.assert_array_equal(got, want)
    with pytest.raises(ValueError, match="too large"):
        vmap(checked)(np.asarray(X) + 20)
    outside = np.zeros(3)

    def writes_outside(x):
        if x[0] > 0:
            outside[:] = x
        return x

    with pytest.raises(ValueError, match="is an array from outside"):
        vmap(writes_outside)(np.asarray(X))
    without_source = eval("lambda a: a if a.sum() > 1 else -a")
    with pytest.raises(TypeError, match="is another for each example"):
        vmap(without_source)(np.asarray(X))
    assert outside.tolist() == [0, 0, 0]


def test_a_function_that_asks_for_no_value_runs_once() -> None:
    runs = []

    def f(x):
        runs.append(1)
        return x * 2

    vmap(f)(np.asarray(X))
    assert len(runs) == 1
