"""Functions that NumPy runs: memory lies as NumPy's would, operands are elements."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy
import pytest

import lazynp

FILLED = {
    "C": lambda np: np.zeros((2, 3)),
    "F": lambda np: np.zeros((2, 3), order="F"),
    "transposed": lambda np: np.zeros((2, 3)).T,
    "a sum in F": lambda np: np.ones((2, 3), order="F") * 2 + 1,
    "rows": lambda np: np.zeros((4, 3))[1:3],
    "columns": lambda np: np.zeros((2, 4))[:, 1:],
    "every second": lambda np: np.zeros(6)[::2],
    "backwards": lambda np: np.zeros(6)[::-1],
    "one": lambda np: np.zeros((4, 4))[1:2, 1:2],
    "0-d": lambda np: np.zeros(()),
    "none": lambda np: np.zeros((0, 3)),
}


@pytest.mark.parametrize("execution", ["adaptive", "compiled", "reference"])
@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize("method", ["random", "standard_normal", "standard_exponential"])
def test_generators_fill_memory_as_it_lies(method: str, name: str, execution: Any) -> None:
    def outcome(np: Any) -> Any:
        out = FILLED[name](np)
        try:
            assert getattr(np.random.default_rng(3), method)(out=out) is out
        except ValueError as error:
            return str(error), out.tolist()
        return numpy.asarray(out).tolist()

    with lazynp.config(execution=execution):
        assert outcome(lazynp) == outcome(numpy)


@pytest.mark.parametrize("name", ["isalpha", "isdigit", "str_len", "isspace"])
def test_positional_out_of_functions_of_text(name: str) -> None:
    def outcome(np: Any) -> Any:
        out = np.zeros(3, int if name == "str_len" else bool)
        assert getattr(np.strings, name)(np.array(["ab", "1", " "]), out) is out
        return out.tolist()

    assert outcome(lazynp) == outcome(numpy)


class Boxed:
    """An object whose `__array__` gives an array of the program's."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.x


def test_objects_that_give_lazy_arrays_are_elements() -> None:
    x = lazynp.array([1.0, 2.0])
    lazynp.testing.assert_allclose(Boxed(x), [1.0, 2.0])
    lazynp.testing.assert_array_equal([1.0, 2.0], Boxed(x))
    lazynp.testing.assert_array_less(Boxed(x), Boxed(x + 1))
    with pytest.raises(AssertionError):
        lazynp.testing.assert_array_equal(Boxed(x), [1.0, 3.0])
    assert lazynp.ma.array(Boxed(x)).tolist() == [1.0, 2.0]
    assert float(lazynp.random.default_rng(0).choice(Boxed(x[:1]))) == 1.0
    written = io.StringIO()
    lazynp.savetxt(written, Boxed(x), fmt="%d")
    assert written.getvalue() == "1\n2\n"


def test_objects_that_give_numpys_arrays_are_numpys_to_convert() -> None:
    class Counting(Boxed):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Counting)

    lazynp.testing.assert_equal(Counting(numpy.ones(2)), Counting(numpy.zeros(2)))


HOSTED = {
    "objects": "np.arange(6).astype(object).reshape(2, 3)",
    "long doubles": "np.arange(6, dtype='g').reshape(2, 3)",
    "dates": "np.arange(6).astype('M8[D]').reshape(2, 3)",
    "durations": "np.arange(6).astype('m8[D]').reshape(2, 3)",
    "text": "np.array([['a', 'b', 'c'], ['d', 'e', 'f']])",
    "records": "np.zeros((2, 3), 'i4, f8')",
    "numbers": "np.arange(6.0).reshape(2, 3)",
}
LYING = {
    "in Fortran's order": "np.asfortranarray({})",
    "transposed": "({}).reshape(3, 2).T",
    "as a copy of a transposed": "({}).reshape(3, 2).T.copy()",
    "in a third order": "np.stack([{}] * 2).transpose(2, 0, 1)",
}
ORDERED = """
np.sort(x, 0)
np.partition(x, 1, 0)
x == x
np.where(x == x, x, x)
np.minimum.accumulate(x)
np.cumsum(x, 0)
np.cumprod(x, 1)
np.clip(x, x, x)
np.add.accumulate(x, 1)
np.char.add(x, x)
np.strings.str_len(x)
np.is_busday(x)
np.datetime_as_string(x)
np.frompyfunc(lambda t: t, 1, 1)(x)
np.frompyfunc(lambda t, u: t, 2, 1)(x, x)
np.frompyfunc(lambda t, u: t, 2, 1).accumulate(x)
np.frompyfunc(lambda t, u: t, 2, 1).reduce(x, axis=0)
np.vectorize(lambda t: t, otypes="O")(x)
np.random.default_rng(1).permuted(x, axis=0)
np.nan_to_num(x)
np.i0(x)
np.block([[x], [x]])
np.block([[x, x]])
np.block(x)
x.byteswap().byteswap()
pickle.loads(pickle.dumps(x))
pickle.loads(pickle.dumps(x.T))
pickle.loads(pickle.dumps(x.T.copy()))
""".strip().split("\n")


@pytest.mark.parametrize("lying", LYING)
@pytest.mark.parametrize("kind", HOSTED)
def test_results_lie_as_numpys(kind: str, lying: str) -> None:
    """What they show is a view or a copy by that: `y = np.sort(x).T.ravel()`."""
    made = LYING[lying].format(HOSTED[kind])

    def outcome(np: Any, call: str) -> Any:
        x = eval(made, {"np": np})
        if ".byteswap" in call and x.dtype.hasobject:
            return None
        try:
            y = eval(call, {"np": np, "x": x, "pickle": pickle})
        except (TypeError, ValueError):
            return "refused"
        values = "" if "i0" in call else str(y.tolist())  # its last digits differ
        return y.strides, y.flags.c_contiguous, y.flags.f_contiguous, values

    for call in ORDERED:
        assert outcome(lazynp, call) == outcome(numpy, call), call


def test_a_write_to_the_rows_of_a_sorted_array_is_seen() -> None:
    def outcome(np: Any) -> Any:
        ordered = np.sort(np.asfortranarray(np.array([["b", "a"], ["d", "c"]])), 1)
        ordered.T.reshape(-1)[0] = "z"
        return ordered.tolist()

    assert outcome(lazynp) == outcome(numpy)


SEEDS: list[Any] = [
    5, [1, 2], (3, 4), True, numpy.int64(4), numpy.array([7, 8]), numpy.random.SeedSequence(4),
    "a", 1.5, -1, [-1],
]  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_generators_of_any_seed_draw_as_numpys(seed: Any) -> None:
    found: list[Any] = []
    for module in (lazynp, numpy):
        try:
            made = module.random.default_rng(seed)
            drawn = [float(made.normal()) for _ in range(3)], made.integers(0, 99, 5).tolist()
            found.append((drawn, isinstance(made, numpy.random.Generator), str(made)))
        except (TypeError, ValueError) as error:
            found.append((type(error), str(error)))
    assert found[0] == found[1]


def test_a_generator_of_numpys_shares_its_stream() -> None:
    numpys, other = numpy.random.default_rng(3), numpy.random.default_rng(3)
    ours = lazynp.random.default_rng(numpys)
    assert [float(ours.normal()), numpys.normal()] == [other.normal(), other.normal()]
    assert ours.bit_generator is numpys.bit_generator
    assert float(pickle.loads(pickle.dumps(ours)).normal()) == numpys.normal()
    of_array = lazynp.random.default_rng(lazynp.array([5, 6]))
    assert float(of_array.normal()) == numpy.random.default_rng([5, 6]).normal()
    assert lazynp.random.default_rng(ours) is ours


@pytest.mark.parametrize("kind", ["f8", "i4", "i4,f8", "O", "U3", "M8[D]"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,), (4,)])
def test_permutations_of_nothing(kind: str, shape: Any) -> None:
    def outcome(np: Any) -> Any:
        x = np.zeros(shape, kind)
        rng, state = np.random.default_rng(3), np.random.RandomState(3)
        made = [rng.permutation(x), state.permutation(x), rng.permuted(x), rng.permutation(x[:0])]
        return [(y.shape, str(y.dtype), y.tolist()) for y in made], rng.random(), state.rand()

    for _ in range(3):
        assert outcome(lazynp) == outcome(numpy)


@pytest.mark.parametrize("options", [{}, {"overwrite_input": True}, {"overwrite_input": [1]}])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_medians_that_may_sort_within_the_array(axis: Any, options: Any) -> None:
    def outcome(np: Any) -> Any:
        x = np.arange(12.0)[::-1].reshape(3, 4)
        found = np.ma.median(x, axis, **options, keepdims=axis is None)
        return numpy.asarray(found).tolist(), sorted(x.ravel().tolist())

    assert outcome(lazynp) == outcome(numpy)


def test_a_median_may_not_sort_within_an_array_that_is_read_only() -> None:
    x = lazynp.arange(3.0)
    x.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        lazynp.ma.median(x, overwrite_input=True)


INTO = """
np.round(x, 1, out=v) | x.round(1, out=v) | np.take(x, [0, 1, 2], out=v) | np.dot(b, x, out=v)
np.mean(b, axis=0, out=v) | np.compress([True] * 3, x, out=v) | np.choose([0, 0, 0], [x], out=v)
np.einsum("i->i", x, out=v) | np.median(b, axis=0, out=v) | np.percentile(b, 50, axis=0, out=v)
np.nanmax(b, axis=0, out=v) | np.sum(b, axis=0, out=v) | np.add(x, x, out=v) | v.fill(x[0])
np.maximum.reduce(b, axis=0, out=v) | np.cumsum(x, out=v) | np.clip(x, x[0], x[1], out=v)
np.copyto(v, x) | np.putmask(v, [True] * 3, x) | np.place(v, [True] * 3, x) | np.put(v, [0], x[1:])
np.max(b, axis=0, out=v) | np.where([True] * 3, x, v) | np.fill_diagonal(w, x[0]) | v.sort()
np.stack([x, x, x], out=w) | np.trace(np.array([b, b, b]), out=v) | np.nancumsum(x, out=v)
"""


@pytest.mark.parametrize("kind", ["g", "O", "M8[D]", "m8[s]", ">f8"])
@pytest.mark.parametrize(
    "call", [c.strip() for row in INTO.split("\n") for c in row.split("|") if c]
)
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_what_is_read_only_stays_as_it_is(call: str, kind: str) -> None:
    def outcome(np: Any) -> Any:
        b = (np.arange(9).reshape(3, 3) + 1).astype(kind)
        v, w = b[0] * 1 if kind[0] in "gO>" else b[0].copy(), b.copy()
        before = v.tolist(), w.tolist()
        v.setflags(write=False)
        w.setflags(write=False)
        names = {"np": np, "b": b, "x": b[1].copy(), "v": v, "w": w}
        try:
            exec(call, names)
        except (TypeError, ValueError) as error:
            found = isinstance(error, TypeError)
        else:
            found = None
        return found, (v.tolist(), w.tolist()) == before

    assert outcome(lazynp) == outcome(numpy)


def test_a_scalar_is_no_output() -> None:
    for np in (numpy, lazynp):
        x = np.arange(3.0).astype(">f8")
        with pytest.raises(TypeError):
            np.dot(x, x, out=x[0])
        with pytest.raises(TypeError):
            np.median(x, out=x[0])
