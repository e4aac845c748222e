"""A file has at most 500 lines, a function at most 60: what is longer stands here with a reason."""

from __future__ import annotations

import ast
from pathlib import Path

import lazynp

LIBRARY = Path(lazynp.__file__).parent
FILE, FUNCTION = 500, 60

_ENGINE = "dispatch, memo tables and the choice of a back end are still in one place"
LONG_FILES = {
    "_methods.py": "five chapters of ndarray in one table",
    "_plan.py": _ENGINE,
    "_trace.py": _ENGINE,
    "functions/_getset.py": _ENGINE,
    "functions/_recording.py": _ENGINE,
    "functions/_ufunc.py": _ENGINE,
}
LONG_FUNCTIONS = {
    "functions/_getset.py": {"getitem": _ENGINE, "setitem": _ENGINE},
    "functions/_recording.py": {"binary": _ENGINE, "unary": _ENGINE, "call": _ENGINE},
    "functions/_reduce.py": {"reduce": _ENGINE},
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
