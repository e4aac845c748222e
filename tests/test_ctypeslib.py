"""Code in C that gets the address of an array: by `x.ctypes`, `ndpointer`, `as_ctypes`."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import be_eager

DOUBLES = ctypes.POINTER(ctypes.c_double)


def zeros_in_c(np: Any, *required: Any) -> Any:
    """`memset(array, 0, bytes)` of the C library."""
    memset = ctypes.CDLL(None).memset
    memset.argtypes = [np.ctypeslib.ndpointer(*required), ctypes.c_int, ctypes.c_size_t]
    memset.restype = None
    return lambda x, nbytes: memset(x, 0, nbytes)


def read_in_c(np: Any) -> Any:
    x = np.arange(6.0).reshape(2, 3) + 1.0
    arrays = x, x.T, np.asfortranarray(x), (x * 2.0).T, x[:, 1:].copy(), np.asfortranarray(x)[1:]
    return [
        (a.ctypes.data_as(DOUBLES)[: a.size] if a.flags.forc else 0, a.ctypes.strides[:])
        for a in arrays
    ]


def written_by_address(np: Any, n: int) -> Any:
    x = np.arange(float(n)) + 1.0
    y, z, part = x.copy(), x + 1.0, x[1:]
    x.ctypes.data_as(DOUBLES)[1] = 7.0
    return x, y, z, part


def written_through_ndpointer(np: Any, n: int) -> Any:
    clear = zeros_in_c(np, "f8", 1, None, "C, W")
    x = np.arange(float(n)) + 1.0
    y, z, part = x.copy(), x + 1.0, x[2:]
    clear(x, 24)
    seen = x[:4].copy()
    x[0] = 5.0
    clear(part, 16)
    x += 1.0
    clear(x, 8)
    return x, y, z, part, seen


def shared_with_c(np: Any) -> Any:
    x = np.zeros(5)
    shared = np.ctypeslib.as_ctypes(x)
    shared[0] = 4.0
    twice = x.ctypes.data_as(DOUBLES), x.ctypes.data_as(DOUBLES)
    twice[0][1], twice[1][2] = 6.0, 7.0
    return x, list(shared)


def copied_in_between(np: Any) -> Any:
    x, seen = np.zeros(50_000), []
    clear = zeros_in_c(np, "f8")
    for k in range(3):
        x[: k + 3] = k + 1.0
        seen += [x.copy(), np.array(x), x[1:] * 2.0, np.array(x[1:]), x[::-1].copy(), x + 0]
        clear(x, 16)
        seen += [x.copy(), np.array(x[1:])]
    return [v[:4].tolist() + v[-4:].tolist() for v in seen]


def of_a_part(np: Any) -> Any:
    x = np.arange(12.0).reshape(3, 4) * 1.0
    np.ctypeslib.as_ctypes(x[1:])[0][0] = 77.0
    x[2].ctypes.data_as(DOUBLES)[1] = 78.0
    return x


@pytest.mark.parametrize("n", [4, 50_000])
@pytest.mark.parametrize("program", [written_by_address, written_through_ndpointer])
def test_what_c_writes_arrives(program: Any, n: int) -> None:
    for ours, theirs in zip(program(np, n), program(numpy, n), strict=True):
        numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("program", [read_in_c, shared_with_c, of_a_part, copied_in_between])
def test_c_sees_the_array(program: Any, eager: bool) -> None:
    if eager:
        be_eager()
    assert repr(program(np)) == repr(program(numpy))


def readonly(np: Any) -> Any:
    x = np.zeros(3)
    x.flags.writeable = False
    return x


@pytest.mark.parametrize(
    "made",
    [
        lambda np: np.arange(3),
        lambda np: np.zeros((2, 2)),
        lambda np: np.arange(4.0)[::2],
        lambda np: [1.0],
        readonly,
    ],
)
def test_refusals(made: Any) -> None:
    def outcomes(np: Any) -> Any:
        for call in (zeros_in_c(np, "f8", 1, None, "C, W"), lambda x, _: np.ctypeslib.as_ctypes(x)):
            with pytest.raises((ctypes.ArgumentError, TypeError, AttributeError)) as error:
                call(made(np), 0)
                raise TypeError("accepted")
            yield str(error.value)

    assert list(outcomes(np)) == list(outcomes(numpy))


def test_numpys_arrays_and_numbers() -> None:
    memory = numpy.zeros(2)
    np.ctypeslib.as_ctypes(memory)[0] = 3.0
    assert memory.tolist() == [3.0, 0.0]
    assert np.ctypeslib.as_ctypes(np.arange(3)[1]).value == 1


def test_pointer_types_are_equal_where_numpys_are() -> None:
    pointer = np.ctypeslib.ndpointer
    assert pointer("f8", flags="C") is pointer("f8", flags="C") is not pointer("f8")
    assert pointer("f8").__name__ == numpy.ctypeslib.ndpointer("f8").__name__
