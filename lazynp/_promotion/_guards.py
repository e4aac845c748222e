"""What a traced function read from outside, and whether it is still the same.

A trace keeps the values of global names, of closures and of defaults. Before each call the program
compares them. What may change without its name being bound again, such as a list, is refused.
"""

from __future__ import annotations

import dis
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from lazynp._array import NDArray, Scalar
from lazynp.transforms._jit import Jitted
from lazynp.transforms.control import PURE, CannotStage, inner_codes

MISSING = object()
_UNCHANGING = (
    bool, int, float, complex, str, bytes, type(None), range, slice, np.generic, np.dtype, np.ufunc,
    FunctionType, BuiltinFunctionType, Scalar, type(Ellipsis),
)  # fmt: skip
_LIBRARIES = {*PURE, "builtins"}


class Guards:
    """The values that some functions read from outside."""

    def __init__(self, functions: list[FunctionType]) -> None:
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        self._cells: list[tuple[CellType, Any]] = []
        inside = {
            _place(c) for f in functions for c in inner_codes(f.__code__) if c is not f.__code__
        }
        seen: set[tuple[int, str]] = set()
        for f in functions:
            _check_code(f.__code__)
            names = {n for c in inner_codes(f.__code__) for n in c.co_names}
            self._add(f.__globals__, names, seen, f.__builtins__)
            for value in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
                check(value, "a default")
            if _place(f.__code__) not in inside:  # not made during the call
                self._close(f)

    def _add(
        self, scope: dict[str, Any], names: set[str], seen: set[tuple[int, str]], rest: Any
    ) -> None:
        for name in names:
            if (id(scope), name) in seen:
                continue
            seen.add((id(scope), name))
            value = scope.get(name, MISSING)
            self._names.append((scope, name, value))
            if value is MISSING:
                value = rest.get(name, MISSING)
            inside = _namespaces(value, name)
            for inner in inside:
                self._add(inner, names, seen, {})
            if not inside and value is not MISSING:
                check(value, f"`{name}`")

    def _close(self, function: FunctionType) -> None:
        if any(n.startswith(".") for n in function.__code__.co_freevars):
            return  # part of a function that was rewritten
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                raise CannotStage(f"`{name}` is unbound") from None
            check(value, f"`{name}`")
            self._cells.append((cell, value))

    def hold(self) -> bool:
        """Whether all of it is the same."""
        for scope, name, value in self._names:
            now = scope.get(name, MISSING)
            if now is not value and not _equal(now, value):
                return False
        for cell, value in self._cells:
            try:
                if cell.cell_contents is not value and not _equal(cell.cell_contents, value):
                    return False
            except ValueError:
                return False
        return True


def _check_code(code: CodeType) -> None:
    """Refuse what changes the outside, or an array's shape: a trace would do so only once."""
    for c in inner_codes(code):
        for i in dis.get_instructions(c):
            if i.opname in _CHANGES or i.argval in _CHANGING and i.opname in _READS:
                raise CannotStage(f"line {c.co_firstlineno} ff.: {i.opname} {i.argval}")


_CHANGES = {"STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME"}
_READS = {"LOAD_ATTR", "LOAD_METHOD"}
_CHANGING = {"setflags", "resize"}


def _place(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_name


def _namespaces(value: Any, name: str) -> list[Any]:
    """Those of a module, or class, of the user's, whose attributes are read by name."""
    if isinstance(value, ModuleType) and not _is_library(value.__name__):
        if "__getattr__" in value.__dict__:
            raise CannotStage(f"reads attributes of `{name}`, which computes them")
        return [value.__dict__]
    if isinstance(value, type) and not _is_library(value.__module__):
        if type(value) is not type:
            raise CannotStage(f"reads `{name}`, a class with a metaclass")
        return [vars(c) for c in value.__mro__ if not _is_library(c.__module__)]
    return []


def _is_library(name: str) -> bool:
    return name.partition(".")[0] in _LIBRARIES


def reads(functions: list[FunctionType], without: CodeType) -> set[str]:
    """The names that these functions may read from outside."""
    codes = [c for f in functions if f.__code__ is not without for c in inner_codes(f.__code__)]
    return {name for c in codes for name in c.co_names}


def check(value: Any, what: str) -> None:
    """Refuse what may change while its name stays bound to it. (Arrays are read at each call.)"""
    if isinstance(value, (tuple, frozenset)):
        for x in value:
            check(x, what)
    elif not isinstance(value, (*_UNCHANGING, NDArray, ModuleType, type, Jitted)):
        raise CannotStage(f"reads {what}, a {type(value).__name__}, which may change")


def _equal(a: Any, b: Any) -> bool:
    """Numbers and strings that were computed again."""
    if type(a) is not type(b) or not isinstance(a, (bool, int, float, complex, str, bytes)):
        return False
    return repr(a) == repr(b)
