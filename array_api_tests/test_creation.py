"""Creation functions."""

from __future__ import annotations

import array
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from array_api_tests.support import (
    ALL,
    COMPLEX,
    DEVICES,
    FLOATS,
    NUMERIC,
    SHAPES,
    arrays,
    check,
    devices as devices_of_library,
    dtype,
    host,
    make,
    name_of,
    xp,
)  # fmt: skip

names, shapes, devices = st.sampled_from(ALL), st.sampled_from(SHAPES), st.sampled_from(DEVICES)
sizes = shapes | st.integers(0, 4)


def _shape(size: Any) -> tuple[int, ...]:
    return (size,) if isinstance(size, int) else size


# -- asarray ---------------------------------------------------------------------------------------

_SCALARS = {
    "bool": (True, "bool"), "int": (3, "int64"), "float": (2.5, "float64"),
    "complex": (1 + 2j, "complex128"),
}  # fmt: skip


@pytest.mark.parametrize("kind", _SCALARS)
def test_asarray_of_scalars(kind: str) -> None:
    """The default dtype of the kind; nested sequences have the highest kind they contain."""
    value, name = _SCALARS[kind]
    check(xp.asarray(value), np.asarray(value, name))
    check(xp.asarray([[value], [value]]), np.asarray([[value], [value]], name))
    check(xp.asarray((value, value)), np.asarray((value, value), name))


@pytest.mark.parametrize("values, name", [
    ([True, 2], "int64"), ([1, 2.5], "float64"), ([1, 2j], "complex128"), ([1.5, 2j], "complex128"),
])  # fmt: skip
def test_asarray_of_mixed_scalars(values: list[Any], name: str) -> None:
    check(xp.asarray(values), np.asarray(values, name))


@given(x=arrays(), device=devices)
def test_asarray_of_array(x: Any, device: Any) -> None:
    a = make(x)
    check(xp.asarray(a, device=device), x)
    check(xp.asarray(a, dtype=a.dtype), x)
    check(xp.asarray(a, copy=True), x)


def test_asarray_copies() -> None:
    """ "If True, the function must always copy." """
    a = make([1, 2, 3])
    b = xp.asarray(a, copy=True)
    a[0] = 9
    check(b, np.asarray([1, 2, 3]))
    check(a, np.asarray([9, 2, 3]))


def test_asarray_shares() -> None:
    """ "If False, the function must never copy"; "If None, must reuse existing memory"."""
    for copy in (False, None):
        a = make([1, 2, 3])
        b = xp.asarray(a, copy=copy)
        a[0] = 9
        check(b, np.asarray([9, 2, 3]))


def test_asarray_refuses_to_copy() -> None:
    """ "and must raise a ValueError in case a copy would be necessary" """
    with pytest.raises(ValueError):
        xp.asarray(make([1, 2, 3]), dtype=xp.float64, copy=False)


@pytest.mark.parametrize("code, name", [("d", "float64"), ("f", "float32"), ("i", "int32")])
def test_asarray_of_buffer(code: str, name: str) -> None:
    check(xp.asarray(array.array(code, [1, 2, 3])), np.asarray([1, 2, 3], name))


def test_asarray_of_shared_buffer() -> None:
    """ "If False, the function must never copy for input which supports the buffer protocol and
    must raise a ValueError in case a copy would be necessary." """
    memory = array.array("d", [1.0, 2.0])
    shared, copied = xp.asarray(memory, copy=False), xp.asarray(memory, copy=True)
    memory[0] = 9.0
    check(shared, np.asarray([9.0, 2.0]))
    check(copied, np.asarray([1.0, 2.0]))
    with pytest.raises(ValueError):
        xp.asarray(memory, dtype=xp.float32, copy=False)


# -- filled ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["zeros", "ones", "empty"])
@given(size=sizes, name=names | st.none(), device=devices)
def test_filled(function: str, size: Any, name: str | None, device: Any) -> None:
    """ "If dtype is None, the default real-valued floating-point data type." """
    options = {} if name is None else {"dtype": dtype(name)}
    out = getattr(xp, function)(size, device=device, **options)
    if function == "empty":
        assert out.shape == _shape(size) and out.dtype == dtype(name or "float64")
    else:
        check(out, getattr(np, function)(size, name or "float64"))


@pytest.mark.parametrize("function", ["zeros_like", "ones_like", "empty_like"])
@given(x=arrays(), name=names | st.none(), device=devices)
def test_filled_like(function: str, x: Any, name: str | None, device: Any) -> None:
    options = {} if name is None else {"dtype": dtype(name)}
    out = getattr(xp, function)(make(x), device=device, **options)
    if function == "empty_like":
        assert out.shape == x.shape and out.dtype == dtype(name or x.dtype.name)
    else:
        check(out, getattr(np, function)(x, name))


@given(size=sizes, kind=st.sampled_from(list(_SCALARS)), device=devices)
def test_full(size: Any, kind: str, device: Any) -> None:
    value, name = _SCALARS[kind]
    check(xp.full(size, value, device=device), np.full(_shape(size), value, name))


@given(x=arrays(NUMERIC), device=devices)
def test_full_with_dtype(x: Any, device: Any) -> None:
    d = dtype(x.dtype.name)
    check(xp.full(x.shape, 7, dtype=d, device=device), np.full(x.shape, 7, x.dtype))
    check(xp.full_like(make(x), 7, device=device), np.full(x.shape, 7, x.dtype))
    check(xp.full_like(make(x), 1, dtype=xp.int16), np.full(x.shape, 1, "int16"))


@given(st.integers(0, 4), st.none() | st.integers(0, 4), st.integers(-4, 4), names, devices)
def test_eye(rows: int, columns: int | None, k: int, name: str, device: Any) -> None:
    expected = np.asarray([[i + k == j for j in range(rows if columns is None else columns)]
                           for i in range(rows)], name)  # fmt: skip
    expected = expected.reshape(rows, rows if columns is None else columns)
    check(xp.eye(rows, columns, k=k, dtype=dtype(name), device=device), expected)
    check(xp.eye(rows, columns, k=k), expected.astype("float64"))


_ON_DEVICES: dict[str, Any] = {
    "arange": (3,), "asarray": ([1.0],), "empty": ((2,),), "eye": (2,), "full": ((2,), 1.0),
    "linspace": (0.0, 1.0, 3), "ones": ((2,),), "zeros": ((2,),), "empty_like": None,
    "full_like": (1.0,), "ones_like": None, "zeros_like": None, "astype": (xp.float32,),
}  # fmt: skip


@pytest.mark.parametrize("function", _ON_DEVICES)
def test_devices(function: str) -> None:
    """Arrays on a device of the library; other devices are refused."""
    args = _ON_DEVICES[function] or ()
    if function.endswith("_like") or function == "astype":
        args = (make([1.0, 2.0]), *args)
    call = getattr(xp, function)
    for device in devices_of_library:
        assert call(*args, device=device).device == device
    with pytest.raises(Exception):  # noqa: B017
        call(*args, device="no such device")


# -- ranges ----------------------------------------------------------------------------------------

ints, floats = st.integers(-9, 9), st.sampled_from([-2.5, -1.0, 0.0, 0.5, 3.0, 7.25])


@given(ints, ints, ints, devices)
def test_arange_of_integers(start: int, stop: int, step: int, device: Any) -> None:
    assume(step != 0)
    check(
        xp.arange(start, stop, step, device=device),
        np.asarray(list(range(start, stop, step)), "i8"),
    )
    check(xp.arange(start, stop=stop, step=step, dtype=xp.int16),
          np.asarray(list(range(start, stop, step)), "i2"))  # fmt: skip
    check(xp.arange(stop), np.asarray(list(range(stop)), "i8"))


@given(floats, floats, floats, st.sampled_from(FLOATS))
def test_arange_of_floats(start: float, stop: float, step: float, name: str) -> None:
    """ "The length of the output array must be ceil((stop-start)/step)" or 0."""
    assume(step != 0)
    size = max(math.ceil((stop - start) / step), 0)
    expected = np.asarray([start + i * step for i in range(size)], "float64")
    check(xp.arange(start, stop, step), expected, rtol=1e-14)
    check(xp.arange(start, stop, step, dtype=dtype(name)), expected.astype(name), rtol=1e-6)


@given(floats, floats, st.integers(0, 7), st.booleans(), st.sampled_from(FLOATS + COMPLEX), devices)
def test_linspace(
    start: float, stop: float, num: int, endpoint: bool, name: str, device: Any
) -> None:
    gaps = max(num - 1 if endpoint else num, 1)
    expected = np.asarray([start + i * (stop - start) / gaps for i in range(num)], "float64")
    check(xp.linspace(start, stop, num, endpoint=endpoint, device=device), expected, rtol=1e-14)
    out = xp.linspace(start, stop, num=num, dtype=dtype(name), endpoint=endpoint)
    check(out, expected.astype(name), rtol=1e-6)
    if num and endpoint:
        assert complex(host(out)[0]) == start


@given(st.sampled_from(COMPLEX), st.integers(1, 5))
def test_linspace_of_complex(name: str, num: int) -> None:
    start, stop = 1 + 2j, -3 + 0.5j
    expected = [start + i * (stop - start) / max(num - 1, 1) for i in range(num)]
    check(xp.linspace(start, stop, num), np.asarray(expected), rtol=1e-14)
    check(xp.linspace(start, stop, num, dtype=dtype(name)), np.asarray(expected, name), rtol=1e-6)


# -- from arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@given(st.lists(arrays("int32", ((1,), (2,), (3,))), min_size=1, max_size=3))
def test_meshgrid(indexing: str, xs: list[Any]) -> None:
    out = xp.meshgrid(*map(make, xs), indexing=indexing)
    assert isinstance(out, tuple) and len(out) == len(xs)
    for got, wanted in zip(out, np.meshgrid(*xs, indexing=indexing)):
        check(got, wanted)


@pytest.mark.parametrize("function", ["tril", "triu"])
@given(x=arrays(ALL, ((2, 3), (3, 1), (2, 0), (2, 1, 3))), k=st.integers(-3, 3))
def test_triangles(function: str, x: Any, k: int) -> None:
    def kept(i: int, j: int) -> bool:
        return j - i <= k if function == "tril" else j - i >= k

    mask = np.asarray([[kept(i, j) for j in range(x.shape[-1])] for i in range(x.shape[-2])])
    expected = np.where(mask.reshape(x.shape[-2:]).astype(bool), x, x.dtype.type(0))
    check(getattr(xp, function)(make(x), k=k), expected)
    if k == 0:
        check(getattr(xp, function)(make(x)), expected)


@given(x=arrays(ALL))
def test_from_dlpack_of_own(x: Any) -> None:
    check(xp.from_dlpack(make(x)), x)
    assert name_of(xp.from_dlpack(make(x)).dtype) == x.dtype.name
