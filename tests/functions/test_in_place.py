"""In-place operations that NumPy refuses for two reasons raise the one it looks at first."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import pytest

import lazynp
from lazynp._node import VALUE
from tests.helpers import be_eager

OPERATORS = {
    "iadd": "add", "isub": "subtract", "imul": "multiply", "itruediv": "divide",
    "ifloordiv": "floor_divide", "imod": "remainder", "ipow": "power", "iand": "bitwise_and",
    "ilshift": "left_shift", "imatmul": "matmul",
}  # fmt: skip
TARGETS = [("i8", (3,)), ("i8", (2, 3)), ("u1", (3,)), ("f8", (3,)), ("?", (3,)), ("f4", (3,))]
OPERANDS = [
    ("f8", (2,)), ("f8", (4, 3)), ("c16", (2,)), ("i8", (2,)), ("?", (2,)), ("f8", (2, 3)),
    ("i8", (2, 2, 3)), ("f8", (2, 2, 3)), ("u8", (2,)),
]  # fmt: skip
NUMBERS = [300, -1, 2.5, 1j, True, 10**30]


def _outcome(np: Any, target: Any, operand: Any, call: Any) -> Any:
    x = np.ones(target[1], target[0])
    y = np.ones(operand[1], operand[0]) if isinstance(operand, tuple) else operand
    try:
        return numpy.asarray(call(np, x, y)).tolist()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("execution", ["compiled", "reference"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str, execution: str) -> None:
    def call(np: Any, x: Any, y: Any) -> Any:
        return getattr(operator, name)(x, y)

    with lazynp.config(execution=execution):
        for target in TARGETS:
            for operand in [*OPERANDS, *NUMBERS]:
                want = _outcome(numpy, target, operand, call)
                assert _outcome(lazynp, target, operand, call) == want, (target, operand)


@pytest.mark.parametrize("name", OPERATORS)
def test_out(name: str) -> None:
    def call(np: Any, x: Any, y: Any) -> Any:
        return getattr(np, OPERATORS[name])(x, y, out=x)

    with lazynp.config(execution="reference"):
        for target in TARGETS:
            for operand in OPERANDS if name == "imatmul" else [*OPERANDS, *NUMBERS]:
                want = _outcome(numpy, target, operand, call)
                assert _outcome(lazynp, target, operand, call) == want, (target, operand)


@pytest.mark.parametrize("dtype", ["i1", "i8", "f8", "?"])
@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "imatmul"])
@pytest.mark.parametrize("other", [None, "x", {}, [1, 2], 1j], ids=repr)
def test_operands_that_no_array_takes(name: str, other: Any, dtype: str) -> None:
    """NumPy's exception, of its own class."""
    found = []
    for module in (numpy, lazynp):
        x: Any = module.ones(2, dtype)
        try:
            found.append(numpy.asarray(getattr(operator, name)(x, other)).tolist())
        except Exception as error:
            found.append((type(error), str(error)))
    assert found[1] == found[0]


@pytest.mark.parametrize("value", [300.0, -129.0, numpy.nan, numpy.inf, 1e20, 3.7])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i8"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_scalar_stored_by_flat(dtype: str, value: float) -> None:
    found = []
    for module in (numpy, lazynp):
        x: Any = module.zeros((2, 2), dtype)
        try:
            x.flat[1] = module.array([value])[0]
            found.append(numpy.asarray(x).tolist())
        except Exception as error:
            found.append((type(error), str(error)))
    assert found[1] == found[0]


WRITES = ["v.real = it", "v[...] = it", "v[0] = it", "v[1:] = it", "v[[0]] = it", "v[v > 0] = it"]
WRITES += ["v.fill(it)", "np.copyto(v, it)", "np.put(v, [0], it)", "v.flat = it", "v.flat[0] = it"]
WRITES += ["np.place(v, v > 0, it)", "np.putmask(v, v > 0, it)", "v.imag = it", "v += it"]
WRITES += ["np.fill_diagonal(v, it)", "v.sort()", "v.partition(0)", "v.byteswap(True)"]


@pytest.mark.parametrize("dtype", ["i2", "f8", "c16", "?"])
@pytest.mark.parametrize("how", WRITES)
def test_of_two_errors_a_read_only_array_gives_numpys(how: str, dtype: str) -> None:
    """It is read-only, and the value does not fit."""
    for it in (None, "x", [1, 2], [[1, 2], [3]], object(), 300):
        errors = []
        for np in (numpy, lazynp):
            v = np.ones((2, 2), dtype)
            v.flags.writeable = False
            try:
                exec(how, {"np": np, "v": v, "it": it})
                errors.append(None)
            except Exception as e:
                errors.append(next(k for k in type(e).__mro__ if k.__module__ == "builtins"))
        assert errors[0] is errors[1], it


def _row(v: Any, i: int) -> None:
    v[i] += 1.0


def _part(v: Any, i: int) -> None:
    v[i : i + 3] *= 1.5


def _item(v: Any, i: int) -> None:
    v[i, 0] += 2.0


def _read_and_set(v: Any, i: int) -> None:
    v[i] = v[i] * 0.5 + 1


@pytest.mark.parametrize("store", [_row, _part, _item, _read_and_set])
@pytest.mark.parametrize("make", ["np.array([x, 2 * x]).T", "np.zeros((3, 40_000)).T",
                                  "np.array([x, x]).reshape(40_000, 2).T[::-1].T"])  # fmt: skip
@pytest.mark.own_policy  # whether programs run instead
def test_large_arrays_that_are_views_of_a_temporary_are_written_in_place(
    store: Any, make: str
) -> None:
    """`np.array([x, y]).T`: rows of it are views of a view, and the first store may copy all."""
    be_eager()
    ours, theirs = (eval(make, {"np": m, "x": m.linspace(0, 1, 40_000)}) for m in (lazynp, numpy))
    places = []
    for i in range(12):
        store(ours, i)
        store(theirs, i)
        value = ours._owner()._node[VALUE]
        places.append(None if value is None else value.ctypes.data)
        del value  # whoever holds the memory prevents that it is written in place
    assert len(set(places[4:])) == 1
    assert places[-1] is not None
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("bounds", [(0, 3), (-1, 0), (-0.0, 2)], ids=str)
def test_clip_into_an_array_that_has_views_keeps_the_signs_of_zeros(
    dtype: str, bounds: tuple[float, float]
) -> None:
    found = []
    for module in (lazynp, numpy):
        x = module.array(numpy.array([-0.0, 0.0, 1.0, -2.0, 4.0], dtype))
        view = x[1:]
        module.clip(x, *bounds, out=x)
        found.append((numpy.asarray(x).tobytes(), numpy.asarray(view).tobytes()))
    assert found[0] == found[1]
