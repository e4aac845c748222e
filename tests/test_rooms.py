"""A file has at most 500 lines, a function at most 60: what is longer stands here with a reason."""

from __future__ import annotations

import ast
from pathlib import Path

import lazynp

LIBRARY = Path(lazynp.__file__).parent
FILE, FUNCTION = 500, 60

LONG_FILES = {}
LONG_FUNCTIONS = {
    "functions/_ufunc.py": {"_with_options": "NumPy's eleven options, in NumPy's order"},
}


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def _long_functions(path: Path) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, kinds)]
    return {f.name for f in found if (f.end_lineno or 0) - f.lineno + 1 > FUNCTION}


ROOMS = {p.relative_to(LIBRARY).as_posix(): p for p in sorted(LIBRARY.rglob("*.py"))}


def test_no_file_is_longer_than_allowed() -> None:
    assert {n for n, p in ROOMS.items() if _lines(p) > FILE} - LONG_FILES.keys() == set()


def test_no_function_is_longer_than_allowed() -> None:
    found = {n: _long_functions(p) - LONG_FUNCTIONS.get(n, {}).keys() for n, p in ROOMS.items()}
    assert {n: names for n, names in found.items() if names} == {}


def test_no_exception_is_left_over() -> None:
    assert {n for n in LONG_FILES if n not in ROOMS or _lines(ROOMS[n]) <= FILE} == set()
    for room, names in LONG_FUNCTIONS.items():
        assert names.keys() - _long_functions(ROOMS[room]) == set(), room
