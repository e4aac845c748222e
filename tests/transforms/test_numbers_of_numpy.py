"""NumPy's functions of traced numbers of Python's give NumPy's numbers, which decide dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

FUNCTIONS = [
    "abs", "absolute", "add", "arctan", "arctan2", "around", "array", "asarray", "cbrt", "ceil",
    "clip", "copy", "copysign", "cos", "divide", "divmod", "exp", "expm1", "fabs", "float_power",
    "floor", "floor_divide", "fmax", "fmod", "frexp", "heaviside", "hypot", "i0", "ldexp", "log",
    "log1p", "logaddexp", "max", "maximum", "mean", "minimum", "mod", "modf", "multiply",
    "nan_to_num", "negative", "positive", "power", "rad2deg", "reciprocal", "remainder", "rint",
    "round", "sign", "sin", "sinc", "sqrt", "square", "subtract", "sum", "tanh", "trunc",
]  # fmt: skip
OPERATORS: dict[str, Callable[[Any], Any]] = {
    "+": lambda x: x + 1, "-": lambda x: 2.0 - x, "*": lambda x: x * x, "/": lambda x: x / 3,
    "%": lambda x: x % 0.3, "**": lambda x: x**2, "**0.5": lambda x: x**0.5,
    "**-1": lambda x: x**-1.0, "**3": lambda x: x**3, "neg": lambda x: -x, "abs": abs,
    "chosen": lambda x: x if x > 0.5 else 1.0, "least": lambda x: min(x, 0.5),
}  # fmt: skip


def beside(of: Callable[..., Any], module: Any, *more: float) -> Callable[[Any], list[Any]]:
    """The results, each times an array of float32."""
    single = module.ones(3, "f4")

    def run(x: Any) -> list[Any]:
        out = of(x, *more)
        return [r * single for r in (out if isinstance(out, tuple) else (out,))]

    return run


def check(ours: Callable[[Any], list[Any]], numpys: Callable[[Any], list[Any]]) -> None:
    want = numpys(0.7)
    got = [np.jit(ours)(0.7), ours(0.7)]
    for _ in range(3):  # what was differentiated before is replayed
        got += [np.jvp(ours, (0.7,), (1.0,))[0], np.vjp(ours, 0.7)[0]]
    for results in got:
        assert [r.dtype for r in results] == [w.dtype for w in want]
        for r, w in zip(results, want, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(r), w, rtol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    for more in ((), (2,), (0.0, 0.5)):
        try:
            beside(getattr(numpy, name), numpy, *more)(0.7)
        except (TypeError, ValueError, IndexError, AttributeError, DeprecationWarning):
            continue  # it takes other arguments
        check(*[beside(getattr(module, name), module, *more) for module in (np, numpy)])


def test_where() -> None:
    check(*[beside(lambda x, m=m: m.where(m.asarray(x) > 0, x, 0.0), m) for m in (np, numpy)])


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_python_keep_its_numbers(name: str) -> None:
    check(*[beside(OPERATORS[name], module) for module in (np, numpy)])
