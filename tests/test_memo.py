"""Memo tables: bounded, emptied by one call, counted."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _memo
from lazynp._avals import aval_of, interned
from lazynp._memo import Interned, Memo, cached, forget_all, sizes
from lazynp._recorder import user_position
from tests.helpers import POLICIES, fresh_start


def test_a_full_table_is_emptied() -> None:
    memo: Memo[int, int] = Memo("test", 10)
    for k in range(25):
        assert memo.put(k, -k) == -k
        assert len(memo) <= 10
    assert memo[24] == -24 and 3 not in memo


def test_forget_all_and_sizes() -> None:
    memo: Memo[int, int] = Memo("test of sizes")

    @cached(4)
    def double(x: int) -> int:
        return 2 * x

    memo.put(1, 2)
    assert double(3) == double(3) == 6
    found = dict(sizes())
    assert found["test of sizes"] == 1 and found["double"] == 1
    forget_all()
    found = dict(sizes())
    assert found["test of sizes"] == 0 and found["double"] == 0


def test_hot_tables_stay_empty_while_errors_are_watched_for() -> None:
    memo: Memo[int, int] = Memo("hot", hot=True)
    memo.put(1, 1)
    with np.errstate(all="raise"):
        assert not memo
        memo.put(2, 2)
        assert not memo
    memo.put(3, 3)
    assert list(memo) == [3]


def test_a_sweep_keeps_what_is_in_use() -> None:
    table: Interned[int, list[int]] = Interned("swept", 100)
    try:
        kept = [table.put(k, [k]) for k in range(0, 300, 10)]
        for k in range(300):
            table.put(k, [k])
        assert len(table.table) <= 300
        _memo.sweep()
        assert all(table.table[v[0]] is v for v in kept)
        assert sorted(table.table) == list(range(0, 300, 10))
    finally:
        _memo._interned.remove(table)


def test_avals_in_use_keep_their_identity() -> None:
    x = np.ones((3, 5, 7)) * 2.0
    aval = x.aval
    _memo.sweep()
    assert x.aval is aval and aval_of((3, 5, 7), "f8") is aval
    numpy.testing.assert_array_equal(x + 1.0, numpy.full((3, 5, 7), 3.0))


@pytest.mark.parametrize("kinds", [("q", "l"), ("Q", "L"), ("l", "q")])
def test_of_equal_dtypes_the_first_is_not_all_arrays(kinds: tuple[str, str]) -> None:
    made = [np.ones((2, 1, 17), kind) for kind in kinds]
    assert [x.dtype.type for x in made] == 2 * [made[0].dtype.type]
    assert made[0].dtype.type in (numpy.int64, numpy.uint64)
    assert np.ones((2, 1, 17), int).dtype.char == "l"
    assert (made[0] + 1).dtype.char == made[0].dtype.char
    for x in (*made, made[0] + 1, made[0].astype(kinds[0]), np.arange(3, dtype=kinds[0])):
        assert numpy.asarray(x).dtype.char == memoryview(x).format == x.dtype.char


def test_metadata_of_a_dtype_stay_with_its_arrays() -> None:
    noted = numpy.dtype("O", metadata={"vlen": str})
    record = numpy.dtype([("a", noted), ("b", "f8")])
    for first, second in [(noted, numpy.dtype("O")), (numpy.dtype("O"), noted)]:
        x, y = np.zeros((3, 1, 5), first), np.zeros((3, 1, 5), second)
        assert x.dtype.metadata == first.metadata and y.dtype.metadata == second.metadata
    x, y = np.zeros(19, record), np.zeros(19, [("a", "O"), ("b", "f8")])
    assert x.dtype["a"].metadata and not y.dtype["a"].metadata
    assert np.ones((3, 1, 5), numpy.dtype("i4", metadata={"enum": 1})).dtype.metadata is None


def test_stats_count_entries() -> None:
    float(np.sin(np.ones(11)).sum())
    assert np.stats().memo_entries > 0
    before = np.stats().memo_entries
    forget_all()
    assert np.stats().memo_entries < before


PROGRAM = """
import sys
import threading
import lazynp as np
from lazynp import _memo

def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096

def calls(begin, count):
    for n in range(begin, begin + count):
        x = np.ones(n % 1000 + n // 1000 + 1).reshape(1, -1)[:, : n // 1000 + 1]
        y = np.zeros((n // 1000 + 1, n % 1000 + 1), dtype="f4")
        z = (x * 2.0 + 1.0)[0, :1]
        float(z[0])
        y[:1, :1] = 3.0

few = COUNT // 4
calls(0, few)
before, entries = resident(), np.stats().memo_entries
calls(few, COUNT - few)
after = resident()
assert np.stats().memo_entries < 400_000, np.stats().memo_entries
print((after - before) / 1e6)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
@pytest.mark.parametrize("execution", [e for e in POLICIES if e != "compiled"])
def test_memory_is_flat_over_many_shapes(execution: str) -> None:
    """After warm-up. Under `compiled` each shape would be a compilation of 20 ms."""
    program = PROGRAM.replace("COUNT", "50_000")
    environment = {**os.environ, "LAZYNP_EXECUTION": execution}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 60.0, done.stdout


def test_interned_tables_shrink() -> None:
    _memo.sweep()
    for n in range(3 * interned.least):
        aval_of((n, 3), "i2")
        assert len(interned.table) <= interned.bound
    assert interned.bound <= 2 * interned.least  # most were dropped by each sweep


def test_jitted_functions_that_nobody_holds_leave_no_operations() -> None:
    """Those of a few hundred calls stay: their programs may come again."""

    def operations() -> int:
        found = dict(sizes())
        return found["ops"] + found["calls of programs"]

    x = np.ones(50)
    np.jit(lambda q: q * 2 + 1)(x)
    before = operations()
    for k in range(1600):
        np.jit(lambda q, k=k: q * 2 + k)(x)  # type: ignore[misc]
    assert operations() <= before + 700  # of other kinds, some are new here


def test_callbacks_that_nobody_holds_are_dropped() -> None:
    x, alive = np.ones(3), []
    for _ in range(1600):
        callback = _Callback()
        alive.append(weakref.ref(callback))
        np.pure_callback(callback, x, x)
    fresh_start()  # nothing is pending
    gc.collect()
    assert sum(ref() is not None for ref in alive) <= 1100


class _Callback:
    def __call__(self, x: Any) -> Any:
        return x


def test_code_that_nobody_holds_is_dropped() -> None:
    """The cells of a notebook, each of which is another code object."""
    alive = []
    for k in range(9000):
        names: dict[str, Any] = {"user_position": user_position}
        exec(f"def f():\n    return user_position(), {k}", names)
        names["f"]()
        alive.append(weakref.ref(names["f"].__code__))
    assert sum(ref() is not None for ref in alive) <= 4200


MET: dict[str, Callable[[Any], Any]] = {
    "made": lambda x: x,
    "run": lambda x: (x * 2 + 1).sum(),
    "sliced": lambda x: x[1:].T[::2],
    "written": lambda x: x.__setitem__((slice(None), 1), 3.0),
    "differentiated": lambda x: np.grad(lambda y: (y * y).sum())(x),
    "batched": lambda x: np.vmap(lambda y: y[::-1] + 1)(x),
    "staged": lambda x: np.make_jaxpr(lambda y: np.sin(y))(x),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("how", MET)
def test_a_shape_is_forgotten(how: str, policy: str) -> None:
    """However it was met, when nothing of this shape is left."""
    shapes = [(41, n) for n in range(7001, 7011)]
    with np.config(execution=policy):
        for shape in shapes:
            MET[how](np.ones(shape))
    fresh_start()  # nothing is pending
    gc.collect()
    _memo.forget_all()
    _memo.sweep()
    left = {shape for shape, _, _ in interned.table} & {*shapes}
    assert len(left) <= 1  # the fast path may know one of the last


def test_sweeps_while_other_threads_intern() -> None:
    """Nobody sees an exception, and whatever is in use keeps its identity."""
    table: Interned[int, list[int]] = Interned("swept by threads", 50)
    failed: list[BaseException] = []

    def work(begin: int) -> None:
        try:
            for k in range(begin, begin + 200):
                kept = table.put(k % 97, [k % 97])
                assert table.table.get(k % 97, kept) == kept == [k % 97]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        _memo._interned.remove(table)
    assert not failed, failed
