"""Recording, per thread."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import Counted, fresh_start, in_thread, pending, recorded


@pytest.fixture(autouse=True)
def _fresh() -> None:
    fresh_start()


# -- recorded operations ---------------------------------------------------------------------------


def _ops(xp: Any) -> dict[str, tuple[Callable[[], Any], list[str]]]:
    a, b = xp.array(numpy.arange(6.0)), xp.array(numpy.ones(6))
    m, i = xp.array(numpy.ones((3, 4))), xp.array(numpy.arange(6))
    s = xp.sum(a)

    def add_in_place() -> None:
        nonlocal a
        a += 1

    def assign_slice() -> None:
        a[1:-1] = b[1:-1]

    def assign_scalar() -> None:
        a[1:-1] = 2.0

    def update_slice() -> None:
        a[1:] += 1.0

    def assign_mask() -> None:
        a[a > 3] = 0.0

    return {
        "a + b": (lambda: a + b, ["add"]),
        "a + 1": (lambda: a + 1, ["add"]),
        "1 - a": (lambda: 1 - a, ["subtract"]),
        "a + i": (lambda: a + i, ["add"]),  # the cast is implicit
        "m + row": (lambda: m + a[:4], ["slice", "add"]),  # the broadcast too
        "-a": (lambda: -a, ["negative"]),
        "a < b": (lambda: a < b, ["less"]),
        "a[1:-1]": (lambda: a[1:-1], ["slice"]),
        "a[::2][1:]": (lambda: a[::2][1:], ["slice", "slice"]),
        "m[1]": (lambda: m[1], ["slice"]),
        "m[:, None]": (lambda: m[:, None], ["slice"]),
        "m.T": (lambda: m.T, ["transpose"]),
        "m.reshape": (lambda: m.reshape(4, 3), ["reshape"]),
        "a.sum()": (lambda: a.sum(), ["reduce_sum"]),
        "s * 2": (lambda: s * 2, ["multiply"]),
        "a += 1": (add_in_place, ["add"]),
        "a[1:-1] = 2": (assign_scalar, ["update_slice"]),
        "a[1:-1] = b[1:-1]": (assign_slice, ["slice", "update_slice"]),
        "a[1:] += 1": (update_slice, ["slice", "add", "update_slice"]),
        "a[a > 3] = 0": (assign_mask, ["greater", "select"]),
        "np.zeros": (lambda: xp.zeros(3), ["full"]),
        "np.clip": (lambda: xp.clip(a, 0, 1), ["clip"]),
        "np.pad": (lambda: xp.pad(m, 1), ["pad"]),
        "np.where": (lambda: xp.where(a > 0, a, b), ["greater", "select"]),
        "copy": (lambda: a.copy(), []),
        "a.real": (lambda: a.real, []),
        "len, shape": (lambda: (len(a), a.shape, a.dtype, a.strides, a.flags.owndata), []),
    }


@pytest.mark.parametrize("name", list(_ops(np)))
def test_what_an_operation_records(name: str) -> None:
    operation, expected = _ops(np)[name]
    with Counted() as counted:
        assert recorded(operation) == expected
    assert counted.cuts == 0


def test_reading_a_slice_twice_and_writing_it_back_records_nothing_more() -> None:
    a = np.array(numpy.arange(6.0))
    fresh_start()
    v = a[1:3]
    v._read()
    v._read()
    assert len(pending()) == 1
    a[1:3] = v
    assert len(pending()) == 1  # what is assigned is what is there


def test_an_error_is_raised_where_it_is_made_and_records_nothing() -> None:
    a, b = np.ones(3), np.ones(4)
    fresh_start()
    with pytest.raises(ValueError, match="could not be broadcast"):
        a + b
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        a[3]
    with pytest.raises(TypeError):
        a & b[:3]
    assert [n[0].primitive.name for n in pending()] in ([], ["slice"])  # of `b[:3]`


def test_explain_names_the_users_line() -> None:
    a = np.ones(3)
    frame = inspect.currentframe()
    assert frame is not None
    x, line = a * 2, frame.f_lineno
    assert np.explain(x).recorded == f"{__file__}:{line}"
    y, line = np.roll(a, 1), frame.f_lineno  # composed: still the user's line
    assert np.explain(y).recorded == f"{__file__}:{line}"
    v, line = a[1:], frame.f_lineno
    assert np.explain(v).recorded == f"{__file__}:{line}"
    a[0:2], line = 5.0, frame.f_lineno
    assert np.explain(a).recorded == f"{__file__}:{line}"
    a += 1.0
    assert np.explain(a).recorded == f"{__file__}:{line + 2}"
    m, line = numpy.add(a, 1.0), frame.f_lineno  # through NumPy's dispatch
    assert np.explain(m).recorded == f"{__file__}:{line}"


# -- threads ---------------------------------------------------------------------------------------


def test_each_thread_has_its_own_list() -> None:
    a = np.ones(3) + 1.0
    here = len(pending())

    def there() -> Any:
        assert pending() == []
        b = a * 2.0
        assert len(pending()) == 1
        return b

    b = in_thread(there)
    assert len(pending()) == here
    numpy.testing.assert_array_equal(b, [4.0, 4.0, 4.0])
