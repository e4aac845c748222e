"""Methods of arrays show the names and signatures of NumPy's."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from types import FunctionType
from typing import Any

import numpy as np

from lazynp._fronts import in_front_too

_TAKING_MORE = {"nonzero", "repeat"}  # than NumPy's


class SignatureOf(inspect.Signature):
    """The signature of a method of NumPy's. Its text is parsed when someone asks: at import, that
    would take 10 ms.
    """

    return_annotation = property(lambda self: inspect.Signature.empty)  # type: ignore[assignment]

    def __init__(self, method: Any) -> None:
        self._method = method

    @property
    def parameters(self) -> Any:
        return inspect.signature(self._method).parameters

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]
        return inspect.signature(self._method).replace(**changes)

    __replace__ = replace

    def __reduce__(self) -> Any:
        return SignatureOf, (self._method,)


def show_signatures(kinds: tuple[type, ...], of_the_namespace: Collection[str]) -> None:
    """Give the methods of these classes their signatures, where NumPy has them.

    of_the_namespace: methods that are also functions, whose signatures stay.
    """
    for kind in kinds:
        for name, function in list(vars(kind).items()):
            method = getattr(np.ndarray, name, None)
            if not getattr(method, "__text_signature__", None) or name in _TAKING_MORE:
                continue
            if not isinstance(function, FunctionType):
                continue
            python: Any = function.__call__.__self__  # behind its front
            if name in of_the_namespace:
                python = _twin(python)
                setattr(kind, name, in_front_too(function, python))
            python.__signature__ = SignatureOf(method)  # type: ignore[attr-defined]


def show_names(kind: type, of_the_namespace: Collection[str]) -> None:
    """Give the methods of this class their names: packages ask for them, errors tell them, and
    pickles find the methods by them.
    """
    for name, function in list(vars(kind).items()):
        if name[0] == "_" or not isinstance(function, FunctionType):
            continue
        python: Any = function.__call__.__self__  # behind its front
        named = python.__qualname__.startswith("ndarray.")  # as `conj`, which is `conjugate`
        if named or name in _TAKING_MORE:
            python = _twin(python)
            setattr(kind, name, in_front_too(function, python))
        python.__name__, python.__module__ = name, "lazynp"
        python.__qualname__ = f"ndarray.{name}"
        inner = None if name in of_the_namespace else getattr(python, "__wrapped__", None)
        while inner is not None:  # errors come from the innermost
            inner.__qualname__ = f"ndarray.{name}"
            inner = getattr(inner, "__wrapped__", None)


def _twin(function: FunctionType) -> FunctionType:
    """The same function, as another object."""
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(vars(function))
    for name in ("__annotations__", "__doc__", "__module__", "__qualname__"):
        setattr(made, name, getattr(function, name))
    return made
