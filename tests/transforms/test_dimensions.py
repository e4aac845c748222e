"""Sizes as values of a program: one trace for all sizes, held against NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp._fronts import BUILT
from lazynp._jaxpr import check
from lazynp.transforms import DBIdx, InDBIdx, OutDBIdx

SIZES = (1, 0, 2, 3, 7)  # 1 first: nothing may be learnt from the first call
X = numpy.arange(5.0)


def vector(n: int) -> Any:
    return numpy.linspace(0.5, 2.0, n)


def matrix(n: int) -> Any:
    return numpy.linspace(0.5, 2.0, n * 3).reshape(n, 3)


def stores(np: Any, x: Any) -> Any:
    y = np.zeros(x.shape[0] + 1)
    y[1:] = np.cumsum(x)
    return y


def stores_parts(np: Any, x: Any) -> Any:
    y = np.array(x)
    y[1:] += x[:-1]
    y[y > 2] = 0
    y *= 2
    return y


def writes_its_argument(np: Any, x: Any) -> Any:
    x[...] = x * 2
    return x.sum()


def equal_sizes(np: Any, x: Any) -> Any:
    y = np.concatenate([x, x])
    assert y.shape[0] == 2 * x.shape[0] and x.shape[0] >= 0 and x.shape[0] + 1 > x.shape[0]
    return y + np.ones(x.shape[0] * 2)


Function = Callable[[Any, Any], Any]
OF_VECTORS: dict[str, Function] = {
    "arithmetic": lambda np, x: -x + abs(x) - x // 0.3 + x % 0.3,
    "functions": lambda np, x: np.sin(x) ** 2 + np.cos(x) / x,
    "comparisons": lambda np, x: np.where(x > 1, x, -x),
    "parts": lambda np, x: np.array_split(x, 3)[1],
    "outer sum": lambda np, x: x[:, None] + x[None, :],
    "sum": lambda np, x: x.sum(),
    "mean by hand": lambda np, x: x.sum() / x.shape[0],
    "max": lambda np, x: x.max(),
    "var": lambda np, x: x.var(),
    "any, all": lambda np, x: (x > 1).any() & np.all(x > 0),
    "prod": lambda np, x: x.prod(),
    "argmax": lambda np, x: x.argmax(),
    "count_nonzero": lambda np, x: np.count_nonzero(x > 1),
    "ones": lambda np, x: x + np.ones(x.shape),
    "zeros_like": lambda np, x: x + np.zeros_like(x),
    "full": lambda np, x: x + np.full(x.shape[0], 3.0),
    "arange": lambda np, x: x * np.arange(x.shape[0]),
    "arange from 1": lambda np, x: np.arange(1, x.shape[0] + 1) * x,
    "linspace": lambda np, x: x + np.linspace(0, 1, num=x.shape[0]),
    "eye": lambda np, x: np.eye(x.shape[0]) + x,
    "tril": lambda np, x: np.tril(np.outer(x, x)),
    "differences": lambda np, x: x[1:] - x[:-1],
    "second differences": lambda np, x: x[2:] - 2 * x[1:-1] + x[:-2],
    "reversed": lambda np, x: x[::-1] + x[::-1],
    "whole": lambda np, x: x[: x.shape[0]] + x,
    "second half": lambda np, x: x[x.shape[0] // 2 :] + 0,
    "all but two": lambda np, x: x[: x.shape[0] - 2] + 0,
    "all but three": lambda np, x: x[: x.shape[0] - 3] + 0,
    "the last two": lambda np, x: x[-2:] + 0,
    "middle": lambda np, x: x[-3:-1] + 0,
    "strides": lambda np, x: x[::2].sum() - x[1::2].sum(),
    "first two": lambda np, x: x[:2] * 2,
    "ends": lambda np, x: x[0] - x[-1],
    "index arrays": lambda np, x: x[np.array([0, -1])],
    "traced index": lambda np, x: x[np.argmax(x)],
    "reshape to a column": lambda np, x: x.reshape(x.shape[0], 1) + x.reshape(-1, 1),
    "product of reshaped": lambda np, x: x.reshape(x.shape[0], 1) @ x.reshape(1, -1),
    "expand_dims": lambda np, x: np.expand_dims(x, 0) + np.atleast_2d(x),
    "squeeze": lambda np, x: np.squeeze(x[None], 0) + x,
    "broadcast_to": lambda np, x: np.broadcast_to(x, (4, x.shape[0])) + x,
    "meshgrid": lambda np, x: np.meshgrid(x, x)[0],
    "concatenate": lambda np, x: np.concatenate([x, x[1:]]),
    "equal sizes": equal_sizes,
    "stack": lambda np, x: np.stack([x, x * 2]) + np.vstack([x, x]),
    "column_stack": lambda np, x: np.column_stack([x, x]),
    "append": lambda np, x: np.append(x, 1.0),
    "tile, repeat": lambda np, x: np.tile(x, 2) - np.repeat(x, 2),
    "roll": lambda np, x: np.roll(x, 1),
    "flip": lambda np, x: np.flip(x) + 0,
    "pad": lambda np, x: np.pad(x, 1),
    "diff": lambda np, x: np.diff(x),
    "cumsum": lambda np, x: np.cumsum(x) + np.cumprod(x),
    "dot": lambda np, x: x @ x + np.dot(x, x) + np.vdot(x, x) + np.inner(x, x),
    "outer": lambda np, x: np.outer(x, x).trace(),
    "norm": lambda np, x: np.linalg.norm(x),
    "sort": lambda np, x: np.sort(-x),
    "argsort": lambda np, x: np.argsort(-x),
    "searchsorted": lambda np, x: np.searchsorted(x, 1.0),
    "clip": lambda np, x: np.clip(x, 0.7, 1.0) + np.maximum(x, 1.0),
    "astype": lambda np, x: x.astype(np.float32) * x.shape[0],
    "complex": lambda np, x: (x * 1j).imag + np.round(x, 1),
    "nan functions": lambda np, x: np.nansum(x) + np.isnan(x).sum(),
    "average": lambda np, x: np.average(x, weights=x),
    "trapezoid": lambda np, x: np.trapezoid(x),
    "diag": lambda np, x: np.diag(x),
    "size, nbytes": lambda np, x: x * x.size + x.nbytes,
    "selected": lambda np, x: x[x > 1].sum(),
    "stores": stores,
    "stores in parts": stores_parts,
    "writes its argument": writes_its_argument,
}
OF_MATRICES: dict[str, Function] = {
    "sums": lambda np, x: x.sum(0) + x.sum(axis=1).sum(),
    "centred": lambda np, x: x - x.mean(axis=1, keepdims=True),
    "std": lambda np, x: x.std(axis=0),
    "cov": lambda np, x: np.cov(x, rowvar=False),
    "columns": lambda np, x: x[:, 1:] + x[:, :-1] - x[:, 1][:, None],
    "ravel": lambda np, x: x.ravel() + np.ones(3 * x.shape[0]),
    "reshape": lambda np, x: x.reshape(3, -1) + x.reshape(-1).reshape(x.shape[::-1]),
    "transposed": lambda np, x: x.T @ x,
    "products": lambda np, x: x @ x.T @ x @ np.ones(3),
    "einsum": lambda np, x: np.einsum("ij,kj->ik", x, x),
    "tensordot": lambda np, x: np.tensordot(x, x, axes=([0], [0])),
    "moveaxis": lambda np, x: np.moveaxis(x, 0, 1) + np.swapaxes(x, 0, 1),
    "split": lambda np, x: np.split(x.T, 3)[0] + 0,
}
CASES = [pytest.param(f, vector, id=name) for name, f in OF_VECTORS.items()]
CASES += [pytest.param(f, matrix, id=name) for name, f in OF_MATRICES.items()]


class Counted:
    """A function of NumPy's namespace and an array, traced for all lengths."""

    def __init__(self, function: Function) -> None:
        self.function, self.traces = function, 0
        self.jitted = np.jit(self._run, abstracted_axes={0: "n"})

    def _run(self, x: Any) -> Any:
        self.traces += 1
        return self.function(np, x)


def outcome(function: Callable[[Any], Any], x: Any) -> Any:
    """The result and the argument afterwards, or the class of the error."""
    with numpy.errstate(all="ignore"):
        try:
            out = function(x)
            return numpy.asarray(out), numpy.asarray(x)
        except Exception as error:
            return type(error)


@pytest.mark.parametrize(("function", "make"), CASES)
@pytest.mark.filterwarnings("ignore")
def test_one_trace_gives_numpys_results(function: Function, make: Any) -> None:
    counted = Counted(function)
    for array, sizes in ((np.array, SIZES), (numpy.array, (2,))):
        for n in sizes:
            got = outcome(counted.jitted, array(make(n)))
            want = outcome(lambda x: function(numpy, x), make(n))
            if isinstance(want, type):
                # an element of nothing: which of two errors comes first is not promised
                assert isinstance(got, type) and issubclass(got, (want, IndexError)), n
                continue
            assert got[0].dtype == want[0].dtype
            for a, b in zip(got, want, strict=True):
                numpy.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12, err_msg=f"n = {n}")
    assert counted.traces <= 2  # lazy arrays and NumPy's are different arguments


def test_views_share_one_trace() -> None:
    whole, f = np.arange(20.0), Counted(lambda np, x: x[1:] - x[:-1])
    for n in (3, 1, 7, 20):
        numpy.testing.assert_array_equal(f.jitted(whole[:n]), numpy.ones(n - 1))
    assert f.traces <= 2


def test_writes_to_views_and_results_that_are_views() -> None:
    def double(x: Any) -> Any:
        x *= 2
        return x[1:]

    f, whole = np.jit(double, abstracted_axes={0: "n"}), np.arange(6.0)
    f(whole[2:5])
    numpy.testing.assert_array_equal(whole, [0, 1, 4, 6, 8, 5])
    own = np.arange(4.0)
    tail = f(own)
    tail[0] = 100
    numpy.testing.assert_array_equal(own, [0, 100, 4, 6])


# -- jaxprs and types ------------------------------------------------------------------------------


def test_a_size_that_is_an_argument() -> None:
    jaxpr = np.make_jaxpr(lambda n: np.ones((n, 4)))(3)
    check(jaxpr)
    assert str(jaxpr) == (
        "{ lambda a:i64[] . let b:f64[a,4] = full[shape=(None, 4) dtype=float64] 1.0:f64[] a "
        "in ( b ) }"
    )
    assert [flag for _, flag in jaxpr.in_type] == [True]


def test_a_size_that_is_computed_is_an_implicit_result() -> None:
    jaxpr = np.make_jaxpr(lambda sz: np.ones((sz + 1,)))(3)
    check(jaxpr)
    assert "b:i64[] = add a 1:i64[]" in str(jaxpr) and "in ( b, c )" in str(jaxpr)
    assert [(t.shape, flag) for t, flag in jaxpr.out_type] == [((), False), ((OutDBIdx(0),), True)]


def test_the_types_of_the_seed() -> None:
    jaxpr = np.make_jaxpr(lambda n: np.ones((n + 1, 2 * n, n)))(3)
    check(jaxpr)
    types = jaxpr.out_type
    assert [flag for _, flag in types] == [False, False, True]
    assert types[2][0].shape == (OutDBIdx(0), OutDBIdx(1), InDBIdx(0))


def test_abstracted_axes_are_inputs_before_the_arguments() -> None:
    trace = np.make_jaxpr(lambda x, y: np.concatenate([x, y]),
                          abstracted_axes=({0: "n"}, {0: "m"}))  # fmt: skip
    jaxpr = trace(X, X)
    check(jaxpr)
    assert str(jaxpr).startswith("{ lambda a:i64[] b:i64[] c:f64[a] d:f64[b] . let")
    assert "e:i64[] = add a b" in str(jaxpr) and "f:f64[e] = concatenate" in str(jaxpr)
    assert [(t.shape, flag) for t, flag in jaxpr.in_type] == [
        ((), False), ((), False), ((DBIdx(0),), True), ((DBIdx(1),), True),
    ]  # fmt: skip
    size, joined = np.eval_jaxpr(jaxpr, 5, 2, X, X[:2])
    assert int(size) == 7
    numpy.testing.assert_array_equal(joined, numpy.concatenate([X, X[:2]]))


def test_what_a_slice_of_a_size_has() -> None:
    jaxpr = np.make_jaxpr(lambda x: x[1:] - x[:-1], abstracted_axes={0: "n"})(X)
    check(jaxpr)
    assert "d:i64[] = maximum c 0:i64[]" in str(jaxpr) and "in ( d, g )" in str(jaxpr)


def test_loops_and_branches_in_a_jaxpr_with_sizes() -> None:
    def f(x: Any) -> Any:
        y = np.fori_loop(0, 3, lambda i, c: c * 2 + x, x)
        return np.cond(x.sum() > 3, lambda: y[1:] * 2, lambda: y[:-1])

    jaxpr = np.make_jaxpr(f, abstracted_axes={0: "n"})(X)
    check(jaxpr)
    for n in (5, 2):
        size, out = np.eval_jaxpr(jaxpr, n, X[:n])
        assert int(size) == n - 1
        numpy.testing.assert_array_equal(out, f(np.array(X[:n])))


def test_a_jaxpr_with_sizes_within_a_traced_function() -> None:
    jaxpr = np.make_jaxpr(lambda x: x[1:] * 2, abstracted_axes={0: "n"})(X)
    f = np.jit(lambda x: np.eval_jaxpr(jaxpr, x.shape[0], x)[1], abstracted_axes={0: "m"})
    for n in (5, 1, 3):
        numpy.testing.assert_array_equal(f(X[:n]), X[1:n] * 2)


def test_indices_are_equal_only_to_their_own_kind() -> None:
    assert DBIdx(1) == DBIdx(1) and hash(DBIdx(1)) == hash(DBIdx(1)) and DBIdx(1).val == 1
    assert DBIdx(1) != InDBIdx(1) and InDBIdx(1) != OutDBIdx(1) and DBIdx(1) != DBIdx(2)


def test_shapes_of_results() -> None:
    assert np.eval_shape(lambda n: np.ones((n, 2)), 3).shape == (InDBIdx(0), 2)
    _, shape = np.make_jaxpr(lambda x: x * 2, return_shape=True, abstracted_axes={0: "n"})(X)
    assert shape.shape == (InDBIdx(0),)


def test_lowered_programs_take_every_size() -> None:
    lowered = np.jit(lambda x: x * 2, abstracted_axes={0: "n"}).lower(X)
    check(lowered.jaxpr)
    compiled = lowered.compile()
    for n in SIZES:
        numpy.testing.assert_array_equal(compiled(vector(n)), vector(n) * 2)


def test_debug_checks_the_programs() -> None:
    with np.config(debug=True):
        f = Counted(lambda np, x: np.outer(x[1:], x[:-1]).sum(0))
        numpy.testing.assert_allclose(f.jitted(X), numpy.outer(X[1:], X[:-1]).sum(0))


# -- sizes that scalars and data decide ------------------------------------------------------------


def test_an_integer_scalar_is_a_size() -> None:
    f = np.jit(lambda n: np.arange(n) * 2 + np.ones((n,)))
    for n in (3, 0, 5):
        numpy.testing.assert_array_equal(f(n), numpy.arange(n) * 2 + 1)
    numpy.testing.assert_array_equal(f(np.array(4)), numpy.arange(4) * 2 + 1)
    assert np.jit(lambda n: np.eye(n).sum())(3) == 3.0


def test_data_decide_a_size() -> None:
    f = np.jit(lambda x: np.ones(((x > 1).sum(),)))
    for x in (X, X[:2], X + 5):
        numpy.testing.assert_array_equal(f(x), numpy.ones((x > 1).sum()))


def test_a_size_between_scalars() -> None:
    f = np.jit(lambda x, k: x[:k] * 2, abstracted_axes=({0: "n"}, {}))
    for k in (0, 2, 5, 9, -1, -9):
        numpy.testing.assert_array_equal(f(X, k), X[:k] * 2)
    assert f._cache_size() == 1


def test_sizes_are_lazy_weak_scalars() -> None:
    f = np.jit(lambda x: (x.shape[0], x.size + 1, 1 / x.shape[0], x.astype("f4") * x.shape[0]),
               abstracted_axes={0: "n"})  # fmt: skip
    length, more, share, scaled = f(X)
    assert (int(length), int(more), float(share)) == (5, 6, 0.2)
    assert scaled.dtype == numpy.float32


# -- errors ----------------------------------------------------------------------------------------


UNKNOWN = {
    "len": len,
    "range": lambda x: list(range(x.shape[0])), "iteration": list,
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_the_value_of_a_size_is_not_known(name: str) -> None:
    f = np.jit(UNKNOWN[name], abstracted_axes={0: "n"})
    with pytest.raises(TypeError, match=r"not known|traced"):
        f(X)
    numpy.testing.assert_array_equal(np.jit(np.sin, abstracted_axes={0: "n"})(X), numpy.sin(X))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("unstack", lambda x: np.unstack(x)),
        ("split", lambda x: np.split(x, x.shape[0])),
    ],
)
def test_functions_that_are_not_written_for_sizes_say_so(name: str, function: Any) -> None:
    with pytest.raises(TypeError, match=rf"{name}: not written .* traced \(n"):
        np.jit(function, abstracted_axes={0: "n"})(X)


def test_a_jaxpr_binds_its_sizes_or_is_refused() -> None:
    """Within a function of sizes, those of that function have no variables in another jaxpr."""
    inner: list[Any] = [
        lambda x: np.make_jaxpr(lambda k: x * k)(2.0), lambda x: np.make_jaxpr(lambda y: y + 1)(x),
        lambda x: np.make_jaxpr(lambda k: x.sum() * k)(2.0),
    ]  # fmt: skip
    for make in inner:
        with pytest.raises(TypeError, match="the size n, which belongs to a function around it"):
            np.make_jaxpr(lambda x, make=make: make(x) and x, abstracted_axes={0: "n"})(X)
    known = [
        lambda x: np.make_jaxpr(lambda y: y + 1)(np.ones(3)),
        lambda x: np.make_jaxpr(lambda y: y + 1, abstracted_axes={0: "m"})(np.ones(3)),
        lambda x: np.make_jaxpr(lambda k: k * x.shape[0])(2.0),
    ]
    for make in known:
        assert np.make_jaxpr(lambda x, make=make: make(x) and x, abstracted_axes={0: "n"})(X)


@pytest.mark.parametrize("shape", [(-1, 2), (2, -1), (0, -1), (3, -1, 2)])
def test_reshape_refuses_what_numpy_refuses(shape: tuple[int, ...]) -> None:
    f = np.jit(lambda x: x.reshape(shape), abstracted_axes={0: "n"})
    g = np.jit(lambda x: x[:, None].reshape(x.shape[0], -1, 1), abstracted_axes={0: "n"})
    for n in (6, 5, 0, 1, 12):
        x = numpy.arange(float(n))
        for ours, theirs in (
            (f, lambda x: x.reshape(shape)),
            (g, lambda x: x.reshape(len(x), -1, 1)),
        ):
            want, got = (outcome_or_text(function, x) for function in (theirs, ours))
            assert got == want, (n, shape)


def outcome_or_text(function: Any, x: Any) -> Any:
    try:
        return numpy.asarray(function(x)).tolist()
    except ValueError as error:
        return str(error)


def test_an_index_tells_the_size_of_the_call() -> None:
    f = np.jit(lambda x: x[x.shape[0] - 3], abstracted_axes={0: "n"})
    with pytest.raises(IndexError, match="index -2 is out of bounds for axis 0 with size 1$"):
        f(X[:1])


@pytest.mark.parametrize("policy", ["adaptive", "compiled", "reference"])
def test_an_index_of_the_data_tells_the_size_of_the_call(policy: str) -> None:
    f = np.jit(lambda x, i: x[i], abstracted_axes=({0: "n"}, {0: "m"}))
    g = np.jit(
        lambda x, i: np.fori_loop(0, 2, lambda k, s: s + x[i[k]], 0.0),
        abstracted_axes=({0: "n"}, {}),
    )
    with np.config(execution=policy):
        for n in (3, 1):
            x = numpy.arange(float(n))
            text = rf"index 7 is out of bounds for axis 0 with size {n}\b"
            for index in (numpy.array([0, 7]), numpy.array([7, 0])):
                for jitted in (f, g):
                    with pytest.raises(IndexError, match=text):
                        jitted(x, index)
            with pytest.raises(
                IndexError, match=rf"-5 is out of bounds for axis 0 with size {n}\b"
            ):
                np.vmap(f, in_axes=(None, 0))(x, numpy.array([[0, -5]]))
        numpy.testing.assert_array_equal(f(numpy.arange(9.0), numpy.array([0, 7])), [0, 7])


def test_bits_that_are_no_size() -> None:
    f = np.jit(lambda x: x * (x.shape[0] ^ 5 | 8), abstracted_axes={0: "n"})
    numpy.testing.assert_array_equal(f(X), X * (X.size ^ 5 | 8))


def test_sizes_not_known_to_be_equal_do_not_mix() -> None:
    f = np.jit(lambda x, y: x + y, abstracted_axes=({0: "n"}, {0: "m"}))
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(n,\) \(m"):
        f(X, X)
    g = np.jit(lambda x, y: x + y.reshape(x.shape), abstracted_axes=({0: "n"}, {0: "m"}))
    numpy.testing.assert_array_equal(g(X, X), X + X)
    with pytest.raises(ValueError, match="cannot reshape array of size 4 into shape"):
        g(X, X[1:])
    axes = {0: "n"}
    solved = np.jit(
        lambda x: np.linalg.solve(np.diag(x), np.append(x[1:], 1.0)), abstracted_axes=axes
    )
    with pytest.raises(ValueError, match="solve: operands do not fit") as found:
        solved(X)  # the numbers that stand in for them happen to be equal
    assert type(found.value) is ValueError


def test_one_name_is_one_size() -> None:
    f = np.jit(lambda x, y: x + y, abstracted_axes={0: "rows"})
    with pytest.raises(ValueError, match="'rows' must have one size, got 5 and 4"):
        f(X, X[1:])
    numpy.testing.assert_array_equal(f(X, X), 2 * X)


@pytest.mark.parametrize(
    ("function", "good", "bad", "error"),
    [
        (lambda x: x.max(), X, X[:0], ValueError),
        (lambda x: x[5], numpy.arange(6.0), X, IndexError),
        (lambda x: x[-3], X, X[:2], IndexError),
        (lambda x: x.reshape(2, -1), X[:4], X, ValueError),
        (lambda x: np.ones((x.shape[0] - 3,)), X, X[:2], ValueError),
        (lambda x: x[x.shape[0] // 2], X, X[:0], IndexError),
        (lambda x: x[x.shape[0] - 3], X, X[:1], IndexError),
        (lambda x: x[2 - x.shape[0]], X, X[:0], IndexError),
        (lambda x: x[(x.sum() < 0).astype(int)], X, X[:0], IndexError),
        (lambda x: np.take(x, [0, 9], mode="wrap"), X, X[:0], IndexError),
        (lambda x: np.take(x, [0, 9], mode="clip"), X, X[:0], IndexError),
        (lambda x: np.squeeze(x), X, X[:1], ValueError),
        (lambda x: np.squeeze(x[None, :, None]), X[:0], X[:1], ValueError),
    ],
)
def test_errors_come_from_the_call(function: Any, good: Any, bad: Any, error: Any) -> None:
    f = np.jit(function, abstracted_axes={0: "n"})
    for x in (good, bad, good):
        if x is bad:
            with pytest.raises(error):
                f(x)  # at once, and without a trace in what is pending
        else:
            with np.config(promotion=False):
                numpy.testing.assert_array_equal(f(x), function(np.asarray(x)))


def test_an_error_writes_nothing() -> None:
    def change(x: Any) -> Any:
        x += 1
        return x[4]

    f, short = np.jit(change, abstracted_axes={0: "n"}), np.zeros(3)
    f(np.zeros(5))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 3"):
        f(short)
    numpy.testing.assert_array_equal(short, numpy.zeros(3))


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (3, TypeError), ({"n": 0}, TypeError), ({0: 1}, TypeError), ([{0: "n"}], TypeError),
        ({1: "n"}, ValueError), ({-2: "n"}, ValueError), (({}, {}), ValueError),
    ],
)  # fmt: skip
def test_bad_specifications(spec: Any, error: Any) -> None:
    with pytest.raises(error, match="abstracted_axes"):
        np.jit(lambda x: x, abstracted_axes=spec)(X)


@pytest.mark.parametrize("spec", [(), {}, ("n",), {-1: "n"}, (("n",),), ({0: "n"},), (None,)])
def test_good_specifications(spec: Any) -> None:
    numpy.testing.assert_array_equal(np.jit(lambda x: x * 2, abstracted_axes=spec)(X), X * 2)
    np.jit(lambda x, k: x[0] * k["a"], abstracted_axes={0: "n"})(X, {"a": 2.0})


def test_reshape_to_sizes_of_the_program() -> None:
    f = np.jit(lambda x, i: x.reshape(i, -1))
    numpy.testing.assert_array_equal(f(numpy.arange(6.0), 2), numpy.arange(6.0).reshape(2, -1))
    for i in (4, 0):
        with pytest.raises(ValueError, match="cannot reshape"):
            f(numpy.arange(6.0), i)


def test_bad_sizes() -> None:
    f = np.jit(lambda n: np.ones((n,)))
    with pytest.raises(ValueError, match="negative dimensions"):
        f(-3)
    with pytest.raises(TypeError):
        f(3.0)
    assert f(2).shape == (2,)


# -- transformations -------------------------------------------------------------------------------


def loss(y: Any) -> Any:
    return (np.sin(y[1:]) * y[:-1]).sum() + (y @ y) * y.max() + np.cumsum(y).sum() + y.std()


def test_gradients_inside_and_outside() -> None:
    inside = np.jit(lambda x: np.grad(loss)(x), abstracted_axes={0: "n"})
    outside = np.grad(np.jit(loss, abstracted_axes={0: "n"}))
    for n in (1, 2, 5, 9):
        want = np.grad(loss)(vector(n) + 0.1)
        numpy.testing.assert_allclose(inside(vector(n) + 0.1), want, rtol=1e-9)
        numpy.testing.assert_allclose(outside(vector(n) + 0.1), want, rtol=1e-9)
    assert inside._cache_size() == 1


@pytest.mark.parametrize("axis", [0, 1])
def test_vmap_inside_over_either_axis(axis: int) -> None:
    f = np.jit(np.vmap(lambda r: r.sum() * r), abstracted_axes={axis: "n"})
    for n in (1, 2, 4):
        x = numpy.arange(3.0 * n).reshape((n, 3) if axis == 0 else (3, n))
        numpy.testing.assert_allclose(f(x), x.sum(1, keepdims=True) * x)
    assert f._cache_size() == 1


def test_other_transformations() -> None:
    def f(x: Any) -> Any:
        return x * np.sin(x).sum()

    cases: list[Callable[[Any], Any]] = [
        lambda x: np.jvp(f, (x,), (x,))[1], lambda x: np.vjp(f, x)[1](x)[0],
        lambda x: np.linearize(f, x)[1](x), np.jacfwd(f), np.jacrev(f), np.checkpoint(f),
        lambda x: np.grad(lambda x: np.checkpoint(f)(x).sum())(x), lambda x: np.jit(f)(x),
        lambda x: np.fori_loop(0, 3, lambda i, c: c * 2 + x, x),
        lambda x: np.scan(lambda c, r: (c + r, c), 0.0, x)[1],
        lambda x: np.while_loop(lambda c: c.sum() < 100, lambda c: c * 2, x),
        lambda x: np.cond(x.sum() > 3, lambda: x * 2, lambda: x),
    ]  # fmt: skip
    for case in cases:
        jitted = np.jit(case, abstracted_axes={0: "n"})
        for n in (2, 5, 3):
            numpy.testing.assert_allclose(jitted(vector(n)), case(np.array(vector(n))), rtol=1e-9)
        assert jitted._cache_size() == 1


def test_vmap_outside() -> None:
    f = np.jit(lambda x: x * x.shape[0], abstracted_axes={0: "n"})
    numpy.testing.assert_array_equal(np.vmap(f)(numpy.ones((2, 3))), 3 * numpy.ones((2, 3)))
    with pytest.raises(TypeError):
        np.vmap(np.jit(lambda n: np.ones((n,)).sum()))(numpy.arange(3))


# -- what it costs ---------------------------------------------------------------------------------


def test_a_sweep_traces_once_and_compiles_nothing() -> None:
    f = Counted(lambda np, x: np.sqrt(x[1:] * 2 + 1) * 3 - x[:-1])
    with np.config(execution="adaptive"):
        before = np.stats().compiles + np.stats().cache_hits
        for n in range(100, 160):
            numpy.asarray(f.jitted(vector(n)))
        assert np.stats().compiles + np.stats().cache_hits == before
    assert f.traces == 1


def test_threads_call_with_different_sizes() -> None:
    f = np.jit(lambda x: (x[1:] * x.shape[0]).sum(), abstracted_axes={0: "n"})
    f(vector(3))

    def sweep(first: int) -> list[float]:
        return [float(f(vector(n))) for n in range(first, first + 100)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(sweep, (1, 20, 40, 60)))
    for first, sums in zip((1, 20, 40, 60), found, strict=True):
        want = [(vector(n)[1:] * n).sum() for n in range(first, first + 100)]
        numpy.testing.assert_allclose(sums, want)


def test_explain_names_the_axes() -> None:
    f = np.jit(lambda x: x * 2, abstracted_axes={0: "n"})
    f(np.ones(3)), f(np.ones((4, 2)))
    assert "leaf 0: f64[n,2] of owner 0 (was f64[n] of owner 0)" in str(np.explain(f))


# -- random programs -------------------------------------------------------------------------------


def _stored(np: Any, a: Any, b: Any) -> Any:
    y = np.array(a)
    y[1:] += a[:-1]
    y[::2] *= 0.5
    return y


STEPS: list[Callable[[Any, Any, Any], Any]] = [
    lambda np, a, b: a[1:], lambda np, a, b: a[:-1], lambda np, a, b: a[2:-1],
    lambda np, a, b: a[::2], lambda np, a, b: a[::-1], lambda np, a, b: a[: a.shape[0] // 2],
    lambda np, a, b: a[-3:], lambda np, a, b: a[: b.shape[0]], lambda np, a, b: a[b.shape[0] :],
    lambda np, a, b: np.concatenate([a, b]), lambda np, a, b: np.concatenate([b, a[1:], b]),
    lambda np, a, b: np.cumsum(a), lambda np, a, b: np.pad(a, 1), lambda np, a, b: np.diff(a),
    lambda np, a, b: np.repeat(a, 2), lambda np, a, b: np.tile(a, 2),
    lambda np, a, b: a - b.sum(), lambda np, a, b: np.where(a > 1, a, -a),
    lambda np, a, b: np.roll(a, 1), lambda np, a, b: a.reshape(-1, 1).ravel(),
    lambda np, a, b: a + np.arange(a.shape[0]), lambda np, a, b: np.outer(a, b).sum(0),
    lambda np, a, b: np.outer(a, b).sum(1), lambda np, a, b: np.sort(a) * a.shape[0],
    lambda np, a, b: np.outer(a, b).ravel(), lambda np, a, b: a[a.argsort()], _stored,
    lambda np, a, b: np.ones(a.shape[0] + b.shape[0]),
    lambda np, a, b: np.eye(a.shape[0], b.shape[0]).sum(0),
]  # fmt: skip


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 3), st.integers(0, 3)), max_size=6),
    st.sampled_from(["adaptive", "reference"]),
)
@pytest.mark.filterwarnings("ignore")
def test_random_programs(steps: Any, policy: str) -> None:
    """One trace, compared with NumPy at many sizes."""

    def program(np: Any, x: Any, y: Any) -> Any:
        values = [x, y]
        for step, i, k in steps:
            values.append(step(np, values[-1 - i % len(values)], values[-1 - k % len(values)]))
        return tuple(values[2:]) or (x + 1,)

    f = np.jit(lambda x, y: program(np, x, y), abstracted_axes=({0: "n"}, {0: "m"}))
    with np.config(execution=policy):
        for n, m in ((3, 2), (0, 1), (1, 0), (2, 2), (5, 3), (1, 4)):
            want = program(numpy, vector(n), vector(m) + 1)
            got = f(numpy.array(vector(n)), vector(m) + 1)
            for a, b in zip(got, want, strict=True):
                numpy.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=f"{n}, {m}")
    assert f._cache_size() == 1


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.sampled_from(STEPS), st.integers(0, 3), st.integers(0, 3)),
        min_size=1, max_size=4,
    )
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_gradients_of_random_programs(steps: Any) -> None:
    """Inside and outside of a function that is traced once."""

    def loss(x: Any, y: Any) -> Any:
        values = [x, y]
        for step, i, k in steps:
            values.append(step(np, values[-1 - i % len(values)], values[-1 - k % len(values)]))
        return sum((v * v).sum() for v in values)

    axes = ({0: "n"}, {0: "m"})
    inside = np.jit(lambda x, y: np.grad(loss, argnums=(0, 1))(x, y), abstracted_axes=axes)
    outside = np.grad(np.jit(loss, abstracted_axes=axes), argnums=(0, 1))
    for n, m in ((3, 2), (1, 1), (5, 3), (1, 4)):
        x, y = vector(n) + 0.01, vector(m) + 1
        want = np.grad(loss, argnums=(0, 1))(x, y)
        for f in (inside, outside):
            for a, b in zip(f(x, y), want, strict=True):
                numpy.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=f"{n}, {m}")


def test_iteration_says_what_to_write_instead() -> None:
    for f in (list, lambda x: [v * 2 for v in x], lambda x: max(x), lambda x: [*x[:, None]]):
        with pytest.raises(TypeError, match=r"the value of n is not known.*fori_loop or scan"):
            np.jit(f, abstracted_axes={0: "n"})(X)


def test_a_view_that_does_not_fit_is_found_before_anything_is_written() -> None:
    def f(x: Any) -> Any:
        x[0] = 9.0
        return x.reshape(2, 3)

    g = np.jit(f, abstracted_axes={0: "n"})
    for n in (6, 4, 6):
        x = np.ones(n)
        if n == 6:
            assert g(x).shape == (2, 3) and x[0] == 9
        else:
            with pytest.raises(ValueError, match=r"cannot reshape array of size 4 into shape"):
                g(x)
            assert x.tolist() == [1.0] * 4


def test_jit_with_an_integer_tells_of_the_types_of_a_carry() -> None:
    def f(n: Any) -> Any:
        x = np.ones((n,))
        return np.fori_loop(0, 3, lambda i, c: (c[0], np.ones((n + 1,))), (x, x))

    with pytest.raises(TypeError, match=r"f64\[.*preserve_dimensions"):
        np.jit(f)(2)


def test_sizes_beside_integers_of_the_program() -> None:
    """An integer that passes for NumPy's may have no value."""
    f = np.jit(lambda x, k: (x.shape[0] + k, k * x.shape[0] - x.shape[0], np.ones(x.shape[0] + k)),
               abstracted_axes=({0: "n"}, {}))  # fmt: skip
    for n, k in ((3, 2), (0, 4)):
        total, product, ones = f(X[:n], numpy.array(k))
        assert (int(total), int(product), ones.shape) == (n + k, n * k - n, (n + k,))


def test_a_scan_of_two_sizes() -> None:
    scan = lambda x, y: np.scan(lambda c, _: (c, c), 0.0, (x, y))[1]  # noqa: E731
    with pytest.raises(ValueError, match=r"the leading axes of xs, and length, must agree"):
        np.jit(scan, abstracted_axes=({0: "n"}, {0: "m"}))(X, X)


def test_a_fixed_number_of_places() -> None:
    def places(x: Any) -> Any:
        return *np.nonzero(x > 1, size=3), *np.nonzero(x[:, None] > np.array([1, 2]), size=4)

    f = np.jit(places, abstracted_axes={0: "n"})
    for n in (5, 3, 0):
        for a, b in zip(f(X[:n]), places(np.array(X[:n])), strict=True):
            numpy.testing.assert_array_equal(a, b)


# -- what is not used ------------------------------------------------------------------------------

UNUSED = {
    "x.max()": "zero-size array to reduction operation maximum", "x[5]": "index 5 is out of bounds",
    "x.reshape(2,-1)": "cannot reshape array of size",
    "np.ones(x.shape[0]-2)": "negative dimensions", "x.reshape(3)": "cannot reshape array of size",
    "np.arange(3).reshape(x.shape)": "cannot reshape array of size 3",
}  # fmt: skip


@pytest.mark.parametrize("policy", ["adaptive", "compiled", "reference"])
@pytest.mark.parametrize("text", UNUSED)
def test_what_is_not_used_is_an_error_of_the_call(text: str, policy: str) -> None:
    def function(np: Any, x: Any) -> Any:
        eval(text, {"np": np, "x": x})
        return x.sum()

    f = np.jit(lambda x: function(np, x), abstracted_axes={0: "n"})
    with np.config(execution=policy):
        for n in (0, 1, 3, 6):
            try:
                want = function(numpy, numpy.ones(n))
            except (ValueError, IndexError) as error:
                with pytest.raises(type(error), match=UNUSED[text]):
                    f(numpy.ones(n))
            else:
                assert float(f(numpy.ones(n))) == want
    assert f._cache_size() == 1


def test_integers_as_numbers_of_points() -> None:
    f = np.jit(lambda n: (np.hanning(n), np.kaiser(n, 2.0)))
    for n in (0, 1, 2, 5):
        numpy.testing.assert_allclose(f(n)[0], numpy.hanning(n))
        numpy.testing.assert_allclose(f(n)[1], numpy.kaiser(n, 2.0))
    assert f._cache_size() == 1


def test_sizes_have_no_index() -> None:
    """Where one is needed, the error has the line and the cure."""
    seen: list[str] = []

    def f(x: Any) -> Any:
        n = x.shape[0]
        assert not hasattr(n, "__index__") or not BUILT
        assert not isinstance(n, (int, numpy.integer))  # pytest's form of this is not rewritten
        for ask in (operator.index, int, float, range, [1].__getitem__, [1][:1].__mul__, hex):
            with pytest.raises(TypeError) as raised:
                ask(n)
            seen.append(str(raised.value))
        with pytest.raises(TypeError, match="the value of n is not known"):
            assert [1, 2][:n]
        assert f"{n:d}" == f"{n}" == str(n) and f"{n}" in ("3", "4")
        one = numpy.float32(2) * n, n * numpy.float32(2), np.float32(n), n // numpy.int64(2)
        return one, np.ones(2, np.result_type(np.float32, n)), numpy.add(x, n)

    for n in (3, 4):
        (a, b, c, d), e, g = np.jit(f, abstracted_axes={0: "n"})(numpy.ones(n))
        assert a == b == 2 * n and c == n and d == n // 2
        assert a.dtype == b.dtype == c.dtype == e.dtype == numpy.float32
        numpy.testing.assert_array_equal(g, numpy.ones(n) + n)
    assert all("the value of n is not known, but" in text for text in seen)
    assert all("test_dimensions.py:" in text and "fori_loop" in text for text in seen)
