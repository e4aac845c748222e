"""Which variables of a function may be None on some paths: see `_absent`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from lazynp.transforms.control._names import inside, names


def optional_names(given: ast.arguments, body: Sequence[ast.stmt]) -> set[str]:
    """Parameters that are None by default, variables that get a None, and other names of these."""
    plain = [*given.posonlyargs, *given.args]
    defaults = [*zip(reversed(plain), reversed(given.defaults), strict=False),
                *zip(given.kwonlyargs, given.kw_defaults, strict=True)]  # fmt: skip
    found = {a.arg for a, d in defaults if is_none(d)}
    again = []
    tested = {name for n in inside(body) if (name := _asked_for_none(n)) is not None}
    for s in inside(body):
        if not isinstance(s, ast.Assign):
            continue
        value = s.value
        if any(map(is_none, value.elts if isinstance(value, ast.Tuple) else _ends(value))):
            found |= names(s).stores
        if isinstance(value, ast.Call) and _are_names(s):
            found |= names(s).stores & tested
        if may_pass_none(s):
            again.append(s)
    for _ in again:
        for s in again:
            if any(isinstance(e, ast.Name) and e.id in found for e in _ends(s.value)):
                found |= names(s).stores
    return found


def may_pass_none(node: ast.Assign) -> bool:
    """Whether it is `y = x`, `y = f()`, or `y = a if test else b`: y is None where that is."""
    value = node.value
    some = isinstance(value, (ast.Name, ast.Call)) or any(map(is_none, _ends(value)[1:]))
    return some and _are_names(node)


def _are_names(node: ast.Assign) -> bool:
    return all(isinstance(t, ast.Name) for t in node.targets)


def _asked_for_none(node: ast.AST) -> str | None:
    """The x of `x is None` and `x is not None`; None for other nodes."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not is_none(node.comparators[0]):
        return None
    if not isinstance(node.ops[0], (ast.Is, ast.IsNot)) or not isinstance(node.left, ast.Name):
        return None
    return node.left.id


def _ends(value: ast.expr) -> list[ast.expr]:
    """What the value may be, itself first."""
    if isinstance(value, ast.IfExp):
        return [value, *_ends(value.body), *_ends(value.orelse)]
    return [value]


def is_fixed(e: ast.expr) -> bool:
    """Whether only this constant is it, whatever is traced: a traced bool may be True."""
    return isinstance(e, ast.Constant) and type(e.value) is not bool


def is_none(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
