"""Marks on expressions, for their rewriting: where only the truth of an operand counts, and where
the message of an exception is formatted.
"""

from __future__ import annotations

import ast


def mark_test(e: ast.expr) -> None:
    """Mark each `and` and `or` in a test: the program needs only the truth of its operands."""
    if isinstance(e, ast.Name):
        e.of_test = True  # type: ignore[attr-defined]
    if isinstance(e, ast.BoolOp):
        e.of_test = True  # type: ignore[attr-defined]
        for value in e.values:
            mark_test(value)


def mark_message(e: ast.expr | None) -> None:
    """Mark where the message of an exception is formatted."""
    for n in ast.walk(e) if e is not None else ():
        if isinstance(n, ast.FormattedValue) or is_format(n) or _is_text(n) or is_percent(n):
            n.of_error = True  # type: ignore[attr-defined]


def is_format(n: ast.AST) -> bool:
    """Whether this is `"...".format(...)`."""
    of = n.func if isinstance(n, ast.Call) and not any(
        isinstance(a, ast.Starred) for a in n.args
    ) else None  # fmt: skip
    return isinstance(of, ast.Attribute) and of.attr == "format" and (
        isinstance(of.value, ast.Constant)
    )  # fmt: skip


def is_percent(n: ast.AST) -> bool:
    """Whether this is `"..." % values`."""
    return isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) and (
        isinstance(n.left, ast.Constant) and isinstance(n.left.value, str)
    )  # fmt: skip


def _is_text(n: ast.AST) -> bool:
    """Whether this is `str(x)` or `repr(x)`."""
    return isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and (
        n.func.id in ("str", "repr") and len(n.args) == 1 and not n.keywords
    ) and not isinstance(n.args[0], ast.Starred)  # fmt: skip
