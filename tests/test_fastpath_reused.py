"""Views that take the memory of dead ones: NumPy's arrays, their paths and handles."""

import gc
import itertools
import random
import weakref

import numpy
import pytest

import lazynp
from lazynp import _fronts
from lazynp._array import NDArray, Scalar

FLAGS = ("C", "F", "W", "A", "O")


def looks(x):
    return x.shape, x.strides, x.dtype, x.tolist(), tuple(x.flags[name] for name in FLAGS)


def outcome(x, index):
    try:
        found = x[index]
    except Exception as error:
        return type(error), str(error)
    return looks(found) if found.ndim else found.item()


def sources(np):
    x = np.arange(120.0).reshape(4, 5, 6)
    yield from (x, x.T, x[1:, ::2], x[:0], x[:1], x[::-1, :, 1], x[:, None])
    yield np.arange(9, dtype="i2")
    yield np.ones((2, 1, 3), complex)
    yield np.arange(48).reshape(2, 2, 3, 4)
    yield np.arange(32).reshape(1, 2, 2, 2, 4)  # more axes than are kept


def item(draw):
    kind = draw.randrange(6)
    bound = [None, *range(-8, 8)]
    if kind < 2:
        return draw.randrange(-4, 4)
    if kind < 4:
        return None if kind == 2 else Ellipsis
    return slice(*(draw.choice(bound) for _ in range(3)))


def test_basic_indices():
    draw, kept = random.Random(0), []
    pairs = list(zip(sources(numpy), sources(lazynp)))
    for _ in range(400):
        theirs, ours = draw.choice(pairs)
        index = tuple(item(draw) for _ in range(draw.randrange(4)))
        if len(index) == 1 and draw.random() < 0.5:
            (index,) = index
        assert outcome(theirs, index) == outcome(ours, index), index
        if draw.random() < 0.1:  # others take the memory of those that died
            try:
                kept.append((theirs[index], ours[index]))
            except (IndexError, ValueError):
                continue
    for theirs, ours in kept:
        assert theirs.tolist() == ours.tolist()


@pytest.mark.parametrize("bound", [2**63, -(2**63), 2**70, -(2**70)])
def test_bounds_beyond_any_array(bound):
    theirs, ours = numpy.arange(5), lazynp.arange(5)
    for index in (slice(bound), slice(bound, None), slice(None, None, bound), slice(4, bound, -1)):
        assert outcome(theirs, index) == outcome(ours, index)
    assert outcome(theirs, bound)[0] is outcome(ours, bound)[0]


SHOWN = {
    "T": lambda x: x.T,
    "reshape": lambda x: x.reshape(6, -1),
    "ravel": lambda x: x.ravel(),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "part of T": lambda x: x.T[1:, 0],
    "T of part": lambda x: x[1:, ::2].T,
    "of one": lambda x: x[:1, :1].reshape(1),
    "of none": lambda x: x[:0].reshape(0, 2),
}


@pytest.mark.parametrize("dtype", ["F", "D", "d", "i2"])
@pytest.mark.parametrize("name", SHOWN)
def test_other_views(name, dtype):
    found = []
    for np in (numpy, lazynp):
        x = (np.arange(12).reshape(3, 4) * (1 + 2j)).real.astype(dtype)
        for _ in range(4):  # at first, Python makes them
            view = SHOWN[name](x)
            before = looks(view)
            if view.flags.writeable:
                view[...] = 7
            found.append((before, x.tolist()))
    assert found[:4] == found[4:]


def test_what_others_hold_is_not_reused():
    x = lazynp.arange(10.0)
    held = [numpy.asarray(x[1:4]), memoryview(numpy.asarray(x[2:5])), x[3:6], x[:2][None]]
    watched = numpy.asarray(x[4:7])
    ref = weakref.ref(watched)
    del watched
    for _ in range(200):
        x[5:8], x[5:], x[None, 1:]
    assert held[0].tolist() == [1, 2, 3] and held[1].tolist() == [2, 3, 4]
    assert held[2].tolist() == [3, 4, 5] and held[3].tolist() == [[0, 1]]
    assert ref() is None or ref().tolist() == [4, 5, 6]


def test_the_collector_sees_no_dead_view():
    x = lazynp.arange(24.0).reshape(4, 6)
    for _ in range(50):
        views = [x[1:], x[1], x[1:, 2:], x.T[1:], x[1:][1:][1:], x.reshape(6, 4)]
        del views
    for found in gc.get_objects():
        if type(found) is tuple or type(found) is list and len(found) == 5:
            list(found)  # raises or crashes if an item is missing


def test_a_view_keeps_its_owner_and_no_longer():
    x = lazynp.ones(5)
    view = x[1:][1:]
    ref = weakref.ref(x)
    del x
    assert view.tolist() == [1, 1, 1] and ref() is not None
    del view
    assert ref() is None


def test_lengths():
    for np in (numpy, lazynp):
        x = np.zeros((3, 4))
        assert [len(x), len(x[1]), len(x.T), len(x[:0]), len(x[None])] == [3, 4, 4, 0, 1]
        with pytest.raises(TypeError, match="len\\(\\) of unsized object"):
            len(np.array(1.0))
        with pytest.raises(TypeError, match="has no len"):
            len(x[0, 0])


class Long(lazynp.ndarray):
    def __len__(self):
        return 99


def test_the_length_of_a_class_of_the_users():
    assert len(lazynp.zeros(3).view(Long)) == 99


def test_all_slots_have_their_fronts():
    if not _fronts.BUILT:
        return
    binary = ["add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "lshift",
              "rshift", "matmul"]  # fmt: skip
    in_place, single = ["iadd", "isub", "imul", "itruediv"], ["neg", "abs", "invert", "bool"]
    single += ["int", "float", "index"]
    others = ["pow", "lt", "le", "eq", "ne", "gt", "ge", "getitem", "setitem"]
    expected = 0
    for cls, more in ((NDArray, ["len"]), (Scalar, ["hash"])):
        has = {
            name: next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)
            for name in (f"__{n}__" for n in binary + in_place + single + others + more)
        }
        reflected = {n: getattr(cls, f"__r{n}__") for n in binary}
        fronts = {n[2:-2] for n, f in has.items() if type(f) is _fronts.fastpath.Front}
        for n in binary:
            if type(reflected[n]) is not _fronts.fastpath.Front:
                fronts.discard(n)
        expected += len(fronts)
    assert _fronts.fastpath.take_slots() == expected


def test_elements_of_a_class_of_the_users():
    found = []
    for np in (numpy, lazynp):
        x = np.arange(6.0).reshape(2, 3).view(type("Derived", (np.ndarray,), {}))
        view = x[1]
        before = [x[1, 2], view[0], x.T[2, 0], view[-1]]
        x[1, 2] = 9
        assert all(not isinstance(e, np.ndarray) for e in before)
        for wrong in (3, -4):
            with pytest.raises(IndexError, match="out of bounds"):
                view[wrong]
        found.append([float(e) for e in (*before, x[1, 2], view[2], view[numpy.int64(1)])])
    assert found[0] == found[1]


OPERATORS = "+ - * / // % ** < <= > >= == !=".split()
NUMBERS = [
    numpy.float64(2.5), numpy.float32(0.5), numpy.int64(-3), numpy.int8(100), numpy.uint8(200),
    numpy.bool_(True), numpy.complex128(1 + 2j), numpy.array(2.5), numpy.array(3), numpy.nan,
]  # fmt: skip


@pytest.mark.parametrize("sign", OPERATORS)
def test_numpys_numbers_and_scalars(sign):
    operator = eval(f"lambda a, b: a {sign} b")
    ufuncs = {"+": numpy.add, "*": numpy.multiply, "<": numpy.less, "==": numpy.equal}

    def of(a, b, compute=operator):
        try:
            out = compute(a, b)
        except (TypeError, ValueError) as error:
            return type(error)
        return numpy.asarray(out).dtype, repr(numpy.asarray(out).tolist())

    with numpy.errstate(all="ignore"):
        for number, value in itertools.product(NUMBERS, [1.5, 4, True, 1 - 1j]):
            theirs, ours = numpy.array([value])[0], lazynp.array([value])[0]
            assert of(number, theirs) == of(number, ours), (number, value)
            assert of(theirs, number) == of(ours, number), (number, value)
            if sign in ufuncs:
                asked = ufuncs[sign]
                assert of(number, theirs, asked) == of(number, ours, asked), (number, value)


def test_parts_of_scalars():
    for np in (numpy, lazynp):
        for value in (np.array([1 + 2j])[0], np.ones(1, "F")[0], np.ones(1)[0], np.arange(2)[1]):
            for name in ("real", "imag"):
                part = getattr(value, name)
                assert part == getattr(complex(value), name)
                assert part.dtype == getattr(numpy.empty(0, value.dtype), name).dtype
                with pytest.raises(AttributeError, match="not writable"):
                    setattr(value, name, 1)


@pytest.mark.parametrize(
    "form",
    ["x ** 'a'", "'a' ** x", "x ** None", "{} ** x", "pow(x, 2, 3)", "pow(2, x, 3)", "k ** -1",
     "x ** s", "s ** x", "2 ** s", "numpy.float64(2) ** x", "x ** [1, 2]", "[1, 2] ** x", "2j ** x",
     "x ** numpy.ones(3)", "True ** x", "x ** Other()", "Other() ** x", "pow(x, 2, None)"],
)  # fmt: skip
def test_powers_do_and_raise_as_in_numpy(form: str) -> None:
    class Other:
        __array_ufunc__ = None

        def __rpow__(self, other: object) -> str:
            return f"of {type(other).__name__}"

    found = []
    for np in (numpy, lazynp):
        x = np.array([2.0, 3.0])
        names = {"numpy": numpy, "x": x, "s": x[1], "k": np.array([1, 2]), "Other": Other}
        try:
            result = eval(form, names)
            found.append(result if isinstance(result, str) else numpy.asarray(result).tolist())
        except Exception as error:
            found.append(type(error))
    assert found[0] == found[1]
