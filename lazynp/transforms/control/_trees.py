"""Copies and places of syntax trees, as the module `ast` and `copy` make them, in less time."""

from __future__ import annotations

import ast
from typing import Any

_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def copied(tree: Any) -> Any:
    """A deep copy of a tree, or of a list of them. What holds nothing, as `Load()`, is shared."""
    if isinstance(tree, list):
        return [copied(t) for t in tree]
    if not isinstance(tree, ast.AST) or not tree._fields and not tree._attributes:
        return tree
    made = tree.__class__.__new__(tree.__class__)
    of = made.__dict__
    for name, value in tree.__dict__.items():
        of[name] = copied(value) if isinstance(value, (ast.AST, list)) else value
    return made


def placed(tree: Any) -> Any:
    """The tree, where each part without a place has the place of what it is in. A part with a
    place is not looked into: so trees that are made from the inside out are gone through once. (If
    the whole has no place yet, it will get one from what it becomes a part of.)
    """
    if "lineno" in tree.__dict__:
        _place(tree, {name: getattr(tree, name) for name in _PLACE})
    return tree


def _place(tree: ast.AST, place: dict[str, Any]) -> None:
    for field in tree._fields:
        value = getattr(tree, field, None)
        for part in value if isinstance(value, list) else (value,):
            if not isinstance(part, ast.AST) or "lineno" in part.__dict__:
                continue
            if "lineno" in part._attributes:
                part.__dict__.update(place)
            _place(part, place)


def located(node: Any, at: ast.AST) -> Any:
    """The node, at the line of another; parts with a line keep theirs."""
    made = ast.copy_location(node, at)
    if isinstance(at, ast.stmt):  # the first line: Python places the call of a method at the last
        made.end_lineno, made.end_col_offset = made.lineno, made.col_offset
    return placed(made)


def stored(of: str) -> ast.expr:
    return ast.Name(of, ast.Store())


def constant(of: set[str]) -> ast.expr:
    value: Any = tuple(sorted(of))
    return ast.Constant(value)
