"""The module under test; draw arrays for it, and compare its results.

`ARRAY_API_TESTS_MODULE` names the module: lazynp.array_api, numpy, array_api_strict, ... Arrays are
built from Python lists, so the tests rely on `asarray` and `reshape` only.
"""

from __future__ import annotations

import importlib
import math
import os
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import strategies as st

from array_api_tests.traced import namespace

MODULE = os.environ.get("ARRAY_API_TESTS_MODULE", "lazynp.array_api")
module: ModuleType = importlib.import_module(MODULE)
xp: Any = namespace(module)  # the module, or a wrapper with jit around its functions

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOATING = FLOATS + COMPLEX
REAL = INTEGERS + FLOATS
NUMERIC = REAL + COMPLEX
ALL = ("bool", *NUMERIC)
KINDS = {
    "bool": ("bool",), "signed integer": SIGNED, "unsigned integer": UNSIGNED,
    "integral": INTEGERS, "real floating": FLOATS, "complex floating": COMPLEX,
    "numeric": NUMERIC,
}  # fmt: skip

info = xp.__array_namespace_info__()
# array_api_strict's other devices are artificial: they lack dtypes, and NumPy cannot read them
devices = (info.default_device(),) if MODULE == "array_api_strict" else tuple(info.devices())
DEVICES = (None, *devices)

# XLA's code for the host flushes subnormal numbers to zero
FLUSHES = MODULE == "lazynp.array_api" and os.environ.get("LAZYNP_EXECUTION") != "reference"

# A few fixed shapes: a compiling library then meets each program again.
SHAPES = ((), (0,), (1,), (3,), (2, 3), (3, 1), (2, 0), (2, 1, 3))
PROPER = tuple(s for s in SHAPES if 0 not in s)


def dtype(name: str) -> Any:
    return getattr(xp, name)


def name_of(d: Any) -> str:
    """The canonical name of a dtype of the module."""
    return next(n for n in ALL if d == getattr(xp, n))


def real_name(name: str) -> str:
    """The real dtype of the same precision."""
    return {"complex64": "float32", "complex128": "float64"}.get(name, name)


def complex_name(name: str) -> str:
    return {"float32": "complex64", "float64": "complex128"}.get(name, name)


# -- in and out ------------------------------------------------------------------------------------


def make(value: Any) -> Any:
    """Convert a NumPy array to an array of the module."""
    value = np.asarray(value)
    flat = module.asarray(value.ravel().tolist(), dtype=dtype(value.dtype.name))
    return module.reshape(flat, value.shape)


def host(x: Any) -> np.ndarray[Any, Any]:
    """Read the values of an array of the module."""
    return np.asarray(x)


def is_array(x: Any) -> bool:
    return hasattr(x, "__array_namespace__") and isinstance(x.shape, tuple)


def check(
    out: Any, expected: Any, *, dtype: str | None = None, rtol: float = 0.0, what: str = ""
) -> None:
    """Compare dtype, shape and values. The expected dtype is NumPy's unless named."""
    expected = np.asarray(expected)
    assert is_array(out), f"{what}: not an array: {out!r}"
    name = dtype or expected.dtype.name
    assert out.dtype == getattr(xp, name), f"{what}: dtype is {out.dtype}, not {name}"
    assert tuple(out.shape) == expected.shape, f"{what}: shape {out.shape}, not {expected.shape}"
    assert out.ndim == expected.ndim and out.size == expected.size
    assert out.device in devices
    same_values(host(out), expected, rtol, what)


def same_values(got: Any, expected: Any, rtol: float = 0.0, what: str = "") -> None:
    if rtol and got.dtype.kind in "fc":
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=0)
        np.testing.assert_allclose(
            got, expected, rtol=rtol, atol=rtol * float(scale), err_msg=what, equal_nan=True
        )
    else:
        np.testing.assert_array_equal(got, expected, err_msg=what)


def tolerance(name: str) -> float:
    return {"float32": 2e-5, "complex64": 5e-5, "float64": 1e-12, "complex128": 1e-12}.get(name, 0)


# -- drawing ---------------------------------------------------------------------------------------

_INTEGER_POOL = (0, 1, 2, 3, 5, 7, 11, 100, -1, -2, -3, -7, -100)
_FLOAT_POOL = (0.0, 0.5, 1.0, 1.5, 2.0, 3.25, 7.0, 100.0, 0.125, -0.5, -1.0, -2.5, -3.0, -17.0)


def pool(name: str) -> list[Any]:
    """Finite values worth trying in this dtype."""
    if name == "bool":
        return [False, True]
    if name in INTEGERS:
        info = np.iinfo(name)
        return [v for v in _INTEGER_POOL if info.min <= v <= info.max]
    if name in FLOATS:
        return list(_FLOAT_POOL)
    return [complex(a, b) for a in _FLOAT_POOL[:8] for b in (0.0, 1.0, -2.5)]


def arrays(
    names: tuple[str, ...] | str = ALL,
    shapes: tuple[tuple[int, ...], ...] = SHAPES,
    values: Any = None,
    unique: bool = False,
) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    """NumPy arrays to pass to `make`, with drawn dtype, shape and values."""
    names = (names,) if isinstance(names, str) else names

    @st.composite
    def draw_array(draw: Any) -> Any:
        name, shape = draw(st.sampled_from(names)), draw(st.sampled_from(shapes))
        chosen = pool(name) if values is None else values
        items = draw(
            st.lists(
                st.sampled_from(chosen),
                min_size=math.prod(shape),
                max_size=math.prod(shape),
                unique=unique,
            )
        )
        return np.asarray(items, dtype=name).reshape(shape)

    return draw_array()


PAIRS = (
    ((), ()), ((3,), (3,)), ((2, 3), (2, 3)), ((), (3,)), ((2, 3), (3,)), ((3, 1), (1, 2)),
    ((2, 1, 3), (3, 1)), ((0,), (1,)), ((2, 0), ()),
)  # fmt: skip


def pairs(names: tuple[str, ...], **options: Any) -> st.SearchStrategy[Any]:
    """Two arrays of one dtype that broadcast."""

    @st.composite
    def draw_pair(draw: Any) -> Any:
        name, shapes = draw(st.sampled_from(names)), draw(st.sampled_from(PAIRS))
        return tuple(draw(arrays(name, (s,), **options)) for s in shapes)

    return draw_pair()


def axes_of(ndim: int) -> st.SearchStrategy[Any]:
    """An axis, a tuple of axes, or None."""
    single = st.integers(-ndim, ndim - 1) if ndim else st.none()
    several = st.lists(st.integers(0, max(ndim - 1, 0)), unique=True, max_size=ndim).map(tuple)
    return st.none() | single | several


def axis_of(ndim: int) -> st.SearchStrategy[int]:
    return st.integers(-ndim, ndim - 1)


def default_of(kind: str) -> str:
    """The name of the default dtype of a kind."""
    return {"real floating": "float64", "complex floating": "complex128"}.get(kind, "int64")
