"""What NumPy refuses is refused by its exception, and nothing else is, under each policy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import POLICIES, fresh_start


@pytest.fixture(autouse=True, params=POLICIES)
def policy(request: pytest.FixtureRequest) -> Iterator[str]:
    fresh_start()
    with np.config(execution=request.param):
        yield request.param


def outcome(call: Callable[[], Any]) -> Any:
    """The result, or which exception."""
    try:
        with numpy.errstate(all="ignore"):
            result = call()
    except Exception as e:
        return type(e).__name__, str(e)
    return getattr(result, "dtype", None), numpy.asarray(result).tolist()


BASES = ["u1", "u4", "u8", "i1", "i8", "?", "f4"]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("exponent", ["u8", "i8", "i1", -1, 3, 300, numpy.int64(-1), 0])
def test_powers_of_integers(base: str, exponent: Any) -> None:
    x = numpy.array([1, 0, 1] if base == "?" else [1, 2, 3]).astype(base)
    y = numpy.array([2, 1, 0], exponent) if isinstance(exponent, str) else exponent
    signs = (1, -1) if isinstance(exponent, str) and exponent != "u8" else (1,)
    for n in [y * sign for sign in signs]:
        m = np.array(n) if isinstance(n, numpy.ndarray) else n
        want = outcome(lambda n=n: x**n), outcome(lambda n=n: numpy.power(x, n))
        got = outcome(lambda m=m: np.array(x) ** m), outcome(lambda m=m: np.power(np.array(x), m))
        assert got == want, n


NAN = float("nan")


@pytest.mark.parametrize("right", [False, True])
def test_bins_with_nan(policy: str, right: bool) -> None:
    x = [0.5, 2.0, NAN, -1.0, 9.0, 0.0, 1.0, 3.0]
    several = list(itertools.product([0.0, 1.0, NAN], repeat=3))
    for bins in [*several, (NAN,), (1.0,), (), (0.0, 1.0, 2.0, NAN), (3.0, 1.0, 1.0, 0.0)]:
        want = outcome(lambda b=bins: numpy.digitize(numpy.array(x), numpy.array(b), right))
        got = outcome(lambda b=bins: np.digitize(np.array(x), np.array(b), right))
        assert got == want, bins


def test_bins_with_nan_in_a_function_that_is_staged() -> None:
    x, bins = numpy.array([0.5, 2.0, -1.0, 9.0]), numpy.array([0.0, 1.0, NAN])
    want = numpy.digitize(x, bins).tolist()
    assert np.jit(np.digitize)(np.array(x), np.array(bins)).tolist() == want
    assert np.jit(lambda x: np.digitize(x, bins))(np.array(x)).tolist() == want
    with pytest.raises(ValueError, match="monotonically"):
        np.jit(np.digitize)(np.array(x), np.array([0.0, 2.0, 1.0])).tolist()


class NoArray:
    """Says that it converts itself to an array, and does not."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return [1, 2]


CYCLIC: list[Any] = []
CYCLIC.append(CYCLIC)
BELOW: list[Any] = [1, [2]]
BELOW[1].append(BELOW)

REFUSED = """
np.array(cyclic) | np.asarray(below) | np.sum(cyclic) | x + cyclic | np.stack(cyclic) | x[cyclic]
np.concatenate(cyclic) | np.where(cyclic) | np.shape(cyclic) | np.array([x, cyclic]) | np.sin(below)
np.argmax(x, 0, [1]) | np.trace(x, 0, 0, 1, None, [1]) | np.take(x, [0], 0, [1])
np.dot(x, x, [1]) | np.compress([1], x, 0, [1]) | np.einsum("ij->i", x, out=[1]) | np.max(x, 0, [1])
np.trace(x, "a") | np.trace(x, 1.5) | np.trace(x, 0, 5, 1) | np.trace(x, 0, 1, 1) | np.trace(x[0])
np.diagonal(x, "a") | x.diagonal(1.5) | np.diagonal(x, 0, 5) | x.diagonal(x) | x.diagonal(10**30)
np.ravel(x, order=x) | x.ravel(x) | x.ravel(1) | x.ravel("") | x.flatten(x) | x.astype(int, order=x)
np.reshape(x, 4, order=x) | x.reshape(4, order="Z") | x.reshape(4, order="K") | x.copy(x)
x.to_device(3) | x.to_device(None) | np.concat(x, x) | np.stack(x, x)
np.repeat(x, inf) | np.repeat(x, [inf]) | np.repeat(x, 1j) | np.repeat(x, "a") | np.repeat(x, None)
np.repeat(x, -1) | np.repeat(x, float("nan")) | x.repeat(inf) | np.repeat(x, 10**30)
np.array(no) | x + no | np.sum(no) | np.sin(no) | x[no] | np.concatenate([no, no]) | np.array([no])
np.char.isalpha(3) | np.char.isdigit(x) | np.char.isnumeric(None) | np.char.isupper([1.5])
"""
EXPRESSIONS = [e.strip() for line in REFUSED.strip().splitlines() for e in line.split(" | ")]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_wrong_arguments(expression: str) -> None:
    """NumPy's exception class, and no word of what only lazynp knows."""
    names = {"cyclic": CYCLIC, "below": BELOW, "no": NoArray(), "inf": float("inf")}

    def tried(np: Any) -> Any:
        x = np.array([[1.0, 2.0], [3.0, 4.0]])
        return outcome(lambda: eval(expression, {"np": np, "x": x, **names}))

    want, got = tried(numpy), tried(np)
    assert got[0] == want[0], (got, want)
    assert "'_" not in got[1] and "lazynp" not in got[1]


EINSUMS = """
np.einsum() | np.einsum(a) | np.einsum("ij") | np.einsum("ij,jk->ik", a, b, out=np.zeros((2, 2)))
np.einsum("ij->i", a, out=np.zeros(5)) | np.einsum("ij->ij", a, out=np.zeros((3, 1)))
np.einsum("ij->", a, out=np.zeros(1)) | np.einsum("ij,jk->ik", a, b, out=np.zeros((3, 5, 1)))
"""


@pytest.mark.parametrize("expression", EINSUMS.strip().replace("\n", " | ").split(" | "))
def test_einsum_into_another_shape(expression: str) -> None:
    found = []
    for module in (np, numpy):
        names = {"np": module, "a": module.ones((3, 4)), "b": module.ones((4, 5))}
        found.append(outcome(lambda names=names: eval(expression, names)))
    assert found[0] == found[1]


def test_where_order_is_none_or_small() -> None:
    x, y = numpy.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    orders: list[Any] = [None, "c", "f", "F", "A", "k", "K"]
    for order in orders:
        assert y.ravel(order).tolist() == x.ravel(order).tolist()
        assert y.flatten(order).tolist() == x.flatten(order).tolist()
        if order not in ("k", "K"):
            assert y.reshape(3, 2, order=order).tolist() == x.reshape(3, 2, order=order).tolist()


ARRAYS_AS_DTYPES = """
x.sum(dtype=y) | x.prod(dtype=y) | x.sum(0, y) | np.sum(x, dtype=y) | x.mean(dtype=y)
x.cumsum(dtype=y) | np.cumprod(x, dtype=y) | x.view(y) | np.trace(x, dtype=y) | x.var(dtype=y)
np.einsum("ij->i", x, dtype=y) | np.matmul(x, x, dtype=y) | np.add.reduce(x, dtype=y)
np.add(x, x, dtype=y)
np.frombuffer(b"12345678", y) | np.logspace(1, 2, 2, dtype=y) | np.fromstring("1", y, sep=" ")
x.sum(dtype=y[0]) | x.cumsum(dtype=y[0]) | x.mean(0, y[0]) | x.sum(out=x[0], axis=0, dtype=y)
"""


@pytest.mark.parametrize("expression", ARRAYS_AS_DTYPES.strip().replace("\n", " | ").split(" | "))
def test_no_array_is_a_dtype(policy: str, expression: str) -> None:
    found = []
    for module in (np, numpy):
        names = {"np": module, "x": module.ones((2, 2)), "y": module.ones(2, "f4")}
        found.append(outcome(lambda names=names: eval(expression, names)))
    assert found[0] == found[1]


HUGE_INDICES = """
x[10**20, []] | x[[], 10**20] | x[[0, 1], -(10**20)] | x[10**20, [0], 1] | x[2**63, [0]]
x[None, 10**20, [1]]
x.__setitem__((10**20, []), 1) | x.__setitem__(([0], 10**20), 1) | x[10**20] | x[10**20, 1]
"""


@pytest.mark.parametrize("expression", HUGE_INDICES.strip().replace("\n", " | ").split(" | "))
def test_an_index_beyond_64_bits(policy: str, expression: str) -> None:
    found = []
    for module in (np, numpy):
        names = {"x": module.arange(24.0).reshape(2, 3, 4)}
        found.append(outcome(lambda names=names: eval(expression, names)))
    assert found[0] == found[1]


def test_a_ufunc_says_first_how_many_operands_it_takes() -> None:
    for call in ("sin(a=1)", "sin()", "add(1, b=2)", "sin(1, a=1)", "add(1, 2, 3, 4, b=1)"):
        ours, numpys = [outcome(lambda m=m, c=call: eval(f"m.{c}", {"m": m})) for m in (np, numpy)]
        assert ours == numpys, call


WRITES = """
np.random.shuffle(x) | g.shuffle(x) | g.shuffle(x, axis=1) | g.permuted(x, out=x) | g.random(out=x)
g.standard_normal(out=x) | g.standard_exponential(out=x) | g.standard_gamma(1.0, out=x)
np.random.RandomState(0).shuffle(x) | np.fill_diagonal(x, 1) | np.add.at(x, 0, 1) | x.sort()
np.negative.at(x, 0) | np.cumsum(x, out=x) | np.round(x, out=x) | np.copyto(x, 1) | x.fill(1)
np.put_along_axis(x, np.array([[0], [1]]), 1, 1) | x.put(0, 1) | np.clip(x, 0, 1, out=x)
np.sum(x, axis=0, out=x[0]) | np.take(x, [0, 1], out=x)
"""


@pytest.mark.parametrize("statement", WRITES.strip().replace("\n", " | ").split(" | "))
@pytest.mark.parametrize("part", ["x", "x.T", "x[:, ::-1]"])
def test_what_is_read_only_stays_as_it_is(policy: str, statement: str, part: str) -> None:
    found = []
    for module in (np, numpy):
        names = {"np": module, "g": module.random.default_rng(0), "x": module.arange(9.0)}
        whole = names["x"] = names["x"].reshape(3, 3)
        whole.flags.writeable = False
        names["x"] = eval(part, names)
        found.append((outcome(lambda names=names: eval(statement, names)), whole.tolist()))
    assert found[0] == found[1] and found[0][1][0] == [0, 1, 2]


@pytest.mark.parametrize("decimals", [2**31, -(2**31) - 1, 2**63, 10**30])
def test_decimals_that_no_int_of_c_holds(decimals: int) -> None:
    for x in (1.5, numpy.array([1.5, 2.0]), numpy.array([1, 2])):
        want = outcome(lambda x=x: numpy.round(x, decimals))
        assert want[0] == "OverflowError"
        assert outcome(lambda x=x: np.round(np.array(x), decimals)) == want
        assert outcome(lambda x=x: np.array(x).round(decimals)) == want


@pytest.mark.parametrize("count", [2**45, 2**62, 10**30])
def test_parts_that_no_list_holds(count: int) -> None:
    """At once: they were made one by one, for as long as there was memory."""
    want = outcome(lambda: numpy.array_split(numpy.ones(3), count))[0]
    assert want in {"MemoryError", "OverflowError"}
    assert outcome(lambda: np.array_split(np.ones(3), count))[0] == want


@pytest.mark.parametrize(
    "form",
    [
        "np.broadcast_to(np.nan, (3,))", "np.frombuffer(bytes(8))", "np.array([np.nan])[0]",
        "np.array([1.5]).sum()", "2.5", "[1.0]", "np.array([np.nan, 1])", "np.array(np.nan)",
        "np.broadcast_to(1, (3,))",
    ],
)  # fmt: skip
def test_nan_to_num_in_place(form: str) -> None:
    for copy in (False, None):
        ours, numpys = (
            outcome(lambda xp=xp, c=copy: xp.nan_to_num(eval(form, {"np": xp}), copy=c))
            for xp in (np, numpy)
        )
        assert ours == numpys
