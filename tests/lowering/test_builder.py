"""Every method of the builder writes text that compiles and has NumPy's meaning."""

from __future__ import annotations

import numpy as np
import pytest

from lazynp import lowering
from lazynp._avals import DEVICE_DTYPES, aval_of
from lazynp._errors import InternalError
from lazynp._jaxpr import Eqn, Jaxpr, Literal, Var
from tests.lowering.helpers import Stub, compiled, evaluate, jaxpr_of

F8, I8, I4, BOOL = (np.dtype(t) for t in ("f8", "i8", "i4", "?"))
X = np.arange(6.0).reshape(2, 3)


def add(b, x, y):
    return b.binary("stablehlo.add", x, y)


def reduce_add(b, accs, elems):
    return [add(b, accs[0], elems[0])]


CASES = {
    "unary": (lambda b, x: b.unary("stablehlo.negate", x), -X),
    "chlo": (lambda b, x: b.unary("chlo.square", x), X * X),
    "binary": (lambda b, x: add(b, x, x), X + X),
    "product": (lambda b, x: b.product(x, x), X * X),
    "maximum": (lambda b, x: b.maximum(x, b.constant(2, F8, (2, 3))), np.maximum(X, 2)),
    "minimum": (lambda b, x: b.minimum(x, b.constant(2, F8, (2, 3))), np.minimum(X, 2)),
    "compare": (lambda b, x: b.compare(x, b.constant(2, F8, (2, 3)), "GE"), X >= 2),
    "select": (
        lambda b, x: b.select(b.compare(x, b.constant(2, F8, (2, 3)), "LT"), x, b.product(x, x)),
        np.where(X < 2, X, X * X),
    ),
    "logic": (
        lambda b, x: b.and_(b.not_(b.constant(False, BOOL)), b.or_(b.constant(True, BOOL),
                            b.constant(False, BOOL))),
        np.array(True),
    ),
    "convert": (lambda b, x: b.convert(x, np.dtype("i2")), X.astype("i2")),
    "bitcast": (lambda b, x: b.bitcast(x, I4, (2, 3, 2)), X.view("i4").reshape(2, 3, 2)),
    "complex": (lambda b, x: b.complex(x, b.unary("stablehlo.negate", x)), X - 1j * X),
    "imag": (lambda b, x: b.imag(b.complex(x, b.product(x, x))), X * X),
    "real": (lambda b, x: b.real(b.complex(x, b.product(x, x))), X),
    "broadcast": (
        lambda b, x: b.broadcast_in_dim(x, (4, 2, 3), (1, 2)), np.broadcast_to(X, (4, 2, 3))
    ),
    "splat": (lambda b, x: b.splat(b.constant(7, I8), (2, 2)), np.full((2, 2), 7)),
    "reshape": (lambda b, x: b.reshape(x, (3, 2)), X.reshape(3, 2)),
    "transpose": (lambda b, x: b.transpose(x, (1, 0)), X.T),
    "reverse": (lambda b, x: b.reverse(x, (1,)), X[:, ::-1]),
    "iota": (lambda b, x: b.iota((2, 3), 1, I4), np.tile(np.arange(3, dtype="i4"), (2, 1))),
    "concatenate": (lambda b, x: b.concatenate([x, x], 1), np.concatenate([X, X], 1)),
    "slice": (lambda b, x: b.slice(x, (0, 0), (2, 3), (1, 2)), X[:, ::2]),
    "dynamic_slice": (
        lambda b, x: b.dynamic_slice(x, [b.constant(1, I8), b.constant(1, I8)], (1, 2)),
        X[1:2, 1:3],
    ),
    "dynamic_update_slice": (
        lambda b, x: b.dynamic_update_slice(
            x, b.constant(9, F8, (1, 1)), [b.constant(0, I8), b.constant(2, I8)]
        ),
        np.array([[0, 1, 9.0], [3, 4, 5]]),
    ),
    "pad": (
        lambda b, x: b.pad(x, b.constant(7, F8), (1, -1), (0, 0), (0, 1)),
        np.array([[7.0] * 4, [7, 1, 7, 2], [7, 4, 7, 5]]),
    ),
    "reduce": (lambda b, x: b.reduce([x], [b.constant(0, F8)], (1,), reduce_add)[0], X.sum(1)),
    "folded": (lambda b, x: b.folded("stablehlo.add", x, (0,)), X.sum(0)),
    "reduce_max": (lambda b, x: b.reduce_max(x, (0,)), X.max(0)),
    "reduce_min": (lambda b, x: b.reduce_min(b.convert(x, I4), (0, 1)), np.array(0, "i4")),
    "reduce_window": (
        lambda b, x: b.reduce_window(x, b.constant(0, F8), add, (1, 3), (1, 1), ((0, 0), (2, 0))),
        np.cumsum(X, 1),
    ),
    "sort": (
        lambda b, x: b.sort([x], 1, lambda b, x, y: b.compare(x[0], y[0], "GT", total=True))[0],
        X[:, ::-1],
    ),
    "gather": (
        lambda b, x: b.gather(
            x, b.dense(np.array([[1], [0], [1]])), offset_dims=[1], collapsed_slice_dims=[0],
            start_index_map=[0], index_vector_dim=1, slice_sizes=[1, 3],
        ),
        X[[1, 0, 1]],
    ),
    "scatter": (
        lambda b, x: b.scatter(
            x, b.dense(np.array([[1], [0], [1]])), b.constant(1, F8, (3, 3)), add,
            update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0],
            index_vector_dim=1,
        ),
        X + np.array([[1.0], [2]]),
    ),
    "dot_general": (lambda b, x: b.dot_general(x, x, ((1,), (1,))), X @ X.T),
    "dot_general batched": (lambda b, x: b.dot_general(x, x, ((1,), (1,)), ((0,), (0,))),
                            (X * X).sum(1)),
    "triangular_solve": (
        lambda b, x: b.triangular_solve(
            b.slice(x, (0, 1), (2, 3)), x, lower=True, transpose="T", unit_diagonal=False
        ),
        np.linalg.solve(np.tril(X[:, 1:3]).T, X),
    ),
    "fft": (lambda b, x: b.fft(x, "RFFT", [3]), np.fft.rfft(X)),
    "irfft": (lambda b, x: b.fft(b.fft(x, "RFFT", [3]), "IRFFT", [3]), X),
    "convolution": (
        lambda b, x: b.convolution(
            b.reshape(x, (1, 1, 6)), b.constant(1, F8, (1, 1, 3)), padding=((1, 1),)
        ),
        np.convolve(X.ravel(), np.ones(3), "same").reshape(1, 1, 6),
    ),
    "while": (
        lambda b, x: b.while_loop(
            lambda b, s: b.compare(s[0], b.constant(5, I8), "LT"),
            lambda b, s: [add(b, s[0], b.constant(1, I8)), add(b, s[1], x)],
            [b.constant(0, I8), x],
        )[1],
        6 * X,
    ),
    "case": (
        lambda b, x: b.case(b.constant(1, I4), [lambda b: [x], lambda b: [add(b, x, x)]])[0],
        2 * X,
    ),
    "if": (lambda b, x: b.if_(b.constant(True, BOOL), lambda b: x, lambda b: add(b, x, x))[0], X),
    "barrier": (lambda b, x: b.barrier(x), X),
    "hidden": (
        lambda b, x: add(b, b.hidden(b.constant(3.0, x.aval.dtype, x.aval.shape)), x),
        X + 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_method(name):
    lower, expected = CASES[name]
    got = evaluate(lower, X)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_every_method_has_a_case():
    done = set(CASES) | {"constant", "dense", "op", "region", "use", "static", "subjaxpr"}
    done |= {"is_wide", "text", "multiplied"}  # a question, what was written, part of `product`
    # on several devices: tests/test_shardings.py, tests/lowering/test_uneven_parts.py
    done |= {"whole", "constrained", "evenly"}
    done |= {"custom_call", "and_", "or_", "not_", "broadcast_in_dim"}
    done |= {"holds_in_place", "alternates", "twice"}  # test_alternation
    public = {n.rstrip("_") for n in dir(lowering.Builder) if not n.startswith("_")}
    assert {n.removesuffix("_loop") for n in public} <= {n.rstrip("_") for n in done}


def bits(array):
    return np.ascontiguousarray(array).tobytes()


EXTREMES = {
    "b": [False, True],
    "i": lambda d: [0, 1, -1, np.iinfo(d).min, np.iinfo(d).max],
    "u": lambda d: [0, 1, np.iinfo(d).max],
    "f": lambda d: [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 0.1, np.finfo(d).max,
                    np.finfo(d).smallest_normal],
    "c": lambda d: [0j, complex(-0.0, -0.0), complex(np.inf, np.nan), complex(0.1, -0.1)],
}  # fmt: skip


@pytest.mark.parametrize("dtype", sorted(DEVICE_DTYPES, key=str), ids=str)
def test_constants_keep_every_bit(dtype):
    values = EXTREMES[dtype.kind]
    array = np.array(values(dtype) if callable(values) else values, dtype)
    dense, *splats = evaluate(
        lambda b: [b.dense(array), *(b.constant(v, dtype, (2,)) for v in array)]
    )
    assert bits(dense) == bits(array)
    assert dense.dtype == dtype
    for got, value in zip(splats, array, strict=True):
        assert bits(got) == bits(np.full(2, value))


def test_constants_that_compare_equal_are_kept_apart():
    got = evaluate(lambda b: [b.constant(v, F8) for v in (1, True, 1.0, 0.0, -0.0, False, -0.0j)
                              if not isinstance(v, complex)])  # fmt: skip
    assert [np.signbit(v) for v in got] == [False] * 4 + [True, False]
    with_zeros = evaluate(lambda b: [b.constant(complex(0, -0.0), np.dtype("c16")),
                                     b.constant(complex(0, 0.0), np.dtype("c16"))])  # fmt: skip
    assert [np.signbit(v.imag) for v in with_zeros] == [True, False]
    # zeros of numbers that are not zero
    ones = [complex(re, im) for re, im in ((1, 0.0), (1, -0.0), (0.0, 1), (-0.0, 1))]
    got = evaluate(lambda b: [b.constant(v, np.dtype("c16")) for v in ones])
    for value, wanted in zip(got, ones):
        assert np.asarray(value).tobytes() == np.complex128(wanted).tobytes()


def test_static():
    b = lowering.Builder()
    one = b.constant(np.int64(1), I8)
    assert b.static(one) == 1
    assert b.static(b.splat(one, (2, 3))) == 1
    assert b.static(b.reshape(b.splat(one, (2, 3)), (6,))) == 1
    assert b.static(add(b, one, one)) is None
    assert len(b.lines) == 2  # the constant, once, and the sum


def test_unused_constants_are_not_written():
    b = lowering.Builder()
    b.splat(b.constant(1, I8), (1000,))
    b.dense(np.arange(1000))
    assert b.lines == []


def test_constants_may_be_used_in_regions_that_capture_nothing():
    def lower(b, x):
        two = b.constant(2, F8)
        used_outside = b.product(x, b.splat(two, (2, 3)))

        def body(b, accs, elems):
            return add(b, accs[0], b.product(elems[0], two))

        return b.reduce([used_outside], [b.constant(0, F8)], (0, 1), body)[0]

    assert evaluate(lower, X) == 4 * X.sum()


def test_variadic_reduce():
    def lower(b, x):
        index = b.iota((2, 3), 1, I8)

        def body(b, accs, elems):
            later = b.compare(elems[0], accs[0], "GT")
            return [b.select(later, e, a) for a, e in zip(accs, elems, strict=True)]

        return b.reduce([x, index], [b.constant(-np.inf, F8), b.constant(0, I8)], (1,), body)

    values, index = evaluate(lower, X)
    assert index.tolist() == [2, 2]
    assert values.tolist() == [2, 5]


@pytest.mark.parametrize("shape", [(0,), (2, 0, 3), ()])
def test_empty_and_zero_dimensional(shape):
    x = np.ones(shape)
    assert (
        evaluate(lambda b, x: add(b, b.reverse(x, tuple(range(x.aval.ndim))), x), x).shape == shape
    )
    total = evaluate(
        lambda b, x: b.reduce([x], [b.constant(0, F8)], tuple(range(x.aval.ndim)), reduce_add)[0], x
    )
    assert total == x.size
    assert evaluate(lambda b: b.dense(x)).shape == shape


def test_no_outputs_and_outputs_that_are_inputs_or_repeated():
    assert evaluate(lambda b, x: [], X) == []
    first, second, third = evaluate(lambda b, x: [x, x, b.constant(2, F8)], X)
    assert (first == X).all() and (second == X).all() and third == 2


def test_subjaxpr_and_literals():
    stub = Stub(lambda b, x, y: add(b, x, b.splat(y, x.aval.shape)))
    aval, scalar = aval_of((2, 3), F8), aval_of((), F8)
    a, out = Var(aval), Var(aval)
    inner = Jaxpr([a], [Eqn(stub, [a, Literal(-0.0, scalar)], {}, [out])], [out])
    got = evaluate(lambda b, x: b.subjaxpr(inner, b.subjaxpr(inner, [x])), np.full((2, 3), -0.0))
    assert np.signbit(got).all()


def test_a_rule_that_contradicts_abstract_is_an_internal_error():
    stub = Stub(lambda b, x: x)
    a, out = Var(aval_of((2,), F8)), Var(aval_of((3,), F8))
    with pytest.raises(InternalError, match=r"lower gives f64\[2\], abstract says f64\[3\]"):
        lowering.lower(Jaxpr([a], [Eqn(stub, [a], {}, [out])], [out]))


def test_text_is_deterministic():
    lower, _ = CASES["while"]
    assert lowering.lower(jaxpr_of(lower, [X])) == lowering.lower(jaxpr_of(lower, [X]))


def test_custom_call_registers_lapack():
    """Layouts, attributes and aliases: a Cholesky factor."""
    a = np.array([[4.0, 2], [2, 5]])

    def lower(b, x):
        return b.custom_call(
            "lapack_dpotrf_ffi", [x], [x.aval, aval_of((), I4)],
            attrs={"uplo": "76 : ui8"}, operand_layouts=[(0, 1)], result_layouts=[(0, 1), ()],
            aliases={0: 0},
        )  # fmt: skip

    factor, info = evaluate(lower, a)
    assert info == 0
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(a), rtol=1e-15)


def test_complex_equality_compiles():
    z = X + 1j
    assert evaluate(lambda b, z: b.compare(z, z, "EQ"), z).all()
    assert compiled(lambda b, z: b.compare(z, z, "NE"), z).out_avals[0].dtype == BOOL
