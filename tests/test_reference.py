"""The reference tier: values on the host, memory that is reused, and operations that fail."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _reference, lowering
from lazynp._errors import NanError
from lazynp._node import ARGS, PROJECT, VALUE, Node, leaf, op_of, projection
from lazynp._recorder import known
from lazynp._reference import (
    exclusively,
    host,
    host_view,
    is_parked,
    keep_views,
    note_read,
    operand,
    run,
)
from lazynp.primitives import elementwise, shaping
from tests.helpers import POLICIES, be_eager, fresh_start, in_thread

ADD, MULTIPLY, MAXIMUM = elementwise.add, elementwise.multiply, elementwise.maximum
MANY = 1 << 14  # elements: more than is worth reusing


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    fresh_start()
    be_eager(False)
    with np.config(execution="reference"):
        yield


def data(count: int = 4) -> Node:
    return leaf(numpy.arange(float(count)))


def node(primitive: Any, *operands: Any, **params: Any) -> Node:
    return [op_of(primitive, params, tuple([known(o) for o in operands])), operands, None, None, 0]


def part(x: Node, start: int, size: int) -> Node:
    params = {"axes": (0,), "sizes": (size,), "strides": (1,), "shape": (size,)}
    return node(shaping.slice, x, start, **params)


def fill(count: int) -> Node:
    return np.zeros(count)._node


# -- exclusively -----------------------------------------------------------------------------------


@pytest.mark.parametrize("collecting", [True, False])
def test_a_step_runs_alone(collecting: bool) -> None:
    def step(x: int) -> int:
        assert not gc.isenabled()
        assert not in_thread(lambda: _reference.lock.acquire(blocking=False))
        if x < 0:
            raise KeyError(x)
        return exclusively(step, x - 1) if x > 5 else x

    before = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        assert exclusively(step, 7) == 5
        assert gc.isenabled() is collecting
        with pytest.raises(KeyError):
            exclusively(step, -1)
        assert gc.isenabled() is collecting
        assert in_thread(lambda: _reference.lock.acquire(blocking=False) and _release())
    finally:
        (gc.enable if before else gc.disable)()


def _release() -> bool:
    _reference.lock.release()
    return True


# -- values on the host ----------------------------------------------------------------------------


def test_host_of_what_is_there() -> None:
    value, scalar = numpy.arange(3.0), numpy.float64(2.0)
    assert host(leaf(value)) is value and host(leaf(scalar)) is scalar


def test_host_of_what_was_computed_on_the_device() -> None:
    with np.config(execution="compiled"):
        x = np.array(numpy.arange(4.0)) * 2.0
        total = x.sum()
        np.materialize((x, total))
        for array, want in ((x, [0.0, 2.0, 4.0, 6.0]), (total, 12.0)):
            found = host(array._node)
            assert found.tolist() == want
            assert isinstance(found, (numpy.ndarray, numpy.generic))
            assert type(found) is not numpy.ndarray or found.ndim > 0  # of no dimension: a scalar
            assert host(array._node) is found  # on the host it stays


def test_a_value_read_late_does_not_undo_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread converts the value while another has converted it, and has written into it."""
    with np.config(execution="compiled"):
        x = np.arange(5.0) * 2.0
        np.block_until_ready(x)
    assert not isinstance(x._node[VALUE], numpy.ndarray)
    convert, read, stored = lowering.host, threading.Event(), threading.Event()
    readers: list[threading.Thread] = []

    def converting(buffer: Any) -> Any:
        value = convert(buffer)
        if threading.current_thread() in readers:
            read.set()
            assert stored.wait(60)
        elif not readers:
            readers.append(threading.Thread(target=lambda: host(x._node), daemon=True))
            readers[0].start()
            assert read.wait(60)
        return value

    monkeypatch.setattr(lowering, "host", converting)
    x[1] = 7.0
    stored.set()
    readers[0].join(60)
    assert x.tolist() == [0.0, 7.0, 4.0, 6.0, 8.0]


def test_an_array_filled_late_does_not_undo_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread fills an array for a program while another has filled it, and has written it."""
    with np.config(execution="compiled"):
        x = np.zeros(MANY)
        np.block_until_ready(np.arange(3.0) * 2.0)  # x is in no list from now on
    assert x._node[VALUE] is None
    read, stored = threading.Event(), threading.Event()
    readers: list[threading.Thread] = []
    made, has_memory = lowering.aligned_empty, _reference._has_memory

    def filling(*args: Any) -> Any:
        if not readers:
            readers.append(threading.Thread(target=lambda: operand(x._node), daemon=True))
            readers[0].start()
            assert read.wait(60)
        return made(*args)

    def deciding(*args: Any) -> bool:
        if threading.current_thread() in readers:
            read.set()
            assert stored.wait(60)
        return has_memory(*args)

    monkeypatch.setattr(lowering, "aligned_empty", filling)
    monkeypatch.setattr(_reference, "_has_memory", deciding)
    x[1] = 7.0
    stored.set()
    readers[0].join(60)
    assert x[:3].tolist() == [0.0, 7.0, 0.0]


def test_views_of_data_cost_nothing() -> None:
    x = data()
    view = part(part(x, 1, 3), 1, 2)
    found = host_view(view)
    assert found.tolist() == [2.0, 3.0] and numpy.shares_memory(found, x[VALUE])
    assert view[VALUE] is None  # made again where it is used


def test_what_needs_a_program_has_no_host_view() -> None:
    pending = node(ADD, data(), 1.0)
    assert host_view(pending) is None and host_view(part(pending, 1, 2)) is None
    assert host_view(part(part(pending, 1, 2), 0, 1)) is None
    assert pending[VALUE] is None and pending[ARGS] is not None


def test_fills_and_scalars_are_kept() -> None:
    zeros = fill(5)
    assert host_view(zeros) is zeros[VALUE] and zeros[ARGS] is None
    scalar = node(shaping.slice, data(), 2, axes=(0,), sizes=(1,), strides=(1,), shape=())
    assert host_view(scalar) == 2.0 and isinstance(scalar[VALUE], numpy.generic)


@pytest.mark.parametrize("depth", [2, _reference._DEEP, _reference._DEEP + 2, 5000])
def test_views_of_views_may_be_many(depth: int) -> None:
    x = data(6)
    view = x
    for _ in range(depth):
        view = node(shaping.transpose, view, permutation=(0,))
    found = host_view(view)
    assert numpy.shares_memory(found, x[VALUE]) and found.tolist() == x[VALUE].tolist()
    assert (view[VALUE] is not None) is (depth > _reference._DEEP)  # of many, one is kept
    again = operand(view)
    assert again.tolist() == found.tolist()


def test_the_operand_of_a_step() -> None:
    x = data()
    assert operand(2.0) == 2.0 and operand(x) is x[VALUE]
    view = part(x, 1, 2)
    found = operand(view)
    assert numpy.shares_memory(found, x[VALUE]) and view[VALUE] is None
    zeros = fill(3000)
    assert operand(zeros).shape == (3000,) and zeros[VALUE] is not None
    with_scalar = part(x, leaf(numpy.int64(2)), 2)  # type: ignore[arg-type]
    assert operand(with_scalar).tolist() == [2.0, 3.0]


def test_an_operand_that_is_in_no_list_is_computed() -> None:
    top = node(MULTIPLY, part(node(ADD, data(), 1.0), 1, 2), 2.0)
    assert operand(top).tolist() == [4.0, 6.0] and top[VALUE] is not None


# -- the walk --------------------------------------------------------------------------------------


def test_a_walk_stores_what_is_wanted() -> None:
    x = data()
    a = node(ADD, x, 1.0)
    view = part(a, 1, 2)
    b = node(MULTIPLY, view, 2.0)
    nodes = [a, view, b]
    run(nodes, b)
    assert nodes == [] and b[VALUE].tolist() == [4.0, 6.0]
    assert a[VALUE].tolist() == [1.0, 2.0, 3.0, 4.0] and a[ARGS] is None
    assert view[VALUE] is None and view[ARGS][0] is a  # parked
    run([view], view)
    assert view[VALUE].tolist() == [2.0, 3.0]  # unless it is asked for


def test_what_is_dead_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Never(Exception):
        pass

    def refuse(*_: Any) -> Any:
        raise Never

    nodes = [node(MAXIMUM, data(), 7.5)]
    monkeypatch.setattr(nodes[0][0], "reference", refuse)
    kept = node(ADD, data(), 1.0)
    nodes.append(kept)
    run(nodes, None)
    assert kept[VALUE].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_results_of_no_dimension_are_scalars() -> None:
    s, t = leaf(numpy.float64(2.0)), leaf(numpy.float64(3.0))
    c = node(ADD, s, t)
    run([c], c)
    assert type(c[VALUE]) is numpy.float64 and c[VALUE] == 5.0


def _memory(value: Any) -> int:
    return value.__array_interface__["data"][0]


@pytest.mark.parametrize("primitive", [ADD, MAXIMUM], ids=["add", "maximum"])
def test_memory_that_nobody_else_reads_is_written_again(primitive: Any) -> None:
    first = numpy.arange(float(MANY))
    want, place = getattr(numpy, primitive.name)(first, 7.0), _memory(first)
    last = node(primitive, leaf(first), 7.0)
    del first
    run([last], last)
    assert _memory(last[VALUE]) == place
    numpy.testing.assert_array_equal(last[VALUE], want)


SELECTED = {"f": [9.0, numpy.float64(-1.0), 2, True], "i": [7, numpy.int64(-3)], "c": [1j, 2.5, 3]}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
@pytest.mark.parametrize("whole", [False, True])
def test_a_selection_is_written_into_what_it_falls_back_on(dtype: str, whole: bool) -> None:
    """As `x[mask] = values` is, if nobody else reads x."""
    mask = numpy.arange(2 * MANY) % 3 == 0
    for value in SELECTED[dtype[0]]:
        first = numpy.arange(2 * MANY).astype(dtype)
        if whole:
            value = numpy.full(first.shape, value, dtype)
        elif isinstance(value, numpy.generic):
            value = value.astype(dtype)
        want, place = numpy.where(mask, value, first), _memory(first)
        assert want.dtype == first.dtype
        choice = leaf(value) if hasattr(value, "dtype") else value
        last = node(elementwise.select, leaf(mask), choice, leaf(first))
        del first
        run([last], last)
        assert _memory(last[VALUE]) == place and last[VALUE].dtype == want.dtype
        numpy.testing.assert_array_equal(last[VALUE], want)


def test_a_selection_leaves_what_is_read_elsewhere() -> None:
    first, other = numpy.arange(float(MANY)), numpy.arange(float(MANY))
    x = leaf(first)
    nodes = [
        node(elementwise.select, leaf(first > 5.0), leaf(other), x),
        node(elementwise.select, leaf(first > 5.0), x, 1.0),
        node(ADD, x, 1.0),
    ]
    held = list(nodes)
    del x
    run(nodes, held[-1])
    numpy.testing.assert_array_equal(first, other)
    numpy.testing.assert_array_equal(held[0][VALUE], other)
    numpy.testing.assert_array_equal(held[1][VALUE], numpy.where(other > 5.0, other, 1.0))
    numpy.testing.assert_array_equal(held[2][VALUE], other + 1.0)


HOLDERS = ["the node", "the value", "a view of it", "another node"]


@pytest.mark.parametrize("holder", HOLDERS)
def test_memory_that_somebody_reads_is_not(holder: str) -> None:
    first = numpy.arange(float(MANY))
    x = leaf(first)
    held = {
        "the node": x, "the value": first, "a view of it": first[1:], "another node": part(x, 0, 5),
    }[holder]  # fmt: skip
    b = node(ADD, x, 7.0)
    del x, first
    run([b], b)
    assert b[VALUE][0] == 7.0
    if type(held) is list:
        held = operand(held)
    numpy.testing.assert_array_equal(held[:2], [1.0, 2.0] if "view" in holder else [0.0, 1.0])


def test_a_read_only_value_is_not_written() -> None:
    first = numpy.arange(float(MANY))
    first.flags.writeable = False
    b = node(ADD, leaf(first), 7.0)
    place = _memory(first)
    del first
    run([b], b)
    assert _memory(b[VALUE]) != place


def test_stores_of_a_loop_cost_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("not in place")

    params = {"axes": (0,), "sizes": (1,), "strides": (1,), "shape": (1,)}
    first = numpy.zeros(MANY)
    place = _memory(first)
    nodes = [node(shaping.update_slice, leaf(first), 1.0, 0, **params)]
    del first
    for k in range(1, 10):
        nodes.append(node(shaping.update_slice, nodes[-1], 1.0, k, **params))
    last = nodes[-1]
    for op in {id(n[0]): n[0] for n in nodes}.values():
        monkeypatch.setattr(op, "reference", refuse)
    run(nodes, last)
    assert _memory(last[VALUE]) == place and last[VALUE].sum() == 10.0


# -- failures --------------------------------------------------------------------------------------


class Broken(Exception):
    pass


def _failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> Node:
    failing = node(MAXIMUM, data(), 3.25)

    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(failing[0], "reference", fail)
    return failing


def test_what_fails_fails_for_who_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before, failing = node(ADD, data(), 1.0), _failing(monkeypatch, Broken())
    reads = node(ADD, failing, 1.0)
    reads_that = node(ADD, reads, 1.0)
    other = node(ADD, data(), 2.0)
    nodes = [before, failing, reads, other, reads_that]
    with pytest.raises(Broken):
        run(nodes, reads_that)
    assert before[VALUE] is not None
    assert [n is other for n in nodes] == [True]  # the others are computed another time
    run(nodes, other)
    assert other[VALUE].tolist() == [2.0, 3.0, 4.0, 5.0]
    for failed in (failing, reads, reads_that):
        assert failed[VALUE] is None
        with pytest.raises(Broken):
            operand(failed)


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt()])
def test_what_was_interrupted_is_pending(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = node(ADD, data(), 1.0)
    with monkeypatch.context() as patched:
        failing = _failing(patched, error)
        after = node(ADD, failing, 1.0)
        nodes = [before, failing, after]
        with pytest.raises(type(error)):
            run(nodes, after)
        assert before[VALUE] is not None
        assert [n is m for n, m in zip(nodes, (failing, after), strict=True)] == [True, True]
    run(nodes, after)  # and now it can be done
    assert after[VALUE].tolist() == [4.25, 4.25, 4.25, 4.25]


def test_warnings_are_nobodys() -> None:
    with numpy.errstate(all="raise"):
        d = node(elementwise.divide, data(), 0.0)
        run([d], d)
        assert numpy.isnan(d[VALUE][0]) and numpy.geterr()["divide"] == "raise"


def test_debug_nans_names_the_operation_once() -> None:
    with np.config(debug_nans=True):
        d = node(elementwise.divide, data(), 0.0)
        with pytest.raises(FloatingPointError, match="divide"):
            run([d], d)
        assert numpy.isnan(d[VALUE][0])  # stored: it is raised once
        after = node(ADD, d, 1.0)
        run([after], after)  # no new NaN
        assert numpy.isnan(after[VALUE][0])
    assert issubclass(NanError, FloatingPointError)


# -- what is parked, what is kept, what was read ---------------------------------------------------


@pytest.mark.parametrize(
    "make, parked",
    [
        (lambda: part(data(), 1, 2)[0], True),
        (lambda: node(shaping.transpose, data(), permutation=(0,))[0], True),
        (lambda: node(ADD, data(), 1.0)[0], False),
        (lambda: fill(1 << 10)[0], True),
        (lambda: fill(3)[0], False),  # to collect it again costs more
        (lambda: projection((data()[4], data()[4]), 0), False),
        (
            lambda: op_of(
                shaping.slice,
                {"axes": (0,), "sizes": (1,), "strides": (1,), "shape": ()},
                (data()[4], int),
            ),
            False,  # a scalar
        ),
    ],
)
def test_what_is_parked(make: Any, parked: bool) -> None:
    assert is_parked(make()) is parked
    assert PROJECT.free


@pytest.mark.parametrize("more, kept", [(_reference._DEEP, False), (_reference._DEEP + 1, True)])
def test_views_below_are_kept_if_there_are_many(more: int, kept: bool) -> None:
    outer = part(data(), 0, 3)
    for _ in range(_reference._DEEP + 1):
        outer = node(shaping.transpose, outer, permutation=(0,))
    inner = part(data(), 0, 3)
    reads = [node(ADD, inner, 1.0), node(ADD, outer, 1.0)]
    assert keep_views(reads, {id(inner)}, more) is kept
    assert (outer[VALUE] is not None) is kept
    assert inner[VALUE] is None  # it is among them


def test_reads_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Buffer:
        pass

    buffers = [Buffer(), Buffer()]
    a: Node = [None, None, buffers[0], None, 0]
    b: Node = [None, None, Buffer(), None, 0]
    seen = {id(n): _reference.Watched(v) for n, v in zip((a, b), buffers, strict=True)}
    monkeypatch.setattr(_reference, "watched", seen)
    note_read([a, b, data()])
    assert seen[id(a)].read
    assert not seen[id(b)].read  # another node has inherited this identity


@pytest.mark.parametrize("policy", POLICIES)
def test_a_failing_operation_is_named_under_every_policy(policy: Any) -> None:
    """A singular matrix: who asks for the inverse gets the error, everything else its value."""
    with np.config(execution=policy):
        x = np.array([[1.0, 2.0], [2.0, 4.0]])
        y = x + 1.0
        for _ in range(2):
            with pytest.raises(np.linalg.LinAlgError):
                np.materialize(np.linalg.inv(x))
        assert y.tolist() == [[2.0, 3.0], [3.0, 5.0]]


@pytest.mark.parametrize("made", [
    "x.T.reshape(-1)", "np.repeat(x, 2, 1)", "np.repeat(x, 3, 0)", "np.tile(x, (2, 2))",
    "x[:, ::3].reshape(-1)", "np.broadcast_to(x[0], (50, 100)).reshape(-1)",
])  # fmt: skip
def test_a_copy_that_a_reshape_makes_is_made_once(made: str) -> None:
    x = np.array(numpy.arange(10_000.0).reshape(100, 100))
    numpy.asarray(x)
    y = eval(made, {"np": np, "x": x})
    first = numpy.asarray(y)
    assert numpy.shares_memory(first, numpy.asarray(y))
    expected = eval(made, {"np": numpy, "x": numpy.asarray(x)})
    numpy.testing.assert_array_equal(first, expected)
    again = y + 1, y * 2  # who reads it takes the same
    assert numpy.shares_memory(first, numpy.asarray(y))
    x[0] = -1.0
    numpy.testing.assert_array_equal(numpy.asarray(y), expected)
    numpy.testing.assert_array_equal(numpy.asarray(again[0]), expected + 1)


def test_a_copy_that_was_read_is_not_held_by_what_is_pending() -> None:
    x = np.array(numpy.arange(10_000.0).reshape(100, 100))
    numpy.asarray(x)
    y = x.T.reshape(-1)
    memory = weakref.ref(numpy.asarray(y).base)
    del y
    gc.collect()
    assert memory() is None


@pytest.mark.parametrize("repeats", [1, 2, 16, 17])
@pytest.mark.parametrize("shape", [(2000,), (3, 700), (40, 0), ()])
def test_elements_that_are_repeated(shape: tuple[int, ...], repeats: int) -> None:
    x = numpy.arange(float(numpy.prod(shape, dtype=int))).reshape(shape)
    wide = numpy.broadcast_to(x[..., None], (*shape, repeats))
    got = shaping.reshape.reference(wide, shape=(-1,))
    numpy.testing.assert_array_equal(got, numpy.repeat(x, repeats))
