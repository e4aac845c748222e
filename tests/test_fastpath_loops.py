"""Elementwise operations on small arrays run NumPy's inner loops without the ufunc around them.

Each bit of the result, its dtype, shape and order in memory, and each exception must be NumPy's,
for every ufunc, every dtype and every way in which memory can lie.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp._recorder import local
from tests.helpers import be_eager

pytestmark = pytest.mark.own_policy

UFUNCS = sorted(
    name
    for name, f in vars(numpy).items()
    if isinstance(f, numpy.ufunc) and isinstance(getattr(np, name, None), np.ufunc)
    if f.signature is None and f.nout == 1 and f.nin <= 2 and f.__name__ == name
)
DTYPES = "?bBhHiIlLqQefdFD"
IN_PLACE = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv,
    operator.imod, operator.ipow, operator.iand, operator.ior, operator.ixor, operator.ilshift,
    operator.irshift,
]  # fmt: skip
NUMBERS = [
    2.5,
    -1.5,
    0.0,
    -0.0,
    float("nan"),
    float("inf"),
    1e300,
    3,
    -2,
    0,
    2**40,
    2**70,
    True,
    1j,
]


@pytest.fixture(autouse=True)
def eagerly() -> Iterator[None]:
    with np.config(execution="adaptive"):
        local.recorder.reset_policy()
        be_eager()
        yield
    local.recorder.reset_policy()


def numbers(dtype: str, size: int) -> Any:
    """Numbers of which many are special."""
    kind = numpy.dtype(dtype).kind
    if kind in "iu":
        ends = numpy.iinfo(dtype)
        some = [0, 1, 2, 3, 7, ends.max, ends.min, ends.max - 1, 5, 11, 63]
    elif kind == "b":
        some = [True, False, True, True, False]
    else:
        some = [0.0, -0.0, 1.0, -1.5, numpy.nan, numpy.inf, -numpy.inf, 0.5, 3.25, 1e-5, 6e4]
        if kind == "c":
            some = [complex(a, b) for a, b in zip(some, some[3:] + some[:3], strict=True)]
    return numpy.resize(numpy.array(some, dtype), size)


# how memory can lie: of an array `x` of 90 numbers
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "one axis": lambda x: x[:11],
    "others": lambda x: x[7:18],
    "every third": lambda x: x[:33:3],
    "backwards": lambda x: x[10::-1],
    "one": lambda x: x[:1],
    "none": lambda x: x[:0],
    "rows": lambda x: x[:20].reshape(4, 5),
    "inner": lambda x: x[:42].reshape(6, 7)[1:-1, 1:-1],
    "upside down": lambda x: x[:20].reshape(4, 5)[::-1],
    "columns": lambda x: x[:20].reshape(5, 4).T,
    "a row": lambda x: x[:5],
    "a column": lambda x: x[:4].reshape(4, 1),
    "a column of rows": lambda x: x[:20].reshape(4, 5)[:, 2:3],
    "a block": lambda x: x[:60].reshape(3, 4, 5),
    "part of a block": lambda x: x[:60].reshape(3, 4, 5)[1:, :, ::2],
    "turned": lambda x: x[:60].reshape(3, 4, 5).transpose(1, 0, 2),
    "turned twice": lambda x: x[:60].reshape(3, 4, 5).transpose(2, 0, 1),
    "from behind": lambda x: x[:60].reshape(3, 4, 5).T,
    "part of columns": lambda x: x[:42].reshape(6, 7).T[1:, ::2],
    "0-d": lambda x: x[3:4].reshape(()),
}  # fmt: skip
LENGTHS = (1500, 5000)  # other threads wait, and do not
# more than others wait for: of an array of 12,000 numbers
LARGE: list[dict[str, Callable[[Any], Any]]] = [
    {
        "one axis": lambda x: x[:5500],
        "backwards": lambda x: x[5499::-1],
        "every second": lambda x: x[:11000:2],
        "one": lambda x: x[7:8],
    },
    {
        "rows": lambda x: x[:10584].reshape(98, 108),
        "inner": lambda x: x[:11000].reshape(100, 110)[1:-1, 1:-1],
        "every second": lambda x: x[:11760].reshape(98, 120)[:, :108],
        "upside down": lambda x: x[:10584].reshape(98, 108)[::-1],
        "turned": lambda x: x[:10584].reshape(108, 98).T,
        "a row": lambda x: x[:108],
        "a column": lambda x: x[:98].reshape(98, 1),
        "a block": lambda x: x[:10584].reshape(7, 14, 108),
        "turned block": lambda x: x[:10584].reshape(7, 108, 14).transpose(0, 2, 1),
        "part turned": lambda x: x[:11664].reshape(108, 108)[:, 10:].T,
    },
    {
        "short rows": lambda x: x[:9000].reshape(3000, 3),
        "part of rows": lambda x: x[:12000].reshape(3000, 4)[:, :3],
        "a short row": lambda x: x[:3],
        "a step in a row": lambda x: x[:9:3],
        "a long column": lambda x: x[:3000].reshape(3000, 1),
        "every second of a column": lambda x: x[:6000].reshape(6000, 1)[::2],
    },
]
PAIRS = [(a, b) for a in LAYOUTS for b in LAYOUTS]


def bits(x: Any) -> bytes:
    """The bytes, with one NaN for all."""
    x = numpy.array(x, order="K")
    if x.dtype.kind == "c":
        return bits(x.real) + bits(x.imag)
    if x.dtype.kind == "f":
        x[numpy.isnan(x)] = numpy.nan
    return x.tobytes()


def outcome(f: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    with numpy.errstate(all="ignore"):
        try:
            out = f(*args)
        except Exception as e:
            return type(e).__mro__[-3:], str(e)
    if isinstance(out, np.Array):
        strides, out = out.strides, numpy.array(out, order="K")
        return out.dtype, out.shape, strides, bits(out), out.ndim and "array"
    return out.dtype, out.shape, out.strides, bits(out), out.ndim and "array"


def part(
    x: Any, layout: str, layouts: dict[str, Callable[[Any], Any]] = LAYOUTS
) -> tuple[Any, Callable[[Any], Any]]:
    return x, layouts[layout]


def check(name: str, *given: Any) -> None:
    """Compare three calls: the first two may be those that fill memo tables. An operand is a
    number, NumPy's array, or what `part` returns: both libraries make the part themselves.
    """
    theirs = [x[1](x[0]) if isinstance(x, tuple) else x for x in given]
    ours = [x[1](np.array(x[0])) if isinstance(x, tuple) else x for x in given]
    ours = [np.array(x) if isinstance(x, numpy.ndarray) else x for x in ours]
    expected, operands = outcome(getattr(numpy, name), *theirs), theirs
    for _ in range(3):
        got = outcome(getattr(np, name), *ours)
        if type(expected[0]) is tuple:  # an exception
            assert got[0] == expected[0], (name, operands, expected, got)
        else:
            assert got == expected, (name, operands, expected, got)


@pytest.mark.parametrize("name", [n for n in UFUNCS if getattr(numpy, n).nin == 1])
def test_of_one_operand(name: str) -> None:
    for dtype in DTYPES:
        x = numbers(dtype, 90)
        for layout in LAYOUTS:
            check(name, part(x, layout))
        for size in LENGTHS:
            check(name, numbers(dtype, size))


@pytest.mark.parametrize("name", [n for n in UFUNCS if getattr(numpy, n).nin == 2])
def test_of_two_operands(name: str) -> None:
    for at, dtype in enumerate(DTYPES):
        x = numbers(dtype, 90)
        y = numpy.roll(x, 2)
        for a, b in PAIRS[
            at % 3 :: 3
        ]:  # of each dtype a third, of each pair of layouts some dtypes
            check(name, part(x, a), part(y, b))
        for layout in ("one axis", "every third", "inner", "columns"):
            for number in [*NUMBERS, x[4], y[0], numpy.float32(2)]:
                if name == "power" and type(number) is int:
                    continue  # done by multiplication
                check(name, part(x, layout), number)
                check(name, number, part(x, layout))
        for size in LENGTHS:
            check(name, numbers(dtype, size), numbers(dtype, size))


@pytest.mark.parametrize("name", [n for n in UFUNCS if getattr(numpy, n).nin == 2])
def test_of_two_large_operands(name: str) -> None:
    for at, dtype in enumerate("dfFql?eB"):
        x = numbers(dtype, 12_000)
        y = numpy.roll(x, 2)
        for layouts in LARGE:
            pairs = [(a, b) for a in layouts for b in layouts]
            for a, b in pairs[at % 4 :: 4]:
                check(name, part(x, a, layouts), part(y, b, layouts))
            check(name, part(x, next(iter(layouts)), layouts), y[3])


CHAINS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: (x + y) * y,
    lambda x, y: y - (x * y),
    lambda x, y: ((x - y) / 3.0 + x) * 0.5,
    lambda x, y: (x + y) // (y + 2),
    lambda x, y: (x * 2 > y) & (x != y),
    lambda x, y: -(x + y),
    lambda x, y: (x + y) ** 2,
    lambda x, y: (x + 1) + (x + 1),
    lambda x, y: (x + y) + (x + y)[::-1],
    lambda x, y: ~(x < y) | (y < x),
]


@pytest.mark.parametrize("f", CHAINS)
def test_of_large_temporaries(f: Callable[..., Any]) -> None:
    """An operand that is lost has the memory for the result."""
    for dtype in "dfFqi":
        x = numbers(dtype, 12_000)
        y = numpy.roll(x, 2)
        for layouts in LARGE:
            for a in layouts.values():
                for b in layouts.values():
                    if dtype == "F" and f in (CHAINS[3], CHAINS[4], CHAINS[9]):
                        continue  # not of complex numbers
                    want = outcome(f, a(x), b(y))
                    ours = a(np.array(x)), b(np.array(y))
                    before = [bits(z) for z in ours]
                    for _ in range(3):
                        assert outcome(f, *ours) == want
                    assert [bits(z) for z in ours] == before


def test_of_powers() -> None:
    for dtype in DTYPES:
        x = numbers(dtype, 90)
        for layout in LAYOUTS.values():
            given = layout(np.array(x))
            for y in (2, 2.0, 3, 0.5, True, numpy.float64(2), 2**70, -1 if dtype in "efdFD" else 1):
                expected = outcome(operator.pow, layout(x), y)
                for _ in range(3):
                    got = outcome(operator.pow, given, y)
                    assert got[: 1 if type(expected[0]) is tuple else None] in (
                        expected,
                        expected[:1],
                    )


def test_of_two_dtypes() -> None:
    for name in ("add", "subtract", "divide", "less", "power", "ldexp", "copysign", "left_shift"):
        for a in DTYPES:
            for b in DTYPES:
                check(name, numbers(a, 7), numbers(b, 7))


@pytest.mark.parametrize("name", [n for n in UFUNCS if getattr(numpy, n).nin == 2])
def test_of_a_float_and_another_dtype(name: str) -> None:
    """NumPy casts one operand, or both."""
    for dtype in DTYPES:
        for size in (7, 1500, 5000):
            x, y = numbers(dtype, size), numpy.roll(numbers("d", size), 2)
            for a, b in ((x, y), (y, x), (x, 2.5), (0.5, x), (x, y[2]), (y[3], x), (x, y[::-1])):
                check(name, a, b)
            check(name, x[:6].reshape(2, 3), y[:6].reshape(2, 3))
            check(name, x[:6].reshape(2, 3).T, y[:6].reshape(3, 2))
            check(name, x[:6].reshape(2, 3), y[:3])


@pytest.mark.parametrize("name", [n for n in UFUNCS if getattr(numpy, n).nin == 2])
def test_of_a_complex_and_another_dtype(name: str) -> None:
    """As above. Products of complex numbers depend on how many a loop gets at once."""
    for dtype in DTYPES:
        for size in (1, 7, 1024, 1500) if dtype in "?ilfdD" else (7,):
            x, z = numbers(dtype, size), numpy.roll(numbers("D", size), 2)
            others = (1, 2.5, -0.5j, True, 10**400, z[-1], numpy.float64(1.5), numpy.float32(2))
            for a, b in ((x, z), (z, x), (x, 1j), (2 - 1j, x), (x, z[0]), (z[-1], x), (x, z[::-1])):
                check(name, a, b)
            for other in others:
                check(name, z, other)
                check(name, other, z)
            check(name, x[:6].reshape(-1, 1), z[:6].reshape(-1, 1))


@pytest.mark.parametrize("power", [2, 2.0, 0.5, -1, 3, 2j, 2 + 0j, 1.0])
def test_of_powers_of_complex(power: Any) -> None:
    for size in (1, 7, 200, 1500):
        z = numpy.cos(numpy.arange(size)) + 1j * numpy.sin(numpy.arange(size) * 0.7)
        want, ours = outcome(operator.pow, z, power), np.array(z)
        for _ in range(3):
            assert outcome(operator.pow, ours, power) == want


def test_of_large_temporaries_of_two_dtypes() -> None:
    for dtype in "?bilBLf":
        x, y = numbers(dtype, 5000), numpy.roll(numbers("d", 5000), 2)
        for f in (
            lambda x, y: x * 2.5 + y,
            lambda x, y: (x * 2.5) * x,
            lambda x, y: x - (y + 1.0),
            lambda x, y: (x > 0.5) & (y + 1.0 > x),
        ):
            want, ours = outcome(f, x, y), (np.array(x), np.array(y))
            for _ in range(3):
                if not (dtype == "?" and type(want[0]) is tuple):
                    assert outcome(f, *ours) == want
            assert bits(ours[0]) == bits(x) and bits(ours[1]) == bits(y)


def test_of_swapped_bytes_and_of_unaligned_memory() -> None:
    x = numbers("f8", 11)
    raw = numpy.zeros(11 * 8 + 1, "u1")
    unaligned = raw[1:].view("f8")
    unaligned[...] = x
    for y in (x.astype(">f8"), unaligned):
        check("add", y, y)
        check("add", y, 2.5)


def test_of_changing_lengths() -> None:
    x, y = numbers("d", 90), numbers("d", 90)[::-1].copy()
    a, b = np.array(x), np.array(y)
    for n in range(90):
        for f in (operator.add, operator.le, operator.mul, operator.pow):
            assert outcome(f, a[:n], b[n:][:n]) == outcome(f, x[:n], y[n:][:n])
            assert outcome(f, 2.5, a[n:]) == outcome(f, 2.5, x[n:])
    for wrong in ((3, 4), (2, 90)):
        assert outcome(operator.add, a[: wrong[0]], b[: wrong[1]]) == outcome(
            operator.add, x[: wrong[0]], y[: wrong[1]]
        )


# -- products --------------------------------------------------------------------------------------

MATRICES: dict[str, Callable[[Any], Any]] = {
    "4": lambda x: x[:4],
    "others": lambda x: x[7:11],
    "every third": lambda x: x[:12:3],
    "backwards": lambda x: x[10:2:-2],
    "one": lambda x: x[:1],
    "none": lambda x: x[:0],
    "five": lambda x: x[:5],
    "repeated": lambda x: np.broadcast_to(x[:1], (4,)) if not isinstance(x, numpy.ndarray) else
    numpy.broadcast_to(x[:1], (4,)),
    "4, 5": lambda x: x[:20].reshape(4, 5),
    "5, 4": lambda x: x[:20].reshape(5, 4),
    "4, 4": lambda x: x[:16].reshape(4, 4),
    "turned": lambda x: x[:20].reshape(5, 4).T,
    "inner": lambda x: x[:42].reshape(6, 7)[1:-1, 1:-1],
    "steps": lambda x: x[:80].reshape(8, 10)[::2, ::2],
    "upside down": lambda x: x[:20].reshape(4, 5)[::-1],
    "1, 4": lambda x: x[:4].reshape(1, 4),
    "4, 1": lambda x: x[:4].reshape(4, 1),
    "1, 1": lambda x: x[:1].reshape(1, 1),
    "a column": lambda x: x[:20].reshape(4, 5)[:, 1:2],
    "0, 4": lambda x: x[:0].reshape(0, 4),
    "2, 4, 4": lambda x: x[:32].reshape(2, 4, 4),
    "0-d": lambda x: x[3:4].reshape(()),
}  # fmt: skip


@pytest.mark.parametrize("f", [operator.matmul, "dot", "inner", "vdot", "method"])
def test_of_products(f: Any) -> None:
    for dtype in DTYPES:
        x, y = numbers(dtype, 90), numpy.roll(numbers(dtype, 90), 4)
        a, b = np.array(x), np.array(y)
        for one in MATRICES.values():
            for other in MATRICES.values():
                theirs, ours = f, f
                if f == "method":
                    theirs = ours = lambda p, q: p.dot(q)
                elif isinstance(f, str):
                    theirs, ours = getattr(numpy, f), getattr(np, f)
                want = outcome(theirs, one(x), other(y))
                for _ in range(2):
                    got = outcome(ours, one(a), other(b))
                    if type(want[0]) is tuple:
                        assert got[0] == want[0], (dtype, want, got)
                    else:
                        assert got == want, (dtype, want, got)


def test_of_products_of_two_dtypes() -> None:
    for a in DTYPES:
        for b in DTYPES:
            x, y = numbers(a, 20).reshape(4, 5), numbers(b, 5)
            want = outcome(operator.matmul, x, y)
            assert outcome(operator.matmul, np.array(x), np.array(y)) == want


# -- in place --------------------------------------------------------------------------------------


def in_place(
    f: Callable[..., Any], np: Any, whole: Any, target: Callable[[Any], Any], other: Any
) -> tuple[Any, ...]:
    """`target(whole) op= other`, where `other` may be a function of the whole."""
    whole = np.array(whole)
    operand = other(whole) if callable(other) else other
    operand = np.asarray(operand) if isinstance(operand, numpy.ndarray) else operand
    result = []
    for _ in range(3):
        with numpy.errstate(all="ignore"):
            try:
                part = target(whole)
                result.append(f(part, operand) is part)
            except Exception as e:
                result.append(type(e).__mro__[-3:])
    whole = numpy.asarray(whole)
    return result, whole.dtype, bits(whole)


@pytest.mark.parametrize("f", IN_PLACE)
def test_in_place(f: Callable[..., Any]) -> None:
    for at, dtype in enumerate(DTYPES):
        if f is operator.imul and dtype in "FD":
            continue  # there NumPy's own last bit depends on where the memory begins
        x = numbers(dtype, 90)
        others: list[Any] = [layout(numpy.roll(x, 3)) for layout in LAYOUTS.values()]
        others += [*NUMBERS, x[4], numpy.float32(2), numpy.int8(3)]
        others += LAYOUTS.values()  # of the array that is written
        for k, target in enumerate(LAYOUTS.values()):
            if k == len(LAYOUTS) - 1:
                continue  # NumPy gives a scalar, which is not written
            for other in others[(at + k) % 3 :: 3]:
                want = in_place(f, numpy, x, target, other)
                got = in_place(f, np, x, target, other)
                if f is operator.ipow and tuple in map(type, want[0]):
                    want, got = want[0][0], got[0][0]  # what an error leaves is no promise
                assert got == want, (f, dtype, k, other)


@pytest.mark.parametrize("f", IN_PLACE[:5])
def test_in_place_of_large_parts(f: Callable[..., Any]) -> None:
    for dtype in "dfqi?":
        x = numbers(dtype, 12_000)
        for layouts in LARGE:
            for target in list(layouts.values())[:5]:
                for other in (*layouts.values(), numpy.roll(x, 3)[:1], 2.5, 3):
                    want = in_place(f, numpy, x, target, other)
                    assert in_place(f, np, x, target, other) == want


@given(data=st.data())
def test_in_place_on_overlapping_parts(data: st.DataObject) -> None:
    def part() -> slice:
        start, step = data.draw(st.integers(0, 8)), data.draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
        start = 28 - start if step < 0 else start
        return slice(start, start + 5 * step, step)

    one, other = part(), part()
    f = data.draw(st.sampled_from(IN_PLACE[:4]))
    x = numpy.arange(1.0, 31.0)
    args = (x, lambda w: w[one], lambda w: w[other])
    assert in_place(f, np, *args) == in_place(f, numpy, *args)


def test_in_place_of_one_complex() -> None:
    """NumPy takes it for a reduction, whose product is rounded in another way."""
    for k in range(20):
        x = numpy.array([1 / (k + 3) + 1j / (k + 7)])
        for other in (x * 3, complex(x[0]) / 7, 1.1):
            want = in_place(operator.imul, numpy, x, lambda x: x, other)
            assert in_place(operator.imul, np, x, lambda x: x, other) == want


def test_memory_that_may_not_be_written() -> None:
    x = np.asarray(numpy.ones(5))
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x += 1.0
    assert x.tolist() == [1.0] * 5


def test_a_copy_does_not_see_what_is_written_in_place() -> None:
    x = np.arange(5.0)
    for k in range(4):
        before = x.copy()
        part = x[1:3]
        x += 1.0
        assert before.tolist() == [k + 0.0, k + 1.0, k + 2.0, k + 3.0, k + 4.0]
        assert part.tolist() == [k + 2.0, k + 3.0]
