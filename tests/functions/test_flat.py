"""`x.flat` of arrays in any memory order and of any dtype."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp
from lazynp.functions._flat import flatiter

ARRAYS = {
    "floats": "np.arange(6.0).reshape(2, 3)",
    "big-endian": "np.arange(6, dtype='>i4').reshape(2, 3)",
    "long doubles": "np.arange(6, dtype='g').reshape(2, 3)",
    "objects": "np.array([[None, 1, 'x'], [(1, 2), 2.5, np.inf]], object)",
    "text": "np.array([['a', 'b', 'c'], ['d', 'e', 'ff']])",
    "dates": "np.arange(6).astype('M8[D]').reshape(2, 3)",
    "strings of any length": "np.array([['a', 'b'], ['c', 'd']], 'T')",
    "bytes": "np.array([[b'a', b'bb', b'']])",
}
ORDERS = ["{}", "({}).T", "np.asfortranarray({})", "({})[::-1, 1:]", "({})[0]"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ARRAYS)
def test_elements_are_numpys(name: str, order: str) -> None:
    def outcome(np: Any) -> Any:
        x = eval(order.format(ARRAYS[name]), {"np": np})
        again = [x.flat[i] for i in range(x.size)] + [x.flat[-1]]
        found = [*x.flat, *again]
        return [(str(v), getattr(v, "dtype", type(v))) for v in found]

    assert outcome(lazynp) == outcome(numpy)


def test_iteration_sees_what_is_written_meanwhile() -> None:
    def outcome(np: Any) -> Any:
        x, found = np.arange(6.0).reshape(2, 3), []
        for v in x.T.flat:
            x += 1
            found.append(float(v))
        return found

    assert outcome(lazynp) == outcome(numpy)


def test_records_are_views() -> None:
    def outcome(np: Any) -> Any:
        x = np.zeros((2, 2), "i4, f8")
        for k, record in enumerate(x.T.flat):
            record["f0"] = k
        x.T.flat[1]["f1"] = 7
        return x.tolist()

    assert outcome(lazynp) == outcome(numpy)


def test_an_element_of_a_transposed_array_costs_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    x = lazynp.array(numpy.eye(1, 600).reshape(30, 20)).T
    with monkeypatch.context() as patched:
        patched.delattr(flatiter, "_flat")
        assert sum(x.flat) == 1 and x.flat[1] == 0


def by_number(x, n):
    i = 0
    while i < n:
        x.flat[i] = 2 * i
        x.flat[i] += x.flat[i - 1]
        i += 1
    return x.sum()


def in_branches(x, n):
    for i in range(20):
        if x[i // 5, i % 5] > 0.5:
            x.flat[i] = n
        else:
            x.T.flat[i] = 3
    return x * 1


def of_one_iterator(x, n):
    elements, part = x.flat, x[1:, ::2]
    for i in range(9):
        elements[i] = i
        part.flat[-i:] = n
    return part.sum()


def of_what_each_round_makes(x, n):
    y = x
    for _ in range(20):
        y = y + n
        y.flat[[0, 3]] = x.flat[1]
    return y


@pytest.mark.parametrize("order", ["{}", "np.asfortranarray({})", "{}.T[:5].T"])
@pytest.mark.parametrize("f", [by_number, in_branches, of_one_iterator, of_what_each_round_makes])
def test_staged_loops_and_branches_store_through_it(f: Any, order: str) -> None:
    """A loop on traced values was a TypeError."""
    made = "np.array(start)"
    start = numpy.random.default_rng(0).random((4, 5))
    x, want = (eval(order.format(made), {"np": m, "start": start}) for m in (lazynp, numpy))
    out, wanted = lazynp.jit(f)(x, lazynp.array(8)), f(want, numpy.array(8))
    numpy.testing.assert_allclose(out, wanted)
    numpy.testing.assert_allclose(x, want)


AS_ARRAYS = {
    "rows": "np.arange(6.0).reshape(2, 3)",
    "a part": "np.arange(12.0)[2:8].reshape(2, 3)",
    "a number": "np.array(3.0)",
    "a derived class": "np.arange(6.0).view(kind)",
    "nothing": "np.zeros((0, 3))",
    "columns": "np.arange(6.0).reshape(2, 3).T",
    "every second": "np.arange(12.0).reshape(2, 6)[:, ::2]",
    "repeated": "np.broadcast_to(np.arange(3.0), (2, 3))",
}


@pytest.mark.parametrize("make", ["np.asarray(x.flat)", "np.asanyarray(x.flat)"])
@pytest.mark.parametrize("name", AS_ARRAYS)
def test_as_an_array_it_is_a_view_of_elements_in_order(name: str, make: str) -> None:
    def outcome(np: Any) -> Any:
        kind = type("Kind", (np.ndarray,), {})
        x = eval(AS_ARRAYS[name], {"np": np, "kind": kind})
        flat = eval(make, {"np": np, "x": x})
        told = flat.tolist(), flat.dtype, type(flat) is np.ndarray
        try:
            flat[:1] = 77
        except ValueError as error:
            return *told, str(error)
        return *told, x.tolist(), flat.tolist()

    assert outcome(lazynp) == outcome(numpy)


def test_programs_take_it_as_an_array() -> None:
    x = lazynp.arange(6.0).reshape(2, 3)
    made = lazynp.jit(lambda x: lazynp.asarray(x.flat)[1:] * lazynp.asarray(x.T.flat)[:-1])
    assert made(x).tolist() == [0.0, 6.0, 3.0, 16.0, 10.0]
    assert lazynp.grad(lambda x: lazynp.sum(lazynp.asarray(x.flat) ** 2))(x).tolist() == [
        [0.0, 2.0, 4.0],
        [6.0, 8.0, 10.0],
    ]
