"""Libraries written to the standard, on lazynp arrays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import array_api_compat
import pytest

import lazynp as np

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "array-api.md"
xp = np.array_api


# -- array-api-compat ------------------------------------------------------------------------------


def test_compat_knows_the_arrays() -> None:
    x = np.ones((2, 3))
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.is_array_api_obj(x[0, 0])
    assert array_api_compat.array_namespace(x, x[0]) is xp
    assert array_api_compat.device(x) == "cpu" and array_api_compat.size(x) == 6
    assert array_api_compat.to_device(x, "cpu") is x
    assert not array_api_compat.is_numpy_array(x)


def test_compat_does_not_call_them_lazy() -> None:
    """It means: `bool(x)` raises. Here it computes, so programs may branch on values."""
    assert not array_api_compat.is_lazy_array(np.ones(3))


def test_compat_of_versions() -> None:
    x = np.ones(2)
    for version in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        space = array_api_compat.array_namespace(x, api_version=version)
        assert space.__array_api_version__ == version
        assert space is array_api_compat.array_namespace(x + 1, api_version=version)


def test_versions_are_modules_apart() -> None:
    older = np.ones(1).__array_namespace__(api_version="2023.12")
    assert older.__name__ == "lazynp.array_api.v2023_12" and older.sin is xp.sin
    assert set(xp.__all__) <= set(dir(older))


# -- the document ----------------------------------------------------------------------------------


def _apart(ours: Any, other: Any, prefix: str = "") -> set[str]:
    """Functions of one namespace that are neither in the other nor wrap a function of it. (NumPy's
    can be overridden by `__array_function__`.)
    """
    functions = (n for n in ours.__all__ if callable(getattr(ours, n)))
    return {prefix + n for n in functions if getattr(ours, n) not in _layers(getattr(other, n, 0))}


def _layers(function: Any) -> tuple[Any, Any]:
    return function, getattr(function, "__wrapped__", function)


@pytest.mark.skipif(not DOCUMENT.exists(), reason="source distributions come without docs/")
def test_the_document_lists_what_differs() -> None:
    """Functions are lazynp's own, but for those whose two texts are quoted."""
    _, _, rest = DOCUMENT.read_text().partition("## Where NumPy and the standard differ")
    rows = [row for row in rest.partition("The array class is shared")[0].splitlines()
            if row.startswith("| `")]  # fmt: skip
    listed = {name for row in rows for name in re.findall(r"`([\w.]+)`", row.split("|")[1])}
    aliases = {"linalg.matmul", "linalg.tensordot", "linalg.vecdot"}  # of those at the top
    apart = _apart(xp, np) | _apart(xp.fft, np.fft, "fft.")
    apart |= _apart(xp.linalg, np.linalg, "linalg.") - aliases
    assert apart == listed


# -- SciPy and scikit-learn: their switches are read when they are first imported ------------------


@pytest.mark.parametrize("module", ["scipy_checks", "sklearn_checks"])
def test_in_a_process_of_its_own(module: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore",
         f"tests/array_api/{module}.py"],
        env={**os.environ, "SCIPY_ARRAY_API": "1"}, cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
