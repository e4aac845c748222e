"""The handle: NumPy's array as seen from outside, with NumPy as the oracle for the same program."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _stale, lowering
from lazynp._node import VALUE
from lazynp._policy import Mode
from lazynp._recorder import local
from tests.conftest import EAGER
from tests.functions.rows import check
from tests.helpers import POLICIES, Counted, NothingForced, be_eager, fresh_start


@pytest.fixture(autouse=True, params=POLICIES)
def _policy(request: pytest.FixtureRequest) -> Iterator[None]:
    fresh_start()
    with np.config(execution=request.param):
        yield


def both(program: Callable[[Any], Any]) -> None:
    """The program gives the same with NumPy and with lazynp."""
    assert plain(program(np)) == plain(program(numpy))


def plain(x: Any) -> Any:
    """As Python objects, with the dtype, and whether it is a scalar."""
    if isinstance(x, (tuple, list)):
        return type(x)(plain(i) for i in x)
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (np.Array, numpy.ndarray, numpy.generic)):
        scalar = isinstance(x, (np.Scalar, numpy.generic))
        return (numpy.asarray(x).tolist(), str(x.dtype), x.shape, scalar)
    return x


def raises(function: Callable[[], Any]) -> str:
    try:
        function()
    except Exception as e:
        return next(k.__name__ for k in type(e).__mro__ if k.__module__ in ("builtins", "numpy"))
    return "nothing"


# -- scalars ---------------------------------------------------------------------------------------


def test_scalars_are_immutable_and_rebind() -> None:
    def program(np: Any) -> Any:
        a = np.arange(3.0) + 1.0
        t = a[1]
        u = t
        t += 10.0
        t *= 2.0
        s = a.sum()
        s -= 1.0
        a[1] = -1.0
        return a, t, u, s, raises(lambda: operator.setitem(u, 0, 1.0))

    both(program)


def test_what_is_a_scalar_and_what_an_array() -> None:
    def program(np: Any) -> Any:
        a, z = np.arange(6.0).reshape(2, 3), np.array(3.0)
        return [
            a[0, 1], a[0], a[0, 1, ...], a.sum(), a.sum(axis=0), a.max(), z, z[()], z[...], z + 1,
            np.add(z, 1), -z, z.reshape(()), z.copy(), np.float64(2.0) + a[0, 0], a[0, 0] * 2,
            a.sum(keepdims=True), np.sqrt(z), np.dot(a[0], a[0]), a.mean(), a.astype(int).sum(),
            a[0, 0].reshape(1), np.array(a[0, 0]), a[0, 0] > 0, np.arange(3)[np.array(1)],
        ]  # fmt: skip

    both(program)


def test_scalars_go_where_python_numbers_go() -> None:
    def program(np: Any) -> Any:
        a = np.array([3, 1, 2])
        n, x = a[1], np.array([0.5, 2.0])[1]
        table = {a[0]: "three", 2.0: "two"}
        return (
            [10, 20, 30][n], list(range(a[0])), "ab" * a[2], table[3], table[x],
            f"{x:.3f} {n:4d} {x}", str(x), repr(x), int(x), float(n), complex(x), bool(n),
            round(x, 1),
            divmod(7, n), 2**n, hash(x) == hash(2.0), x in (1.0, 2.0), n == 1, x.item(), x.tolist(),
            numpy.zeros(a[0]).shape, slice(n, a[0]).indices(5), max(a[0], a[1]), sorted(a),
        )  # fmt: skip

    both(program)


def test_arrays_cannot_be_hashed_and_truth_needs_one_element() -> None:
    def program(np: Any) -> Any:
        a = np.arange(3)
        return (
            raises(lambda: hash(a)), raises(lambda: bool(a)), bool(a[1:2]),
            raises(lambda: float(a)),
            raises(lambda: len(np.array(1))), raises(lambda: iter(np.array(1))),
            raises(lambda: [1, 2][np.array([1])]), raises(lambda: int(np.ones(2))),
        )  # fmt: skip

    both(program)


# -- views -----------------------------------------------------------------------------------------


def _views(np: Any, a: Any) -> dict[str, Any]:
    return {
        "slice": a[1:], "row": a[0], "strided": a[:, ::2], "reversed": a[::-1, ::-1],
        "transposed": a.T, "reshaped": a.reshape(-1), "ravelled": a.ravel(), "newaxis": a[:, None],
        "ellipsis": a[...], "swapped": a.swapaxes(0, 1), "zero-d": a[1, 2, ...],
        "chain": a[1:].T[::2][:, 0], "view": a.view(), "squeezed": a[:1].squeeze(),
        "broadcast": np.broadcast_to(a[0], (2, 4)), "diagonal": a.diagonal(),
        "split": np.split(a, 3)[1], "atleast": np.atleast_3d(a), "flipped": np.flip(a, 0),
        "bytes": a.view("i8"), "reshaped transpose": a.T.reshape(-1),
        "ravelled transpose": a.T.ravel(),
        "copy": a.copy(), "taken": a[[0, 1]], "sum": a + 0, "flattened": a.flatten(),
    }  # fmt: skip


NAMES = list(_views(numpy, numpy.zeros((3, 4))))


@pytest.mark.parametrize("name", NAMES)
def test_writes_are_seen_on_both_sides(name: str) -> None:
    def program(np: Any) -> Any:
        a = np.arange(12.0).reshape(3, 4) * 1.0
        v = _views(np, a)[name]
        seen = [v.copy()]
        a[...] = a + 100.0
        seen.append(v.copy())
        a[1] = -1.0
        seen.append(v.copy())
        error = raises(lambda: v.__setitem__(..., v * 2))
        seen.append(a.copy())
        return seen, error, v.flags.writeable, np.shares_memory(a, v)

    both(program)


@pytest.mark.parametrize("name", NAMES)
def test_layout(name: str) -> None:
    def program(np: Any) -> Any:
        a = np.arange(12.0).reshape(3, 4) * 1.0
        v = _views(np, a)[name]
        flags = v.flags
        return (
            [s for s, n in zip(v.strides, v.shape, strict=True) if n > 1], v.shape, v.ndim, v.size,
            v.nbytes, v.itemsize, flags.c_contiguous, flags["F_CONTIGUOUS"], flags.contiguous,
            flags.fnc, flags.aligned, str(v.dtype), v.base is None, v.base is a, flags.owndata,
        )  # fmt: skip

    with NothingForced():
        got, expected = program(np), program(numpy)
    # NumPy's base of the copy is a flat array that no name refers to
    if name == "reshaped transpose":
        got, expected = got[:12], expected[:12]
    assert got == expected


def test_writes_through_chains_of_views() -> None:
    def program(np: Any) -> Any:
        a = np.zeros((4, 6))
        v = a[1:, ::2].T
        w = v.reshape(3, 3)[::-1]
        w[0] = 1.0
        v[1:, 1:] += 2.0
        a.T[0, 0] = 9.0
        v[...] *= 3.0
        for row in v:
            row -= 0.5
        for i, row in enumerate(a[2:]):
            row[i] = 7.0
        x = a[0]
        x[1:3], x[3:5] = x[3:5].copy(), 4.0
        a[:, 0], a[:, 1] = a[:, 1].copy(), a[:, 0].copy()
        return a, v, w, x

    both(program)


def test_views_of_large_arrays_do_not_keep_what_was_there_before() -> None:
    """Each view would keep another version of the whole array, and none could be written in
    place.
    """
    n = 24

    def program(np: Any) -> Any:
        x = np.ones((n, 2048))
        rows, column, looks = [x[i] for i in range(n)], x[:, 1], []
        for i, row in enumerate(rows):
            row *= i / row.sum()
            column[0] += 1.0
            looks.append(x[-1, i:][::2])
            x[...] = x * 0.5
        return x, rows, column, looks

    (x, rows, column, looks), wanted = program(np), program(numpy)
    assert x.nbytes >= _stale.LARGE
    float(x[0, 0])
    versions = {id(v._seen) for v in (*rows, column, *looks) if v._seen is not None}
    assert len(versions) < 6
    numpy.testing.assert_allclose(x, wanted[0], rtol=1e-14)
    for got, want in ((rows, wanted[1]), ([column], [wanted[2]]), (looks, wanted[3])):
        for v, w in zip(got, want, strict=True):
            assert v.base is x
            numpy.testing.assert_allclose(v, w, rtol=1e-14)
    looks[0][...] = 7.0
    assert rows[-1][::2].tolist() == [7.0] * 1024 and x[-1, 1] == wanted[0][-1, 1]


def test_overlapping_assignments_read_first() -> None:
    def program(np: Any) -> Any:
        results = []
        for read, write in (
            (slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1)),
            (slice(None), slice(None, None, -1)),
        ):  # fmt: skip
            a = np.arange(10.0)
            a[write] = a[read]
            b = np.arange(10.0)
            b[write] += b[read]
            c = np.arange(20.0).reshape(10, 2)
            c[write] = c[read] * 2.0
            results += [a, b, c]
        d = np.arange(9.0).reshape(3, 3)
        d[...] = d.T
        e = np.arange(9.0).reshape(3, 3)
        e += e.T
        return results, d, e

    both(program)
    a = np.arange(10.0)
    a[::2] = a[:5]  # here NumPy 2.4 reads its own writes
    assert a[::2].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_augmented_assignment_reads_once_and_writes_once() -> None:
    def program(np: Any) -> Any:
        a = np.arange(5.0)
        b = a
        v = a[1:3]
        a[1:3] += 1.0
        a += a
        v *= 2.0
        b -= 1.0
        a[[0, 0, 1]] += 1.0
        a[a > 5.0] *= 2.0
        c = np.arange(4)
        return (
            a,
            b,
            v,
            b is a,
            raises(lambda: c.__iadd__(0.5)),
            raises(lambda: c.__itruediv__(2)),
            c,
        )

    both(program)


def test_an_assignment_that_fails_changes_nothing() -> None:
    def program(np: Any) -> Any:
        a = np.arange(6.0).reshape(2, 3)
        v = a[:, 1:]
        errors = [
            raises(lambda: a.__setitem__((0, 5), 1.0)),
            raises(lambda: a.__setitem__(0, np.ones(4))),
            raises(lambda: v.__setitem__(slice(None), np.ones((3, 2)))),
            raises(lambda: v.__setitem__([0, 2], 1.0)),
            raises(lambda: a.__setitem__(np.ones((3, 3)) > 0, 1.0)),
            raises(lambda: a.astype(int).__setitem__(0, "x")),
            raises(lambda: a.__iadd__(np.ones(4))),
            raises(lambda: a.__setitem__(0, "x")),
            raises(lambda: np.arange(3, dtype="u1").__setitem__(0, 300)),
            raises(lambda: np.arange(3).__setitem__(0, float("nan"))),
            raises(lambda: np.add(a, 1j, out=a)),
        ]
        return errors, a, v

    both(program)


def test_numbers_that_do_not_fit_are_an_error_of_the_statement_that_stores_them() -> None:
    def program(np: Any) -> Any:
        results = []
        for dtype, values in (("i8", [2**20, 2**20]), ("f8", [1e20, 1e20]), ("f8", [float("nan")]),
                              ("i8", [2, 3]), ("f8", [2.5, 3.0])):  # fmt: skip
            a = np.zeros(3, "i4") + np.ones(3, "i4")
            number = np.array(values, dtype).prod()
            for index in (1, slice(0, 2), ...):
                for _ in range(2):
                    results.append(raises(lambda a=a, i=index, n=number: operator.setitem(a, i, n)))
            a[[0, 1]] = np.array(2**40)  # wraps
            results.append(a)
        return results

    both(program)


def test_read_only() -> None:
    def program(np: Any) -> Any:
        a = np.arange(4.0)
        v = a[1:]
        a.flags.writeable = False
        w = a[2:]
        errors = [
            raises(lambda: a.__setitem__(0, 1.0)), raises(lambda: a.__iadd__(1.0)),
            raises(lambda: w.__setitem__(0, 1.0)), raises(lambda: a.sort()),
            raises(lambda: a.fill(1)),
            raises(lambda: np.add(a, 1.0, out=a)), raises(lambda: v.__setitem__(0, 5.0)),
            raises(lambda: a.put(0, 1.0)), raises(lambda: np.copyto(a, 1.0)),
            raises(lambda: w.setflags(write=True)),
            raises(lambda: np.broadcast_to(a, (2, 4)).__setitem__(0, 1)),
        ]  # fmt: skip
        a.setflags(write=True)
        a[0] = 2.0
        return errors, a, v, a.copy().flags.writeable, a.flags["WRITEABLE"]

    both(program)


# -- attributes that write -------------------------------------------------------------------------


def test_flat() -> None:
    def program(np: Any) -> Any:
        a = np.arange(6.0).reshape(2, 3)
        t = a.T
        t.flat[1] = 10.0
        t.flat[2:4] = [20.0, 30.0]
        a.flat[[0, 5]] = 7.0
        first = list(t.flat)[:3]
        b = np.zeros((2, 2))
        b.flat = [1.0, 2.0]
        return a, first, t.flat[3], t.flat[1:4], len(a.flat), b, raises(lambda: a.flat[9])

    both(program)


def test_real_and_imag() -> None:
    def program(np: Any) -> Any:
        z = np.arange(4.0) + 1j * np.ones(4)
        r = z.real
        z.real[1:] = 5.0
        z.imag = [1.0, 2.0, 3.0, 4.0]
        z.imag[::2] -= 1.0
        r[0] = -1.0
        z.real *= 2.0
        x = np.arange(3.0)
        x.real[0] = 9.0
        return z, r, x, x.imag, raises(lambda: x.imag.__setitem__(0, 1.0)), z[1].real, z[2].imag

    both(program)


def test_views_as_another_dtype() -> None:
    def program(np: Any) -> Any:
        a = np.arange(4.0)
        i = a.view("i8")
        i[1] = 0
        f = a.view("f4")
        f[0:2] = 1.0
        c = a.view("c16")
        c[1] = 5.0 - 1.0j
        b = np.arange(6, dtype="i4").reshape(2, 3)
        u = b.view("u1")
        u[0, 0] = 255
        return a, i, f, c, b, u, raises(lambda: b.view("f8")), raises(lambda: b.T.view("u1"))

    both(program)


def test_shape_in_place() -> None:
    def program(np: Any) -> Any:
        a = np.arange(6.0)
        v = a[1:3]
        a.shape = (2, 3)
        a[0, 1] = 9.0
        b = a.T
        error = raises(lambda: setattr(b, "shape", (6,)))
        c = a[:, :2]
        c.shape = (2, 2, 1)
        c[0, 0] = 4.0
        return a, v, error, c, raises(lambda: setattr(a, "shape", (5,)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5 advises against it
        both(program)


def test_resize_and_sort_in_place() -> None:
    def program(np: Any) -> Any:
        a = np.array([3.0, 1.0, 2.0, 5.0, 4.0, 0.0])
        v = a[::2]
        v.sort()
        a[1:].partition(2)
        b = np.arange(6.0)
        b.resize((2, 4), refcheck=False)
        a.byteswap(inplace=True)
        a.byteswap(inplace=True)
        a.put([0, 1], 8.0)
        return a[:2], v[0], b, raises(lambda: a[1:].resize(3))

    both(program)


# -- what flushes and what does not ----------------------------------------------------------------


@pytest.mark.skipif(EAGER, reason="what is done at once is not there to be forced")
def test_nothing_forces_but_what_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lazynp._policy._LOOP", 1 << 30)  # otherwise later operations are eager
    monkeypatch.setattr("lazynp._policy.INITIAL", Mode.RECORD)
    local.recorder.reset_policy()
    a, b = np.array(numpy.arange(12.0).reshape(3, 4)) * 1.0, np.ones((3, 4)) * 2.0
    with NothingForced():
        _ = a.shape, a.dtype, a.ndim, a.size, len(a), a.strides, a.flags, a.nbytes, a.T, a.base
        _ = a.flags.writeable, a.itemsize, a.real, a.imag, a.flat, a.view("i8"), a.device
        a[a > 3.0] = 0.0
        a[1] = b[2]
        a[:, 1:] *= 2.0
        for row in a:
            row -= 1.0
        x = np.where(a > 0, a, b).sum() + np.dot(a, b.T).max() - np.sort(a).mean()
        x = x + np.concatenate([a, b]).ravel()[3] + np.argmax(a) + np.cumsum(b)[-1]
        left, right = np.split(a, 2, axis=1)
        _ = (
            x.shape,
            isinstance(x, np.Scalar),
            a.copy(),
            a.astype("f4"),
            np.zeros_like(a),
            left + right,
        )
        _ = np.shares_memory(a, left), a.T.flags.f_contiguous, a.reshape(-1).base is None
        a.shape = (4, 3)
        a.fill(1.0)
        a.sort()
        _ = a == b.reshape(4, 3), a is b, np.isnan(a), np.clip(a, 0, 1), np.roll(a, 1), a[::-1]
        _ = copy.copy(a), copy.deepcopy(a)
    for look in (str, repr, float, bool, int, lambda x: x.item(), lambda x: x.tolist(),
                 numpy.asarray,
                 hash, lambda x: f"{x:.1f}", complex):  # fmt: skip
        x = np.ones(3) * 2.0
        x = x.sum()
        with Counted() as counted:
            look(x)
        assert counted.cuts == 1


def test_reading_and_storing_elements_of_data_runs_nothing() -> None:
    a = np.array([1.0, 2.0, 3.0])
    m = np.zeros((3, 3))
    with Counted() as counted:
        total = 0.0
        for i in range(3):
            a[i] = a[i - 1] * 2.0 + i
            total = total + a[i]
            m[i, i] = a[i]
        assert float(total) == 6.0 + 13.0 + 28.0
    assert counted.cuts <= 1  # of m, which was pending


def test_rows_of_a_large_new_array_are_written_in_place() -> None:
    """Also where a row is a view that is still alive, and the recorder is eager."""

    def rows(count: int) -> Any:
        g = np.zeros((count, 100))
        g[0, 2] = 1.0
        for t in range(1, count):
            row = g[t - 1]
            g[t] = 0.5 * row
        return g

    with np.config(execution="adaptive", promotion=False):
        be_eager()
        rows(400)
        with Counted() as counted:
            total = float(rows(400)[-1, 2])
        assert counted.cuts <= 3 and total == 0.5**399


# -- copies ----------------------------------------------------------------------------------------


def test_copies_are_apart() -> None:
    def program(np: Any) -> Any:
        a = np.arange(6.0).reshape(2, 3)
        v = a[:, 1:]
        made = [a.copy(), copy.copy(a), copy.deepcopy(v), pickle.loads(pickle.dumps(v)),
                np.array(v),
                v.copy(), np.array(a, copy=True), a.astype(float), +a, np.copy(a)]  # fmt: skip
        a[...] = -1.0
        made[0][0] = 5.0
        return a, v, made

    both(program)


def test_pickles_and_deep_copies_keep_dtype_and_kind() -> None:
    a = np.arange(6, dtype="i2").reshape(2, 3) * 2
    for x in (a, a[0], a.sum(), a > 3, np.array(1j), np.zeros((0, 3), "f4")):
        for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
            assert type(y) is type(x)
            assert plain(y) == plain(x)
            assert y.flags.writeable == (not isinstance(y, np.Scalar))
    memo = copy.deepcopy({"a": a, "b": [a]})
    memo["a"][0, 0] = 77
    assert int(a[0, 0]) == 0


def test_asarray_is_a_read_only_view_of_the_value() -> None:
    a = np.arange(5000.0) * 2.0
    host = numpy.asarray(a)
    assert not host.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        host[0] = 1.0
    again = numpy.asarray(a)
    assert host.__array_interface__["data"] == again.__array_interface__["data"]
    value = a._read()[VALUE]
    data = value if isinstance(value, numpy.ndarray) else lowering.host(value)
    assert data.__array_interface__["data"][0] == host.__array_interface__["data"][0]
    a[:3] = 7.0
    assert host[:3].tolist() == [0.0, 2.0, 4.0]
    assert numpy.asarray(a)[:3].tolist() == [7.0, 7.0, 7.0]
    assert numpy.array(a).flags.writeable  # a copy
    assert numpy.asarray(a, "f4").dtype == "f4"
    with pytest.raises(ValueError, match="copy"):
        numpy.asarray(a, "f4", copy=False)
    own = numpy.array(a, copy=True)
    own[0] = -1.0
    assert float(a[0]) == 7.0
    element = np.array([1.0, 2.0, 3.0])
    shown = numpy.asarray(element)
    element[0] = 9.0  # an eager store into data, but not into exported data
    assert shown[0] == 1.0 and float(element[0]) == 9.0


def test_what_is_handed_in_is_copied() -> None:
    for dtype in ("f8", "i4", "?", "c8", "O", "U3", "M8[s]", "g"):
        host = numpy.array([1, 0, 1]).astype(dtype)
        arrays = [np.array(host), np.asarray(host), np.array([host])[0], np.array(host[::-1])[::-1]]
        want = host.tolist()
        host[0] = host[1]
        for a in arrays:
            assert a.tolist() == want
    host = numpy.ones(3)
    a = np.zeros(3)
    a[:] = host
    b = a + host
    host[:] = 5.0
    assert (a.tolist(), b.tolist()) == ([1.0] * 3, [2.0] * 3)


def test_writable_lends_memory() -> None:
    a = np.arange(6.0).reshape(2, 3) * 1.0
    v = a[:, 1:]
    with np.writable(v) as h:
        assert type(h) is numpy.ndarray and h.flags.c_contiguous and h.flags.writeable
        h *= 10.0
        assert float(a[0, 1]) == 1.0  # not yet
    assert a.tolist() == [[0.0, 10.0, 20.0], [3.0, 40.0, 50.0]]
    with pytest.raises(ZeroDivisionError), np.writable(a) as h:
        h[0] = 1.0
        _ = 1 // 0
    assert a[0].tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"), np.writable(np.broadcast_to(a[0], (2, 3))):
        pass
    with pytest.raises(TypeError, match="an Array is required"), np.writable(numpy.ones(3)):  # type: ignore[arg-type]
        pass


# -- foreign objects -------------------------------------------------------------------------------


def test_byte_order_and_host_dtypes() -> None:
    big = numpy.arange(4, dtype=">f8")
    a = np.array(big)
    assert (a + 1).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert (np.arange(4.0) * big).tolist() == [0.0, 1.0, 4.0, 9.0]
    x = np.array(numpy.array([1, 2, 3], "g"))
    assert x.dtype == numpy.longdouble
    assert (x * 2).dtype == numpy.longdouble
    assert numpy.asarray(x[1:] + 1).tolist() == [3.0, 4.0]
    x[0] = 7
    assert float(x.sum()) == 12.0


FOR_WHAT_MEANS_MORE: list[Any] = [
    lambda m, a, f: m.concatenate([a, f]),
    lambda m, a, f: m.vstack((f, a)),
    lambda m, a, f: m.dot(a, f),
    lambda m, a, f: a.dot(f),
    lambda m, a, f: m.mean(f, axis=0),
    lambda m, a, f: m.sum(f),
    lambda m, a, f: m.where(a > 0, f, a),
    lambda m, a, f: m.reshape(f, (4, 1)),
    lambda m, a, f: m.linalg.inv(f + m.array([[0.0, 1.0], [0.0, 0.0]])),
    lambda m, a, f: m.linalg.norm(f),
    lambda m, a, f: m.fft.fft(f),
    lambda m, a, f: m.trace(f),
    lambda m, a, f: m.array([f, f]),
    lambda m, a, f: m.asarray(f),
]


def test_matrices_and_masked_arrays_are_numpys() -> None:
    a = np.ones((2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = numpy.matrix([[1.0, 2.0], [3.0, 4.0]])
    masked = numpy.ma.masked_array(numpy.ones((2, 2)), mask=[[1, 0], [0, 1]])
    for foreign in (matrix, masked):
        h = numpy.ones((2, 2))
        for function in FOR_WHAT_MEANS_MORE:
            got, want = function(np, a, foreign), function(numpy, h, foreign)
            assert type(got) is type(want) or type(got) in (np.ndarray, np.Scalar)
            assert numpy.array_equal(numpy.asarray(got), numpy.asarray(want))
            assert str(got) == str(want)
        updated, plain = np.ones((2, 2)), numpy.ones((2, 2))
        for x in (updated, plain):
            x[1:] = foreign[:1]
            x += foreign
        assert type(updated) is np.ndarray and updated.tolist() == plain.tolist()
        # the foreign class keeps its operators and ufuncs
        assert type(np.add(a, foreign)) is type(foreign)
        assert type(a + foreign) is type(foreign)
        assert type(foreign - a) is type(foreign)
    assert (a @ matrix).tolist() == [[4.0, 6.0], [4.0, 6.0]]
    assert (a + masked).mask.tolist() == [[True, False], [False, True]]
    assert a.tolist() == [[1.0, 1.0], [1.0, 1.0]]


class Subclass(numpy.ndarray):
    """Of ndarray, without a meaning of its own."""


def test_subclasses_of_ndarray_keep_operators() -> None:
    s = numpy.arange(3.0).view(Subclass)
    assert type(np.array(s)) is np.ndarray
    assert type(np.ones(3) + s) is type(s + np.ones(3)) is Subclass
    assert (s + np.ones(3)).tolist() == [1.0, 2.0, 3.0]


class Foreign:
    """Wants the operators for itself."""

    __array_ufunc__ = None

    def __radd__(self, other: Any) -> str:
        return "radd"

    def __rmatmul__(self, other: Any) -> str:
        return "rmatmul"

    def __lt__(self, other: Any) -> str:
        return "lt"


class Unknown:
    def __rmul__(self, other: Any) -> str:
        return "rmul"


def test_operators_leave_foreign_objects_to_themselves() -> None:
    a, foreign = np.ones(3), Foreign()
    assert a + foreign == "radd"
    assert a @ foreign == "rmatmul"
    assert (a > foreign) == "lt"
    assert a[0] + foreign == "radd"
    with pytest.raises(TypeError):
        a - foreign  # type: ignore[operator]
    with pytest.raises(TypeError):
        a += foreign  # type: ignore[operator]
    with pytest.raises(TypeError):
        a + None  # type: ignore[operator]
    assert (a == None) is not True  # noqa: E711


def test_numpys_objects_beside_ours() -> None:
    a, h = np.arange(3.0), numpy.arange(3.0)
    for made in (a + h, h + a, h * a, a - numpy.float64(1), numpy.float64(1) - a, numpy.sqrt(a),
                 numpy.add(h, a), h @ np.eye(3), numpy.float32(2) * a, h < a, numpy.int64(2) ** a,
                 [1.0, 2.0, 3.0] + a, a * (1, 2, 3), numpy.concatenate([h, a]), numpy.sum(a, axis=0,
                 keepdims=True), numpy.where(a > 1, a, h)):  # fmt: skip
        assert type(made) is np.ndarray
    assert type(numpy.float64(1) + a[0]) is np.Scalar
    assert type(numpy.max(a)) is np.Scalar
    assert (numpy.float64(1) - a).tolist() == [1.0, 0.0, -1.0]
    h += a
    assert type(h) is numpy.ndarray and h.tolist() == [0.0, 2.0, 4.0]
    a += h
    assert type(a) is np.ndarray and a.tolist() == [0.0, 3.0, 6.0]
    h[1:] = a[:2]
    assert h.tolist() == [0.0, 0.0, 3.0]
    numpy.add(a, 1.0, out=h)
    assert h.tolist() == [1.0, 4.0, 7.0]
    numpy.multiply(h, 2.0, out=a)
    assert a.tolist() == [2.0, 8.0, 14.0]
    assert isinstance(numpy.linalg.norm(a), (np.Array, float))


def test_types() -> None:
    assert type(np.ones(3)) is np.ndarray and isinstance(np.ones(3), np.ndarray)
    assert isinstance(numpy.ones(3), np.ndarray) and issubclass(numpy.ma.MaskedArray, np.ndarray)
    assert not isinstance(np.ones(3).sum(), np.ndarray) and isinstance(np.ones(3).sum(), np.Array)
    assert not isinstance(1.0, np.ndarray) and not issubclass(np.Scalar, np.ndarray)
    assert not isinstance(np.ones(3), np.Scalar)
    assert issubclass(np.Scalar, np.Array)
    assert not hasattr(np.ones(3), "__dict__")
    with pytest.raises(AttributeError):
        np.ones(3).anything = 1


ATTRIBUTES = [
    "x.flags['X'], x.flags['A'], x.flags['FNC'], x.flags['CONTIGUOUS'], x.flags['B']",
    "x.flags['Z']",
    "x.flags['FNC'] = True",
    "x.flags.owndata = True",
    "x.flags.none = True",
    "x.flags.aligned = True; x.flags['A'] = True; x.setflags(align=True)",
    "hash(x.flags)",
    "x.flags == x.copy().flags, x.flags.num, x.T.flags.num, x.reshape(1, 6).flags.num",
    "s.shape = 1",
    "s.dtype = 'i8'",
    "s.flat = 1",
    "s.real = 1",
    "s.flags.writeable = True",
    "s.flat[0] = 9; s",
    "s.dot(s)",
    "s.copy('Z')",
    "s.byteswap(True)",
    "s.setfield(1, 'u1')",
    "y = np.zeros(2); y.__setstate__((1, (2, 2), np.dtype('i1'), True, b'abcd')); y, y.strides",
    "x.__setstate__(1)",
    "s.__setstate__(1)",
    "y = x.astype('>f4'); y.resize((3, 3), refcheck=False); y",
    "x.resize((2, -1))",
    "np.arange(6).resize()",
    "math.floor(n), math.ceil(n), math.floor(s)",
    "f = pickle.loads(pickle.dumps(x.T)); f, f.strides",
]


@pytest.mark.parametrize("program", ATTRIBUTES)
def test_attributes(program: str) -> None:
    data = {"x": numpy.arange(6.0).reshape(2, 3), "math": math, "pickle": pickle}
    check("s = x[0, 1]; n = np.arange(3)[2]; " + program, data)


def test_strides_can_be_set() -> None:
    x = np.arange(8)
    y = x[::2]
    with pytest.warns(DeprecationWarning):
        y.strides = (8,)
    y[0] = 9
    assert y.tolist() == [9, 1, 2, 3] and x.tolist() == [9, *range(1, 8)]
    for strides in ((16,), (8, 8)):
        with pytest.warns(DeprecationWarning), pytest.raises(ValueError):
            x.strides = strides


def test_strides_may_split_elements() -> None:
    found = []
    for module in (np, numpy):
        x = module.arange(8)
        with pytest.warns(DeprecationWarning):
            x.strides = (4,)
        x[0] = 5
        part = x[2:]
        x += 1
        part[0] = 7
        found.append([x.strides, x.tolist(), part.tolist(), (x * 2).tolist()])
    assert found[0] == found[1]
