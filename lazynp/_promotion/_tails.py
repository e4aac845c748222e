"""What rounds read of lists to which they append: their length, and their last elements.

`abs(xs[-1] - xs[-2]) < tol` reads what this round and the one before have appended. These are
variables of the function of the rounds, called `xs[-1]` and `xs[-2]`. Each `append` moves them on,
and they begin as what the list holds. Nothing binds them afterwards, for the list gets the rows.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from lazynp._promotion._paths import joined, path_of, target_of
from lazynp.transforms.control import copied

_MOST = 8  # elements from the end
_NEW = ".new"  # a variable: what is appended


def tails_of(statements: Sequence[ast.stmt], head: ast.expr, lists: set[str]) -> dict[str, int]:
    """By list, how many of its last elements are read; 0, if only its length is. Not of lists of
    which something else is read, or which are joined or set in. head: the loop's condition, or
    what it goes over.
    """
    found = _Reads(lists)
    for part in (*statements, head):
        found.visit(part)
    return {of: most for of, most in found.most.items() if of not in found.others}


def with_tails(part: Any, tails: dict[str, int]) -> Any:
    """Statements, or an expression, that read variables instead."""
    if not tails:
        return part
    change = _Change(tails)
    if isinstance(part, list):
        return [t for s in part for t in change.statements(copied(s))]
    return change.visit(copied(part))


def is_tail(name: str) -> bool:
    return not name.isidentifier() and name[0] != "."


def _element(node: ast.AST) -> tuple[str, int] | None:
    """The list and the 2 of `xs[-2]`."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return None
    k = node.slice
    if not isinstance(k, ast.UnaryOp) or not isinstance(k.op, ast.USub):
        return None
    number = k.operand.value if isinstance(k.operand, ast.Constant) else None
    of = path_of(node.value)
    if type(number) is not int or not 1 <= number <= _MOST or of is None:
        return None
    return of, number


def _length(node: ast.AST) -> str | None:
    """The list of `len(xs)`."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    is_len = isinstance(node.func, ast.Name) and node.func.id == "len"
    return path_of(node.args[0]) if is_len else None


class _Reads(ast.NodeVisitor):
    def __init__(self, lists: set[str]) -> None:
        self._lists = lists
        self.most: dict[str, int] = {}
        self.others: set[str] = set()

    def visit(self, node: ast.AST) -> None:
        element, length = _element(node), _length(node)
        of, number = element or (length, 0)
        if of in self._lists:
            self.most[of] = max(self.most.get(of, 0), number)
            return
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            path = path_of(node)
            if path in self._lists:
                self.others.add(path)
                return
        target = target_of(node) if isinstance(node, ast.stmt) else None
        if target is not None and target[0] in self._lists:
            if joined(node) is not None or target[2] is not None:
                self.others.add(target[0])
            node = target[1]
            self.visit(node)
            return
        self.generic_visit(node)


class _Change(ast.NodeTransformer):
    def __init__(self, tails: dict[str, int]) -> None:
        self._tails = tails

    def statements(self, s: ast.stmt) -> list[ast.stmt]:
        made = self.visit(s)
        return made if isinstance(made, list) else [made]

    def visit_Expr(self, node: ast.Expr) -> Any:
        target = target_of(node)
        if target is None or target[0] not in self._tails:
            return self.generic_visit(node)
        of, value, _ = target
        call: Any = node.value
        new = ast.Name(_NEW, ast.Load())
        made: list[ast.stmt] = [_assigned(_NEW, self.visit(value))]
        call.args = [new]
        made.append(node)
        count = self._tails[of]
        for k in range(count, 0, -1):
            before = new if k == 1 else ast.Name(name_of(of, k - 1), ast.Load())
            made.append(_assigned(name_of(of, k), before))
        length = ast.Name(name_of(of), ast.Load())
        made.append(_assigned(name_of(of), ast.BinOp(length, ast.Add(), ast.Constant(1))))
        return [ast.fix_missing_locations(ast.copy_location(m, node)) for m in made]

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        element = _element(node)
        if element is None or element[0] not in self._tails:
            return self.generic_visit(node)
        return ast.copy_location(ast.Name(name_of(*element), ast.Load()), node)

    def visit_Call(self, node: ast.Call) -> Any:
        of = _length(node)
        if of not in self._tails:
            return self.generic_visit(node)
        return ast.copy_location(ast.Name(name_of(of), ast.Load()), node)


def name_of(path: str, k: int = 0) -> str:
    """The variable of the last element but k - 1; 0: of the length."""
    return f"{path}[-{k}]" if k else f"len({path})"


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)
