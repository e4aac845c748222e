"""Lists and tuples that hold elements of arrays, as operands and as values that are stored."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

LISTS: dict[str, Callable[[Any, Any], Any]] = {
    "elements": lambda a, b: [a[0], a[1], a[2]],
    "a tuple": lambda a, b: (a[0], a[1], a[2]),
    "numbers among them": lambda a, b: [a[0], 2, 0.5],
    "of two dtypes": lambda a, b: [a[0], b[1], True],
    "sums": lambda a, b: [a.sum(), b.max(), a[0] * b[0]],
    "rows": lambda a, b: [[a[0], 1, 2], [b[1], 2.5, 3]],
    "rows of numbers": lambda a, b: [[0, 1, 2], [b[1], 2.5, 3]],
    "negative ints": lambda a, b: [-1, -2, 3],
    "negative ints in rows": lambda a, b: [[-1, 2, 3], (4, 5, -6)],
    "beyond one byte": lambda a, b: [300, 1, b[0]],
    "negative beside arrays": lambda a, b: [a, [-1, 2, 300]],
    "fractions": lambda a, b: [0.5, -1.5, 1e300],
    "tuples of tuples": lambda a, b: ((a[0], (b[1])), (1, 2)),
    "deep": lambda a, b: [[[[[a[0]]]]]],
    "arrays": lambda a, b: [a, b],
    "an array among lists": lambda a, b: [a, [b[0], 1, 2.5]],
    "views": lambda a, b: (a[::-1], b[:3]),
    "one": lambda a, b: [a[1]],
    "large ints": lambda a, b: [a[0], 2**70, 1],
    "text": lambda a, b: [a[0], "x", 1],
    "ragged": lambda a, b: [[a[0]], [a[0], b[1]]],
    "too many": lambda a, b: [a[0]] * 5,
    "empty": lambda a, b: [],
}
OPERATORS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda np, x, v: x + v,
    "reflected": lambda np, x, v: v - x,
    "times": lambda np, x, v: x * v,
    "divide": lambda np, x, v: x / v,
    "compare": lambda np, x, v: x < v,
    "maximum": lambda np, x, v: np.maximum(x, v),
    "in place": lambda np, x, v: operator.iadd(x, v),
    "a part in place": lambda np, x, v: operator.setitem(x, slice(0, 3), x[:3] + v),
    "stored": lambda np, x, v: operator.setitem(x, ..., v),
    "stored in columns": lambda np, x, v: operator.setitem(np.stack([x, x]), slice(None), v),
    "a view in place": lambda np, x, v: operator.iadd(x[:3], v),
    "multiplied in place": lambda np, x, v: operator.imul(np.stack([x, x])[:, :3], v),
    "into another": lambda np, x, v: np.add(x, v, out=np.stack([x, x])),
    "stored in rows": lambda np, x, v: stored(np.stack([x, x]), slice(2), v),
    "stored in parts of rows": lambda np, x, v: stored(np.stack([x, x]), np.s_[:, 1:], v),
    "stored in a row": lambda np, x, v: stored(np.stack([x, x]), 1, v),
    "stored at places": lambda np, x, v: stored(np.stack([x, x]), np.s_[[0, 1], 1], v),
    "array": lambda np, x, v: np.array(v),
}


def stored(x: Any, index: Any, v: Any) -> Any:
    x[index] = v
    return x


def outcome(np: Any, make: Any, apply: Any, dtypes: tuple[str, str]) -> Any:
    a = np.arange(1, 4).astype(dtypes[0])
    b = (np.arange(3) + 2).astype(dtypes[1])
    x = np.arange(3).astype(dtypes[0])
    try:
        found = apply(np, x, make(a, b))
    except Exception as error:  # NumPy may have stored what stands before the fault
        return type(error)
    return None if found is None else (found.dtype, str(numpy.asarray(found).tolist())), x.tolist()


PAIRS = [("f8", "f4"), ("i8", "u1"), ("c16", "i8"), ("i4", "f8"), ("u1", "f4"), ("u8", "i8")]
# How NumPy promotes them is found out before a program is made of it: few pairs suffice there.
_FEW = np.config.execution == "compiled"


@pytest.mark.parametrize("dtypes", PAIRS[:3] if _FEW else PAIRS, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("of", LISTS)
@pytest.mark.filterwarnings("ignore")
def test_lists_of_elements(of: str, name: str, dtypes: tuple[str, str]) -> None:
    found = [outcome(m, LISTS[of], OPERATORS[name], dtypes) for m in (np, numpy)]
    assert found[0] == found[1]


def test_flat_goes_on() -> None:
    def walked(np: Any) -> list[Any]:
        flat = np.arange(4).flat
        out = [int(next(flat)), [int(x) for x in flat], list(flat), flat.index]
        out += [int(flat[1]), [int(x) for x in flat], [int(x) for x in iter(flat)]]
        flat[2] = 7
        return [*out, [int(x) for x in flat]]

    assert walked(np) == walked(numpy)
