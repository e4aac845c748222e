"""Which ufunc a class of arrays is asked with, how often, and what becomes of its answer."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import lazynp

POWERS = [2, 2.0, 1, 0, 0.5, -1, -1.0, 3, True, 2 + 0j, numpy.float64(2), numpy.int8(2)]


def _classes(np: Any) -> dict[str, Any]:
    class Refuses(np.ndarray):
        answer: Any = NotImplemented
        log: list[Any] = []

        def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
            outs = [x is self for x in options.get("out", ())]
            self.log.append((type(self).__name__, function.__name__, method, len(inputs), outs))
            return self.answer

    class Answers(Refuses):
        answer = "answer"

    class RefusesToo(Refuses):
        pass

    Refuses.log.clear()
    return {c.__name__: c for c in (Refuses, Answers, RefusesToo)}


def _asked(program: str, dtype: str, np: Any, power: Any = None) -> Any:
    classes = _classes(np)
    a, b, c = (np.ones(2, dtype).view(k) for k in classes.values())
    names = {"np": np, "a": a, "b": b, "c": c, "x": np.ones(2, dtype), "p": power}
    try:
        exec(program, names)
        result = type(names.get("r")).__name__, names.get("r") is names["b"]
    except TypeError as error:
        result = str(error)[:60]
    return result, classes["Refuses"].log


@pytest.mark.parametrize("dtype", ["?", "i8", "u1", "f8", "f4", "c16", "O", "U1", "m8[s]"])
def test_powers(dtype: str) -> None:
    for power, program in itertools.product(POWERS, ["r = b ** p", "b **= p; r = b", "r = p ** b"]):
        given = _asked(program, dtype, lazynp, power)
        assert given == _asked(program, dtype, numpy, power), (power, program)


@pytest.mark.parametrize(
    "program",
    [
        "r = a + b", "r = b + a", "r = a + c", "r = c + a", "r = a + a", "r = x + b",
        "r = np.add(a, c, out=a)", "r = np.add(a, 1, out=b)", "r = np.add(x, x, out=(a,))",
        "r = a < b", "r = -a", "r = abs(b)", "r = divmod(b, 2)", "r = a ** 2", "r = np.sin(c)",
        "b += 1; r = b", "b -= a; r = b", "a -= 1", "c *= a", "x += b; r = x", "b //= b; r = b",
    ],
)  # fmt: skip
def test_who_is_asked(program: str) -> None:
    assert _asked(program, "f8", lazynp) == _asked(program, "f8", numpy)


def _answering(np: Any) -> Any:
    class Units(np.ndarray):
        """Multiplies in place; tells of sums what they are."""

        def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
            out = options.pop("out", None)
            plain = [x.view(np.ndarray) if isinstance(x, Units) else x for x in inputs]
            if function is np.add:
                return "sum", getattr(function, method)(*plain, **options).tolist()
            if out is None:
                return getattr(function, method)(*plain, **options).view(Units)
            function(*plain, out=out[0].view(np.ndarray), **options)
            return out[0]

    return np.arange(4.0).view(Units)


def test_in_place() -> None:
    def outcome(np: Any) -> Any:
        x = y = z = _answering(np)
        part = x[1:]
        part *= 3
        y **= 2
        for _ in range(3):
            z -= 1
        before = x.tolist(), x is y, x is z
        x += 1
        return before, x, type(y).__name__, y.tolist(), part.tolist()

    assert outcome(lazynp) == outcome(numpy)
