"""array-api-extra's functions on lazynp arrays: NumPy's values, our arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy
import pytest

import lazynp as np

xpx = pytest.importorskip("array_api_extra")
EXTRA: dict[str, Callable[[Any, Any, Any], Any]] = {
    "angle": lambda x, i, m: xpx.angle(x - 3, deg=True),
    "apply_where": lambda x, i, m: xpx.apply_where(x > 2, x, lambda v: v * 2, lambda v: -v),
    "argpartition": lambda x, i, m: xpx.argpartition(x, 3)[3],
    "at_set": lambda x, i, m: xpx.at(x, 0).set(9.0, copy=True),
    "at_add": lambda x, i, m: xpx.at(x)[x > 2].add(9.0, copy=True),
    "atleast_nd": lambda x, i, m: xpx.atleast_nd(x, ndim=3),
    "cov": lambda x, i, m: xpx.cov(m),
    "create_diagonal": lambda x, i, m: xpx.create_diagonal(x, offset=1),
    "deg2rad": lambda x, i, m: xpx.deg2rad(x),
    "diag_indices": lambda x, i, m: _rows(xpx.diag_indices(3, xp=_space(x))),
    "expand_dims": lambda x, i, m: xpx.expand_dims(x, axis=(0, 2)),
    "isclose": lambda x, i, m: xpx.isclose(x, x + 1e-12),
    "isin": lambda x, i, m: xpx.isin(i, i[:2]),
    "kron": lambda x, i, m: xpx.kron(x, m),
    "lazy_apply": lambda x, i, m: xpx.lazy_apply(lambda v: v + 1, x),
    "nan_to_num": lambda x, i, m: xpx.nan_to_num(x / 0),
    "nanmax": lambda x, i, m: xpx.nanmax(_with_nan(m), axis=1),
    "nanmean": lambda x, i, m: xpx.nanmean(_with_nan(m), axis=0),
    "nanmin": lambda x, i, m: xpx.nanmin(_with_nan(m), axis=1),
    "nansum": lambda x, i, m: xpx.nansum(_with_nan(m)),
    "nunique": lambda x, i, m: xpx.nunique(i),
    "one_hot": lambda x, i, m: xpx.one_hot(i, 4),
    "pad": lambda x, i, m: xpx.pad(x, 2, constant_values=1.0),
    "partition": lambda x, i, m: xpx.partition(x, 2)[2],
    "rad2deg": lambda x, i, m: xpx.rad2deg(x),
    "searchsorted": lambda x, i, m: xpx.searchsorted(x[:2], m[0, ...], side="right"),
    "setdiff1d": lambda x, i, m: xpx.setdiff1d(i, i[:1]),
    "sinc": lambda x, i, m: xpx.sinc(x / 3),
    "tril_indices": lambda x, i, m: _rows(xpx.tril_indices(3, offset=1, xp=_space(x))),
    "triu_indices": lambda x, i, m: _rows(xpx.triu_indices(2, m=3, xp=_space(x))),
    "union1d": lambda x, i, m: xpx.union1d(i, i + 1),
    "unravel_index": lambda x, i, m: _rows(xpx.unravel_index(i, (2, 2))),
}
# they branch on values, or on how many elements a mask selects
ASK_FOR_VALUES = {"nanmax", "nanmin", "nunique", "setdiff1d"}
# not functions of arrays
OTHERS = {"__version__", "broadcast_shapes", "default_dtype", "testing"}


def _space(x: Any) -> Any:
    return array_api_compat.array_namespace(x)


def _rows(arrays: Any) -> Any:
    return _space(arrays[0]).stack(arrays)


def _with_nan(m: Any) -> Any:
    return _space(m).where(m == 1, _space(m).nan, m)


def test_every_function_has_a_row() -> None:
    rows = {name.partition("_set")[0].partition("_add")[0] for name in EXTRA}
    assert set(xpx.__all__) - OTHERS - rows == set()


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
def test_of_shapes_and_dtypes() -> None:
    assert xpx.broadcast_shapes((2, 1), (3,), xp=np.array_api) == (2, 3)
    assert xpx.default_dtype(np.array_api) == np.array_api.float64
    assert xpx.default_dtype(np.array_api, "integral") == np.array_api.int64


def test_assertions() -> None:
    """array_api_extra.testing takes the arrays, and finds a difference."""
    x = np.asarray([1.0, 2.0])
    xpx.testing.assert_equal(x, np.asarray([1.0, 2.0]))
    xpx.testing.assert_close(x + 1e-12, x)
    with pytest.raises(AssertionError):
        xpx.testing.assert_close(x, x + 1)


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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(EXTRA) - ASK_FOR_VALUES))
def test_extra_under_jit(name: str) -> None:
    """Masks are traced there, and what they select stands for an array of unknown size."""
    wanted = numpy.asarray(EXTRA[name](*_operands()))
    got = np.jit(EXTRA[name])(*map(np.asarray, _operands()))
    assert got.dtype == wanted.dtype
    numpy.testing.assert_allclose(numpy.asarray(got), wanted, rtol=1e-12, atol=1e-12)


SELECTED: dict[str, Callable[[Any, Any], Any]] = {
    "astype": lambda x, xp: xp.sum(xp.astype(x[x > 1], xp.float32)),
    "std of some": lambda x, xp: xp.std(x[x > 1], correction=1),
    "var of too few": lambda x, xp: xp.var(x[x > 4], correction=2, keepdims=True),
    "std of none": lambda x, xp: xp.std(x[x > 90]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", SELECTED)
def test_functions_of_the_standard_take_what_a_traced_mask_selects(what: str) -> None:
    x = _operands()[0]
    wanted = SELECTED[what](np.asarray(x), np.array_api)
    got = np.jit(lambda x: SELECTED[what](x, np.array_api))(np.asarray(x))
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    numpy.testing.assert_allclose(numpy.asarray(got), numpy.asarray(wanted), rtol=1e-6)
