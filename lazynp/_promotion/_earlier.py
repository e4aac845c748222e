"""What became of trials in earlier processes.

A script is run again and again. Its programs are on disk then, so a function that has won its trial
is worth a new one at once: no rent is due for compiling. One that has lost must wait longer. A note
only decides when there is a trial; every process has its own.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable
from types import CodeType
from typing import Any

from lazynp import lowering
from lazynp._array import Array
from lazynp._config import config
from lazynp._version import __version__

WAITING = 8  # times as long as usual, if the last trial was lost
_WON, _LOST = b"won", b"lost"
_HERE = __version__, sys.version, os.cpu_count()


def key_of(*parts: Any) -> str | None:
    """The key of a note; None if nothing is kept. parts: of what can be written out."""
    if config.cache == "off":
        return None
    return repr((_HERE, parts))


def of_code(code: CodeType) -> str:
    """What identifies code, wherever it stands in its file."""
    parts = [repr((code.co_code, code.co_name, code.co_names, code.co_varnames))]
    for c in code.co_consts:
        known = of_code(c) if isinstance(c, CodeType) else repr(c)
        if isinstance(c, frozenset):
            known = repr(sorted(map(repr, c)))
        parts.append(f"{type(c).__name__} {known}")
    return "\n".join(parts)


def of_loop(node: ast.AST) -> str:
    return ast.dump(node)


def of_kind(leaves: Iterable[Any]) -> str:
    """The types of what varies in a call."""
    return " ".join([str(x.aval) if isinstance(x, Array) else type(x).__name__ for x in leaves])


def has_won(key: str | None) -> bool | None:
    """Whether the last trial was won; None if none is known."""
    found = None if key is None else lowering.noted(key)
    return {_WON: True, _LOST: False}.get(found or b"")


def times(won: bool | None) -> int:
    """By how much to multiply the price of compiling."""
    return {None: 1, True: 0, False: WAITING}[won]


def keep(key: str | None, won: bool) -> None:
    if key is not None and has_won(key) is not won:
        lowering.note(key, _WON if won else _LOST)
