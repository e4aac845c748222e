"""Operations on single elements and small arrays that scripts do in loops, with any back end."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import lazynp
from tests.functions.rows import same
from tests.test_fastpath import calls_of, needs_c, set_eager

MODES = pytest.mark.parametrize("eager", [False, True], ids=["recorded", "eager"])
Y = [0, 2, 1]
INDICES: list[Any] = [
    range(3), range(1), range(2, -1, -1), range(0, 3, 2), range(-3, 0), range(0), range(3, 0),
    (range(3), Y), (range(3), np.array(Y)), (slice(None), range(2)), (range(2), 1), (..., range(3)),
    (range(3), range(3)), (range(3), range(2)), (None, range(2)), range(4), (range(3), [3, 0, 0]),
    range(2**62, 2**65, 2**62), range(10**30, 10**30 + 1), (range(1), range(3)),
]  # fmt: skip


def outcome(m: Any, do: Any, *args: Any) -> Any:
    a = m.arange(12.0).reshape(3, 4)
    try:
        got = do(m, a, *args)
    except Exception as error:
        return error
    return a if got is None else got


def agree(do: Any, *args: Any, of: str = "") -> None:
    wanted, found = outcome(np, do, *args), outcome(lazynp, do, *args)
    if isinstance(wanted, Exception):
        assert isinstance(found, type(wanted)), (args, found)
    else:
        same(found, wanted, where=of or str(args))


def read(m: Any, a: Any, index: Any) -> Any:
    return a[index]


def store(m: Any, a: Any, index: Any) -> None:
    a[index] = -1.5


def subtract(m: Any, a: Any, index: Any) -> None:
    a[index] -= 1


def add_at(m: Any, a: Any, index: Any) -> None:
    m.add.at(a, index, 1.0)


@MODES
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_range_is_an_index(index: Any, eager: bool) -> None:
    set_eager(eager)
    for do in (read, store, subtract, add_at):
        for _ in range(2):
            agree(do, index)


def test_a_range_under_jit() -> None:
    x = np.arange(12.0).reshape(3, 4)

    @lazynp.jit
    def f(x: Any) -> Any:
        y = x.copy()
        y[range(3), Y] -= 1
        return y, x[range(2, -1, -1)], x[range(3), Y]

    y = x.copy()
    y[range(3), Y] -= 1
    for found, wanted in zip(f(lazynp.asarray(x)), (y, x[::-1], x[range(3), Y]), strict=True):
        same(found, wanted)


@needs_c
def test_python_is_not_called_for_ranges() -> None:
    set_eager(True)
    a, y = lazynp.asarray(np.arange(12.0).reshape(3, 4)), lazynp.asarray(np.array(Y))

    def work() -> None:
        a[range(3), y]
        a[range(3)] = 0
        a[range(3), y] -= 1

    work()
    assert not [c for c in calls_of(work) if "/lazynp/functions" in c.filename]


STORED: list[Any] = [
    1, 0, True, 2.0, -1, 300, 2**63, -0.5, np.uint64(7), np.float32(3), 2j, float("nan"),
    np.uint64(2**64 - 1), np.float16(2), np.complex64(1),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_single_elements_of_all_dtypes() -> None:
    for dtype in "?bhilBHILefdFD":
        for stored in STORED:
            found = []
            for m in (np, lazynp):
                a = m.zeros((2, 3), dtype)
                try:
                    with np.errstate(all="ignore"):
                        a[1, 2] = stored
                        a[0, 1] = a[1, 2]
                except (TypeError, OverflowError, ValueError) as error:
                    found.append(type(error))
                else:
                    found.append(np.asarray(a).tolist())
            assert repr(found[0]) == repr(found[1]), (dtype, stored)


@MODES
def test_counting_in_unsigned_elements(eager: bool) -> None:
    set_eager(eager)
    found = []
    for m in (np, lazynp):
        a = m.zeros((3, 3), dtype=np.uint64)
        for k in range(40):
            a[k % 3, 1] += 1
            a[0, k % 3] += a[1, 1]
        found.append(np.asarray(a).tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", list("bhilBHILefd"))
def test_rounding_to_ints(dtype: str) -> None:
    x = np.array([0, 1, 2.5, 3.5, 100], dtype)
    ours = lazynp.asarray(x)
    for k in range(len(x)):
        for f in (math.floor, math.ceil, math.trunc, round, lambda v: round(v, 1)):
            try:
                wanted = f(x[k])
            except TypeError:
                with pytest.raises(TypeError):
                    f(ours[k])
                continue
            found = f(ours[k])
            assert found == wanted and isinstance(found, int) == isinstance(wanted, int)
    for bad in (np.nan, np.inf):
        v = lazynp.asarray(np.array([bad]))[0]
        for f in (math.floor, round, math.trunc):
            with pytest.raises((ValueError, OverflowError)):
                f(v)


def test_rounding_is_traced() -> None:
    outside = lazynp.asarray(np.array([2.4]))[0]
    assert float(lazynp.jit(lambda x: x * round(outside, 0))(2.0)) == 4.0
    assert float(lazynp.jit(lambda x: round(x, 1))(lazynp.float64(2.44))) == 2.4


def of_flat(m: Any, a: Any, k: Any) -> Any:
    return a.flat[k]


def of_flat_view(m: Any, a: Any, k: Any) -> Any:
    return a.T.flat[k] + a[1:, ::2].flat[0]


@MODES
@pytest.mark.parametrize("k", [0, 5, -1, -12, 12, -13, np.int64(3), True])
def test_elements_of_flat(k: Any, eager: bool) -> None:
    set_eager(eager)
    for do in (of_flat, of_flat_view):
        agree(do, k)


def test_flat_follows_writes() -> None:
    a = lazynp.arange(4.0)
    a[1] = 7
    assert a.flat[1] == 7
    a *= 2
    assert float(a.flat[1]) == 14
    assert float(lazynp.grad(lambda x: x.flat[1] * 3)(lazynp.arange(3.0))[1]) == 3


def stably(m: Any, a: Any, kind: Any) -> Any:
    return m.argsort(a % 3, kind=kind), m.argsort(a % 3, 0, kind), (a % 3).argsort(kind=kind)


@MODES
@pytest.mark.parametrize("kind", ["stable", "mergesort", "x", 3])
def test_argsort_of_a_kind(kind: Any, eager: bool) -> None:
    set_eager(eager)
    agree(stably, kind)


@MODES
def test_nonzero_has_its_strides(eager: bool) -> None:
    set_eager(eager)
    agree(lambda m, a: [(n, n.copy(), n + 1) for n in a.nonzero()] and a.nonzero()[0])


@MODES
def test_fields_in_place(eager: bool) -> None:
    set_eager(eager)
    found = []
    for m in (np, lazynp):
        s = m.zeros(5, dtype=[("m", "f4"), ("n", "i8", 2)])
        for k in range(4):
            s["m"] += k
            s["m"] *= 2
            s["n"][1] += 1
            s["n"] -= 3
            s["m"] = s["m"]
            s["m"] = s["n"][:, 0]
        found.append(repr(np.asarray(s).tolist()))
    assert found[0] == found[1]


def test_arrays_of_text_have_their_dtypes() -> None:
    assert lazynp.array(["a", "b"]).dtype == lazynp.array(["c", "d"]).dtype == np.dtype("U1")
    noted = np.dtype("f8", metadata={"unit": "m"})
    text = np.dtype("U1", metadata={"unit": "m"})
    for dtype in (noted, text):
        plain = np.dtype(dtype.str)
        for first in (plain, dtype, plain, dtype):
            assert lazynp.zeros(3, first).dtype == first
    assert lazynp.zeros(3, text).dtype.metadata == {"unit": "m"}
    assert lazynp.zeros(3, "U1").dtype.metadata is None


def at_rows(m: Any, a: Any, index: Any, values: Any) -> None:
    m.add.at(a, m.asarray(index), m.asarray(values))


@MODES
def test_at_of_rows(eager: bool) -> None:
    set_eager(eager)
    for index in ([0, 0, 2], [[0, 1], [1, 2]], [3, 0], [True, False, True], [1]):
        for shape in ((3, 4), (2, 4), (1, 4), (4,), (2, 2, 4), (3, 3), (1, 1), (3, 1)):
            agree(at_rows, index, np.arange(math.prod(shape), dtype=float).reshape(shape))


@pytest.mark.parametrize("kind", ["O", "U3", "M8[s]", "i4,f8"])
def test_a_cast_takes_what_is_noted_in_the_dtype(kind: Any) -> None:
    noted = np.dtype(kind, metadata={"unit": "m"})
    for m in (np, lazynp):
        plain, of_note = m.zeros((2, 3), kind), m.zeros((2, 3), noted)
        x = plain.T.astype(noted)
        assert x.dtype.metadata == {"unit": "m"} and x.flags.f_contiguous
        assert x.tolist() == plain.T.tolist()
        assert of_note.astype(kind).dtype.metadata is None
        assert plain.astype(noted, copy=False) is plain
