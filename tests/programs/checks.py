"""Run one NumPy source on two array modules and compare everything observable."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
IMPORT = "import numpy as np\n"


def load_source(stem: str, module_name: str) -> types.ModuleType:
    """`<stem>.py` with its one NumPy import naming another module."""
    path = HERE / f"{stem}.py"
    source = path.read_text()
    assert source.count(IMPORT) == 1, f"{path.name}: expected {IMPORT!r} exactly once"
    program = types.ModuleType(f"{stem}_on_{module_name}")
    code = compile(source.replace(IMPORT, f"import {module_name} as np\n"), str(path), "exec")
    exec(code, program.__dict__)
    return program


@dataclass(frozen=True)
class Program:
    """A function of a source file, its arguments, and the tolerance for its floats.

    `inputs` gets a seeded generator and returns the arguments. Host arrays become arrays of the
    module under test; everything else is passed unchanged.
    """

    source: str
    name: str
    inputs: Callable[[np.random.Generator], tuple[Any, ...]] = field(default=lambda rng: ())
    rtol: float = 1e-12

    def __str__(self) -> str:
        return f"{self.source}.{self.name}"


def make_inputs(program: Program, array: Callable[[np.ndarray], Any]) -> list[Any]:
    """The program's arguments, fresh; `array` makes one of the module under test."""
    values = program.inputs(np.random.default_rng(20240229))
    return [array(v) if isinstance(v, np.ndarray) else copy.copy(v) for v in values]


def assert_same(want: Any, got: Any, rtol: float, where: str) -> None:
    """Equal structure, Python types, shapes, dtypes and values (floats within `rtol`)."""
    if isinstance(want, dict):
        assert isinstance(got, dict) and list(want) == list(got), f"{where}: keys differ"
        for key in want:
            assert_same(want[key], got[key], rtol, f"{where}[{key!r}]")
    elif isinstance(want, (list, tuple)):
        assert isinstance(got, (list, tuple)) and len(want) == len(got), f"{where}: length differs"
        for i, (w, g) in enumerate(zip(want, got)):
            assert_same(w, g, rtol, f"{where}[{i}]")
    elif isinstance(want, (np.ndarray, np.generic)):
        assert not isinstance(got, (bool, int, complex, float)) or isinstance(got, np.generic), (
            f"{where}: expected an array or a scalar of {want.dtype}, got {type(got)}"
        )
        _assert_same_array(np.asarray(want), np.asarray(got), rtol, where)
    elif isinstance(want, float):
        assert type(got) is float, f"{where}: expected a float, got {type(got)}"
        _assert_same_array(np.asarray(want), np.asarray(got), rtol, where)
    elif isinstance(want, bool) and getattr(got, "dtype", None) == np.bool_:
        # allclose, array_equal: a lazy scalar, so that asking does not compute (see README)
        assert got.shape == () and bool(got) is want, f"{where}: expected {want}, got {got}"
    else:
        assert type(got) is type(want), f"{where}: expected {type(want)}, got {type(got)}"
        assert got == want, f"{where}: expected {want!r}, got {got!r}"


def _assert_same_array(want: np.ndarray, got: np.ndarray, rtol: float, where: str) -> None:
    assert got.dtype == want.dtype, f"{where}: expected dtype {want.dtype}, got {got.dtype}"
    assert got.shape == want.shape, f"{where}: expected shape {want.shape}, got {got.shape}"
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want, err_msg=where)
        return
    if want.dtype.itemsize // (2 if want.dtype.kind == "c" else 1) < 8:
        rtol = max(rtol, 2e-5)
    finite = np.abs(want[np.isfinite(want)])
    # judge cancelled values by the size of their neighbours
    atol = rtol * float(finite.max(initial=0.0))
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=where)
