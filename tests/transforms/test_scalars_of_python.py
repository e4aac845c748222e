"""What code calls on scalars beside NumPy's functions: dtypes as casts, functions of math."""

from __future__ import annotations

import cmath
import math
import pickle
import threading
from math import atan2
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jit, jvp, vmap

CASTS: dict[str, Any] = {
    "float64": lambda x: np.float64(x) * x,
    "double": lambda x: np.double(x) ** 2,
    "float32": lambda x: np.float32(x) * x,
    "int64": lambda x: np.int64(x) * x,
    "bool": lambda x: np.bool_(x) * x,
    "complex128": lambda x: (np.complex128(x) * (1 + 2j)).real * x,
    "of an element": lambda x: np.float64(np.array([x, 2.0])[0]) * x,
    "there and back": lambda x: np.float64(np.float32(x)) * 3,
    "beside what is no tracer": lambda x: np.float64(2) * x + np.float64(np.ones(3)).sum(),
}
SLOPES = {"float64": 3.0, "double": 3.0, "float32": 3.0, "int64": 1.0, "bool": 1.0,
          "complex128": 3.0, "of an element": 3.0, "there and back": 3.0,
          "beside what is no tracer": 2.0}  # fmt: skip
EXECUTIONS = ["compiled", "reference", "adaptive"]


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("name", CASTS)
def test_dtypes_are_casts(name: str, execution: str) -> None:
    f, want = CASTS[name], SLOPES[name]
    with np.config(execution=execution):
        value = f(numpy.float64(1.5))
        assert grad(f)(1.5) == want
        assert jit(grad(f))(1.5) == want
        assert jit(f)(1.5) == value
        out, tangent = jvp(f, (1.5,), (1.0,))
        assert out == value and tangent == want
        numpy.testing.assert_allclose(vmap(grad(f))(np.array([1.5, 1.5])), [want, want])
        numpy.testing.assert_allclose(vmap(f)(np.array([1.5, 1.5])), [value, value])


def test_arrays_are_cast_too() -> None:
    def f(x: Any) -> Any:
        y = np.float32(x)
        assert y.dtype == np.float32 and y.shape == (2,)
        return (y * y).sum()

    assert grad(f)(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]


def test_the_names_stand_for_numpys() -> None:
    """Outside of transformations they are NumPy's; inside they pass for them."""
    assert np.float64 is numpy.float64 and np.intc is numpy.intc and np.bool is numpy.bool

    def f(x: Any) -> Any:
        assert np.float64 == numpy.float64 == np.double and np.float64 != np.float32
        assert isinstance(numpy.float64(1), np.float64) and not isinstance(1.0, np.float32)
        assert issubclass(numpy.float64, np.float64) and np.issubdtype(x.dtype, np.float64)
        assert {numpy.float64: 1}[np.float64] == 1 and repr(np.float64) == repr(numpy.float64)
        assert np.zeros(2, np.int32).dtype == np.int32 and np.finfo(np.float32).bits == 32
        assert type(np.float64("1.5")) is numpy.float64 and np.float64() == 0
        assert isinstance(x, np.float64) and numpy.dtype(np.int16) == "int16"
        assert pickle.loads(pickle.dumps(np.float64(3))) == 3
        with pytest.raises(TypeError):
            np.float64(x, x)
        return x * 1

    assert grad(f)(2.0) == 1
    assert "float64" in dir(np) and "bool" in dir(np)


def test_the_names_are_numpys_again_after_an_error() -> None:
    def f(x: Any) -> Any:
        assert np.float64 is not numpy.float64
        raise ZeroDivisionError

    for transformed, x in ((grad(f), 1.0), (grad(grad(f)), 1.0), (jit(f), 1.0), (vmap(f), [1.0])):
        with pytest.raises(ZeroDivisionError):
            transformed(np.asarray(x))
        assert vars(np)["float64"] is numpy.float64  # found without a call of `__getattr__`


def test_the_names_change_for_the_first_transformation_and_the_last() -> None:
    seen = []

    def inside(x: Any) -> Any:
        seen.append(np.int64 is numpy.int64)
        return x * x

    def outside(x: Any) -> Any:
        y = grad(inside)(x)
        seen.append(np.int64 is numpy.int64)
        return y

    assert grad(outside)(1.5) == 2.0
    other = threading.Thread(target=lambda: grad(inside)(1.0))
    assert grad(lambda x: (other.start(), other.join(), inside(x))[-1])(1.0) == 2.0
    assert not any(seen) and len(seen) == 4
    assert np.int64 is numpy.int64


@pytest.mark.parametrize("call, instead", [
    (lambda x: math.sin(x) * 2, "math.sin takes no traced value: write np.sin"),
    (lambda x: 1 + cmath.exp(x).real, "cmath.exp takes no traced value: write np.exp"),
    (lambda x: atan2(1.0, x), "math.atan2 takes no traced value: write np.atan2"),
    (lambda x: math.floor(x), "write np.floor"),
    (lambda x: math.erf(x), "write np.special.erf"),
])  # fmt: skip
def test_what_to_write_instead_of_math(call: Any, instead: str) -> None:
    transformed: list[Any] = [grad(call)]
    if "cmath" in instead:  # under jit, and so under vmap, those of `math` are replaced
        transformed += [jit(call), lambda x: vmap(call)(np.array([x]))]
    for function in transformed:
        with pytest.raises(TypeError, match=instead):
            function(0.5)
    assert math.isclose(call(np.array(0.5)), call(0.5))  # as ever where a value is there


def test_what_is_no_call_of_math() -> None:
    def sin(x: Any) -> Any:
        return float(x)

    with pytest.raises(TypeError, match="stop_gradient"):
        grad(lambda x: sin(x))(1.0)
    with pytest.raises(TypeError, match="stop_gradient"):
        grad(eval("lambda x: math.sin(x)", {"math": math}))(1.0)
