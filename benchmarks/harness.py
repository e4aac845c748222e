"""The programs of the suite: find, load on a module, call, compare.

A program is a file in `programs/`, in plain NumPy:

CATEGORY         its kind; "element loop" for Python loops over single elements SIZES
parameters by size: T (tests), S (about 5 ms of NumPy), M (50 ms), L (500 ms) inputs(size)     NumPy
arrays and Python values, the same at every call kernel(*inputs)  returns its results, or None if
they are in the arrays it was given RTOL             tolerance of results, relative to the largest
value; there are defaults
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy

HERE = Path(__file__).resolve().parent
IMPORT = "import numpy as np\n"
ELEMENT_LOOP = "element loop"
TOLERANCE = {"double": 1e-9, "single": 2e-4}


def names() -> list[str]:
    """All programs, in alphabetical order."""
    return sorted(path.stem for path in (HERE / "programs").glob("*.py"))


def load(name: str, module_name: str = "numpy") -> types.ModuleType:
    """Load a program with its one import of NumPy replaced by another module."""
    path = HERE / "programs" / f"{name}.py"
    text = path.read_text()
    if text.count(IMPORT) != 1:
        raise ValueError(f"{path.name}: expected {IMPORT!r} exactly once")
    program = types.ModuleType(f"{name}_on_{module_name}")
    exec(
        compile(text.replace(IMPORT, f"import {module_name} as np\n"), path, "exec"), vars(program)
    )
    return program


def category(name: str) -> str:
    return load(name).CATEGORY


def converted(inputs: Sequence[Any], array: Callable[[Any], Any]) -> list[Any]:
    """New arguments for one call: arrays go through `array`, other arguments are unchanged."""
    return [array(v) if isinstance(v, numpy.ndarray) else v for v in inputs]


def on_host(result: Any) -> list[numpy.ndarray]:
    """All results of a program, read into host memory, in order."""
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in on_host(part)]
    return [] if result is None else [numpy.asarray(result)]


def outcome(result: Any, arguments: Sequence[Any]) -> list[numpy.ndarray]:
    """Everything a program computed: its results, then its arrays as it left them."""
    written = [a for a in arguments if hasattr(a, "dtype")]
    return on_host(result) + on_host(written)


def difference(
    want: list[numpy.ndarray], got: list[numpy.ndarray], rtol: float | None, dtypes: bool = True
) -> str | None:
    """Describe the first difference between `want` and `got`; None if there is none.

    Integers and bools must be equal. Floats must agree within `rtol`, relative to the element or to
    the largest element (so that cancelled values are judged by the size of their neighbours).
    """
    if len(want) != len(got):
        return f"{len(got)} results for {len(want)}"
    for i, (w, g) in enumerate(zip(want, got)):
        if w.shape != g.shape:
            return f"result {i}: shape {g.shape} for {w.shape}"
        if dtypes and w.dtype != g.dtype:
            return f"result {i}: {g.dtype} for {w.dtype}"
        if w.dtype.kind not in "fc":
            if not numpy.array_equal(w, g):
                return f"result {i}: {numpy.count_nonzero(w != g)} of {w.size} values differ"
            continue
        single = w.dtype in (numpy.float32, numpy.complex64)
        near = TOLERANCE["single" if single else "double"] if rtol is None else rtol
        largest = float(numpy.abs(w[numpy.isfinite(w)]).max(initial=0.0))
        if not numpy.allclose(g, w, rtol=near, atol=near * largest, equal_nan=True):
            with numpy.errstate(all="ignore"):
                error = float(numpy.abs(g - w).max())
            return f"result {i}: off by {error:.1e} where the largest is {largest:.1e}"
    return None


def import_module(name: str) -> Any:
    """Import a module that not every user of this file has."""
    return importlib.import_module(name)
