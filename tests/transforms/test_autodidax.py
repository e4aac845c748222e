"""The core of such a system, from scratch (Autodidax): each of its parts, on lazynp's names.

Part 1 evaluation, jvp, vmap; part 2 jaxprs and the trace that stages everything; part 3 jit.
Parts 4 and 5, linearize to grad and control flow, are in `test_autodidax_reverse`.
"""

from __future__ import annotations

import numpy
import pytest

import lazynp as np
from lazynp import eval_jaxpr, jacfwd, jit, jvp, make_jaxpr, vmap
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Eqn, Jaxpr, JaxprTypeError, Var, check
from lazynp.primitives import elementwise


def derivative(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def line(x):
    y = np.sin(x) * 2.0
    return -y + x


# -- part 1: evaluation, forward mode, batching ----------------------------------------------------


def test_evaluation_binds_primitives() -> None:
    """A primitive is called with values and records itself; NumPy's rule is one interpreter."""
    assert float(elementwise.add(np.array(1.0), 2.0)) == 3.0
    assert elementwise.sin.reference(1.0) == numpy.sin(1.0)
    assert float(line(3.0)) == pytest.approx(2.7177599838802657, rel=1e-15)


def test_jvp_of_a_primitive_and_of_a_function() -> None:
    x, slope = jvp(np.sin, (3.0,), (1.0,))
    assert float(x) == numpy.sin(3.0) and float(slope) == numpy.cos(3.0)
    _, slope = jvp(line, (3.0,), (1.0,))
    assert float(slope) == pytest.approx(1 - 2 * numpy.cos(3.0), rel=1e-15)


def test_jvp_nests_to_any_order() -> None:
    f, signs = np.sin, [numpy.cos, lambda x: -numpy.sin(x), lambda x: -numpy.cos(x), numpy.sin]
    for want in signs:
        f = derivative(f)
        assert float(f(3.0)) == pytest.approx(want(3.0), rel=1e-14)


def test_python_control_flow_sees_the_values() -> None:
    def f(x):
        return 2.0 * x if x > 0.0 else x

    assert [float(derivative(f)(x)) for x in (3.0, -3.0)] == [2.0, 1.0]
    assert float(derivative(derivative(f))(3.0)) == 0.0


def test_trees_in_and_out() -> None:
    def f(pair):
        x, y = pair["x"], pair["y"]
        return {"hi": x * y, "there": [x, (y,)]}

    out, tangent = jvp(f, ({"x": 3.0, "y": 2.0},), ({"x": 1.0, "y": 0.0},))
    assert float(out["hi"]) == 6.0 and float(tangent["hi"]) == 2.0
    assert [float(tangent["there"][0]), float(tangent["there"][1][0])] == [1.0, 0.0]


def test_vmap() -> None:
    v = numpy.arange(3.0)
    assert vmap(lambda s: s + 1)(v).tolist() == [1.0, 2.0, 3.0]
    assert vmap(lambda s, t: s * t, in_axes=(0, None))(v, 2.0).tolist() == [0.0, 2.0, 4.0]
    table = vmap(vmap(lambda a, b: a + b, (None, 0)), (0, None))(v, 10 * v)
    numpy.testing.assert_array_equal(table, v[:, None] + 10 * v)
    numpy.testing.assert_array_equal(
        vmap(lambda row: row.sum(), in_axes=1)(np.array(table)), (v[:, None] + 10 * v).sum(0)
    )


def test_a_jacobian_is_a_batch_of_tangents() -> None:
    x = np.arange(3.0)
    pushed = vmap(lambda t: jvp(np.sin, (x,), (t,))[1])(np.eye(3))
    numpy.testing.assert_allclose(pushed, numpy.diag(numpy.cos(numpy.arange(3.0))))
    numpy.testing.assert_array_equal(jacfwd(np.sin)(x), pushed)


# -- part 2: jaxprs --------------------------------------------------------------------------------


def test_jaxprs_are_printed_with_their_types() -> None:
    text = str(make_jaxpr(lambda x: 2.0 * x)(3.0))
    assert text == "{ lambda a:f64[] . let b:f64[] = multiply 2.0:f64[] a in ( b ) }"
    assert str(make_jaxpr(line)(np.float64(3.0))) == (
        "{ lambda a:f64[] . let\n"
        "    b:f64[] = sin a\n"
        "    c:f64[] = multiply b 2.0:f64[]\n"
        "    d:f64[] = negative c\n"
        "    e:f64[] = add d a\n"
        "  in ( e ) }"
    )


def test_jaxprs_are_checked() -> None:
    jaxpr = make_jaxpr(line)(3.0)
    check(jaxpr)
    other = Var(make_jaxpr(line)(np.ones(3)).in_avals[0])
    first = jaxpr.eqns[0]
    for eqns in (
        [Eqn(first.primitive, first.inputs, {}, [other]), *jaxpr.eqns[1:]],  # another type
        jaxpr.eqns[1:],  # a variable that nothing binds
        [first, *jaxpr.eqns],  # one bound twice
    ):
        with pytest.raises(JaxprTypeError):
            check(Jaxpr(jaxpr.inputs, eqns, jaxpr.outputs))


def test_jaxprs_are_evaluated_by_any_interpreter() -> None:
    jaxpr = make_jaxpr(line)(3.0)
    assert eval_reference(jaxpr, [numpy.float64(3.0)]) == [float(line(3.0))]
    assert float(eval_jaxpr(jaxpr, 3.0)[0]) == float(line(3.0))
    run = lambda x: eval_jaxpr(jaxpr, x)[0]  # noqa: E731
    assert float(derivative(run)(3.0)) == float(derivative(line)(3.0))
    numpy.testing.assert_array_equal(vmap(run)(np.arange(3.0)), line(np.arange(3.0)))


def test_everything_is_staged() -> None:
    """The program also contains what does not depend on the arguments."""
    jaxpr = make_jaxpr(lambda x: x * np.cos(np.ones(2)).sum())(3.0)
    assert "cos" in [eqn.primitive.name for eqn in jaxpr.eqns]
    pushed = make_jaxpr(lambda x: jvp(np.sin, (x,), (1.0,)))(3.0)
    assert {"sin", "cos"} <= {eqn.primitive.name for eqn in pushed.eqns}


# -- part 3: jit -----------------------------------------------------------------------------------


def test_jit_traces_once() -> None:
    traced = []

    @jit
    def f(x, y):
        traced.append(1)
        return np.sin(x) * np.cos(y)

    assert float(f(3.0, 4.0)) == pytest.approx(numpy.sin(3.0) * numpy.cos(4.0), rel=1e-15)
    assert float(f(4.0, 5.0)) == pytest.approx(numpy.sin(4.0) * numpy.cos(5.0), rel=1e-15)
    assert len(traced) == 1
    f(np.ones(2), 1.0), f(np.zeros(2), 1.0)
    assert len(traced) == 2


def test_jit_in_and_around_the_others() -> None:
    f = jit(lambda x: -(jit(np.sin)(x) * x))
    first = -(numpy.cos(3.0) * 3.0 + numpy.sin(3.0))
    for g in (derivative(f), jit(derivative(f)), jit(derivative(jit(f)))):
        assert float(g(3.0)) == pytest.approx(first, rel=1e-14)
    second = -(2 * numpy.cos(3.0) - 3.0 * numpy.sin(3.0))
    for g in (derivative(derivative(f)), jit(derivative(jit(derivative(f))))):
        assert float(g(3.0)) == pytest.approx(second, rel=1e-14)
    batch = np.array([3.0, 3.0])
    numpy.testing.assert_allclose(vmap(jit(derivative(f)))(batch), [first] * 2, rtol=1e-14)


def test_results_that_are_constants_arguments_or_unused() -> None:
    f = jit(lambda x, unused: (x, 1.0, np.arange(2), x, {"y": 2.0 * x}))
    a, b, c, d, e = f(3.0, np.ones(5))
    assert [float(v) for v in (a, b, d, e["y"])] == [3.0, 1.0, 3.0, 6.0] and c.tolist() == [0, 1]


def test_results_stay_on_the_device() -> None:
    """Results of one program go into the next without passing through the host."""
    f = jit(lambda x: x + 1.0)
    x = f(f(np.zeros(3)))
    assert isinstance(x, np.ndarray) and (x * 2).tolist() == [4.0, 4.0, 4.0]
    out, tangent = jvp(f, (x,), (np.ones(3),))
    assert out.tolist() == [3.0, 3.0, 3.0] and tangent.tolist() == [1.0, 1.0, 1.0]
