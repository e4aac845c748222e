"""A deliberately broken namespace: for each chapter, a fault that its tests must find.

`python -m array_api_tests.broken` runs each chapter against its fault, and prints, as JSON, how
many tests failed. Everything except the chapter's own fault is correct.

`python -m array_api_tests.broken --each` breaks one function, method or operator after another, by
a wrong last element. It exits with 1 if the chapter that owns one of them does not find the fault.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

os.environ["ARRAY_API_TESTS_MODULE"] = "lazynp.array_api"
os.environ.setdefault("LAZYNP_EXECUTION", "reference")
from array_api_tests import support
from array_api_tests.table import CHAPTERS, names_of

xp = support.xp
Array = type(xp.asarray([1]))
Fault = Callable[[Any], Any]


def _wrapped(name: str, change: Callable[[Any], Any]) -> tuple[Any, str, Any]:
    """Wrap a function so that `change` is applied to its result."""
    original = getattr(xp, name)
    return xp, name, lambda *args, **kwargs: change(original(*args, **kwargs))


def _method(name: str, change: Callable[[Any], Any]) -> tuple[Any, str, Any]:
    original = getattr(Array, name)
    return Array, name, lambda self, *args, **kwargs: change(original(self, *args, **kwargs))


def _extension(space: str, name: str, change: Callable[[Any], Any]) -> tuple[Any, str, Any]:
    module = getattr(xp, space)
    original = getattr(module, name)
    return module, name, lambda *args, **kwargs: change(original(*args, **kwargs))


def _without_keyword() -> tuple[Any, str, Any]:
    original = xp.stack
    return xp, "stack", lambda arrays, /: original(arrays)


def _first_rows_of_unlike_shapes() -> tuple[Any, str, Any]:
    original = xp.add

    def add(x1: Any, x2: Any, /) -> Any:
        try:
            return original(x1, x2)
        except ValueError:
            return xp.zeros(())

    return xp, "add", add


def _foreign_dtypes() -> tuple[Any, str, Any]:
    info = type(xp.__array_namespace_info__())
    original = info.dtypes
    return info, "dtypes", lambda self, **kwargs: {**original(self, **kwargs), "float16": "e"}


def _zero_losing() -> tuple[Any, str, Any]:
    return _wrapped(
        "sqrt", lambda out: xp.abs(out) if xp.isdtype(out.dtype, "real floating") else out
    )


# chapter: its fault
FAULTS: dict[str, Callable[[], tuple[Any, str, Any]]] = {
    "array_object": lambda: _method("__neg__", lambda out: xp.astype(out, xp.float64)),
    "broadcasting": _first_rows_of_unlike_shapes,
    "constants": lambda: (xp, "pi", 3.14),
    "creation": lambda: _wrapped("linspace", lambda out: xp.flip(out)),
    "data_types": lambda: _wrapped("isdtype", lambda out: True),
    "dlpack": lambda: _method("__dlpack_device__", lambda out: (2, 0)),
    "elementwise": lambda: _wrapped("cos", lambda out: out + 1),
    "fft": lambda: _extension("fft", "ifft", lambda out: out * 2),
    "indexing": lambda: _method("__getitem__", lambda out: xp.flip(out)),
    "inspection": _foreign_dtypes,
    "linalg": lambda: _extension("linalg", "inv", lambda out: out * 2),
    "linear_algebra": lambda: _wrapped("vecdot", lambda out: xp.conj(out) + 1),
    "manipulation": lambda: _wrapped("concat", lambda out: xp.flip(out)),
    "namespace": lambda: (xp, "__array_api_version__", "2077.01"),
    "searching": lambda: _wrapped("argmax", lambda out: xp.astype(out, xp.int32)),
    "set": lambda: _wrapped("unique_inverse", lambda out: tuple(out)),
    "signatures": _without_keyword,
    "sorting": lambda: _wrapped("sort", lambda out: xp.flip(out)),
    "special_cases": _zero_losing,
    "statistical": lambda: _wrapped("mean", lambda out: out + 1),
    "type_promotion": lambda: _wrapped("multiply", lambda out: xp.astype(out, xp.float64)),
    "utility": lambda: _wrapped("any", lambda out: xp.logical_not(out)),
}


# -- one name after another ------------------------------------------------------------------------


def _perturbed(out: Any) -> Any:
    """A different result of the same kind."""
    if isinstance(out, Array):
        return _perturbed_array(np.array(out))
    if isinstance(out, tuple) and hasattr(out, "_fields"):
        return type(out)(*map(_perturbed, out))
    if isinstance(out, tuple) and out and isinstance(out[0], Array):
        return tuple(map(_perturbed, out))
    if isinstance(out, bool):
        return not out
    return out + 1 if isinstance(out, (int, float, complex)) else None


def _perturbed_array(value: Any) -> Any:
    """Change the last element; give an empty array one more dimension."""
    if not value.size:
        return support.make(value.reshape(*value.shape, 1))
    flat = value.reshape(-1)
    last = flat[-1]
    flat[-1] = not last if value.dtype == bool else last + 1 if np.isfinite(last) else 0
    return support.make(value)


def _each(chapter: str) -> Iterator[tuple[str, tuple[Any, str, Any]]]:
    for name in names_of(chapter):
        owner = xp
        if chapter in ("linalg", "fft"):
            owner = getattr(xp, chapter)
        elif name not in vars(xp):
            owner = Array
        right = getattr(owner, name)
        if name == "__setitem__":
            yield name, (owner, name, lambda self, key, value: None)
        elif callable(right) and not isinstance(right, type):
            wrong = functools.partial(_wrong, right)
            yield name, (owner, name, lambda *args, wrong=wrong, **kwargs: wrong(*args, **kwargs))


def _wrong(right: Any, *args: Any, **kwargs: Any) -> Any:
    return _perturbed(right(*args, **kwargs))


def unnoticed() -> list[str]:
    """The names whose fault no test finds."""
    found = ((f"{c}: {name}", run(c, fault).failed) for c in CHAPTERS for name, fault in _each(c))
    return [name for name, failed in found if not failed]


# -- running ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def broken(fault: tuple[Any, str, Any]) -> Iterator[None]:
    owner, name, wrong = fault
    right = getattr(owner, name)
    setattr(owner, name, wrong)
    try:
        yield
    finally:
        setattr(owner, name, right)


class _Failures:
    """Counts failed tests."""

    def __init__(self) -> None:
        self.failed = self.passed = 0

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call":
            self.failed += report.failed
            self.passed += report.passed


def run(chapter: str, fault: tuple[Any, str, Any]) -> _Failures:
    """Run the chapter's tests against a fault, up to the first failure."""
    counts = _Failures()
    path = os.path.join(os.path.dirname(__file__), f"test_{chapter}.py")
    options = ["-q", "-W", "ignore", "--maxfail=1", "--tb=no", "-p", "no:cacheprovider",
               "-p", "no:xdist", "--hypothesis-profile=faults"]  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()), broken(fault):
        pytest.main([path, *options], plugins=[counts])
    return counts


def main() -> None:
    found = {chapter: run(chapter, fault()).failed for chapter, fault in FAULTS.items()}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    if "--each" in sys.argv:
        sys.exit("\n".join(unnoticed()))
    main()
