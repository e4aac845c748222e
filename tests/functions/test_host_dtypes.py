"""Structured, object, string and date arrays: they live on the host and behave like NumPy's."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import lazynp
from tests.functions.rows import check

RECORDS = np.array(
    [(1, 2.5, "ab"), (3, 4.5, "cd"), (5, 6.5, "ef")],
    dtype=[("a", "i4"), ("b", "f8"), ("s", "U4")],
)
OBJECTS = np.array([1, "a", None, 2.5], dtype=object)
WORDS = np.array(["pear", "fig", "apple"])
DAYS = np.arange("2024-02-27", "2024-03-03", dtype="M8[D]")

PROGRAMS = [
    # fields are views
    "x['a']",
    "x['b'] += 1; x",
    "v = x['a']; v[1:] = 7; x",
    "x['b'][x['a'] > 1] = -1; x",
    "v = x[1:]; v['a'] = 9; x",
    "x['a'] = 8; v = x[:2]['a']; v += 1; x",
    "x[['a', 'b']]",
    "x[0] = (7, 8.0, 'zz'); x",
    "x[[0, 2]] = (7, 8.0, 'zz'); x",
    "x[x['a'] > 1] = (0, 0, ''); x",
    "y = x.copy(); x['a'] = 0; y['a']",
    "y = np.arange(2.0); np.array([(y[0], y[1], 'a'), (1, 2, 'b')], dtype=x.dtype)",
    "y = np.arange(2.0); np.array((y[0], 2, 'a'), dtype=x.dtype)",
    "y = np.arange(2.0); np.asarray([(y[0], y[1], 'a'), x[1]], dtype=x.dtype)",
    "y = np.arange(2.0); np.array([[(y[0], 1, 'a')], [(y[1], 2, 'b')]], dtype=x.dtype)",
    "y = np.arange(2.0); np.array([(y[0], [y[1], 2])], dtype=[('p', 'f4'), ('q', 'i4', (2,))])",
    "np.sort(x, order='b')[::-1]",
    "x[np.argsort(x, order='s')]['s']",
    "x == x[::-1]",
    "x != x",
    "np.concatenate([x, x[:1]])['s']",
    "x['zz']",
    "x['zz'] = 1",
    "x['a', 'b']",
    "x.reshape(3, 1)['a']",
    "x.tolist()",
    "x.fill((1, 2, 'q')); x",
    # objects
    "o[1] = [1, 2]; o.tolist()",
    "o[:2] = 0; o",
    "o == None",
    "y = o[1:]; y[0] = 'z'; o",
    "o[[0, 3]] * 2",
    "o.reshape(2, 2).T[0, 1]",
    "np.all(o), np.any(o)",
    "np.array([1, 2], dtype=object).sum()",
    "y = np.empty(2, object); y[...] = np.array(3); y.tolist()",
    "np.where(o == 1, o, None)",
    # strings
    "w[1] = 'kiwi and more'; w",
    "w[w == 'fig'] = 'X'; w",
    "np.sort(w)",
    "w == 'fig', w > 'b', w != 3",
    "w[0].upper()",
    "', '.join(w)",
    "{k: i for i, k in enumerate(w)}['fig']",
    "np.strings.upper(w)",
    "w.astype('S')",
    "w['a']",
    "w + 1",
    # dates
    "d[1:] - d[:-1]",
    "d[d >= np.datetime64('2024-03-01')]",
    "d[0] = '2023-01-01'; d",
    "d[1:3] = np.datetime64('NaT'); np.isnat(d)",
    "(d - d[0]) / np.timedelta64(1, 'D')",
    "d.max() - d.min()",
    "np.unique(d.astype('M8[M]'))",
    "d[0].astype(object).year",
    "np.searchsorted(d, np.datetime64('2024-03-01'))",
    "d + np.arange(5)",
    "d + d",
    "d.astype('M8').dtype, (d - d[0]).astype('m8').dtype",
    "np.astype(d[0] - d[1], int)",
    "x.flat = (7, 8.5, 'q'); x",
    "x.put([0], [(7, 8.5, 'q')]); x",
    "w.flat[0] = 'kiwi'; w",
    "w.put([], 1); w",
    "np.float64(2.5).astype(str), np.arange(3)[1].astype('S')",
    "np.array_repr(np.array(1.5)), np.array_str(np.array(1.5)), np.array2string(np.array(2))",
    "np.min_scalar_type(np.array(1.5)), np.min_scalar_type(np.array([1.5]))",
    "np.nan_to_num(np.array([np.nan, 1j], 'G'))",
    "z = np.array([1, 2], 'G'); z.real = 3; z.imag = [5, 6]; z.imag[0] += 1; z",
    # in place and into `out`, NumPy looks whether the result can be stored before it computes
    "w *= 2; w",
    "w += 1",
    "o[:2] = 1, 2; x['b'] += o[:3]",
    "y = np.array([1.5, 2.5]); y /= np.array([0, None], object)",
    "y = np.array([1, 2]); y //= np.array([0, None], object)",
    "y = np.array([1.5, 2.5]); y %= [0, None]",
    "y = np.array([1, 2]); y |= np.array([1.5, None], object)",
    "y = np.array([1, 2], object); y += 1; y",
    "y = np.array([1, 2], 'g'); v = y[:1]; v *= 3; y",
    "d += 1; d -= np.timedelta64(2, 'D'); d",
    "np.maximum(d, np.datetime64('2024-03-01'), out=d); d",
    "np.sin(o, out=np.zeros(4))",
    "np.add(w, w, out=np.empty(3, 'U9'))",
    "np.cumsum([1, 2], out=np.zeros(2, 'm8[s]'))",
    "np.sum([1, 2], out=np.zeros((), 'm8[s]'))",
    "o.flat[0] = 5; o.flat[1:3] = [6, 7.5]; o.tolist(), type(o[0])",
    # records, as scalars
    "r = x[0]; r[()], r.reshape(1), r.ravel().dtype, r.repeat(2), np.full(2, r)",
    "r = np.rec.array(x); type(np.sort(r, order='b')).__name__, type(np.unique(r)).__name__",
    # dtypes, not arrays
    "np.issubdtype(o, object)",
    "np.promote_types('f4', np.ones(2))",
    "np.promote_types('f4', np.ones(2)[0]), np.issubdtype(np.ones(2)[0], np.floating)",
    # dtypes without NaN, and functions that refuse these dtypes
    "np.array_equal(o, o, equal_nan=True), np.array_equal(w, w, equal_nan=True)",
    "np.cross(np.array([1, 2, 3], object), [3, 2, 1])",
    "np.interp(d, [0, 1], [0, 1])",
    "np.interp(np.ones(2, 'g'), [0, 1], [0, 1])",
    "np.interp([0.5], [0, 1], o)",
    "np.add.reduce(np.arange(3), dtype=object)",
    "np.fromstring(b'12345678')",
    "np.ndarray(2, object).tolist(), np.ndarray((1, 2), 'O,i4').tolist()",
    "np.array([np.arange(2), d[:2]]), np.array([np.arange(2)[1], d[0]])",
    "np.array([d, [1, 2]], ndmax=1)",
    "np.interp(d, d, np.ones((2, 2)))",
    "np.place(d, d > d[1], ['2020-01-01']); np.putmask(d, d < d[1], '2020-01-02'); d",
    "np.arange(3, dtype='M8[D]')",
    "np.interp(d, d, 1.0, period=0)",
    "np.arange(6).reshape(2, 3).T.tobytes('A'), np.arange(6).reshape(2, 3).T.tobytes('K')",
    "np.asfortranarray(np.arange(6).reshape(2, 3)).tobytes('A')",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: str) -> None:
    check(program, {"x": RECORDS, "o": OBJECTS, "w": WORDS, "d": DAYS})


FOREIGN = [  # arrays keep their byte order; results computed from them have the machine's
    "x", "x.dtype.byteorder, x.dtype.str, x.itemsize", "x.copy()", "np.asarray(x)", "np.array(x)",
    "x + x", "x + 1", "-x", "1.5 * x", "np.sin(x)", "abs(x)", "x @ x.T", "x == x", "x ** 2",
    "x.sum()", "x.sum(0)", "x.mean(1)", "x.cumsum()", "x.prod()", "x.argmax(1)", "np.median(x)",
    "np.sort(x)", "np.argsort(x)", "np.unique(x)", "np.diff(x)", "np.roll(x, 1)", "np.flip(x)",
    "x[0]", "x[0, 1]", "x[:, ::-1]", "x.T", "x.reshape(-1)", "x[[0, 1, 1]]", "x[x > 1]",
    "np.concatenate([x, x])", "np.stack([x, x])", "np.where(x > 1, x, 0)", "np.repeat(x, 2)",
    "np.take(x, [0, 1])", "np.pad(x, 1)", "np.linalg.norm(x)", "np.linalg.inv(x[:, :2])",
    "np.fft.fft(x)", "np.histogram(x, 3)[0]", "np.searchsorted(np.sort(x[0]), x[1])",
    "x.astype('f4')", "x.astype('>c16').real", "x.astype('>c16').imag", "np.zeros_like(x)",
    "np.zeros(3, x.dtype)", "np.full(3, 2, x.dtype)", "np.arange(3, dtype='>f4')",
    "np.array([1, 2], '>i2')", "np.asarray([1.5], dtype='>f4')",
    "np.linspace(0, 1, 3, dtype='>f4')",
    "x.byteswap()", "x.view('u1')", "x.view(x.dtype.newbyteorder())", "x.tobytes(), x.tolist()",
    "np.frombuffer(bytes(range(16)), '>i4')", "repr(x), str(x), float(x[0, 0])", "list(x)[1]",
    "x[0, 1] = 5", "x[0] = [5, 6, 7]", "x[[1]] = 7; x[x == 7] = 8", "x += 1", "x.fill(3)",
    "x.sort()", "np.add(x, 1, out=x)", "v = x[0]; v[:] = 1; v += 2", "v = x.T; v[0] = 9; x + v.T",
    "y = np.zeros((2, 3)); y[:] = x; y[0] += x[1]; y", "np.ones((2, 3)) * x", "x @ np.ones(3)",
    "x + np.array([1, 2, 3], '>i2')", "np.ones(5)[np.array([0, 3], '>i8')]", "x[0] @ 'no'",
    "np.copyto(x, np.ones(3))", "np.nan_to_num(x)", "np.ediff1d(x, 0)",
    "x.max() - x.min()", "np.einsum('ij,ij', x, x)",
]  # fmt: skip


@pytest.mark.parametrize("program", FOREIGN)
@pytest.mark.parametrize("execution", ["compiled", "adaptive"])
def test_bytes_in_another_order(program: str, execution: str) -> None:
    with lazynp.config(execution=execution):
        for dtype in (">f8", ">i4"):
            check(program, {"x": np.array([[3, 1, 2], [7, 5, 4]], dtype)})


def _first_is(x: Any, value: float) -> Any:
    x[0] = value
    return (x * x).sum()


def test_bytes_in_another_order_under_transformations() -> None:
    """On the host they are ordinary numbers; writes keep their byte order."""
    cond, grad, jit = lazynp.cond, lazynp.grad, lazynp.jit
    x = lazynp.array([3.0, 1.0, 2.0], ">f8")
    assert jit(lambda x: x * 2)(x).tolist() == [6, 2, 4]
    assert jit(lambda x: x * 2)(np.asarray(x)).tolist() == [6, 2, 4]
    assert grad(lambda x: (x * x).sum())(x).tolist() == [6, 2, 4]
    assert grad(lambda s: (s * x).sum())(2.0) == 6
    assert lazynp.vmap(lambda x: x + 1)(x).tolist() == [4, 2, 3]
    assert lazynp.scan(lambda c, e: (c + e, None), 0.0, x)[0] == 6
    assert jit(lambda a: a.astype(">f8") + lazynp.zeros(3, ">f8"))(1.0).tolist() == [1, 1, 1]
    assert jit(lambda a, i: a[i])(x, lazynp.array([2, 0], ">i8")).tolist() == [2, 3]
    for k, call in enumerate(
        [
            lambda: jit(lambda x: _first_is(x, 1.0))(x),
            lambda: jit(lambda a: _first_is(x, a))(2.0),
            lambda: grad(lambda x: _first_is(x, 3.0))(x),
            lambda: cond(True, lambda: _first_is(x, 4.0), lambda: 0.0),
            lambda: lazynp.scan(lambda c, _: (c, _first_is(x, c)), 5.0, None, 2),
            lambda: lazynp.vmap(lambda x: _first_is(x, 6.0))(x[None]),
        ],
        1,
    ):
        call()
        assert x.dtype == ">f8" and np.asarray(x).dtype == ">f8" and x.tolist() == [k, 1, 2]


def _records(np: Any) -> list[str]:
    x = np.zeros((2, 2), dtype=[("f", "f8", (2,)), ("i", "i4")])
    r = x[1, 0]
    r["i"] = 7
    x[0, 1][1] = 3
    x[1, 1]["f"] = [1.5, 2.5]
    r["f"][1] = -1
    x["i"] += 1
    some = [repr(r), str(r), repr(r["i"]), r.item(), r.tolist(), len(r), r.dtype, r == x[1, 0]]
    seen = [
        *some,
        list(r)[1],
        tuple(r)[1],
        r[["i"]],
        r != x[0, 0],
        r.copy(),
        isinstance(r, np.void),
    ]
    texts = [str(s) for s in seen]
    y = np.zeros(2, x.dtype)
    y[0] = r
    kept = pickle.loads(pickle.dumps(r))
    r["i"] = 0
    return [*texts, str(x), str(y), str(kept)]


def test_a_record_is_a_view() -> None:
    assert _records(lazynp) == _records(np)
    x = lazynp.array(RECORDS)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[0]["a"] = 5


def test_fields_are_renamed_in_this_array_alone() -> None:
    """The names in a dtype can be changed: of arrays that share the dtype, as in NumPy."""

    def seen(module: Any) -> list[Any]:
        fields = [("a", "f8"), ("b", "i4")]
        dtype = module.dtype(fields)
        x, y = module.zeros(2, dtype), module.ones(2, dtype)
        z, w = module.ones(2, fields), module.zeros(2, fields)
        x.dtype.names = ("s", "t")
        z.dtype.names = ("p", "q")
        found = [x["s"].tolist(), y["s"].tolist(), z["q"].tolist(), w["a"].tolist()]
        found += [v.dtype.names for v in (x, y, z, w, z.copy(), module.zeros_like(w), z[:1])]
        return [*found, module.zeros(2, fields).dtype.names]

    assert seen(lazynp) == seen(np)


def test_storing_objects_is_in_place() -> None:
    x = lazynp.zeros(3, dtype=object)
    x[0] = 1
    before = id(x._node[2])
    x[1] = 2
    assert id(x._node[2]) == before and x.tolist() == [1, 2, 0]
    y = x.copy()
    x[2] = 3
    assert y.tolist() == [1, 2, 0] and x.tolist() == [1, 2, 3]
    view = np.asarray(x)
    x[0] = 9
    assert view.tolist() == [1, 2, 3]


def test_lazy_arrays_as_objects() -> None:
    x = lazynp.empty(2, dtype=object)
    x[0] = lazynp.arange(3)
    assert x[0].tolist() == [0, 1, 2]


def test_recarray_of_a_copy() -> None:
    r = lazynp.array(RECORDS).view(np.recarray)
    assert r.a.tolist() == [1, 3, 5] and r[0].s == "ab"


class Counted:
    """An object whose operators count their calls, some of which fail."""

    calls = 0

    def __add__(self, other: Any) -> Any:
        Counted.calls += 1
        if other == 2:
            raise ZeroDivisionError("two")
        return self if other == 1 else 7

    __lt__ = __add__


def test_operators_of_objects_run_once() -> None:
    x = lazynp.array([Counted(), Counted()])
    turned = lazynp.array([[Counted(), Counted()], [Counted(), Counted()]]).T
    several = lazynp.array([[0, 1], [3, 4]])
    for _ in range(3):
        Counted.calls = 0
        assert (x + 1)[0] is x[0] and Counted.calls == 2
        assert (x + [3, 4]).tolist() == [7, 7] and Counted.calls == 4
        assert (x < 1).tolist() == [True, True] and Counted.calls == 6
        assert (turned + several[:, :1]).shape == (2, 2) and Counted.calls == 10
        with pytest.raises(ZeroDivisionError, match="two"):
            _ = x + 2
        assert Counted.calls == 11


@pytest.mark.parametrize("dtype", [">i4", ">f8", "g", "G", ">c16", ">M8[D]"])
@pytest.mark.parametrize(
    "store",
    [
        "x[3:] = 'x'", "x[1:] = 'x'", "x[1] = np.timedelta64(5, 's')", "x[...] = '7'",
        "x[()] = np.datetime64('2020')", "x[3:] = object()", "x[0:2] = [1, 2]", "x[::2] = 3.5",
        "x[1:][0] = 1j", "x[:2] = x[1:]", "x[1:] = np.arange(2, dtype='f4')", "x[:] = None",
    ],
)  # fmt: skip
def test_stores_convert_as_numpy(dtype: str, store: str) -> None:
    found: list[Any] = []
    for xp in (np, lazynp):
        x = xp.arange(3).astype(dtype)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                exec(store, {"x": x, "np": xp})
        except Exception as error:
            found.append(type(error))
        found.append((x.dtype, repr(x.tolist())))
    assert found[: len(found) // 2] == found[len(found) // 2 :]


@pytest.mark.parametrize("function", ["var", "median", "nansum", "mean", "ptp", "nanmedian"])
@pytest.mark.parametrize("out", ["-2.5", "'7'", "[1, 2]"])
def test_results_go_into_arrays_only(function: str, out: str) -> None:
    for xp in (np, lazynp):
        with pytest.raises(TypeError):
            eval(f"np.{function}(np.zeros(3, 'g'), axis=0, out={out})", {"np": xp})


@pytest.mark.parametrize(
    "form",
    [
        "np.logaddexp(np.array([-3], 'i1'), 10**30, dtype=np.float32)",
        "np.greater_equal(np.zeros((0, 3), object), 10**30, casting='same_kind', dtype=bool)",
        "np.add(np.array([1, 2], object), 2**70, dtype=object)",
        "np.add(np.array([1, 2]), 2**70, dtype=float)",
    ],
)
def test_long_ints_in_ufuncs_with_options(form: str) -> None:
    got, want = eval(form, {"np": lazynp}), eval(form)
    assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())
