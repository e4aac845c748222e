"""Rare forms of calls, as a table: numbers of user classes, mixed kinds of choices, lengths of
strings that NumPy finds, operands that refuse or take over, and places of iterators.
"""

from __future__ import annotations

import enum
import warnings
from typing import Any

import numpy as np
import pytest

import lazynp
from tests.functions.rows import check
from tests.helpers import POLICIES


class Meters(float):
    pass


class Count(int):
    pass


class Phasor(complex):
    pass


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Takes:
    """NumPy's operators leave the operation to it."""

    __array_priority__ = 1000

    def __radd__(self, other: Any) -> str:
        return "radd"

    def __rsub__(self, other: Any) -> str:
        return "rsub"

    def __rmatmul__(self, other: Any) -> str:
        return "rmatmul"


class Refuses:
    __array_ufunc__ = None

    def __radd__(self, other: Any) -> str:
        return "radd"


class Asked:
    """It answers for NumPy's functions."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function.__name__, args


DATA: dict[str, Any] = {
    "f": np.array([1.5, -0.0, 0.25], "f4"),
    "d": np.array([[1.5, -0.0], [0.0, -3.0]]),
    "b": np.array([1, 2, 100], "i1"),
    "u": np.array([1, 2], "u1"),
    "k": np.array([3, 1, 2**60 + 1], "u8"),
    "big": np.array([1, 2, 3], ">i4"),
    "wide": np.array([1.5, 2, 3], ">f8"),
    "s": np.array(["b", "aa", ""]),
    "rows": np.zeros(3, "i4,f8"),
    "t": np.array([1, 2, 3], "m8[s]"),
    "o": np.array([1, 2], object),
    "Meters": Meters,
    "Count": Count,
    "Phasor": Phasor,
    "Colour": Colour,
    "Takes": Takes,
    "Refuses": Refuses,
    "Asked": Asked,
    "asked": lambda function, *args: [function(*args)],
}

NUMBERS = """
f * Meters(2)
Meters(2) / f
f ** Count(2)
b * Count(2)
b + Count(2**62)
b + Count(2**63)
b + Count(2**70)
f * Count(2**70)
f * Phasor(2)
b * Colour.BLUE
u & Colour.BLUE
b == Colour.RED
u < Count(300)
b[Colour.BLUE]
np.where(f > 0, f, Meters(1))
np.maximum(f, Meters(1))
np.clip(f, Meters(0), Meters(1))
np.full(2, Colour.BLUE)
np.full_like(f, Meters(2))
np.array([Colour.RED, Colour.BLUE])
np.array(Phasor(1))
f.sum() * Meters(2)
b[0] = Count(300)
b[:] = Count(300)
b[[0, 1]] = Count(300)
b.fill(Count(300))
b[1:] = Count(30)
b += Count(3)
f += Meters(0.1)
f[0] = Meters(0.1)
b[b > 1] = Colour.BLUE
"""

CHOICES = """
np.choose([0, 1], [b[:2], 300])
np.choose([0, 1], [-1, u])
np.choose([0, 1], [f[:2], 2.5])
np.choose([0, 1], [1j, f[:2]])
np.choose([0, 1], [np.float32(1), 2.5])
np.choose([0, 1], [1, 2.5])
np.choose([0, 1], [u, [1, 2]])
np.choose([0, 1], [u, b[:2]])
np.choose([0, 1], [2**70, u])
np.choose([0, 1], [s[:2], 5])
np.choose([0, 1], [s[:2], "ccc"])
np.choose([0, 1], [o, 5])
np.choose(1, [1, 2])
"""

JOINED = """
np.concatenate([b, u], dtype="S")
np.concatenate([f], dtype="U")
np.concatenate([s, s], dtype="S", casting="unsafe")
np.concatenate([s], dtype="S")
np.concatenate([t], dtype="m8[ms]")
np.concatenate([t], dtype="S")
np.concatenate([d, d], axis=None, dtype="U")
np.concatenate(d, dtype="U")
np.stack([f, f], dtype="U")
np.vstack([b, b], dtype="S5")
np.hstack([u, b], dtype=str)
np.insert(big, [0, 2], 0)
np.insert(big, [0, 2], [7, 8])
np.insert(wide, 1, 9)
"""

STORES = """
d[d < 1] = np.ma.array([1, 2, 3.0], mask=[0, 1, 0])
f[f < 1] = np.ma.array([5.0], mask=[1])
d[d < 1] = np.array([[1, 2, 3]]).view(np.matrix)
np.place(s, s == "b", [1, 2])
np.place(s, s == "b", np.array(["zz"]))
np.place(s, s == "b", np.array([5]))
np.place(rows, [True, False, True], [1, 2])
np.place(big, big > 1, [5, 6])
np.place(big, big > 1, 7)
np.place(big, big > 1, np.int64(7))
np.place(big, big > 1, np.array([5, 6]))
np.putmask(s, [True, False, True], [5, 6])
np.putmask(big, big > 1, [5, 6])
np.putmask(rows, [True, False, True], [5, 6])
np.putmask(t, [True, False, True], 7)
np.add.at(f, [0], None)
np.add.at(f, 0, None)
np.add.at(b, [0], None)
np.add.at(o, [0], None)
np.add.at(f, [0])
np.negative.at(f, [0])
np.negative.at(f, [0], None)
np.negative.at(f, [0], 2)
np.multiply.at(t, [0, 0], 2)
np.add.at(k, [0, 0], np.array(-129))
np.add.at(k, [0, 1], np.array([-1, 2]))
np.multiply.at(k, [2, 2], np.array(3))
np.add.at(k, [0, 0], 5)
np.add.at(u, [0, 0], np.array(300))
np.add.at(t, [0, 0], t[:2])
"""

OPERANDS = """
f += Takes()
f -= Takes()
d @= Takes()
o += Takes()
f += Refuses()
f *= Refuses()
asked(lambda: f + Takes())
asked(lambda: f + Refuses())
asked(lambda: f * Refuses())
"""

ZEROS = """
1 / np.clip(d, 0, 3)
1 / np.clip(f, 0, 3)
1 / np.clip(d, -3, 0.0)
1 / np.clip(d, np.float64(0), np.array(3))
1 / np.clip(d, [0, 0], 3)
1 / np.clip(d, 0, None)
1 / d.clip(0, 1)
1 / np.clip(d + 0j, 0, 3)
np.clip(d, 1, 0)
np.clip(d, np.nan, 3)
np.clip(b, 0, 3)
"""

LAYOUTS = """
np.add.outer(np.asfortranarray(np.ones((3, 2))), d).strides
np.multiply.outer(d.T, np.asfortranarray(np.ones((3, 2)))).strides
np.subtract.outer(d.T, 2.0).strides
o = np.add.outer(np.asfortranarray(d), d); o.ravel()[:] = 7; o
np.ravel(np.broadcast_to(f, (2, 3)), order="K")
np.broadcast_to(f, (2, 3)).T.ravel("K")
np.broadcast_to(f, (2, 3)).flatten("K")
d.T.ravel("K")
d[:, ::-1].ravel("K")
np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)[::-1, :, ::2].ravel("K")
rows.view(np.void).dtype
rows.view(np.void).tobytes()
f.view(np.void).dtype
s.view(np.void).shape
d[:0].view(np.void).dtype
np.sort_complex(np.ones(2, "g"))
np.argwhere(d)
np.argwhere(d).ravel("K")
np.argwhere(d[:0]).shape
np.diagonal(d).__dlpack__()
"""

LIKE = """
np.arange(3, like=Asked())
np.arange(3, 5, like=Asked())
np.tri(3, like=Asked())
np.fromiter([1], int, like=Asked())
np.frombuffer(b"1", like=Asked())
np.fromstring("1", sep=" ", like=Asked())
np.fromfunction(None, (2,), like=Asked())
np.ascontiguousarray([1], like=Asked())
np.asfortranarray([1], like=Asked())
np.require([1], like=Asked())
np.array([1], like=Asked())
np.zeros(2, like=Asked())
np.arange(3, like=3)
np.tri(3, like=[1])
np.arange(3, like=np.ones(2))
"""

READ_ONLY = """
np.diagonal(d).sort(axis=1)
np.diagonal(d).sort(axis=0)
np.diagonal(d).partition(0, axis=3)
np.diagonal(d).partition(0)
np.lib.stride_tricks.sliding_window_view(d, 2, 0).flags.writeable = True
np.lib.stride_tricks.sliding_window_view(d, 2, 0)[0].reshape(-1).flags.writeable = True
np.lib.stride_tricks.as_strided(f, (2, 2), (4, 4), writeable=False).flags.writeable = True
np.lib.stride_tricks.sliding_window_view(d, 2, 0).copy().flags.writeable
v = np.diagonal(d); v.real = v
v = np.diagonal(d); v.real = v[:]
v = np.diagonal(d); v.real = v.copy()
v = np.diagonal(d + 0j); v.real = v.real
v = np.diagonal(d + 0j); v.real = v.imag
v = np.diagonal(d); np.copyto(v, v)
v = np.diagonal(d); np.copyto(v, v[::-1])
v = np.diagonal(d); np.copyto(v, v, where=[True, False])
"""

PLACES = """
it = np.nditer(b); it.iterindex = 2; it.value
it = np.nditer(b); it.iterindex = 77
it = np.nditer(d, flags=["multi_index"]); it.multi_index = (1, 0); (it.value, it.multi_index)
it = np.nditer(d, flags=["c_index"]); it.index = 3; (it.value, it.index)
it = np.nditer(d, flags=["ranged"]); it.iterrange = (1, 3); [float(x) for x in it]
it = np.nditer(b); it.index = 1
it = np.nditer(b); it.multi_index = (1,)
it = np.nditer(b); it.value = 1
it = np.nditer(b); it.nothing = 1
"""

TABLES = (NUMBERS, CHOICES, JOINED, STORES, OPERANDS, ZEROS, LAYOUTS, READ_ONLY, PLACES, LIKE)


@pytest.mark.parametrize("execution", POLICIES)
@pytest.mark.parametrize("program", [line for t in TABLES for line in t.strip().splitlines()])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rare_forms(program: str, execution: str) -> None:
    with lazynp.config(execution=execution):
        check(program, DATA)


WARNINGS = """
np.cov(3.0)
np.cov(d, ddof=2)
np.cov(d[:, :1])
np.cov(d)
np.concatenate([d + 1j], dtype="f4", casting="unsafe")
np.sum(d + 1j, axis=0, out=f[:2])
np.prod(d + 1j, axis=0, out=f[:2])
np.choose([0, 1], [1j, 2], out=f[:2])
np.compress([1, 1], d[0] + 1j, out=f[:2])
np.concatenate([d[0] + 1j], out=f[:2], casting="unsafe")
np.mean(d, axis=0, out=f[:2])
"""


@pytest.mark.parametrize("execution", POLICIES)
@pytest.mark.parametrize("program", WARNINGS.strip().splitlines())
def test_warnings_that_depend_on_shapes_and_dtypes(program: str, execution: str) -> None:
    """Not those of floating-point errors, which nothing looks for by default."""
    given = []
    for module in (np, lazynp):
        names = {k: module.array(v) for k, v in DATA.items() if isinstance(v, np.ndarray)}
        with warnings.catch_warnings(record=True) as found, lazynp.config(execution=execution):
            warnings.simplefilter("always")
            eval(program, names | {"np": module})
        given.append({str(w.message) for w in found if " encountered in " not in str(w.message)})
    assert given[0] == given[1]


@pytest.mark.parametrize("text", ["sort", "partition"])
def test_read_only_arrays_are_named(text: str) -> None:
    call = f"np.diagonal(d).{text}(0)"
    check(call.replace("sort(0)", "sort()"), DATA, message=True)


@pytest.mark.parametrize(
    "form",
    [
        "np.apply_along_axis(lambda r: np.add(r, 1, out=held), 1, x)",  # the same array each time
        "np.apply_along_axis(lambda r: held.__setitem__(0, r[1]) or held, 1, x)",
        "np.apply_along_axis(lambda r: r[0], 0, x.T)",
        "np.apply_along_axis(lambda r: r > 1, 0, x)",
        "np.apply_along_axis(lambda r: np.outer(r, r), 1, x)",
        "np.apply_along_axis(lambda r: r.sum(keepdims=True), 0, x)",
        "np.apply_along_axis(lambda r: 3, 0, x)",
        "np.apply_along_axis(lambda r: [r[0], 7], 0, x)",
        "np.i0(np.array([1000.0, 2.0], 'g'))",
        "np.mgrid[0:3, 0:2.5]",
        "np.mgrid[0:1:3j, 1:0:4j]",
        "np.mgrid[3:0:-1, 0:0]",
        "np.mgrid[0:2, :2]",
        "np.mgrid[0 : x[0, 1], 0 : x.max()]",
        "np.mgrid[True:3, 0:2:1]",
        "np.resize(x, (3, 5))",
        "np.resize(x.T, 4)",
        "np.resize(x, 0)",
        "np.sinc(x)",
        "np.sinc(0.5)",
        "np.histogram_bin_edges(x, 'auto')",
        "np.histogram_bin_edges(x, [0.0, 1.0])",
        "np.polynomial.chebyshev.chebval(x, [1, 2, 3])",
        "np.polynomial.legendre.legval(x[0], x)",
        "np.polynomial.polynomial.polyval(x, x, tensor=False)",
        "[list(map(float, pair)) for pair in np.broadcast(x, x[0])]",
    ],
)
def test_what_numpy_runs_at_once(form: str) -> None:
    found = []
    for xp in (lazynp, np):
        x = xp.arange(6.0).reshape(2, 3)
        out = eval(form, {"np": xp, "x": x, "held": xp.zeros(3)})
        if isinstance(out, list):
            found.append(out)
            continue
        strides = [s for s, n in zip(out.strides, out.shape, strict=True) if n > 1 and out.size]
        found.append((out.dtype, out.shape, strides, [f"{v:.13g}" for v in out.ravel()]))
    assert found[0] == found[1]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_parts_of_a_split_are_views(axis: int) -> None:
    found = []
    for xp in (lazynp, np):
        x = xp.arange(24.0).reshape(4, 6)
        for k, part in enumerate([*xp.split(x, 2, axis), *xp.array_split(x, [1, 9, 2], axis)]):
            part += 100 * k
        found.append(x.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_kinds_of_meshgrids(sparse: bool, copy: bool) -> None:
    kinds = [type(xp.meshgrid([1, 2], [3], sparse=sparse, copy=copy)) for xp in (lazynp, np)]
    assert kinds[0] is kinds[1]


def test_grids_of_negative_size() -> None:
    for xp in (lazynp, np):
        with pytest.raises(ValueError, match="negative dimensions"):
            xp.mgrid[3:0, 0:2]


def test_arrays_of_two_owners_share_nothing() -> None:
    x, y = lazynp.arange(3.0), lazynp.arange(3.0)
    for asked in (lazynp.shares_memory, lazynp.may_share_memory):
        assert not asked(x, y) and not asked(x[1:], y[1:])
        assert asked(x, x[1:]) and asked(x, x)
    assert lazynp.may_share_memory(x[::2], x[1::2]) and not lazynp.shares_memory(x[::2], x[1::2])
