"""Which functions are rewritten: those in which a traced value may stand where Python wants to know
it.
"""

from __future__ import annotations

import ast

from lazynp.transforms.control._marks import is_format, is_percent
from lazynp.transforms.control._reductions import REDUCING

MEMBERSHIP = (ast.In, ast.NotIn)
_CONTROL = (ast.For, ast.While, ast.If, ast.IfExp, ast.BoolOp, ast.Assert, ast.Try, ast.Match)
# these look at a number, as indices of lists do
_NUMBERS = {
    "int", "float", "complex", "bool", "round", "divmod", "pow", "sorted", "len", *REDUCING,
    "print", "str", "repr", "format",
}  # fmt: skip


def may_be_number(index: ast.expr) -> bool:
    """Whether an index may be a traced number. (`item` costs a call.)"""
    if isinstance(index, ast.UnaryOp):
        index = index.operand
    return not isinstance(index, (ast.Constant, ast.Slice, ast.Tuple))


def is_affected(node: ast.AST) -> bool:
    """Whether the function has control flow, reads what may be a list by an index that is no
    constant, sets entries or attributes, or makes numbers of Python's.
    """
    return any(map(_is_affected, ast.walk(node)))


def _is_affected(n: ast.AST) -> bool:
    if isinstance(n, ast.Compare):
        return len(n.ops) > 1 or isinstance(n.ops[0], MEMBERSHIP)
    if isinstance(n, ast.Call):
        return isinstance(n.func, ast.Name) and n.func.id in _NUMBERS
    if isinstance(n, ast.Subscript):
        stores = isinstance(n.ctx, ast.Store) and isinstance(n.slice, ast.Constant)
        return stores or may_be_number(n.slice)
    if isinstance(n, ast.JoinedStr) or is_percent(n) or is_format(n):
        return True
    if isinstance(n, ast.Attribute):
        return isinstance(n.ctx, ast.Store)
    return isinstance(n, _CONTROL) or isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not)
