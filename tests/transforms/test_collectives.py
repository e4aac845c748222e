"""psum and the other collectives over a named vmap axis."""

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import axis_index, check_grads, grad, jit, jvp, pmax, pmean, psum, scan, vmap

X = np.array([0.3, -0.7, 1.2])


def test_values() -> None:
    total = float(X.sum())
    numpy.testing.assert_allclose(vmap(lambda x: x / psum(x, "i"), axis_name="i")(X), X / total)
    numpy.testing.assert_allclose(vmap(lambda x: x - pmean(x, "i"), axis_name="i")(X), X - X.mean())
    numpy.testing.assert_allclose(vmap(lambda x: pmax(x, "i"), axis_name="i")(X), [1.2] * 3)
    numpy.testing.assert_array_equal(vmap(lambda x: axis_index("i"), axis_name="i")(X), [0, 1, 2])
    numpy.testing.assert_array_equal(vmap(lambda x: psum(1, "i"), axis_name="i")(X), [3] * 3)
    with pytest.raises(NameError, match="'j'"):
        vmap(lambda x: psum(x, "j"), axis_name="i")(X)


def test_two_names() -> None:
    m = np.arange(6.0).reshape(2, 3)
    f = vmap(vmap(lambda x: psum(x, "rows") - psum(x, "columns"), axis_name="columns"),
             axis_name="rows")  # fmt: skip
    want = numpy.asarray(m).sum(0)[None] - numpy.asarray(m).sum(1)[:, None]
    numpy.testing.assert_allclose(f(m), want)


def test_with_other_transformations() -> None:
    f = vmap(lambda x: np.sin(x) * psum(x * x, "i"), axis_name="i")
    reference = lambda x: np.sin(x) * (x * x).sum()  # noqa: E731
    numpy.testing.assert_allclose(
        grad(lambda x: f(x).sum())(X), grad(lambda x: reference(x).sum())(X)
    )
    numpy.testing.assert_allclose(jvp(f, (X,), (X,))[1], jvp(reference, (X,), (X,))[1])
    inner = vmap(jit(lambda x: np.sin(x) * psum(x * x, "i")), axis_name="i")
    numpy.testing.assert_allclose(inner(X), reference(X))
    each = vmap(lambda x: jvp(lambda y: psum(y * y, "i"), (x,), (1.0,))[1], axis_name="i")
    numpy.testing.assert_allclose(each(X), [float((2 * X).sum())] * 3)


INSIDE = {  # a function of the sum over the examples, and its derivative
    "sum": (lambda x: psum(x, "i") ** 2, lambda v: 3 * 2 * v.sum() + 0 * v),
    "mean": (lambda x: pmean(x * x, "i"), lambda v: 2 * v),
    "sum of a sum": (lambda x: psum(psum(x, "i"), "i"), lambda v: 9 + 0 * v),
    "largest": (lambda x: pmax(x, "i") ** 2, lambda v: 3 * 2 * v * (v == v.max())),
}


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize("around", [lambda f: f, jit], ids=["plain", "jit"])
def test_derivatives_inside(name: str, around: Any) -> None:
    """The cotangent of a sum is the same for all examples; so may be the operands of a call."""
    f, derivative = INSIDE[name]
    v = numpy.asarray(X)
    for g in (around(grad(f)), grad(around(f))):
        numpy.testing.assert_allclose(vmap(g, axis_name="i")(X), derivative(v))

    def steps(x: Any) -> Any:
        return scan(lambda c, t: (c + f(x) * t, None), 0.0, np.ones(2))[0]

    numpy.testing.assert_allclose(vmap(around(grad(steps)), axis_name="i")(X), 2 * derivative(v))


def test_calls_with_operands_that_are_the_same_for_all() -> None:
    total = jit(lambda s: psum(s, "i") * (1 + axis_index("i")))
    got = vmap(lambda x: total(psum(x, "i")), axis_name="i")(X)
    s = float(X.sum())
    numpy.testing.assert_allclose(got, 3 * s * numpy.array([1, 2, 3]))
    numpy.testing.assert_allclose(
        vmap(jit(lambda s: psum(s, "i")), in_axes=None, axis_name="i", axis_size=4)(2.5), [10.0] * 4
    )
    both = vmap(vmap(jit(lambda x: psum(psum(x, "i") * x, "j")), axis_name="j"), axis_name="i")
    m = numpy.arange(6.0).reshape(2, 3)
    numpy.testing.assert_allclose(both(np.array(m)), (m.sum(0) * m).sum(1)[:, None] + 0 * m)


def test_axes_of_several_names() -> None:
    x = numpy.arange(12.0).reshape(4, 3)

    def share(e: Any) -> Any:
        return e / psum(e, ("i", "j")) + np.pmean(e, ("j", "i"))

    f = vmap(vmap(share, axis_name="j"), axis_name="i")
    numpy.testing.assert_allclose(f(x), x / x.sum() + x.mean())
    numpy.testing.assert_allclose(jit(f)(x), x / x.sum() + x.mean())
    check_grads(f, (np.array(x),), modes=("rev",))
    with pytest.raises(NameError, match="'k'"):
        vmap(lambda e: psum(e, ("i", "k")), axis_name="i")(x)


# -- what all examples share -----------------------------------------------------------------------

W = numpy.array([0.5, -1.5, 2.0, 3.0])
EXCHANGES: dict[str, tuple[Any, Any]] = {  # of four equal values, and what that is
    "psum": (lambda w: psum(w, "i"), lambda w: 4 * w),
    "pmean": (lambda w: pmean(w, "i"), lambda w: w),
    "pmax": (lambda w: pmax(w, "i"), lambda w: w),
    "pmin": (lambda w: np.pmin(w, "i"), lambda w: w),
    "of two names": (lambda w: psum(w, ("i", "j")), lambda w: 8 * w),
    "twice": (lambda w: psum(np.sin(psum(w, "i")), "i"), lambda w: 4 * np.sin(4 * w)),
    "all_gather": (lambda w: np.all_gather(w, "i").sum(0), lambda w: 4 * w),
    "psum_scatter": (
        lambda w: psum(np.psum_scatter(w, "i") ** 2, "i"), lambda w: (16 * w**2).sum()
    ),
    "ppermute": (
        lambda w: psum(np.ppermute(w, "i", [(0, 1), (1, 2)]) * (1 + axis_index("i")), "i"),
        lambda w: 5 * w,
    ),
    "all_to_all": (
        lambda w: psum(np.all_to_all(w, "i", 0, 0) * (1 + axis_index("i")), "i").sum(),
        lambda w: 4 * (w * np.arange(1.0, 5.0)).sum(),
    ),
}  # fmt: skip
WAYS: dict[str, Any] = {
    "grad": grad,
    "value_and_grad": lambda f: lambda w: np.value_and_grad(f)(w)[1],
    "vjp": lambda f: lambda w: np.vjp(f, w)[1](1.0)[0],
    "jacrev": np.jacrev,
    "grad of jit": lambda f: grad(jit(f)),
    "jit of grad": lambda f: jit(grad(f)),
    "checkpoint": lambda f: grad(np.checkpoint(f)),
    "grad of grad": lambda f: grad(lambda w: grad(f)(w).sum() + f(w)),
    "vmap of grad": lambda f: lambda w: vmap(grad(f))(np.stack([w, 2 * w])),
    "jvp of grad": lambda f: lambda w: jvp(grad(f), (w,), (np.ones(4),))[1],
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_derivatives_of_what_all_examples_share(name: str) -> None:
    """A transformation around the vmap takes derivatives when its names are gone."""
    exchange, whole = EXCHANGES[name]

    def mapped(w: Any) -> Any:
        inner = vmap(lambda s: (exchange(w) ** 2).sum() * s, axis_name="j")
        outer = vmap(lambda r: inner(np.arange(2.0)) * r, axis_name="i")
        return outer(np.arange(4.0)).sum()

    for way in WAYS.values():
        want = way(lambda w: 6 * (whole(w) ** 2).sum())(np.array(W))
        numpy.testing.assert_allclose(way(mapped)(np.array(W)), want)


def test_a_backward_rule_has_the_names_that_its_function_had() -> None:
    """Also if it runs when the vmap has ended, because the argument is the same for all."""
    total = np.custom_vjp(lambda w: psum(np.sin(w), "i"))
    total.defvjp(
        lambda w: (psum(np.sin(w), "i"), w), lambda w, ct: (np.cos(w) * psum(ct, "i"),)
    )  # fmt: skip

    def mapped(w: Any) -> Any:
        return vmap(lambda r: total(w).sum() * r, axis_name="i")(np.arange(4.0)).sum()

    for way in ("grad", "value_and_grad", "vjp", "jacrev", "jit of grad", "vmap of grad"):
        want = WAYS[way](lambda w: 24 * np.sin(w).sum())(np.array(W))
        numpy.testing.assert_allclose(WAYS[way](mapped)(np.array(W)), want)
    with pytest.raises(NameError, match="'i': no axis has a name here"):
        grad(lambda w: total(w).sum())(np.array(W))
