"""Forward mode: values visible, tangents kept, handles left with primals."""

import numpy
import pytest

import lazynp as np
from lazynp import grad, jacfwd, jit, jvp, vmap


def test_tangent_follows_values() -> None:
    out, dot = jvp(lambda x: np.sin(x) * x, (2.0,), (1.0,))
    numpy.testing.assert_allclose(out, numpy.sin(2.0) * 2)
    numpy.testing.assert_allclose(dot, numpy.cos(2.0) * 2 + numpy.sin(2.0))


def test_nested_and_python_control_flow() -> None:
    def f(x):
        return x**3 if x > 0 else -x

    def d(g):
        return lambda x: jvp(g, (x,), (1.0,))[1]

    assert float(d(f)(2.0)) == 12.0
    assert float(d(d(f))(2.0)) == 12.0
    assert float(d(d(d(f)))(2.0)) == 6.0
    assert float(d(f)(-2.0)) == -1.0


def test_perturbation_confusion() -> None:
    d = lambda g: lambda x: jvp(g, (x,), (1.0,))[1]  # noqa: E731
    assert float(d(lambda x: x * d(lambda y: x + y)(1.0))(1.0)) == 1.0


def test_trees_in_and_out() -> None:
    tree = {"a": np.ones((2, 2)), "b": [np.arange(2.0), None]}
    out, dot = jvp(lambda t: (t["a"] @ t["b"][0], {"z": 3.0}), (tree,), (tree,))
    numpy.testing.assert_array_equal(out[0], [1, 1])
    numpy.testing.assert_array_equal(dot[0], [2, 2])
    assert float(dot[1]["z"]) == 0.0


def test_in_place_views_and_masks() -> None:
    def f(x):
        y = np.zeros(4)
        y[0] = x
        y[1:] += 2 * x
        v = y[::-1]
        v[0] *= x
        y[y > 5] = 0.5
        return y

    out, dot = jvp(f, (2.0,), (1.0,))
    numpy.testing.assert_array_equal(out, [2, 4, 4, 0.5])
    numpy.testing.assert_array_equal(dot, [1, 2, 2, 0])


def test_arguments_and_outside_arrays_hold_primals_afterwards() -> None:
    outside, argument = np.zeros(3), np.ones(3)

    def f(x):
        x *= 3
        outside[1:] = x[:2]
        return x.sum()

    jvp(f, (argument,), (np.ones(3),))
    numpy.testing.assert_array_equal(argument, [3, 3, 3])
    numpy.testing.assert_array_equal(outside, [0, 3, 3])


def test_outside_arrays_hold_primals_after_an_exception() -> None:
    outside = np.zeros(3)

    def f(x):
        outside[0] = x
        raise KeyError

    with pytest.raises(KeyError):
        jvp(f, (2.0,), (1.0,))
    numpy.testing.assert_array_equal(outside, [2, 0, 0])


def test_what_looks_and_what_takes() -> None:
    seen = []

    def f(x):
        seen.append((bool(x > 1), int(x), f"{x:.1f}", str(x)))
        return x * 2

    jvp(f, (2.0,), (1.0,))
    assert seen == [(True, 2, "2.0", "2.0")]
    for take in (float, complex, lambda x: x.tolist(), numpy.asarray):
        with pytest.raises(TypeError, match="stop_gradient"):
            jvp(lambda x, take=take: x * take(x), (2.0,), (1.0,))
    assert float(jvp(lambda x: x * float(np.stop_gradient(x)), (2.0,), (1.0,))[1]) == 2.0


def test_an_item_is_a_number_of_pythons_that_stays_traced() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])

    def f(x):
        one = (x[0, 1] * 1).item()
        return x.item(3) * x.item(1, 0) + x.item((0, 0)) * one + x[:1, :1].item()

    def by_index(x):
        return x[1, 1] * x[1, 0] + x[0, 0] * x[0, 1] + x[0, 0]

    for transform in (grad, lambda f: jit(grad(f)), lambda f: lambda x: vmap(grad(f))(x[None])[0]):
        numpy.testing.assert_array_equal(transform(f)(x), transform(by_index)(x))
    single = np.ones(2, "f4")
    assert jvp(lambda x: x.item() * single, (2.0,), (1.0,))[1].dtype == numpy.float32
    for wrong, kind in ((lambda x: x.item(), ValueError), (lambda x: x.item(4), IndexError)):
        with pytest.raises(kind):
            grad(wrong)(x)
        with pytest.raises(kind):
            wrong(numpy.asarray(x))


def test_a_tracer_that_escaped_says_where_it_was_made() -> None:
    kept = []

    def f(x):
        kept.append(x * 2)
        return x

    np.vmap(f)(np.ones(3))
    with pytest.raises(TypeError, match="traced by vmap of f"):
        kept[0] + 1


def test_integers_have_no_tangent() -> None:
    out, dot = jvp(lambda x, i: x[i] * 2, (np.arange(3.0), 1), (np.ones(3), None))
    assert (float(out), float(dot)) == (2.0, 2.0)
    with pytest.raises(TypeError, match="float0"):
        jvp(lambda i: i * 2.0, (1,), (1.0,))


def test_tangents_are_checked() -> None:
    with pytest.raises(TypeError, match="like its primal"):
        jvp(np.sin, (np.ones(3),), (np.ones(2),))
    with pytest.raises(TypeError, match="a tree like"):
        jvp(lambda t: t[0], ((1.0, 2.0),), (1.0,))


def test_jacfwd() -> None:
    jacobian = jacfwd(lambda x, y: {"p": x * y.sum(), "q": y[0]}, argnums=(0, 1))
    found = jacobian(np.arange(2.0), np.ones(3))
    numpy.testing.assert_array_equal(found["p"][0], 3 * numpy.eye(2))
    numpy.testing.assert_array_equal(found["p"][1], [[0, 0, 0], [1, 1, 1]])
    numpy.testing.assert_array_equal(found["q"][1], [1, 0, 0])
