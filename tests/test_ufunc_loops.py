"""`_ufunc_loops`: the loop that NumPy picks for dtypes, and no crash where it picks none."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._ufunc_loops import resolve_dtypes

LIBRARY = Path(np.__file__).parent
WEAK = [
    (int, int), (int, "i2"), ("i2", int), (float, "i2"), (float, int), (int, "f4"), ("u1", int),
    (float, float), (complex, "f4"),
]  # fmt: skip
SIGNATURES = [None, (None, None, "i2"), ("f4", None, None), ("i2", "i2", "i2"), (None, None, "?")]


def _dtypes(kinds: Any) -> Any:
    return tuple([numpy.dtype(k) if isinstance(k, str) else k for k in kinds])


def _outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", ["add", "less", "power", "bitwise_and", "divide", "ldexp"])
@pytest.mark.parametrize("signature", SIGNATURES)
def test_as_numpy_where_numpy_is_safe(name: str, signature: Any) -> None:
    ufunc = getattr(numpy, name)
    options = {} if signature is None else {"signature": _dtypes(signature)}
    for kinds in [*WEAK, ("i8", "f4"), ("f8", "f8"), ("U3", "i8")]:
        for casting in (None, "no", "safe", "same_kind", "unsafe", "no such rule"):
            given = options if casting is None else {**options, "casting": casting}
            dtypes = (*_dtypes(kinds), None)
            want = _outcome(lambda d=dtypes, g=given: ufunc.resolve_dtypes(d, **g))
            assert _outcome(lambda d=dtypes, g=given: resolve_dtypes(ufunc, d, **g)) == want
            public = getattr(np, name).resolve_dtypes
            assert _outcome(lambda d=dtypes, g=given, p=public: p(d, **g)) == want


@pytest.mark.parametrize("kinds", [k for k in WEAK if complex not in k])
@pytest.mark.parametrize("signature", SIGNATURES)
def test_equiv_refuses_weak_operands_as_calls_do(kinds: Any, signature: Any) -> None:
    options = {} if signature is None else {"signature": _dtypes(signature)}
    values = [k(1) if isinstance(k, type) else numpy.empty(0, k) for k in kinds]
    want = _outcome(lambda: numpy.add(*values, casting="equiv", **options).dtype)
    got = _outcome(
        lambda: np.add.resolve_dtypes((*_dtypes(kinds), None), casting="equiv", **options)
    )
    assert (got if isinstance(want, tuple) else got[-1]) == want


def test_equiv_where_nothing_is_cast() -> None:
    objects = (numpy.dtype(object),) * 3
    assert (
        resolve_dtypes(numpy.add, (int, int, None), signature=objects, casting="equiv") == objects
    )
    doubles = (numpy.dtype("f8"),) * 3
    assert resolve_dtypes(numpy.add, (*doubles[:2], None), casting="equiv") == doubles


def test_reductions_of_weak_operands() -> None:
    whole = (numpy.dtype(int),) * 3
    assert resolve_dtypes(numpy.add, (None, int, None), reduction=True) == whole


# each of these is refused by NumPy; its own resolve_dtypes would have ended the process
FAILING = [
    "np.add(3, 4, dtype='i2', casting='equiv')",
    "np.multiply(3, x, signature=(None, None, 'i2'), casting='equiv')",
    "np.multiply(x, 2.5, dtype='f4', casting='equiv')",
    "np.less(3, 4, signature=('i2', 'i2', None), casting='equiv')",
    "np.add(3, x, casting='equiv')",
    "np.add(3, y, out=x, casting='equiv')",
    "np.add(x, y, dtype='i2', casting='no')",
    "np.add(3, y, dtype='i2')",
    "np.bitwise_and(3, y)",
    "np.bitwise_and(2.5, x)",
    "np.add.reduce(y, dtype='M8[s]')",
    "np.bitwise_and.reduce(y)",
    "np.add.accumulate(y, dtype='U3')",
    "np.add.resolve_dtypes((int, int, None), signature=(None, None, i2), casting='equiv')",
    "np.add.resolve_dtypes((i2, int, None), casting='equiv')",
    "np.matmul(x, y, dtype='i2', casting='equiv')",
]
CALLS = """
import sys, numpy, lazynp
i2 = numpy.dtype("i2")
def outcome(np, code, x, y):
    try:
        eval(code)
    except Exception as error:
        return type(error), str(error)
FAILING = {failing!r}
for code in FAILING:
    arrays = numpy.ones(3, "i2"), numpy.ones(3)
    lazy = [lazynp.array(a) for a in arrays]
    if "resolve_dtypes" not in code:  # NumPy's own crashes
        want = outcome(numpy, code, *arrays)
        got = outcome(lazynp, code, *lazy)
        assert want is not None and got == want, (code, got, want)
    for _ in range(2000):
        found = outcome(lazynp, code, *lazy)
        assert found is not None and issubclass(found[0], TypeError), (code, found)
print("alive")
"""


@pytest.mark.parametrize("execution", ["compiled", "reference"])
def test_no_refusal_ends_the_process(execution: str) -> None:
    code = CALLS.format(failing=FAILING)
    env = {"LAZYNP_EXECUTION": execution, "LAZYNP_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_nobody_else_asks_numpy() -> None:
    """`ufunc.resolve_dtypes` of NumPy's is called in `_ufunc_loops`, and nowhere else."""
    found = set()
    for path in LIBRARY.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "resolve_dtypes":
                found.add(path.relative_to(LIBRARY).as_posix())
    assert found == {"_ufunc_loops.py"}
