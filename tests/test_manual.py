"""Statements of NumPy's manual, topic by topic. Each row runs on NumPy and on lazynp, and must
agree in printed text, values, dtypes, layouts and exceptions.
"""

from __future__ import annotations

import importlib
import io
import operator
import pickle
import statistics
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy
import pytest

import lazynp


def described(x: Any) -> Any:
    """What must agree: short type names, dtype, shape and contents."""
    if isinstance(x, tuple | list):
        return [type(x).__name__, *map(described, x)]
    if isinstance(x, (numpy.ndarray, lazynp.Array)) or hasattr(x, "dtype"):
        return repr(x), str(x.dtype)
    return repr(x)


def outcome(row: Callable[[Any], Any], np: Any) -> Any:
    try:
        return described(row(np))
    except Exception as error:
        return type(error).__name__, str(error)[:30]


def flat(np: Any) -> Any:
    x = np.arange(6).reshape(2, 3)
    f = x.flat
    first = next(f), f.index, f.coords
    x.flat[[1, 4]] = 9
    f[2:] = [7, 8]
    return first, list(f), f.index, f.coords, f[1:3], f[[0, 2]], len(f), f.copy(), f.base is x


def flat_compared(np: Any) -> Any:
    f = np.arange(4).reshape(2, 2).flat
    return f == 2, f != 2, f < f, f <= 2, f > 1, f >= [0, 9, 0, 9], isinstance(f, np.flatiter)


def windows(np: Any) -> Any:
    x = np.arange(6)
    v = np.lib.stride_tricks.sliding_window_view(x, 3, writeable=True)
    v[0, 1] = 10
    v[1] += 100
    return x, v


def overlapping(np: Any) -> Any:
    x = np.arange(6.0)
    v = np.lib.stride_tricks.as_strided(x, (3, 2), (8, 8))
    v[:, 0] = [7, 8, 9]
    w = v[1:]
    w[0] = -1
    return x, v, w


def resized(np: Any) -> Any:
    x = np.arange(4)
    v = x[1:]
    try:
        x.resize(3)
    except ValueError as error:
        return str(error), v, x
    return "resized"


def resized_again(np: Any) -> Any:
    x = np.arange(4)
    x.resize((2, 3), refcheck=False)
    return x


def reshaped_by_resize(np: Any) -> Any:
    x = np.arange(4)
    v = x[1:]
    x.resize((2, 2))
    v[0] = 9
    return x, v


def strides(np: Any) -> Any:
    """Also of axes of one element."""
    x = np.arange(3)
    made = [
        np.atleast_2d(x), np.atleast_3d(x), np.atleast_3d(x[None]), np.atleast_2d(3), x[None],
        *np.ogrid[:2, 0:1:3j], np.expand_dims(x, 0), *np.ix_([1, 2], [3]), np.atleast_3d(x)[..., 0],
    ]  # fmt: skip
    return [(m.strides, m) for m in made], np.add(np.eye(2), 1, order="F").strides


def records(np: Any) -> Any:
    x = np.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i1"), ("b", "f4")])
    r = x[1]
    again = repr([np.array(r), np.asarray([r, r])])
    r["a"] = 7
    return again, x, np.array(r).tolist(), r.tolist()


def reinterpreted(np: Any) -> Any:
    x = np.array([(-1, 2)], dtype=[("a", "i1"), ("b", "i1")])
    y = x.view(dtype=[("a", "u1"), ("b", "u1")], type=np.recarray)
    return y.a, y.b, type(y).__name__, x.view(np.recarray).a


def fields(np: Any) -> Any:
    """`getfield` is a view."""
    x = np.array([[1 + 2j, 3 + 4j]])
    imaginary = x.getfield("f8", 8)
    imaginary[0, 0] = 9
    whole = np.arange(4, dtype="i4")
    whole.getfield("i1", 1)[1] = 1
    return x, imaginary, imaginary.strides, imaginary.base is x, whole, whole.getfield("i2")


def strings(np: Any) -> Any:
    x = np.array(["a", "bcd"], dtype=numpy.dtypes.StringDType())
    return x.strides, x.flags.c_contiguous, x[::-1], x.reshape(2, 1).T.flags.f_contiguous, x + x


def iterated(np: Any) -> Any:
    """A buffer of another dtype is the operand until the iterator is closed."""
    x = np.arange(6, dtype="i4")[::-2]
    with np.nditer(x, [], [["writeonly", "updateifcopy"]], casting="unsafe",
                   op_dtypes=[np.dtype("f4")]) as it:  # fmt: skip
        buffer = it.operands[0]
        buffer[:] = [-1, -2, -3]
        before = x.copy()
    return before, x, buffer.dtype


def drawn_into(np: Any) -> Any:
    """Random functions write into `out`; a copy of it used to share its value."""
    rng = np.random.default_rng(3)
    x = np.arange(6.0).reshape(2, 3).copy()
    kept = x.copy()
    permuted = rng.permuted(x, axis=1, out=x)
    drawn = np.zeros(3)
    return permuted is x, x, kept, rng.random(out=drawn) is drawn, drawn


def filled_by_fields(np: Any) -> Any:
    rf = importlib.import_module(f"{np.__name__}.lib.recfunctions")
    a = np.array([(1, 10.0), (2, 20.0)], dtype=[("A", "i8"), ("B", "f8")])
    b = np.zeros(3, dtype=a.dtype)
    kept = b.copy()
    same = rf.recursive_fill_fields(a, b) is b
    c = np.ones(2, dtype=[("B", "f8"), ("C", "f8")])
    rf.assign_fields_by_name(c, a)
    return same, b, kept, c


def archived(np: Any) -> Any:
    file = io.BytesIO()
    np.savez(file, a=np.arange(3), b=np.eye(2))
    file.seek(0)
    z = np.load(file)
    arrays = [z["a"], z.f.b, *z.values()]
    return arrays, [isinstance(x, np.ndarray) for x in arrays], sorted(z), z.files


def vectorized(np: Any) -> Any:
    """The results are arrays of the module also where the arguments are lists."""
    f = np.vectorize(lambda x, y=2: x * y, otypes=[float])

    @np.vectorize
    def g(x: Any) -> Any:
        return x + 1

    dot = np.vectorize(np.dot, signature="(n),(n)->()")
    found = [f([1, 2]), g([1, 2]), dot(np.eye(2), [1, 2]), np.char.equal(["a"], ["a"])]
    found += [np.strings.zfill(["1"], 3), np.char.add(["a"], "b")]
    return found, [isinstance(x, np.ndarray) for x in found], f(np.arange(3), y=3), g(1)


def full_of_arrays(np: Any) -> Any:
    x = np.empty(2, dtype=object)
    x.fill(np.arange(1))
    return x[0].shape, x.dtype


def saved_in_order(np: Any) -> Any:
    files = [io.BytesIO() for _ in range(3)]
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.save(files[0], x)
    np.save(files[1], x[:, 1])
    np.savez(files[2], x, named=x)
    kept = np.load(io.BytesIO(files[2].getvalue()))["named"]
    return files[0].getvalue(), files[1].getvalue(), kept, kept.flags.f_contiguous


def warned(function: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = function()
    return result, [(w.category.__name__, str(w.message)) for w in seen]


def third_argument(np: Any) -> Any:
    out = np.zeros(2)
    return warned(lambda: np.maximum([1, 2], 1.5, out)), out


def complex_into_real(np: Any) -> Any:
    z, x = np.array([1 + 2j, 3 - 1j]), np.zeros(2)
    done = [
        warned(lambda: np.cumsum(z, out=x)),
        warned(lambda: np.take(z, [1, 0], out=x)),
        warned(lambda: np.put(x, [1], z)),
        warned(lambda: x.__setattr__("flat", z)),
    ]
    return done, x


ROWS: dict[str, Callable[[Any], Any]] = {
    "flat": flat,
    "flat compared": flat_compared,
    "flat out of bounds": lambda np: np.arange(6).flat[10],
    "flat by booleans": lambda np: np.arange(2).flat[[True, False]],
    "windows": windows,
    "overlapping": overlapping,
    "resized": resized,
    "resized in place": reshaped_by_resize,
    "upper factor": lambda np: np.linalg.cholesky([[1, 2j], [-2j, 5]], upper=True),
    "bytes of scalars": lambda np: [bytes(np.arange(3).sum()), bytes(np.arange(3.0).sum())],
    "removed": lambda np: np.float_,
    "resized again": resized_again,
    "strides": strides,
    "records": records,
    "reinterpreted": reinterpreted,
    "fields": fields,
    "strings": strings,
    "iterated": iterated,
    "drawn into": drawn_into,
    "filled by fields": filled_by_fields,
    "generators": lambda np: pickle.loads(pickle.dumps(np.random.default_rng(3))).random(),
    "archived": archived,
    "vectorized": vectorized,
    "full of arrays": full_of_arrays,
    "sig": lambda np: (np.add(1, 2, sig="dd->d"), np.add(1, 2, sig="dd->d", signature="dd->d")),
    "out": lambda np: (np.add(1, 2, out=...), np.divmod([7], 3, out=...), np.sin(0.0, out=...)),
    "objects compared": lambda np: np.equal(np.array([None, 1], object), None, dtype=object),
    "words stored": lambda np: np.arange(3).__setitem__(0, "word"),
    "rank warning": lambda np: issubclass(np.exceptions.RankWarning, UserWarning),
    "weak no more": lambda np: np.arange(3, dtype="f4") * np.multiply(2.0, 1.0),
    "a number's function": lambda np: np.ones(2, "f2") + np.sqrt(2) + np.add(1, 2.5),
    "saved in Fortran order": saved_in_order,
    "stored by take": lambda np: np.take(np.arange(3), [0, 1], out=np.zeros(2, "f4")),
    "taken into less": lambda np: np.take(np.ones(3, "f4"), [0, 1], out=np.zeros(2, "f2")),
    "a third argument": third_argument,
    "complex into real": complex_into_real,
    "ctypes": lambda np: list(np.ctypeslib.as_ctypes(np.arange(3))),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_statements_of_the_manual(name: str) -> None:
    assert outcome(ROWS[name], lazynp) == outcome(ROWS[name], numpy)


@pytest.mark.parametrize("name", [
    "add", "sum", "matmul", "linalg.inv", "fft.fft", "ma.sum", "random.rand", "save", "load",
    "isnat", "amax", "vectorize", "ndarray",
])  # fmt: skip
def test_functions_are_pickled_by_name(name: str) -> None:
    function = operator.attrgetter(name)(lazynp)
    assert pickle.loads(pickle.dumps(function)) is function


def test_scalars_are_made_by_their_type() -> None:
    assert statistics.mean(lazynp.arange(4.0)) == 1.5
    x = lazynp.arange(3.0)[1]
    assert type(x)(7) == 7 and repr(type(x)(Fraction(1, 2))) == "np.float64(0.5)"


def test_scalars_computed_at_once_are_scalars() -> None:
    """In loops of small operations too, where functions without a ufunc compute them."""
    found = set()
    for _ in range(400):
        x = lazynp.nan_to_num(numpy.inf)
        found.add((repr(x), hash(x), str(lazynp.where(True, x, 0.0)[()])))
    assert len(found) == 1 and next(iter(found))[0] == repr(numpy.finfo(float).max)
