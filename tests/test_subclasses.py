"""Subclasses of `ndarray`, as NumPy's manual writes them; `np` is NumPy or lazynp."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.functions import _dispatch, _ufunc


def informed(np: Any) -> Any:
    class Informed(np.ndarray):
        info: Any

        def __new__(cls, values: Any, info: Any = None) -> Any:
            made = np.asarray(values).view(cls)
            made.info = info
            return made

        def __array_finalize__(self, obj: Any) -> None:
            self.info = getattr(obj, "info", None)

    return Informed


def wrapping(np: Any) -> Any:
    class Wrapping(np.ndarray):
        def __array_wrap__(self, array: Any, context: Any = None, scalar: bool = False) -> Any:
            made = super().__array_wrap__(array, context, scalar)
            return made if scalar else (type(made).__name__, context[0].__name__, made)

    return Wrapping


def overriding(np: Any) -> Any:
    class Overriding(np.ndarray):
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            plain = [x.view(np.ndarray) if isinstance(x, Overriding) else x for x in inputs]
            if "out" in options:
                options["out"] = tuple(o.view(np.ndarray) for o in options["out"])
            result = super().__array_ufunc__(ufunc, method, *plain, **options)
            return method, type(result) is np.ndarray, np.asarray(result).view(Overriding)

        def __getitem__(self, index: Any) -> Any:
            found = super().__getitem__(index)
            return type(found).__name__ if np.ndim(found) else found

    return Overriding


def constructed(np: Any) -> Any:
    """The three ways an array is made, as `__array_finalize__` sees them."""
    seen: list[Any] = []

    class Made(np.ndarray):
        def __array_finalize__(self, obj: Any) -> None:
            seen.append(None if obj is None else type(obj) is Made)

    x = Made((2, 3), order="F")
    x[:] = [[1, 2, 3], [4, 5, 6]]
    parts = x[1:], np.zeros(3).view(Made), x.T
    return x, parts, seen[:2], x.flags.f_contiguous, isinstance(x, np.ndarray), x.base is None


def views(np: Any) -> Any:
    a = np.arange(6)
    x = informed(np)(a, "told")
    x[0] = 10
    x[1:3] += 5
    v = x[::2]
    v[1] = -1
    w = x.reshape(2, 3)[1]
    w[...] = 8
    return a, x, v.info, w.info, np.shares_memory(a, w), a.view(type(x)).info


def results(np: Any) -> Any:
    x = informed(np)([[3.0, 1.0], [2.0, 4.0]], "told")
    made = [
        x + 1, 1 - x, -x, x > 2, x @ x, np.sin(x), np.add(x, [1, 2]), np.add.outer(x[0], x[0]),
        x.sum(axis=0), x.astype(int), x.copy(), x.T, x.ravel(), x.clip(2, 3), x.take([0, 1]),
        np.maximum(np.eye(2), x), np.add.reduce(x), np.add.accumulate(x), x.sum(), x.real,
        x[x > 1], x[[0]], x.round(), x.cumsum(), x.squeeze(), x.swapaxes(0, 1), np.zeros(2) + x,
    ]  # fmt: skip
    return [(type(m).__name__, m.info, m) for m in made], [type(r).__name__ for r in x]


def plain(np: Any) -> Any:
    x = informed(np)([1.0, 2.0], "told")
    out = np.zeros(2)
    return (
        type(np.asarray(x)) is np.ndarray, type(np.array(x)) is np.ndarray,
        np.asanyarray(x) is x, np.array(x, subok=True).info, x.view(np.ndarray).tolist(),
        np.add(x, 1, out=out) is out, out, x[0], float(x[1]), x.tolist(), x == [1, 2],
        np.where(x > 1, x, 0).tolist(),
    )  # fmt: skip


def in_place(np: Any) -> Any:
    x = informed(np)([1.0, 2.0], "told")
    y = x
    y += 1
    y *= np.array([2, 3])
    np.add(y, 1, out=y)
    y.sort()
    np.multiply.at(y, [0, 0], 2)
    return y is x, x, x.info


def wrapped(np: Any) -> Any:
    x = np.arange(3).view(wrapping(np))
    return np.add(np.ones(3), x), x * 2, np.modf(x)


def overridden(np: Any) -> Any:
    x = np.arange(4.0).view(overriding(np))
    return x + 1, np.sin(x), np.add.reduce(x), np.add(x, 1, out=x)[:2], x[1:], x[2], 3 - x


def functions(np: Any) -> Any:
    x = informed(np)([[3.0, 1.0], [2.0, 4.0]], "told")
    made = [
        np.median(x), np.average(x), np.nansum(x), np.ptp(x), np.trapezoid(x, axis=0),
        np.add.reduce(x[0]), np.matmul(x, [1, 2]), np.matmul(np.ones(2), x), np.vecdot(x, x),
        np.zeros_like(x), np.zeros_like(x, subok=False), np.ones_like(x, subok=False),
        x.astype("f4"), x.astype("f4", subok=False), np.broadcast_to(x, (2, 2, 2)),
        np.broadcast_to(x, (2, 2, 2), subok=True), np.extract(x > 1, x),
        np.piecewise(x, [x > 1], [5]), np.sin(x.sum()), np.mean(x, keepdims=True),
    ]  # fmt: skip
    return [(type(m).__name__, getattr(m, "info", None), np.asarray(m)) for m in made]


ROWS = [functions, constructed, views, results, plain, in_place, wrapped, overridden]


def described(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return [described(i) for i in x]
    return repr(x), str(getattr(x, "dtype", ""))


@pytest.mark.parametrize("row", ROWS)
def test_subclasses_do_as_numpys(row: Any) -> None:
    assert described(row(lazynp)) == described(row(numpy))


class Kept(lazynp.ndarray):
    name: str


def test_subclasses_are_pickled_with_their_attributes() -> None:
    x = lazynp.arange(3).view(Kept)
    x.name = "three"
    y = pickle.loads(pickle.dumps(x))
    assert type(y) is Kept and y.name == "three" and y.tolist() == [0, 1, 2]


def test_subclasses_are_lazy_and_differentiated() -> None:
    def f(x: Any) -> Any:
        y = x.view(Kept)
        y[0] = 3.0
        return (y * x).sum()

    x = lazynp.array([1.0, 2.0])
    assert lazynp.grad(f)(x).tolist() == [0.0, 4.0] and x.tolist() == [3.0, 2.0]


class Units(lazynp.ndarray):
    """Without hooks for ufuncs, as most classes are."""

    unit: Any

    def __array_finalize__(self, obj: Any) -> None:
        self.unit = getattr(obj, "unit", "m")


VIEWS: dict[str, Any] = {
    "itself": lambda x: x[...], "slice": lambda x: x[1:], "reshape": lambda x: x.reshape(3, 2),
    "ravel": lambda x: x.ravel(), "T": lambda x: x.T, "swapaxes": lambda x: x.swapaxes(0, 1),
    "squeeze": lambda x: x[None].squeeze(), "view of a view": lambda x: x.T[1:].reshape(-1, 1),
    "real": lambda x: x.real, "transpose": lambda x: x.transpose(1, 0),
    "diagonal": lambda x: x.diagonal(), "mT": lambda x: x.mT,
    "astype": lambda x: x.astype(float, copy=False),
}  # fmt: skip


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("name", list(VIEWS))
def test_views_by_methods_are_views_of_the_array(name: str, written: bool) -> None:
    """Methods read a plain array in place of the array, but what they give belongs to that."""
    ours = lazynp.arange(6.0).reshape(2, 3).copy().view(Units)
    theirs = numpy.arange(6.0).reshape(2, 3)
    if written:
        ours[0, 0] = theirs[0, 0] = 7.0
    view, wanted = VIEWS[name](ours), VIEWS[name](theirs)
    assert type(view) is Units and view.unit == "m"
    assert lazynp.shares_memory(view, ours) == numpy.shares_memory(wanted, theirs)
    ours[1, 1] = theirs[1, 1] = 9.0
    numpy.testing.assert_array_equal(numpy.asarray(view), wanted)
    if wanted.flags.writeable:
        view[...] = wanted[...] = 5.0
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


FORMS = [
    "x + x", "2 - x", "x * y", "y / x", "-x", "x > 1", "abs(x)", "x ** 2", "np.sin(x)",
    "np.maximum(x, y)", "divmod(x, 2)[1]", "np.modf(x)[0]", "np.dot(x, x.T)",
    "np.concatenate([x, x])",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_classes_without_hooks_are_not_asked(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask each operand whether it takes over takes ten times as long as the operation."""

    def asked(*_: Any) -> Any:
        raise AssertionError(form)

    monkeypatch.setattr(_ufunc, "elsewhere", asked)
    monkeypatch.setattr(_dispatch, "_of_derived", asked)
    x = lazynp.arange(6.0).reshape(2, 3).copy().view(Units)
    x.unit = "s"
    y = lazynp.ones((2, 3))
    with numpy.errstate(all="ignore"):
        got = eval(form, {"np": lazynp, "x": x, "y": y})
        plain = {"np": numpy, "x": numpy.asarray(x), "y": numpy.asarray(y)}
        numpy.testing.assert_array_equal(numpy.asarray(got), eval(form, plain))
    assert form.startswith("np.conc") or type(got) is Units and got.unit == "s"


@pytest.mark.parametrize("form", [
    "np.linalg.solve(m, x)", "np.linalg.solve(p, x)", "np.linalg.solve(m, y)",
    "np.meshgrid(x, y)", "np.meshgrid(y, x, indexing='ij')", "np.apply_along_axis(sum, 0, m)",
    "np.apply_along_axis(sum, 0, p)",
])  # fmt: skip
def test_results_with_the_class_of_another_argument(form: str) -> None:
    found: list[Any] = []
    for np in (lazynp, numpy):
        kind = informed(np)
        p, y = np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([1.0, 2.0])
        names = {"np": np, "m": kind(p), "x": kind(y), "p": p, "y": y, "sum": sum}
        got = eval(form, names)
        parts = got if isinstance(got, (list, tuple)) else (got,)
        kinds = [type(r) is kind for r in parts]
        found.append((kinds, [numpy.asarray(r).tolist() for r in parts]))
    assert found[0] == found[1]


def test_fix_asks_the_class_as_the_ufunc_does() -> None:
    def info(np: Any) -> Any:
        class Wrapped(np.ndarray):
            info = ""

            def __array_wrap__(self, array: Any, context: Any = None, scalar: bool = False) -> Any:
                made = np.asarray(array).view(Wrapped)
                made.info = "wrapped"
                return made

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of `fix`, from NumPy 2.5 on
            return np.fix(np.array([2.1, -2.9]).view(Wrapped)).info

    assert info(lazynp) == info(numpy) == "wrapped"


def tagging(np: Any) -> Any:
    class Tagging(np.ndarray):
        tag: Any

        def __array_wrap__(self, array: Any, context: Any = None, scalar: bool = False) -> Any:
            if scalar:
                return array[()]
            made = array.view(Tagging)
            made.tag = context[0].__name__ if context else "wrapped"
            return made

    return Tagging


WRAPPED = """
np.sin(w)
w + 1
w.sum()
w.sum(axis=0)
np.sum(w, axis=0, keepdims=True)
np.mean(w)
np.mean(w, axis=0)
w.max(axis=1)
np.std(w)
np.var(w, axis=0)
np.median(w, axis=0)
np.cumsum(w)
w.cumprod(axis=0)
np.prod(w)
np.any(w, axis=0)
w.round()
np.around(w, 1)
w.clip(2, 3)
np.ptp(w)
np.diff(w)
np.trapezoid(w)
np.average(w, axis=0, weights=[1, 2])
np.nansum(w)
np.nanmean(w, axis=0)
np.quantile(w, 0.5, axis=0)
np.unique(w)
np.add.reduce(w)
np.add.reduce(w, axis=None)
np.add.accumulate(w)
np.add.reduceat(w, [0])
np.multiply.outer(w, w[0])
np.delete(w, 0)
np.insert(w, 0, 1)
np.linalg.inv(w[:, :2])
np.linalg.solve(w[:, :2], w[:, 0])
np.linalg.pinv(w)
np.linalg.qr(w)[0]
np.linalg.svd(w)[0]
np.linalg.cholesky(w[:1, :1])
np.linalg.norm(w)
np.reshape(w, -1)
w[0]
w.T
np.concatenate([w, w])
np.add(np.zeros((2, 3)), 1, out=w.copy())
""".strip().split("\n")


@pytest.mark.parametrize("call", WRAPPED)
def test_results_are_what_the_class_makes_of_them(call: str) -> None:
    def outcome(np: Any) -> Any:
        w = np.arange(1.0, 7.0).reshape(2, 3).view(tagging(np))
        made = eval(call, {"np": np, "w": w})
        kept = isinstance(made, np.ndarray) and type(made).__name__
        values = numpy.asarray(made.view(np.ndarray) if kept else made, float)
        return kept, getattr(made, "tag", None), numpy.round(values, 9).tolist()

    assert outcome(lazynp) == outcome(numpy)


@pytest.mark.parametrize("kind", [informed, tagging])
@pytest.mark.parametrize("name", ["sum", "max", "prod", "mean", "cumsum", "round", "argmax"])
def test_a_reduction_of_a_class_returns_out(kind: Any, name: str) -> None:
    def outcome(np: Any) -> Any:
        w, shape = np.arange(1.0, 7.0).reshape(2, 3).view(kind(np)), (2, 3)
        given = {} if name == "round" else {"axis": 0}
        out = np.zeros(shape if name in ("cumsum", "round") else 3, int if "arg" in name else float)
        both = getattr(np, name)(w, **given, out=out), getattr(w, name)(**given, out=out)
        out[:] = 5
        return [(made is out, type(made).__name__, numpy.asarray(made).tolist()) for made in both]

    assert outcome(lazynp) == outcome(numpy)


@pytest.mark.parametrize("name", ["sum", "max", "prod", "any"])
def test_a_reduction_of_an_object_that_wraps_returns_out(name: str) -> None:
    def outcome(np: Any) -> Any:
        class Box:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                return numpy.ones((2, 3), dtype)

            def __array_wrap__(self, array: Any, context: Any = None, scalar: Any = False) -> Any:
                return "wrapped"

        out = np.zeros(3, bool if name == "any" else float)
        given = getattr(np, name)(Box(), axis=0, out=out)
        return given is out, getattr(np, name)(Box(), axis=0), numpy.asarray(out).tolist()

    assert outcome(lazynp) == outcome(numpy)


REFUSED = """
q + 1
1 + q
q + [1, 2]
[1, 2] + q
q + q
q + np.arange(2)
np.arange(2) + q
np.arange(2)[1] + q
q + d
q + o
o + q
np.add(q, 1)
np.add([1], q)
np.add(1, 2, out=q)
np.sqrt(q)
np.modf(q)
np.add.reduce(q)
np.add.accumulate(q)
np.add.outer(q, [1])
np.add.at(q, 0, 1)
np.maximum.reduce(q)
np.matmul([1, 2], q)
q.sum()
np.mean(q)
np.allclose(q, q)
q.round(1)
-q
q == 1
q != None
q < [1, 2]
q @ q
divmod(q, 2)
q + None
q + "a"
s + r
r + s
np.add(s, r)
s == r
s + s
s == 1
"""


def refusing(m: Any) -> dict[str, Any]:
    class Q(m.ndarray):
        def __array_ufunc__(self, *args: Any, **options: Any) -> Any:
            return NotImplemented

    class S(m.ndarray):
        def __array_ufunc__(self, *args: Any, **options: Any) -> Any:
            return super().__array_ufunc__(*args, **options)

    class R(S):
        def __array_ufunc__(self, *args: Any, **options: Any) -> Any:
            return "taken"

    class Other:
        def __array_ufunc__(self, *args: Any, **options: Any) -> Any:
            return NotImplemented

    class Plain:
        def __radd__(self, other: Any) -> str:
            return "added"

    x = m.array([1.0, 2.0])
    return {"np": m, "q": x.view(Q), "s": x.view(S), "r": x.view(R), "o": Other(), "d": Plain()}


@pytest.mark.parametrize("program", REFUSED.strip().split("\n"))
def test_what_a_class_refuses_is_an_error(program: str) -> None:
    def outcome(m: Any) -> str:
        names = refusing(m)
        try:
            return str(eval(program, names))
        except TypeError as error:
            return "refused" if "NotImplemented" in str(error) or "@" in program else str(error)

    assert outcome(lazynp) == outcome(numpy)


JOINED = """
np.concatenate([s, t]), np.concatenate([t, s], axis=None), np.concat([s, s]), np.concatenate([p, s])
np.hstack([s, t]), np.vstack([s, p]), np.stack([s, s]), np.dstack([s, s]), np.column_stack([s, p])
np.append(s, t), np.append(p, s), np.append(s, 1), np.concatenate([u, u]), np.concatenate([u, s])
np.concatenate([s, s], out=np.zeros(6, int)), np.concatenate(s.reshape(3, 1))
np.copy(s), np.copy(s, subok=True), np.copy(s, "K", True), np.broadcast_to(s, (2, 3), True)
""".strip().split("\n")


@pytest.mark.parametrize("calls", JOINED)
def test_joined_arrays_have_the_class_of_highest_priority(calls: str) -> None:
    def outcome(np: Any) -> Any:
        s, t, u = (
            np.arange(3).view(type(name, (np.ndarray,), {"__array_priority__": priority}))
            for name, priority in {"S": 5, "T": 9, "U": 0}.items()
        )
        made = eval(calls, {"np": np, "s": s, "t": t, "u": u, "p": np.arange(3)})
        return [(type(x).__name__, numpy.asarray(x).tolist(), np.shares_memory(x, s)) for x in made]

    assert outcome(lazynp) == outcome(numpy)


def test_a_copy_that_keeps_the_class_is_finalized() -> None:
    def outcome(np: Any) -> Any:
        x = np.arange(3).view(informed(np))
        x.info = "told"
        return np.copy(x, subok=True).info

    assert outcome(lazynp) == outcome(numpy)
