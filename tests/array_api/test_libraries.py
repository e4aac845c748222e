"""Libraries written to the standard, on lazynp arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import array_api_compat
import numpy
import pytest

import lazynp as np

ROOT = Path(__file__).parents[2]
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


# -- array-api-extra -------------------------------------------------------------------------------

xpx = pytest.importorskip("array_api_extra")
EXTRA: dict[str, Callable[[Any, Any, Any], Any]] = {
    "apply_where": lambda x, i, m: xpx.apply_where(x > 2, x, lambda v: v * 2, lambda v: -v),
    "at_set": lambda x, i, m: xpx.at(x, 0).set(9.0, copy=True),
    "at_add": lambda x, i, m: xpx.at(x)[x > 2].add(9.0, copy=True),
    "atleast_nd": lambda x, i, m: xpx.atleast_nd(x, ndim=3),
    "cov": lambda x, i, m: xpx.cov(m),
    "create_diagonal": lambda x, i, m: xpx.create_diagonal(x, offset=1),
    "expand_dims": lambda x, i, m: xpx.expand_dims(x, axis=(0, 2)),
    "isclose": lambda x, i, m: xpx.isclose(x, x + 1e-12),
    "isin": lambda x, i, m: xpx.isin(i, i[:2]),
    "kron": lambda x, i, m: xpx.kron(x, m),
    "lazy_apply": lambda x, i, m: xpx.lazy_apply(lambda v: v + 1, x),
    "nan_to_num": lambda x, i, m: xpx.nan_to_num(x / 0),
    "nunique": lambda x, i, m: xpx.nunique(i),
    "one_hot": lambda x, i, m: xpx.one_hot(i, 4),
    "pad": lambda x, i, m: xpx.pad(x, 2, constant_values=1.0),
    "partition": lambda x, i, m: xpx.partition(x, 2)[2],
    "setdiff1d": lambda x, i, m: xpx.setdiff1d(i, i[:1]),
    "sinc": lambda x, i, m: xpx.sinc(x / 3),
    "union1d": lambda x, i, m: xpx.union1d(i, i + 1),
}


def _operands() -> list[Any]:
    x, i = numpy.asarray([1.0, 4.0, 2.0, 8.0]), numpy.asarray([3, 1, 2, 1])
    return [x, i, numpy.asarray([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0]])]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXTRA)
def test_extra(name: str) -> None:
    """The values are NumPy's, the arrays ours."""
    wanted = numpy.asarray(EXTRA[name](*_operands()))
    got = EXTRA[name](*map(np.asarray, _operands()))
    assert isinstance(got, np.Array)
    numpy.testing.assert_allclose(numpy.asarray(got), wanted, rtol=1e-12, atol=1e-12)


# -- arrays of other libraries, taken in -----------------------------------------------------------


class OnlyDlpack:
    """What a library offers that does not know NumPy."""

    def __init__(self, value: Any) -> None:
        self.value = numpy.asarray(value)

    def __dlpack__(self, **options: Any) -> Any:
        return self.value.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.value.__dlpack_device__()


def test_arrays_by_dlpack() -> None:
    out = np.asarray(OnlyDlpack([[1.0, 2.0]]))
    assert isinstance(out, np.Array) and out.shape == (1, 2) and out.dtype == np.float64
    numpy.testing.assert_array_equal(out, [[1.0, 2.0]])
    numpy.testing.assert_array_equal(np.asarray(OnlyDlpack([3, 4]), dtype=np.float32), [3, 4])


def test_imports_are_copies() -> None:
    memory = numpy.asarray([1.0, 2.0])
    copied, shared = np.from_dlpack(memory), np.from_dlpack(memory, copy=False)
    memory[0] = 9.0
    assert copied[0] == 1.0 and numpy.asarray(shared)[0] == 9.0


def test_exports_are_read_only_memory() -> None:
    x = np.arange(3.0)
    view = numpy.from_dlpack(x)
    assert not view.flags.writeable and numpy.shares_memory(view, numpy.asarray(x))
    x[0] = 7.0
    assert view[0] == 0.0


def test_strict_arrays() -> None:
    strict = pytest.importorskip("array_api_strict")
    out = np.asarray(strict.asarray([1, 2]))
    assert isinstance(out, np.Array) and out.dtype == np.int64


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
