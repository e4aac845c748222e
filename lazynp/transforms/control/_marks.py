"""Marks on expressions, for their rewriting: where only the truth of an operand counts, and where
the message of an exception is formatted.
"""

from __future__ import annotations

import ast
import re

# the parts of the text in `"%d of %s" % values`
FORMATS = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa])")


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
        if (
            isinstance(n, (ast.JoinedStr, ast.FormattedValue))
            or is_format(n)
            or _is_text(n)
            or is_percent(n)
        ):
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


class Texts(ast.NodeTransformer):
    """The rewriting of f-strings."""

    def _call(self, node: ast.AST, kind: str, *args: ast.expr) -> ast.expr:
        raise NotImplementedError

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        plain = all(isinstance(v, ast.Constant) for v in node.values)
        return node if plain or hasattr(node, "of_error") else self._call(node, "written", node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        node.value = self.visit(node.value)
        if isinstance(node.format_spec, ast.JoinedStr):
            self.generic_visit(node.format_spec)
        how = ast.Constant(chr(node.conversion) if node.conversion >= 0 else "")
        kind = "message" if getattr(node, "of_error", False) else "text"
        node.value, node.conversion = self._call(node.value, kind, node.value, how), -1
        return node
