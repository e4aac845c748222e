"""Compare what a program gives on placed arrays with what NumPy gives."""

from __future__ import annotations

import copy
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy

import lazynp


def outcome(function: Callable[..., Any], np: Any, arrays: dict[str, Any]) -> Any:
    """What it returns or raises, and the arrays afterwards, as NumPy's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(np, **arrays)
        except Exception as error:
            result = error
        return host(result), host(arrays)


def host(tree: Any) -> Any:
    if isinstance(tree, (tuple, list)):
        return [host(t) for t in tree]
    if isinstance(tree, dict):
        return {k: host(v) for k, v in tree.items()}
    return numpy.asarray(tree) if isinstance(tree, lazynp.Array) else tree


def differences(want: Any, got: Any, where: str = "result") -> list[str]:
    if isinstance(want, BaseException):
        kind = type(got).__mro__ if isinstance(got, BaseException) else ()
        same = type(want) in kind or any(k.__name__ == type(want).__name__ for k in kind)
        return [] if same else [f"{where}: {want!r} was due, got {got!r}"]
    if isinstance(got, BaseException):
        text = "".join(traceback.format_exception(got)[-6:])
        return [f"{where}: raised {got!r}\n{text}"]
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(want) != len(got):
            return [f"{where}: {want!r} was due, got {got!r}"]
        return [
            d for i, (a, b) in enumerate(zip(want, got)) for d in differences(a, b, f"{where}[{i}]")
        ]
    if isinstance(want, dict):
        return [d for k in want for d in differences(want[k], got[k], k)]
    if isinstance(want, (numpy.ndarray, numpy.generic)):
        given = numpy.asarray(got)
        if want.dtype != given.dtype or want.shape != given.shape:
            return [f"{where}: {want.dtype}{want.shape} was due, got {given.dtype}{given.shape}"]
        exact = want.dtype.kind in "biuU"
        close = (
            numpy.array_equal(want, given)
            if exact
            else numpy.allclose(want, given, 1e-9, 1e-9, True)
        )
        return [] if close else [f"{where}: {want} was due, got {given}"]
    if isinstance(want, float):
        return [] if numpy.isclose(want, got, 1e-9, 1e-12) else [f"{where}: {want!r}, got {got!r}"]
    return [] if want == got else [f"{where}: {want!r} was due, got {got!r}"]


def compare(
    function: Callable[..., Any],
    arrays: dict[str, Any],
    place: Callable[[str, Any], Any],
    check: Callable[[Any], list[str]] | None = None,
) -> list[str]:
    """The differences between NumPy's outcome and that on arrays made by `place(name, array)`."""
    want = outcome(function, numpy, copy.deepcopy(arrays))
    kept: list[Any] = []

    def noted(np: Any, **given: Any) -> Any:
        out = function(np, **given)
        kept.append(out)
        kept.append(given)
        return out

    got = outcome(noted, lazynp, {k: place(k, a) for k, a in arrays.items()})
    found = differences(want[0], got[0]) + differences(want[1], got[1])
    return found + (check(kept) if check else [])
