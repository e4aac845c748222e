"""The array object: attributes, operators, conversions."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from array_api_tests.operators import (
    BINARY,
    OPERATORS,
    REFLECTED,
    UNARY,
    UNARY_OPERATORS,
    scalar_of,
    symbol,
)  # fmt: skip
from array_api_tests.support import (
    ALL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    PAIRS,
    REAL,
    arrays,
    check,
    devices,
    dtype,
    host,
    make,
    pool,
    tolerance,
    xp,
)  # fmt: skip

# -- attributes ------------------------------------------------------------------------------------


@given(x=arrays())
def test_attributes(x: Any) -> None:
    a = make(x)
    assert a.dtype == dtype(x.dtype.name)
    assert a.device in devices
    assert type(a.ndim) is int and a.ndim == x.ndim
    assert a.shape == x.shape and all(isinstance(n, int) for n in a.shape)
    assert type(a.size) is int and a.size == math.prod(x.shape)


@given(x=arrays(shapes=((2, 3), (3, 1), (2, 0))))
def test_transpose(x: Any) -> None:
    check(make(x).T, x.T)
    check(make(x).mT, x.T)


@given(x=arrays(shapes=((2, 1, 3),)))
def test_matrix_transpose(x: Any) -> None:
    check(make(x).mT, np.swapaxes(x, -1, -2))


def test_matrix_transpose_needs_a_matrix() -> None:
    for x in (xp.asarray(1.0), make([1.0, 2.0])):
        with pytest.raises(Exception):  # noqa: B017
            _ = x.mT


# -- operators -------------------------------------------------------------------------------------


def _checked(out: Any, wanted: Any, f: Any, name: str, what: str) -> None:
    check(out, np.asarray(wanted, f.out(name)), rtol=f.loose * tolerance(name), what=what)


@pytest.mark.parametrize("name", UNARY_OPERATORS)
@given(st.data())
def test_unary_operators(name: str, data: Any) -> None:
    f = UNARY[UNARY_OPERATORS[name]]
    x = data.draw(arrays(f.dtypes))
    _checked(getattr(make(x), name)(), f.oracle(x), f, x.dtype.name, name)


def _operands(f: Any, data: Any) -> tuple[Any, Any]:
    name, shapes = data.draw(st.sampled_from(f.dtypes)), data.draw(st.sampled_from(PAIRS))
    first = data.draw(arrays(name, (shapes[0],)))
    return first, data.draw(arrays(name, (shapes[1],), values=f.second))


@pytest.mark.parametrize("name", OPERATORS)
@given(st.data())
def test_binary_operators(name: str, data: Any) -> None:
    """The method, and the function in `operator`, compute the same as the named function."""
    f = BINARY[OPERATORS[name]]
    x, y = _operands(f, data)
    wanted = f.oracle(x, y)
    _checked(getattr(make(x), name)(make(y)), wanted, f, x.dtype.name, name)
    _checked(symbol(name)(make(x), make(y)), wanted, f, x.dtype.name, name)


@pytest.mark.parametrize("name", OPERATORS)
@given(st.data())
def test_operators_with_scalars(name: str, data: Any) -> None:
    f = BINARY[OPERATORS[name]]
    x, _ = _operands(f, data)
    number = data.draw(st.sampled_from(f.second or pool(x.dtype.name)))
    scalar = scalar_of(x.dtype.name, number)
    wanted = f.oracle(x, x.dtype.type(scalar))
    _checked(symbol(name)(make(x), scalar), wanted, f, x.dtype.name, name)


@pytest.mark.parametrize("name", REFLECTED)
@given(st.data())
def test_reflected_operators(name: str, data: Any) -> None:
    f = BINARY[OPERATORS[name]]
    _, y = _operands(f, data)
    scalar = scalar_of(y.dtype.name, data.draw(st.sampled_from(pool(y.dtype.name)[:3])))
    wanted = f.oracle(y.dtype.type(scalar), y)
    _checked(symbol(name)(scalar, make(y)), wanted, f, y.dtype.name, name)
    by_method = getattr(make(y), f"__r{name.strip('_')}__")(scalar)
    _checked(by_method, wanted, f, y.dtype.name, name)


@pytest.mark.parametrize("name", REFLECTED)
@given(st.data())
def test_in_place_operators(name: str, data: Any) -> None:
    """They write into the same object, visibly to those who share it; scalars too."""
    f = BINARY[OPERATORS[name]]
    kind = data.draw(st.sampled_from([d for d in f.dtypes if f.out(d) == d]))
    x = data.draw(arrays(kind, ((3,), (2, 3), (2, 0))))
    y = data.draw(arrays(kind, ((), x.shape[-1:]), values=f.second))
    a = b = make(x)
    a = getattr(operator, f"i{_python_name(name)}")(a, make(y))
    assert a is b
    _checked(b, f.oracle(x, y), f, kind, name)
    scalar = scalar_of(kind, (f.second or pool(kind))[-1])
    c = getattr(operator, f"i{_python_name(name)}")(make(x), scalar)
    _checked(c, f.oracle(x, x.dtype.type(scalar)), f, kind, name)


def _python_name(name: str) -> str:
    return name.strip("_")


@given(st.sampled_from([((2, 3), (3, 2)), ((3,), (3,)), ((2, 1, 3), (3, 4)), ((3,), (3, 2))]),
       st.sampled_from(["int32", "float64", "complex64"]))  # fmt: skip
def test_matmul_operator(shapes: Any, name: str) -> None:
    x, y = (np.arange(math.prod(s)).reshape(s).astype(name) for s in shapes)
    wanted = np.asarray(x @ y)
    check(make(x) @ make(y), wanted, rtol=tolerance(name))
    check(make(x).__matmul__(make(y)), wanted, rtol=tolerance(name))
    check(make(y).__rmatmul__(make(x)), wanted, rtol=tolerance(name))


def test_matmul_in_place() -> None:
    x = make(np.eye(2) * 3)
    x @= make(np.eye(2) * 2)
    check(x, np.eye(2) * 6)


def test_matmul_refuses_scalars() -> None:
    for y in (xp.asarray(2.0), 2.0):
        with pytest.raises(Exception):  # noqa: B017
            _ = make([1.0, 2.0]) @ y


# -- conversions to Python -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_bool(name: str) -> None:
    for value in pool(name):
        got = bool(xp.asarray(value, dtype=dtype(name)))
        assert got is bool(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.0, -0.0])
def test_bool_of_special_values(value: float) -> None:
    assert bool(xp.asarray(value)) is bool(value)
    assert bool(xp.asarray(complex(0, value))) is bool(value)


@pytest.mark.parametrize("name", ("bool", *REAL))
def test_float_and_int(name: str) -> None:
    for value in pool(name):
        a = xp.asarray(value, dtype=dtype(name))
        assert type(float(a)) is float and float(a) == float(value)
        assert type(int(a)) is int and int(a) == int(value)


@pytest.mark.parametrize("name", ALL)
def test_complex(name: str) -> None:
    for value in pool(name):
        got = complex(xp.asarray(value, dtype=dtype(name)))
        assert type(got) is complex and got == complex(value)


@pytest.mark.parametrize("name", FLOATS)
def test_complex_of_special_values(name: str) -> None:
    """ "If self is +infinity, the result is +infinity + 0j", likewise -infinity."""
    for value in (math.inf, -math.inf):
        assert complex(xp.asarray(value, dtype=dtype(name))) == complex(value, 0)


@pytest.mark.parametrize("name", FLOATS)
def test_complex_of_nan(name: str) -> None:
    """ "If self is NaN, the result is NaN + NaN j." """
    got = complex(xp.asarray(math.nan, dtype=dtype(name)))
    assert math.isnan(got.real) and math.isnan(got.imag)


@pytest.mark.parametrize("name", INTEGERS)
def test_index(name: str) -> None:
    for value in pool(name):
        got = operator.index(xp.asarray(value, dtype=dtype(name)))
        assert type(got) is int and got == value
    assert [10, 20, 30][xp.asarray(1, dtype=dtype(name))] == 20


def test_index_refuses_floats() -> None:
    """ "If self has a floating-point data type, the function must raise a TypeError." """
    for name in FLOATS:
        with pytest.raises(TypeError):
            operator.index(xp.asarray(1.0, dtype=dtype(name)))


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("convert", [int, float])
def test_complex_is_not_real(convert: Any, name: str) -> None:
    """ "If self has a complex floating-point data type, must raise a TypeError." """
    with pytest.raises(TypeError):
        convert(xp.asarray(1 + 0j, dtype=dtype(name)))


def test_int_of_special_values() -> None:
    with pytest.raises(OverflowError):
        int(xp.asarray(math.inf))
    with pytest.raises(OverflowError):
        int(xp.asarray(-math.inf))
    with pytest.raises(ValueError):
        int(xp.asarray(math.nan))
    assert int(xp.asarray(-0.0)) == 0


@pytest.mark.parametrize("convert", [bool, int, float, complex, operator.index])
def test_conversion_needs_one_element(convert: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        convert(make([1, 2]))


# -- arrays without dimensions ---------------------------------------------------------------------

_WITHOUT_DIMENSIONS: dict[str, Any] = {
    "made": lambda: xp.asarray(3.0),
    "element": lambda: make([1.0, 3.0])[1],
    "slice of nothing": lambda: make(3.0)[()],
    "sum": lambda: xp.sum(make([1.0, 2.0])),
    "operator": lambda: xp.asarray(1.0) + xp.asarray(2.0),
    "function": lambda: xp.sqrt(xp.asarray(9.0)),
}


@pytest.mark.parametrize("kind", _WITHOUT_DIMENSIONS)
def test_arrays_without_dimensions(kind: str) -> None:
    """ "The specification does not support returning scalar (i.e., non-array) values." """
    x, three = _WITHOUT_DIMENSIONS[kind](), np.asarray(3.0)
    check(x, three)
    check(x[()], three)
    check(x[...], three)
    check(x[None], np.asarray([3.0]))
    check(xp.asarray(x, copy=True), three)
    check(xp.reshape(x, (1, 1)), np.asarray([[3.0]]))
    check(xp.stack([x, x]), np.asarray([3.0, 3.0]))
    check(x * make([1.0, 2.0]), np.asarray([3.0, 6.0]))
    check(xp.astype(x, xp.int32), np.asarray(3, "int32"))
    check(xp.from_dlpack(x), three)
    assert x.to_device(x.device).shape == () and x.__array_namespace__().pi == math.pi
    x += 1
    check(x, np.asarray(4.0))


# -- protocols -------------------------------------------------------------------------------------


def test_namespace() -> None:
    space = make([1.0]).__array_namespace__()
    assert all(hasattr(space, n) for n in ("asarray", "add", "float32", "pi", "linalg"))
    with pytest.raises(Exception):  # noqa: B017
        make([1.0]).__array_namespace__(api_version="1066.10")


@given(x=arrays(shapes=((3,), (0,))))
def test_iteration(x: Any) -> None:
    """ "a sequence of zero-dimensional arrays x[0], x[1], ..., x[N-1]" """
    items = list(make(x))
    assert len(items) == x.size
    for got, wanted in zip(items, x):
        check(got, wanted)


def test_equality_is_elementwise() -> None:
    got = make([1, 2, 3]) == make([1, 0, 3])
    assert host(got).tolist() == [True, False, True]
