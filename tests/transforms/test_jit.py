"""jit: traced once, mutation written back, captured arrays read anew, every rule."""

import copy
import io
import marshal
import os
import pickle
from collections.abc import Callable
from functools import partial
from types import CellType, FunctionType
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import cond, grad, jacfwd, jit, jvp, make_jaxpr, vmap
from lazynp.transforms._jit import STATS

X = np.array([0.3, -0.7, 1.2])


def count(f):
    calls = []

    def counted(*args, **kwargs):
        calls.append(1)
        return f(*args, **kwargs)

    return counted, calls


def test_traced_once_per_kind_of_arguments() -> None:
    f, calls = count(lambda x, s=1.0: np.sin(x) * s)
    jf = jit(f)
    for _ in range(3):
        numpy.testing.assert_allclose(jf(X, 2.0), numpy.sin(X) * 2)
        numpy.testing.assert_allclose(jf(X, s=3.0), numpy.sin(X) * 3)
    assert len(calls) == 2
    jf(X.astype("f4"), 2.0)
    jf(X[:2], 2.0)
    assert len(calls) == 4
    jf(np.ones(2), 1.5)  # no view: another kind
    assert len(calls) == 5


def test_weak_scalars_stay_weak() -> None:
    x = X.astype("f4")
    assert jit(lambda x, s: x * s)(x, 2.0).dtype == numpy.float32
    assert jit(lambda x, s: x * (s * 2 + 1))(x, 2).dtype == numpy.float32
    assert jit(lambda s: s)(2).dtype == numpy.int64


def test_static_arguments() -> None:
    f, calls = count(lambda x, n: x**n if n > 1 else x)
    jf = jit(f, static_argnums=1)
    numpy.testing.assert_allclose(jf(X, 2), numpy.asarray(X) ** 2)
    numpy.testing.assert_allclose(jf(X, 3), numpy.asarray(X) ** 3)
    jf(X, 2)
    assert len(calls) == 2

    @jit(static_argnames="axis")
    def total(x, axis):
        return x.sum(axis)

    assert float(total(X, axis=0)) == float(total(X, 0))
    with pytest.raises(ValueError, match="must be hashable, got list"):
        jf(X, [1])
    with pytest.raises(ValueError, match="static_argnums has 5"):
        jit(lambda x: x, static_argnums=5)
    with pytest.raises(ValueError, match="'y', which is no parameter"):
        jit(lambda x: x, static_argnames="y")


def test_arguments_and_captured_arrays_are_written_at_each_call() -> None:
    counter, state = np.zeros(2), np.ones(4)

    @jit
    def step(u, v):
        u[1:-1] += v
        counter[0] += 1
        u *= 2
        return v.sum()

    for n in (1, 2, 3):
        expected = numpy.array(state)
        v = expected[2:]  # shares memory
        expected[1:-1] += v
        expected *= 2
        got = step(state, state[2:])
        numpy.testing.assert_allclose(state, expected)
        numpy.testing.assert_allclose(got, v.sum())
        assert float(counter[0]) == n


def test_arrays_of_numpy_are_written_too() -> None:
    @jit
    def f(x):
        x[1:] *= 2
        return x.sum()

    u = numpy.ones(3)
    assert float(f(u)) == 5 and float(f(u)) == 9
    numpy.testing.assert_array_equal(u, [1, 4, 4])


def test_captured_arrays_are_read_afresh() -> None:
    c = np.ones(3)
    f, calls = count(lambda x: x + c)
    jf = jit(f)
    numpy.testing.assert_allclose(jf(X), X + 1)
    c[:] = 5
    numpy.testing.assert_allclose(jf(X), X + 5)
    assert len(calls) == 1


def test_nested_jit_writes_once_per_call() -> None:
    total = np.zeros(2)

    @jit
    def inner(x):
        total[0] += x
        return total.sum()

    outer = jit(lambda x: inner(x) + inner(x))
    assert float(outer(1.0)) == 3.0 and float(outer(1.0)) == 7.0
    assert float(total[0]) == 4.0


def test_sharing_memory_is_another_trace() -> None:
    def f(x, y):
        x[0] = 10.0
        return y.sum()

    jf, a, b = jit(f), np.zeros(3), np.zeros(3)
    assert float(jf(a, b)) == 0
    assert float(jf(b, b)) == 10


def test_an_exception_leaves_everything_as_it_was() -> None:
    u, c = np.zeros(3), np.zeros(3)

    @jit
    def fails(u):
        u[0] = 1
        c[0] = 1
        raise KeyError

    with pytest.raises(KeyError):
        fails(u)
    assert not u.any() and not c.any()


def test_returned_arguments_and_views_of_them() -> None:
    u = np.zeros(3)

    @jit
    def f(u):
        u += 1
        return u, u[1:], u * 2

    for n in (1.0, 2.0):
        same, view, new = f(u)
        assert same is u and view.base is u
        numpy.testing.assert_array_equal(new, [2 * n] * 3)
    view[0] = 9.0
    assert float(u[1]) == 9.0


def test_python_control_flow_names_the_value_and_the_cure() -> None:
    assert float(jit(lambda x: x if x > 0 else -x)(-1.0)) == 1.0
    without_source = eval("lambda x: x if x > 0 else -x")
    with pytest.raises(TypeError, match=r"jit of <lambda>.*<string>:1 .*cond.*static_argnums"):
        jit(without_source)(1.0)
    with pytest.raises(TypeError, match="only traced"):
        jit(lambda x: list(x[x > 0]))(X)
    numpy.testing.assert_allclose(jit(lambda x: x[np.arange(3)[::-1]])(X), X[::-1])


def test_a_staged_value_that_escaped() -> None:
    kept = []

    @jit
    def f(x):
        kept.append(x * 2)
        return x

    f(X)
    with pytest.raises(TypeError, match="traced by jit of f"):
        numpy.asarray(kept[0] + 1)


def masked(x):
    y = np.zeros(3)
    y[1:] = x[:-1] ** 2
    y[x > 1] = x[0]
    return (y * x).sum()


def test_rules() -> None:
    jm = jit(masked)
    numpy.testing.assert_allclose(grad(jm)(X), grad(masked)(X))
    numpy.testing.assert_allclose(jit(grad(jm))(X), grad(masked)(X))
    numpy.testing.assert_allclose(jvp(jm, (X,), (X,))[1], jvp(masked, (X,), (X,))[1])
    rows = np.stack([X, X * 2, -X])
    numpy.testing.assert_allclose(vmap(jm)(rows), vmap(masked)(rows))
    numpy.testing.assert_allclose(vmap(jit(grad(jm)))(rows), vmap(grad(masked))(rows))
    numpy.testing.assert_allclose(jacfwd(grad(jm))(X), jacfwd(grad(masked))(X))
    numpy.testing.assert_allclose(jit(jacfwd(jit(grad(jit(masked)))))(X), jacfwd(grad(masked))(X))


def test_closing_over_tracers() -> None:
    f = lambda x: jit(lambda y: y * x[0])(x[1]).sum()  # noqa: E731
    numpy.testing.assert_allclose(grad(f)(X), [-0.7, 0.3, 0])
    numpy.testing.assert_allclose(vmap(f)(np.stack([X, X])), [-0.21, -0.21])


def test_a_captured_scalar_of_a_finished_transformation_is_captured_anew() -> None:
    holder = {}
    scaled = jit(lambda y: y * holder["s"])

    def f(x):
        holder["s"] = x * 2
        return scaled(x)

    assert float(grad(f)(3.0)) == 12.0
    assert float(grad(f)(5.0)) == 20.0
    holder.clear()


def test_writes_inside_differentiated_jit() -> None:
    @jit
    def store(y, x):
        y[0] = x * x

    def f(x):
        y = np.zeros(2)
        store(y, x)
        return y.sum()

    assert float(grad(f)(3.0)) == 6.0
    assert float(grad(grad(f))(3.0)) == 2.0
    numpy.testing.assert_array_equal(vmap(f)(np.arange(3.0)), [0, 1, 4])


def test_ahead_of_time() -> None:
    lowered = jit(lambda x: np.sin(x) * 2).lower(np.ShapeDtype((3,), float))
    assert "stablehlo.sine" in lowered.as_text()
    numpy.testing.assert_allclose(lowered.compile()(X), 2 * numpy.sin(X))


def test_a_compiled_function_takes_arrays_of_any_kind_in_their_order() -> None:
    """NumPy's arrays and ours, the same one twice, views of one: whatever it was lowered for."""
    f = jit(lambda a, b: a - 2 * b)
    x, y = numpy.arange(3.0), np.array([5.0, 7.0, 9.0])
    z = np.arange(6.0)
    shape = np.ShapeDtype((3,), float)
    for lowered in (f.lower(shape, shape), f.lower(y, x), f.lower(y, y), f.lower(z[:3], z[3:])):
        compiled = lowered.compile()
        for a, b in ((x, y), (y, x), (y, y), (z[:3], z[3:]), (z[1:4], y), (x, x)):
            want = numpy.asarray(a) - 2 * numpy.asarray(b)
            numpy.testing.assert_array_equal(compiled(a, b), want)
        with pytest.raises(TypeError, match="compiled for"):
            compiled(x, numpy.ones(4))


def test_a_compiled_function_writes_its_arguments() -> None:
    def fill(a: Any) -> Any:
        a[0] = 5
        return a

    compiled = jit(fill).lower(np.ShapeDtype((3,), float)).compile()
    ours, theirs = np.zeros(3), numpy.zeros(3)
    for x in (ours, theirs):
        compiled(x)
        assert x.tolist() == [5, 0, 0]


def test_methods_and_disable_jit() -> None:
    class Model:
        @jit
        def scaled(self, x):
            return x * self.k

    with pytest.raises(TypeError, match="arrays and numbers are required"):
        Model().scaled(X)
    with np.disable_jit():
        assert float(jit(lambda x: 1.0 if x > 0 else 0.0)(2.0)) == 1.0
    with pytest.raises(TypeError, match="generators"):
        jit(lambda: (yield 1))


def test_make_jaxpr() -> None:
    text = str(make_jaxpr(lambda x, y: np.sin(x) * y)(X, 2.0))
    assert text.startswith("{ lambda a:f64[3] b:f64[] . let\n    c:f64[3] = sin a\n")
    assert text.endswith("in ( e ) }")
    jaxpr = make_jaxpr(lambda x: (x * 2).sum())(X)
    numpy.testing.assert_allclose(np.eval_jaxpr(jaxpr, X)[0], 2 * float(X.sum()))
    shape = np.eval_shape(lambda x: {"a": x @ x, "b": x[None]}, X)
    assert shape == {"a": np.ShapeDtype((), float), "b": np.ShapeDtype((1, 3), float)}


def test_moving_indices() -> None:
    f = jit(lambda x, i: x[i] + x[-i])
    for i in (0, 1):
        assert float(f(X, i)) == float(X[i] + X[-i])

    @jit
    def store(x, i, v):
        row = x[i]
        row[0] = v
        x[i, 1] += 1

    column = jit(lambda x, i: x[:, i])
    for i in (0, 2):
        numpy.testing.assert_array_equal(column(np.arange(6.0).reshape(2, 3), i), [i, i + 3])
    m = np.zeros((3, 2))
    store(m, 2, 7.0)
    numpy.testing.assert_array_equal(m, [[0, 0], [0, 0], [7, 1]])


def test_data_that_is_checked_elsewhere() -> None:
    """Where a function looks at its operands for errors, a traced one has nothing to look at."""
    x, n = np.array([1, 2, 3]), np.array([2, 0, 3])
    numpy.testing.assert_array_equal(jit(lambda x, n: x**n)(x, n), [1, 1, 27])
    search = jit(lambda a, v, order: np.searchsorted(a, v, sorter=order))
    numpy.testing.assert_array_equal(search(np.array([3, 1, 2]), x, np.array([1, 2, 0])), [0, 1, 2])
    with pytest.raises(ValueError, match="negative integer powers"):
        vmap(lambda x, n: x**n)(x, -n)


def _piecewise(x):
    return np.piecewise(
        x, [x < 1, x > 3], [lambda v: 2 * v, -1.0, lambda v, k=1.0: np.sin(v) * k]
    )  # fmt: skip


def test_piecewise() -> None:
    x = numpy.array([[0.5, 2.0, 4.0], [1.0, 3.0, -2.0]])
    want = numpy.piecewise(
        x, [x < 1, x > 3], [lambda v: 2 * v, -1.0, lambda v: numpy.sin(v)]
    )  # fmt: skip
    for wrapped in (_piecewise, jit(_piecewise), np.vmap(_piecewise), jit(np.vmap(_piecewise))):
        numpy.testing.assert_allclose(wrapped(np.array(x)), want, rtol=1e-15)
    slopes = grad(lambda x: _piecewise(x).sum())(np.array(x))
    numpy.testing.assert_allclose(jit(grad(lambda x: _piecewise(x).sum()))(np.array(x)), slopes)


@pytest.mark.parametrize(
    "function, cure",
    [
        (lambda x, i: x.__setitem__(slice(None, None, i), 0.0), r"x\[i \+ np.arange\(n\)\]"),
        (lambda x, i: sum(range(i)), "fori_loop in place of range"),
        (lambda x, i: list(x[x > 1]), r"x\[m\] = v, where\(m, x, 0\)"),
        (eval("lambda x, i: x if x[0] > 1 else -x"), "cond, switch, while_loop or where"),
        (eval("lambda x, i: float(x[0])"), "cond"),
    ],
)
def test_values_that_are_not_known(function, cure) -> None:
    """The error names the line that needs the value, the value's origin, and the remedy."""
    file = os.path.basename(function.__code__.co_filename)  # <string>: no source to rewrite
    asking = rf"{file}:{function.__code__.co_firstlineno} asks for it \(.*{cure}"
    with pytest.raises(TypeError, match=f"jit of <lambda> is only traced: .*{asking}.*static_arg"):
        jit(function)(np.arange(4.0), np.asarray(1))
    each = rf"vmap of <lambda>: .*{file}:{function.__code__.co_firstlineno} asks for one \("
    with pytest.raises(TypeError, match=each + f".*{cure}.*in_axes=None"):
        np.vmap(function)(np.ones((2, 4)), np.arange(2))


def test_slices_and_selections_whose_sizes_the_values_decide() -> None:
    """Under jit, they are sizes of the program; under vmap, they are not the same for all."""
    for function, cure in (
        (lambda np, x, i: x[i : 2 * i + 2], r"x\[i \+ np.arange\(n\)\]"),
        (lambda np, x, i: x[x > i], r"x\[m\] = v, where\(m, x, 0\)"),
        (lambda np, x, i: np.compress(x > i, x), r"where\(m, x, 0\)"),
    ):
        f = jit(lambda x, i, function=function: function(np, x, i))
        for i in (1, 0, 3, -1):
            x = numpy.arange(4.0)
            numpy.testing.assert_array_equal(f(x, numpy.asarray(i)), function(numpy, x, i))
        assert f._cache_size() == 1
        with pytest.raises(TypeError, match=f"vmap of <lambda>.*{cure}"):
            np.vmap(lambda x, i, function=function: function(np, x, i))(
                np.ones((2, 4)), np.arange(2)
            )


@pytest.mark.parametrize("function", [
    lambda np, x, n: np.zeros((n, n)) + x,
    lambda np, x, n: np.eye(n) @ x,
    lambda np, x, n: (np.arange(n) * x[0]).sum(),
    lambda np, x, n: np.linspace(0, 1, n) * x[0],
    lambda np, x, n: x.sum(axis=n - 2),
    lambda np, x, n: x[: 2 * n - 4] + 1,
    lambda np, x, n: sum(x[i, i] for i in range(n)),
    lambda np, x, n: x[tuple([0] * (n - 1))],
])  # fmt: skip
def test_an_int_that_stands_in_the_way_becomes_static(function: Any) -> None:
    x = numpy.arange(9.0).reshape(3, 3)
    f = jit(partial(function, np))
    for _ in range(2):
        numpy.testing.assert_allclose(f(np.array(x), 3), function(numpy, x, 3), rtol=1e-15)
    assert f._cache_size() == 1
    numpy.testing.assert_allclose(f(np.array(x), n=3), function(numpy, x, 3), rtol=1e-15)
    g = jit(partial(function, np))
    g.lower(np.array(x), 3).compile()
    assert jit(partial(function, np)).trace(np.array(x), 3).eqns


def test_an_int_that_is_in_nobodys_way_stays_an_operand() -> None:
    f = jit(lambda x, n: x[n] ** n)
    assert [float(f(np.arange(4.0), n)) for n in range(4)] == [1, 1, 4, 27]
    assert f._cache_size() == 1


def test_names_and_tuples_of_ints_are_static() -> None:
    def padded(x: Any, width: Any, mode: str, dtype: Any, shape: Any, then: Any) -> Any:
        return then(np.pad(x, width, mode=mode).astype(dtype)).reshape(shape)

    given = ((2, 1), "edge", numpy.dtype("f4"), (3, 2), np.negative)
    x, expected = np.arange(3.0), [[0, 0], [0, -1], [-2, -2]]
    f = jit(padded)
    for options in (given, given, ((2, 1), "edge", "i4", (3, 2), np.negative)):
        got = f(x, *options)
        assert got.tolist() == expected and got.dtype == options[2]
    assert f(x, (2, 1), mode="wrap", dtype=float, shape=-1, then=numpy_abs).tolist() == [
        1, 2, 0, 1, 2, 0,
    ]  # fmt: skip
    assert f._cache_size() == 3


def numpy_abs(x: Any) -> Any:
    return np.abs(x)


def test_what_is_made_anew_for_each_call_is_no_name() -> None:
    with pytest.raises(TypeError, match="arrays and numbers are required, got <function"):
        jit(lambda x, f: f(x))(np.arange(3.0), lambda x: x)
    with pytest.raises(TypeError, match="arrays and numbers are required, got 'a'"):
        jit(lambda x, n, mode: x, static_argnums=1)(np.arange(3.0), 1, "a")


def test_where_no_int_is_to_blame_the_error_stays() -> None:
    f, tries = jit(lambda x, n: tries.append(n) or list(x[x > n])), []
    for _ in range(2):
        with pytest.raises(TypeError, match=r"where\(m, x, 0\)"):
            f(np.arange(3.0), 1)
    assert len(tries) == 4  # with n as an operand, and as a constant


@pytest.mark.parametrize("function", [lambda x, i: np.zeros(i), lambda x, i: x.reshape(i, -1)])
def test_a_size_that_is_an_integer_of_the_program(function) -> None:
    """Known at each call of a jitted function, but not the same for all examples."""
    f = jit(function)
    for i in (1, 2, 4):
        assert f(np.arange(4.0), i).shape == function(numpy.arange(4.0), i).shape
    with pytest.raises(TypeError, match=r"vmap of <lambda>: .* asks for one \(.*a size"):
        np.vmap(function)(np.ones((2, 4)), np.arange(2))


def _decides(x):
    """It looks at values that no argument decides, and uses them and their like afterwards."""
    y = np.arange(3.0) * 2
    w, v = np.linalg.eigh(np.diag(y))
    quotient, rest = np.divmod(y, 3.0)
    if float(w[1]) > 1 and numpy.asarray(y).sum() > 1 and float(rest[1]) > 1:
        x = x + 1
    return x * y + np.abs(v) @ x + quotient


@pytest.mark.parametrize("execution", ["reference", "compiled", "adaptive"])
def test_values_that_are_known(execution) -> None:
    x = np.array([1.0, 2.0, 3.0])
    with np.config(execution=execution):
        want = [2.0, 9.0, 21.0]
        assert _decides(x).tolist() == jit(_decides)(x).tolist() == want
        assert np.vmap(jit(_decides))(x[None]).tolist() == [want]
        assert cond(True, _decides, lambda x: x, x).tolist() == want
        assert jit(grad(lambda x: _decides(x).sum()))(x).tolist() == [1, 3, 5]
        assert grad(jit(lambda x: _decides(x).sum()))(x).tolist() == [1, 3, 5]


@pytest.mark.parametrize(
    "function",
    [
        lambda: np.multiply(np.asarray(2.0), np.asarray(3.0)),
        lambda: np.asarray(2.0) * np.asarray(3.0),
        lambda: np.asarray(2.0)[()] * 3.0,
        lambda: 6.0 + np.add(np.asarray(-1), np.asarray(1))[()],
        lambda: -np.sqrt(np.asarray(4.0)),
    ],
)
def test_staged_functions_record_arithmetic_of_scalars(
    function: Callable[[], Any],
) -> None:
    jaxpr = np.make_jaxpr(function)()
    assert len(jaxpr.eqns) >= 1
    numpy.testing.assert_array_equal(np.jit(function)(), function())


@np.jit
def doubled(x: Any) -> Any:
    return x * 2


def added(x: Any, n: int) -> Any:
    return x + n


def test_functions_are_pickled_by_name() -> None:
    """As Python's are; another name for a function, with what it was made of."""
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert copy.copy(doubled) is copy.deepcopy(doubled) is doubled
    f = np.jit(added, static_argnums=1)
    assert f(np.ones(2), 3).tolist() == [4, 4]
    g = pickle.loads(pickle.dumps(f))
    assert g(np.ones(2), 3).tolist() == copy.deepcopy(f)(np.ones(2), 3).tolist() == [4, 4]
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(np.jit(lambda x: x))


def cubed(x: Any) -> Any:
    return (x**3).sum()


class ByValue(pickle.Pickler):
    """Pickles functions within functions as cloudpickle (joblib, dask) does: their code, the global
    names in it, their variables and attributes.
    """

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, FunctionType) or obj.__code__.co_name != "called":
            return NotImplemented
        names = ["__name__", *(n for n in obj.__code__.co_names if n in obj.__globals__)]
        scope = {n: obj.__globals__[n] for n in names}
        cells = [c.cell_contents for c in obj.__closure__ or ()]
        return rebuilt, (marshal.dumps(obj.__code__), scope, obj.__qualname__, cells, vars(obj))


def rebuilt(code: bytes, scope: Any, name: str, cells: list[Any], attributes: Any) -> Any:
    made = FunctionType(marshal.loads(code), scope, name, None, tuple(map(CellType, cells)))
    made.__qualname__ = name
    made.__dict__.update(attributes)
    return made


def by_value(f: Any) -> Any:
    file = io.BytesIO()
    ByValue(file).dump(f)
    assert len(file.getvalue()) < 2000
    return pickle.loads(file.getvalue())


def test_transformed_functions_are_pickled_by_value() -> None:
    """cloudpickle raised TypeErrors: it came to lazynp's own threads and tables."""
    x = np.arange(3.0)
    mesh = np.make_mesh((1,), ("x",))
    for f in (
        np.grad(cubed), np.value_and_grad(cubed), np.vmap(cubed, in_axes=0), np.jacfwd(cubed),
        np.jacrev(cubed), np.hessian(cubed), np.checkpoint(cubed, policy="dots"),
        np.grad(np.checkpoint(cubed)),
        np.shard_map(cubed, mesh=mesh, in_specs=np.PartitionSpec(), out_specs=np.PartitionSpec()),
    ):  # fmt: skip
        g = by_value(f)
        assert str(np.tree.leaves(g(x))) == str(np.tree.leaves(f(x)))
        assert g.__qualname__ == f.__qualname__
    inner = by_value(np.grad(cubed))
    assert np.jit(np.jacfwd(inner))(x).tolist() == np.hessian(cubed)(x).tolist()


def test_later_calls_with_scalars_before_arrays() -> None:
    """A trace takes arrays first; its arguments may come in any order."""

    def f(k: Any, x: Any, s: Any, y: Any) -> Any:
        return x - k + 10 * s - 100 * y

    f_jitted = np.jit(f)
    for k in (2.0, 3.0, 2.0):
        args = k, np.array(5.0), np.ones(3).sum(), np.array(7.0)
        assert float(f_jitted(*args)) == float(f(*args)) == 5.0 - k + 30.0 - 700.0


def test_calls_that_fail_leave_nothing() -> None:
    f = np.jit(lambda x: x * 2 + 1)
    f(np.ones(3))
    before, reasons = np.explain(f), len(STATS.reasons)
    for _ in range(3):
        with pytest.raises(TypeError):
            f("a")
    assert np.explain(f) == before
    assert len(STATS.reasons) == reasons
