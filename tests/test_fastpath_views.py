"""Small arrays that are there: views, copies and new arrays by one front each, in any order.

The same programs run with NumPy, in a loop of small operations and outside of one. What is written
into a view shows in its owner and in the other views, as in NumPy.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp._array import VIEWED, Array
from lazynp._node import OP, VALUE
from lazynp._recorder import local
from tests.helpers import be_eager
from tests.test_fastpath import MODES, behind, calls_of, needs_c, outcome, set_eager


def forms_of(table: str) -> list[str]:
    return [f.strip() for line in table.splitlines() for f in line.split("|") if f.strip()]


VIEWS = """
x.reshape(-1) | x.reshape(2, -1) | x.reshape((-1, 2)) | x.reshape(1, -1, 1) | x.reshape(7, 3)
np.reshape(x, (-1, 1)) | np.reshape(x, -1, "F") | x.ravel() | np.ravel(x) | x.ravel("F") | x.T
x.transpose() | x.transpose(1, 0) | x.transpose((1, 0)) | x.transpose(5) | np.transpose(x)
np.transpose(x, (1, 0)) | np.matrix_transpose(x) | x.swapaxes(0, -1) | np.moveaxis(x, 0, -1)
np.rollaxis(x, 1) | x.squeeze() | np.squeeze(x, 0) | np.expand_dims(x, 0)
np.expand_dims(x, (0, 2)) | np.expand_dims(x, 9) | np.flip(x) | np.flip(x, 0)
np.broadcast_to(x, (2, *x.shape)) | x[1:] | x[::2] | x[:, ::-1] | x[..., None] | x[None]
np.asarray(x) | np.asanyarray(x) | x.reshape(x.shape) | x[:, 1:].ravel() | x[:, 1:].reshape(-1)
x.view("i8") | x.view("f4") | x.view("u1, i2") | x.T.view("f8") | x.diagonal() | x.diagonal(-1)
np.diagonal(x, 1) | x[:, ::-1].diagonal() | x.view("nonsense") | x.real | x.view("c16")
x.T.reshape(-1) | x.T.ravel() | x[:, ::2].T.reshape(-1, 1) | x[:, :, None].T.reshape(-1, 2)
x[:, ::2].reshape(x.shape[0], 1, -1) | x[::2].ravel()
"""
COPIES = """
x.copy() | x.copy("F") | x.copy(order="K") | x.flatten() | x.flatten("F") | x.astype(float)
x.astype("i4") | x.astype(bool) | x.astype(complex) | x.astype("nonsense")
x.astype(float, copy=False) | x.astype("i1", casting="safe") | x.argsort() | x.argsort(axis=0)
x.argsort(0) | x.argsort(5) | np.argsort(x) | x.argmax() | np.argmin(x, 0) | x.argmax(axis=-1)
np.argmax(x, axis=7) | x.cumsum() | np.cumsum(x, 0) | x.repeat(2) | np.repeat(x, 2, axis=0)
x.take([0, 0]) | x.mean() | np.mean(x, 0) | x.std(axis=0) | x.var() | np.round(x, 1) | x.trace()
x.nonzero()[0].copy() | x.sum(axis=0) | x.max() | np.searchsorted([1, 2], x)
np.concatenate([x, x]) | np.where(x > 0, x, 1) | np.dot(x, x) | x.clip(2)
np.dot([1, 2], [3.0, 4.0]) | np.dot([1, 2], [3]) | x + x | x * x.T | -x | np.clip(x, 0, 1)
np.clip(x, 2) | np.array([[1, 2], [3, 4.5]]) | np.array((1, 2)) | np.array(2.5) | np.array(True)
np.array([1, [2]]) | np.array([1, 2], dtype="f4") | np.array([300], "i1")
np.asarray([1, True]) | np.asarray(3, dtype=float) | np.array([]) | np.array(())
np.array("ab") | np.array([2**70]) | np.array([1.0, None]) | np.array([x, x]) | np.arange(5)
np.arange(5, 0, -2) | np.arange(3, dtype="f4") | np.arange(0) | np.arange(2, 9, 3)
np.arange(0, 3, 0) | np.arange(0.5, 2) | np.zeros(3) | np.zeros((2, 0)) | np.ones((2, 2), int)
np.zeros(-1) | np.unique([3, 1, 3]) | np.cross([1, 0, 0], [0, 1, 0])
np.linalg.norm([3.0, 4.0]) | numpy.sum(x, axis=0) | numpy.concatenate([x, x]) | numpy.dot(x, x)
numpy.sort(x) | numpy.add(x, 1) | numpy.transpose(x) | numpy.float64(2) * x | x.item(0)
x.item() | x.item(9, 9) | x.tolist() | len(x) | f"{x.sum():.2f}" | f"{x.max()}"
format(x.min(), "z") | x.ndim | x.size
"""
FORMS = forms_of(VIEWS + COPIES)
CODE = {form: compile(form, form, "eval") for form in FORMS}
PLACES = forms_of(VIEWS)

Step = tuple[str, int, float]


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    float(np.asarray([1.0]).sum())
    yield
    local.recorder.reset_policy()
    local.recorder.due, local.recorder.limit = False, 16


def as_seen(x: Any) -> Any:
    """Kind, dtype, shape, memory order and elements."""
    if type(x).__module__ == "builtins":
        return type(x).__name__, repr(x)
    host = numpy.asarray(x)
    order = (x.flags.c_contiguous, x.flags.f_contiguous) if host.ndim and host.size else None
    writable = x.flags.writeable if host.ndim else None
    return (
        isinstance(x, numpy.generic),
        host.dtype,
        host.shape,
        order,
        writable,
        repr(host.tolist()),
    )


def results(module: Any, steps: list[Step], eager: list[bool]) -> list[Any]:
    """What each form returned or raised; and after each write, all arrays."""
    pool = [module.array(a) for a in ARRAYS]
    seen: list[Any] = []
    for (form, which, value), at_once in zip(steps, eager, strict=True):
        if module is np:
            be_eager(at_once)
        x = pool[which % len(pool)]
        try:
            for _ in range(3):  # the first is learnt from, the second is its repetition
                out = eval(CODE[form], {"np": module, "numpy": numpy, "x": x})
        except Exception as e:
            seen.append((form, type(e).__name__))
            continue
        seen.append((form, as_seen(out)))
        if not isinstance(out, module.ndarray) or out.dtype.kind not in "fib" or out.size > 24:
            continue
        try:
            out[(0,) * out.ndim] = value
        except Exception as e:
            seen.append(("write", type(e).__name__))
        pool = [*pool, out] if len(pool) < 12 else pool
        seen.append([as_seen(a) for a in pool])
    return seen


ARRAYS = [
    numpy.arange(6.0), numpy.arange(12.0).reshape(3, 4) - 4, numpy.arange(4).reshape(2, 2),
    numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)), numpy.ones((1, 3, 1), "f4"),
    numpy.array(2.5), numpy.zeros((0, 2)), numpy.array([True, False]),
]  # fmt: skip

steps_of_views = st.tuples(st.sampled_from(PLACES), st.integers(0, 11), st.floats(-9, 9, width=16))
any_steps = st.tuples(st.sampled_from(FORMS), st.integers(0, 11), st.floats(-9, 9, width=16))


@given(st.lists(steps_of_views | any_steps, min_size=1, max_size=12), st.integers(0, 4095))
def test_programs_of_small_arrays_do_as_in_numpy(steps: list[Step], modes: int) -> None:
    eager = [bool(modes >> i & 1) for i in range(len(steps))]
    set_eager(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, numpys = (results(module, steps, eager) for module in (np, numpy))
    assert ours == numpys


@MODES
@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_each_array(form: str, eager: bool) -> None:
    for which in range(len(ARRAYS)):
        set_eager(eager)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, numpys = (results(m, [(form, which, 3.0)] * 2, [eager] * 2) for m in (np, numpy))
        assert ours == numpys, which


# -- who answers -----------------------------------------------------------------------------------

QUICK = """
x.reshape(3, 2) | x.ravel() | x.T | x.transpose() | np.transpose(m) | m.swapaxes(0, 1)
x.squeeze() | np.expand_dims(x, 0) | m[1:].ravel() | m[:, 1:].ravel() | m[:, 1:].reshape(-1)
m.T.ravel() | m.T.reshape(2, -1) | m[:, :, None].T.reshape(-1, 3) | m[::2, ::2].T.ravel()
m.T + m.T | m.T.sum(axis=0) | x.copy()
x.flatten() | len(x) | x.astype(float) | x.astype("i4") | x.argmax() | x.argsort() | x.item(1)
x.tolist() | np.array(3.0) | np.array([1, 2]) | np.array([[1.0, 2], [3, 4]]) | np.asarray([1.5])
np.asarray(x) | np.zeros(i) | np.ones((i, 2)) | m[i] | m[:, i] | m[i, 1:] | m[i - 1 :, None, i]
x[z] | x[-z] | 1 * np.asarray(s) | 1 * np.array(i)
np.arange(5) | x[np.arange(0, 5, i)] | np.dot([1, 2], [3, 4]) | np.dot(x, x) | x.cumsum()
np.repeat(x, 2) | x.clip(0, 1) | x.clip(min=1) | f"{s:.3f}" | np.random.rand() | np.random.rand(3)
np.random.normal(size=3) | rng.random((2, 3)) | rng.normal(0, 1) | rng.integers(0, 5, size=3)
rng.normal(s, 1.0) | rng.choice(5, 2, replace=False)
w.sum(axis=1) | w.mean(axis=0) | w * x[:2] | w.copy() | v[1] | v.max(axis=1) | v - 1 | v.T + 1
""".strip()
AT_ONCE = (
    "np.array",
    "np.as",
    "np.arange",
    "np.random",
    "rng.",
    "len(",
    'f"',
    "x.item",
    "x.tolist",
)


@needs_c
@MODES
@pytest.mark.parametrize("form", forms_of(QUICK))
def test_what_is_there_needs_no_function_of_python(form: str, eager: bool) -> None:
    if not eager and not form.startswith(AT_ONCE[:5]):
        return
    x, m = np.asarray(numpy.arange(6.0)), np.asarray(numpy.arange(12.0)).reshape(3, 4)
    s, i, rng = x[1], np.arange(4)[2], np.random.default_rng(0)
    names = {"np": np, "x": x, "m": m, "s": s, "i": i, "z": np.asarray(1), "rng": rng}
    set_eager(eager)
    names["w"] = np.lib.stride_tricks.sliding_window_view(x, 2)
    names["v"] = np.lib.stride_tricks.as_strided(x, (4, 3), (8, 8))
    code = compile(form, form, "eval")
    for _ in range(3):
        eval(code, names)
    pending = len(local.recorder.pending)
    assert calls_of(lambda: [eval(code, names) for _ in range(5)]) == []
    assert len(local.recorder.pending) == pending


# -- views that were recorded ----------------------------------------------------------------------


def test_a_recorded_view_becomes_numpys_once_its_owner_is_there() -> None:
    set_eager(False)
    x = np.arange(12.0) * 1.0
    views = [x.reshape(3, 4), x[2:8], x.reshape(3, 4).T, x.reshape(3, 4)[1:]]
    float(x.sum())
    assert all(v._node[VALUE] is None for v in views)
    set_eager(True)
    host = numpy.asarray(x).copy()
    like = [host.reshape(3, 4), host[2:8], host.reshape(3, 4).T, host.reshape(3, 4)[1:]]
    for v in views:
        assert v._read()[VALUE] is v._node[VALUE] and type(v._node[VALUE]) is numpy.ndarray
        assert numpy.shares_memory(v._node[VALUE], x._node[VALUE])
    for k, (v, numpys) in enumerate(zip(views, like, strict=True)):
        v[0] = numpys[0] = 5.0 + k
        x[11] = host[11] = -k
        for ours, theirs in zip([x, *views], [host, *like], strict=True):
            numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


def test_views_of_an_owner_that_is_written_in_place_hold_no_memory() -> None:
    set_eager(False)
    x = np.arange(6.0) * 1.0
    v = x.reshape(2, 3)
    float(x.sum())
    x._seen = VIEWED
    set_eager(True)
    assert v._read()[VALUE] is None
    x[0] = 7.0
    assert v[0, 0] == 7.0


def test_a_view_that_numpy_would_copy_stays_recorded() -> None:
    set_eager(False)
    x = np.asarray(numpy.arange(6.0).reshape(2, 3)) * 1.0
    flat = x.T.reshape(-1)
    float(x.sum())
    set_eager(True)
    x[0, 1] = 9.0
    numpy.testing.assert_array_equal(flat, [0, 3, 1, 4, 2, 5])


# -- what is called once ---------------------------------------------------------------------------

DRAWS = """
rand() | rand(3) | rand(2, 2) | normal() | normal(0, 1) | normal(0.5, 2.0, (2, 3))
randint(0, 9) | randn(0) | uniform(-1, 1, 4) | random((2,)) | choice(5) | permutation(4)
normal(0, -1) | rand("x") | standard_normal(None)
"""


@MODES
def test_each_call_draws_once(eager: bool) -> None:
    set_eager(eager)
    np.random.seed(3)
    theirs = numpy.random.RandomState(3)
    for call in forms_of(DRAWS) * 3:
        try:
            wanted: Any = eval(f"of.{call}", {"of": theirs})
        except Exception as e:
            with pytest.raises(type(e)):
                eval(f"of.{call}", {"of": np.random})
            continue
        assert as_seen(eval(f"of.{call}", {"of": np.random})) == as_seen(wanted), call


def test_whoever_is_told_of_calls_still_is() -> None:
    np.random.rand(2)
    with np.profile() as report:
        np.random.rand(2)
    assert "rand" in str(report)


# -- protocols, attributes of the class ------------------------------------------------------------


def test_functions_of_scipy_get_numpy_arrays() -> None:
    x = np.ones(3)
    numpy.sort(x)
    names = {"__name__": "scipy.fake", "numpy": numpy, "x": x}
    assert type(eval("numpy.sort(x)", names)) is numpy.ndarray
    assert type(numpy.sort(x)) is np.ndarray


@needs_c
@MODES
def test_numpys_functions_ask_the_front_as_they_would_the_function_behind(eager: bool) -> None:
    class Asked:
        def __array_function__(self, function: Any, *rest: Any) -> str:
            return function.__name__

    x, n = np.arange(3.0), numpy.ones(3)
    several: list[Any] = [
        (x,), ([x, x],), ([x, n],), ([x, 1],), ([x, [x, [x, [x]]]],), (x, x), (x, 0), (n, x), (),
        (x, Asked()), ([Asked(), x],), (x, None), (x, "x"), (numpy.ma.array([1.0]), x), (x[0], x),
    ]  # fmt: skip
    options: list[Any] = [{}, {"axis": 0}, {"out": np.zeros(3)}, {"axis": Asked()}, {"nonsense": 1}]
    front, python = (f.__get__(x) for f in (ASKED, behind(ASKED)))
    for function in (numpy.concatenate, numpy.dot, numpy.sort, numpy.sum, numpy.linalg.norm, len):
        for args in several:
            for kwargs in options:
                set_eager(eager)
                asked = function, (np.ndarray,), args, kwargs
                mine, theirs = (outcome(f, *asked) for f in (front, python))
                assert mine == theirs, asked
    for odd in ((), (numpy.sort,), (numpy.sort, (), [x], {}), ([], (), (x,), {})):
        mine, theirs = (outcome(f, *odd) for f in (front, python))
        assert mine == theirs, odd


ASKED: Any = vars(Array)["__array_function__"]


def test_the_class_of_arrays_has_its_attributes() -> None:
    x = numpy.arange(3.0)
    assert np.ndarray.mean(np.asarray(x)) == np.ndarray.mean(x) == 1.0
    assert np.ndarray.__name__ == "ndarray" and not hasattr(np.ndarray, "nonsense")
    with pytest.raises(AttributeError, match="'(numpy.)?ndarray' has no attribute 'nonsense'"):
        np.ndarray.nonsense  # noqa: B018

    class Derived(np.ndarray):
        def mean(self) -> str:  # type: ignore[override]
            return "derived"

    assert Derived.mean is Derived.__dict__["mean"] and np.ndarray.mean is not Derived.mean


def test_arrays_by_shape_and_dtype_are_told_apart() -> None:
    """Whatever shapes and dtypes follow each other."""
    set_eager(True)
    rng = random.Random(0)
    shapes = [(n,) for n in range(40)] + [(n, m) for n in range(6) for m in range(6)]
    shapes += [(1,) * k for k in range(1, 7)]
    for _ in range(2000):
        shape, dtype = rng.choice(shapes), rng.choice("?bhilqBHILQefdFD")
        a = numpy.zeros(shape, dtype)
        made = np.asarray(a).copy()
        assert made.shape == shape and made.dtype == a.dtype and made.ndim == len(shape)
        assert made.nbytes == a.nbytes


# -- views of an array that was written ------------------------------------------------------------


def swept(m: Any, first: Any, second: Any) -> list[Any]:
    """Writing an array, and through views of it, while the views are there."""
    m[:, -1], m[:, 0] = m[:, -2], m[:, 1]
    m[0, :], m[-1, :] = m[1, :], 0.25
    first *= 0.5
    first[2] += 1.5
    first[1:4] = second[:3]
    first -= m[2]
    second += first[1]
    second[0] = m[2, 3]
    m[1:, 1:] -= m[:-1, :-1]
    return [
        second.sum(), (first * second[2]).max(), first @ first, np.add(first[::-1], first),
        first.shape, len(second), first.copy(), second[[0, 2]], second[1], sum(e for e in second),
        2.0 - second, abs(first), second[second > 0], first > 0.5, m.sum(axis=0),
        second.T, second.reshape(1, -1), first[None].squeeze(), first[2], second[-1],
        first.reshape(2, 3).T, first.reshape(2, 3).T[1], first.reshape(-1, 2).swapaxes(0, 1)[:, 1:],
        first.reshape(2, 3).diagonal(), first.view("i8"), list(first.reshape(2, 3))[1],
        first.reshape(2, 3, 1)[1, 2, 0], first.reshape(3, 2).T @ first[:3], np.diagonal(m, 1),
    ]  # fmt: skip


def test_views_of_an_array_that_was_written() -> None:
    found = []
    for library in (numpy, np):
        set_eager(True)
        m = library.array(numpy.sin(numpy.arange(30.0)).reshape(5, 6))
        first, second = m[1], m[:, 2]
        rows = []
        for _ in range(4):
            rows.append([numpy.asarray(r).tolist() for r in swept(m, first, second)])
        found.append((rows, m.tolist(), first.tolist(), second.tolist()))
    assert found[0] == found[1]


@needs_c
def test_views_of_an_array_that_was_written_call_no_function_of_python() -> None:
    set_eager(True)
    m = np.sin(np.arange(30.0)).reshape(5, 6) * 1.0
    first, second = m[1], m[:, 2]
    assert m.sum()
    swept(m, first, second)
    swept(m, first, second)
    assert m._seen is VIEWED
    before = second._node
    assert calls_of(lambda: swept(m, first, second)) == []
    assert second._node is before  # and holds no part of the present memory


@needs_c
def test_copies_of_a_view_whose_owner_was_written() -> None:
    set_eager(True)
    m, n = np.array(numpy.arange(30.0).reshape(5, 6)), numpy.arange(30.0).reshape(5, 6)
    block, its = m[1:3, 2:4], n[1:3, 2:4]

    def write(library: Any, x: Any, view: Any, k: float) -> list[Any]:
        x[1, 2] += k
        copies = [view.ravel(), view.reshape(-1), library.zeros_like(view)]
        copies[0][1] = 99
        return copies

    for k in range(4):
        ours, numpys = write(np, m, block, k), write(numpy, n, its, k)
        assert [c.tolist() for c in ours] == [c.tolist() for c in numpys]
        assert m.tolist() == n.tolist()
    # NumPy's `zeros_like` is a function in Python, too, and a slower one
    assert calls_of(lambda: write(np, m, block, 1.0)) == ["_likes.py: zeros_like_now"]


def by_places(m: Any, places: Any) -> list[Any]:
    i, j = places[1], places[2]
    m[i] += 1
    m[:, j] *= 2
    m[i, 1:] = m[j, 1:]
    m[i + 1] = m[i]
    m[j] = m[i] = 3 * m[j]
    return [m[i].copy(), m[None, j, ::2].sum(), m.copy()]


@needs_c
@pytest.mark.parametrize("dtype", ["i8", "i4", "u1", "u8"])
def test_rows_by_integers_of_arrays(dtype: str) -> None:
    set_eager(True)
    m, places = np.ones((4, 5)) * 1.5, np.array([0, 1, 2], dtype)
    n, others = numpy.ones((4, 5)) * 1.5, numpy.array([0, 1, 2], dtype)
    for _ in range(3):
        ours, numpys = by_places(m, places), by_places(n, others)
        assert [x.tolist() for x in ours] == [x.tolist() for x in numpys]
    assert dtype == "u8" or calls_of(lambda: by_places(m, places)) == []


@MODES
def test_elements_by_arrays_of_one_integer(eager: bool) -> None:
    set_eager(eager)
    for dtype in ("i8", "i4", "u1", "bool"):
        found = []
        for m in (numpy, np):
            x, f = m.arange(5.0) * 2, m.arange(12.0).reshape(3, 4)
            i, j = m.asarray(m.array([1, 2, 3], dtype)[1]), m.asarray(1)
            x[j] = 7
            f[j, j] += 1
            row = f[j]
            row[0] = 99  # a copy
            got = [x[i], x[-j], f[j, -j], f[i], row, x, f]
            found.append([m.asarray(g).tolist() for g in got])
            with pytest.raises(IndexError):
                x[m.asarray(5)]
        assert found[0] == found[1]


PARTS = (
    "0", "slice(1, None)", "slice(None, None, -1)", "slice(0, 3)", "(slice(None), 1)", "2", "...",
    "(slice(1, 4), slice(None, 3))", "(slice(None, 3), slice(1, 4))", "(1, slice(2, 4))",
)  # fmt: skip
STEPS = st.tuples(
    st.sampled_from(
        ["take", "put", "put part", "put view", "add", "sub part", "read", "drop", "turn", "line",
         "fold", "diagonal", "flip", "items"]
    ),
    st.sampled_from(PARTS), st.sampled_from(PARTS), st.integers(0, 5),
)  # fmt: skip


def one_step(library: Any, kept: list[Any], step: tuple[str, str, str, int]) -> Any:
    what, one, other, k = step
    x, view = kept[0], kept[k % len(kept)]
    i, j = eval(one), eval(other)
    match what:
        case "take":
            kept.append(view[i])
        case "put":
            view[i] = k / 2
        case "put part":
            view[i] = view[j]
        case "put view":
            x[i] = view
        case "add":
            view += k
        case "sub part":
            x[i] -= view
        case "turn":
            kept.append(view.T)
        case "line":
            kept.append(view.reshape(-1))
        case "fold":
            kept.append(view[None].squeeze().swapaxes(0, -1))
        case "diagonal":
            kept.append(view.diagonal())
        case "flip":
            kept.append(library.flip(view))
        case "items":
            return sum(float(library.sum(item)) for item in view)
        case "read":
            return library.sum(view * 2.0 - view[i])
        case _:
            del kept[1:][: len(kept) - 1]
            if len(kept) > 1:
                kept.pop(1 + k % (len(kept) - 1))
    return None


@given(st.lists(STEPS, min_size=4, max_size=25))
def test_any_views_of_an_array_that_is_written(steps: list[Any]) -> None:
    found = []
    for library in (numpy, np):
        set_eager(True)
        kept, rows = [library.array(numpy.arange(25.0).reshape(5, 5))], []
        for step in steps:
            try:
                out = one_step(library, kept, step)
            except (ValueError, IndexError, TypeError) as error:
                out = type(error).__name__
            kept[1:] = [v for v in kept[1:] if v.ndim]
            rows.append(out if out is None or isinstance(out, str) else float(out))
            rows.append([numpy.array(v).tolist() for v in kept] if len(rows) % 3 == 0 else None)
        rows.append([numpy.array(v).tolist() for v in kept])
        found.append(rows)
    assert found[0] == found[1]


def test_what_is_computed_where_it_is_used_stays_in_a_loop_of_small_operations() -> None:
    set_eager(False)
    x = np.asarray(numpy.arange(9.0))
    arrays = [np.arange(50), x[2:5].copy(), np.broadcast_to(x[:1], (4, 1)).copy()]
    assert any(a._node[VALUE] is None for a in arrays)
    set_eager(True)
    for a in arrays:
        expected = numpy.asarray(a.tolist()) * 2
        assert (a * 2).tolist() == expected.tolist()
        assert a._node[VALUE] is not None
    x[2] = 7.0
    arrays[1][0] = 5.0
    assert arrays[1].tolist() == [5.0, 3.0, 4.0] and x.tolist()[2] == 7.0


def test_large_parts_hold_nothing_until_a_program_reads_them(monkeypatch: Any) -> None:
    set_eager(True)
    monkeypatch.setattr(local.recorder.policy, "largest", float(5 << 16))
    x = numpy.sin(numpy.arange(90000.0)).reshape(300, 300)
    m, v = np.array(x), np.array(x[0, 1:])
    assert m.sum() == x.sum()
    memory = m._node[VALUE]
    for k in range(3):
        theirs, ours = x[1:, 1:], m[1:, 1:]
        assert ours._node[VALUE] is None and ours._seen is not m._node
        assert ours.shape == theirs.shape and len(ours) == 299
        assert (ours @ v).tolist() == (theirs @ x[0, 1:]).tolist()
        assert np.dot(ours[k], v) == numpy.dot(theirs[k], x[0, 1:])
        assert ours[2, 3] == theirs[2, 3]
        assert ours[5:9, ::-2].sum() == theirs[5:9, ::-2].sum()
        ours[k] = v * 2.0
        theirs[k] = x[0, 1:] * 2.0
        ours -= 0.5
        theirs -= 0.5
        ours[:, k] += ours[:, k + 1]
        theirs[:, k] += theirs[:, k + 1]
        assert m.tolist() == x.tolist()
    del memory
    read = ours * 2.0 + ours[1:2]  # too large to be done at once
    m[1:4] = 0.25
    assert read.tolist() == (theirs * 2.0 + theirs[1:2]).tolist()
    x[1:4] = 0.25
    assert m.tolist() == x.tolist() and ours.tolist() == theirs.tolist()


@needs_c
def test_large_parts_call_no_function_of_python() -> None:
    set_eager(True)
    a = np.array(numpy.eye(300) * 2.0)
    assert a.sum() == 600.0

    def work() -> None:
        for j in range(3):
            a[j + 1 :, j] = (a[j + 1 :, j] - a[j + 1 :, : 299 - j] @ a[j, : 299 - j]) / a[j, j]
            a[j : j + 5, 1:] -= a[j : j + 5, 1:]

    with numpy.errstate(all="ignore"):
        work()
        assert calls_of(work) == []


def test_elements_of_a_reshaped_transpose_copy_its_memory_once(monkeypatch: Any) -> None:
    x = np.arange(1.2e6).reshape(1200, 1000).copy()
    float(x[0, 0])  # x has memory now
    y = x.T.reshape(-1)
    op, copies = y._node[OP], 0
    reference = op.reference

    def counted(memory: Any) -> Any:
        nonlocal copies
        copies += 1
        return reference(memory)

    monkeypatch.setattr(op, "reference", counted)
    assert [float(y[k]) for k in range(0, 1_200_000, 300_000)] == [0.0, 250.0, 500.0, 750.0]
    assert copies == 1


@needs_c
def test_numpys_functions_ask_without_python_also_where_a_module_has_no_name() -> None:
    set_eager(True)
    x = np.array([1.0, 2.0, 3.0])
    for names in ({"__name__": "here"}, {}):
        code = compile("numpy.dot(x, x)", "here.py", "eval")
        space = {"numpy": numpy, "x": x, **names}
        for _ in range(2):
            assert eval(code, space) == 14.0
        assert not [c for c in calls_of(lambda: eval(code, space)) if "_protocols" in c]  # noqa: B023


@pytest.mark.parametrize("held", [False, True])
def test_parts_stored_in_parts_of_the_same_array_are_read_first(held: bool) -> None:
    parts = [slice(a, a + 5 * s if s > 0 else None, s) for s in (1, 2, 3, -1, -2) for a in (9, 11)]
    set_eager(True)
    for one in parts:
        for other in parts:
            x = np.arange(30.0) * 1.0
            assert x.sum() == 435.0
            kept = [x[1:], x[:3]] if held else []
            want = numpy.arange(30.0)
            if len(want[one]) != len(want[other]):
                continue
            for _ in range(2):
                want[one] = want[other].copy()
                x[one] = x[other]
                assert x.tolist() == want.tolist(), (one, other)
            if held:
                want[1:][one] = want[1:][other].copy()
                kept[0][one] = x[1:][other]
                assert x.tolist() == want.tolist(), (one, other)


@needs_c
@MODES
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8"])
def test_integers_of_any_dtype_are_places(dtype: str, eager: bool) -> None:
    """Such as the elements of an image, which look up a table."""
    set_eager(eager)
    table, found = np.asarray(numpy.arange(100.0)), {}
    for i, k in enumerate((numpy.dtype(dtype).type(17), np.asarray(numpy.array([17], dtype))[0])):
        assert calls_of(lambda i=i, k=k: found.__setitem__(i, table[k])) == []
        table[k] += 1.0
    assert [float(found[i]) for i in range(2)] == [17.0, 18.0]
    if dtype[0] == "i":
        assert float(table[numpy.dtype(dtype).type(-1)]) == 99.0
    with pytest.raises(IndexError):
        table[numpy.dtype(dtype).type(101)]
