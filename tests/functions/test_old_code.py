"""What old and rare code does with NumPy's surface, each of which differed once."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp
from tests.helpers import outcome_of
from tests.test_fastpath import MODES, clean, set_eager

__all__ = ["clean"]  # a fixture


class Asks:
    """Overrides functions, and has elements."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return numpy.array([1.0, 2.0, 3.0], dtype)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return "asked", function.__name__, len(args), sorted(kwargs)


class Wraps:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return numpy.array([[4.0, 2.0], [1.0, 3.0]], dtype)

    def __array_wrap__(self, array: Any, context: Any = None, scalar: bool = False) -> Any:
        return "wrapped", array.shape, array.tolist(), array.flags.writeable, context, scalar


def told(x: Any) -> Any:
    if isinstance(x, numpy.ma.MaskedArray):
        return type(x), x.dtype, x.data.tolist(), numpy.asarray(x.mask).tolist()
    if hasattr(x, "strides"):
        return x.dtype, x.shape, x.strides, numpy.asarray(x).tolist()
    return [told(v) for v in x] if isinstance(x, (tuple, list)) else x


def outcome(np: Any, program: str, **names: Any) -> Any:
    x = np.array([1.0, 2.0, 3.0])
    names |= {"np": np, "x": x, "s": x[1], "n": np.arange(3)[2], "u": np.arange(3, dtype="u1")}
    names |= {"asks": Asks(), "wraps": Wraps(), "m": np.ma.array([1, 2, 0], mask=[1, 0, 0])}

    def run() -> Any:
        *statements, last = program.split("; ")
        exec("\n".join(statements), names)
        return told(eval(last, names))

    return outcome_of(run)


def check(program: str, eager: bool) -> None:
    set_eager(eager)
    for _ in range(2):  # the second time by the fast path
        assert outcome(lazynp, program) == outcome(numpy, program)


@MODES
@pytest.mark.parametrize(
    "program",
    ["np.percentile(x, asks)", "np.nanpercentile(x, asks)", "np.quantile(x, asks)"],
)
def test_later_arguments_override_functions(program: str, eager: bool) -> None:
    check(program, eager)


@MODES
@pytest.mark.parametrize(
    "call", ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "sin"]
)
def test_what_is_wrapped_is_an_array(call: str, eager: bool) -> None:
    """Also where the result is one number."""
    check(f"np.{call}(wraps)[1:4] + np.{call}(wraps)[-1:]", eager)


GENERATED = """
g.random(3, "f8", x) is x
g.random(None, float, y) is y
g.standard_normal(3, np.float32, z) is z
g.standard_exponential(3, "f8", "inv", x) is x
g.standard_exponential(None, "f8", "zig", y) is y
g.standard_gamma(2.0, 3, "f8", x) is x
g.standard_gamma(np.ones(3), None, np.dtype("f8"), y) is y
np.random.Generator.random(g, 3, "f8", x) is x
g.random(3, "f8", np.zeros(4))
g.random(3, "f4", x)
g.random(3, "f8", x, x)
g.random(3, "f8", x[::2])
g.choice(np.arange(3), 2, True, np.array([0.5, 0.25, 0.25])).shape
"""


@pytest.mark.parametrize("call", GENERATED.strip().split("\n"))
def test_generators_fill_an_array_that_is_given_by_its_place(call: str) -> None:
    def outcome(np: Any) -> Any:
        names = {"np": np, "g": np.random.default_rng(1), "x": np.zeros(3)}
        names |= {"y": np.zeros((3, 3))[0], "z": np.zeros(3, "f4")}
        found = [outcome_of(lambda: told(eval(call, names))) for _ in range(2)]
        return found, *(names[k].tolist() for k in "xyz"), names["g"].random()

    assert outcome(lazynp) == outcome(numpy)


@MODES
@pytest.mark.parametrize("operator", ["+", "-", "*", "//", "%", "**", "<", "==", "&", "/"])
@pytest.mark.parametrize("number", ["s", "n", "np.float32(2)"])
@pytest.mark.filterwarnings("ignore")
def test_numbers_and_masked_arrays(number: str, operator: str, eager: bool) -> None:
    """NumPy's scalars do not defer to them: the elements below the mask differ."""
    check(f"{number} {operator} m", eager)
    check(f"{number} {operator} np.ma.array([1, 2, 3])", eager)
    check(f"{number} {operator} np.asmatrix(x)", eager)


@MODES
@pytest.mark.parametrize("other", ["m", "np.ma.array([[1, 2, 0]] * 2)", "np.asmatrix(x)"])
@pytest.mark.parametrize("operator", ["+", "*", "//", "|", "<<", "/"])
@pytest.mark.parametrize("array", ["u", "np.array(5.0)", "np.zeros((0, 3))", "np.array(['a'])"])
@pytest.mark.filterwarnings("ignore")
def test_errors_in_place(array: str, operator: str, other: str, eager: bool) -> None:
    """They told of masked arrays and matrices that these are no operands."""
    check(f"x = {array}; x {operator}= {other}; x", eager)


@pytest.mark.parametrize("dtype", ["f8", "i8", "c16"])
@pytest.mark.parametrize("execution", ["adaptive", "compiled", "reference"])
@pytest.mark.filterwarnings("ignore")
def test_paddings_by_the_median_of_nothing(execution: Any, dtype: str) -> None:
    def outcome(np: Any) -> Any:
        a = np.arange(6).reshape(2, 3).astype(dtype)
        return repr(np.pad(a, 1, "median", stat_length=0))

    with lazynp.config(execution=execution):
        assert outcome(lazynp) == outcome(numpy)


LAID = ["a", "a.T", "np.asfortranarray(a)", "a[:, ::2]", "a[::-1].T", "a[0]", "a[:, 1]", "a[:1]"]
LAID += [
    "a.reshape(2, 3, 2).transpose(1, 0, 2)",
    "a[0, 0]",
    "np.array(2.0)",
    "a[:0]",
    "a[None, :, 0]",
]
FLAT = ["np.ravel(x, order)", "x.ravel(order)", "np.reshape(x, -1, order=order)"]
FLAT += ["x.reshape(2, -1, order=order)", "np.reshape(x, -1, order=order, copy=False)"]


@MODES
@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("laid", LAID)
def test_flat_in_any_order(laid: str, order: str, eager: bool) -> None:
    """What is a view shows later writes, and takes them."""
    set_eager(eager)

    def outcome(np: Any, call: str) -> Any:
        a = np.arange(12.0).reshape(3, 4)
        x = eval(laid, {"np": np, "a": a})

        def run() -> Any:
            flat = eval(call, {"np": np, "x": x, "order": order})
            before = told(flat), isinstance(flat, np.ndarray), bool(np.shares_memory(flat, a))
            flat[:1] = 50
            a[:, 1:] += 1
            return before, told(flat), told(a), told(x)

        return outcome_of(run)

    for call in FLAT:
        for _ in range(2):
            assert outcome(lazynp, call) == outcome(numpy, call), call
