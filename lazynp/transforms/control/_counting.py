"""`while k < n: ...; k += 1` is `for k in range(k, n)`, where nothing else changes k or n. The
rounds of `while t < end: ...; t += dt` are counted beforehand, if these numbers are known.

The rewriter finds such loops here. What numbers they are is seen when the loop runs: see
`_counted`.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from lazynp.transforms.control._names import names

_AHEAD = {ast.Lt: (1, 0), ast.LtE: (1, 1), ast.Gt: (-1, 0), ast.GtE: (-1, -1)}  # direction, beyond


class Count(NamedTuple):
    """What the test and the last statement of such a loop say."""

    name: str
    bound: ast.expr
    sized: ast.expr  # a tuple of what `len` measures in the bound
    step: ast.expr  # what the last statement adds
    beyond: int  # from the bound to the end of the range


def counting(s: ast.While, locals_: set[str]) -> Count | None:
    """None: another loop. Jumps have become flags before, which guard what follows them."""
    test = s.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    k, (bound,) = test.left, test.comparators
    ahead = _AHEAD.get(type(test.ops[0]))
    if ahead is None or not isinstance(k, ast.Name) or k.id not in locals_:
        return None
    step, others = _step(s.body, k.id, getattr(s, "stop", []))
    number: Any = step.value if isinstance(step, ast.Constant) else ahead[0]
    if step is None or number * ahead[0] <= 0:
        return None
    stored = names(*others).stores
    lengths: list[ast.expr] = []
    if k.id in stored or not _is_steady(bound, stored | {k.id}, locals_, lengths):
        return None
    if isinstance(step, ast.UnaryOp | ast.Name) and not _is_steady(
        step, stored | {k.id}, locals_, lengths
    ):
        return None
    return Count(k.id, bound, ast.Tuple(lengths, ast.Load()), step, ahead[1])


def _step(body: list[ast.stmt], k: str, flags: list[str]) -> tuple[ast.expr | None, list[ast.stmt]]:
    """What the last statement adds to k, or None, and the statements before it. It may be guarded
    by flags of jumps that end the loop.
    """
    before, last = body[:-1], body[-1] if body else None
    if isinstance(last, ast.If) and not last.orelse and _are_flags(last.test, flags):
        step, others = _step(last.body, k, flags)
        return step, [*before, *others]
    if not isinstance(last, ast.AugAssign) or not isinstance(last.target, ast.Name):
        return None, before
    by = last.value
    known = isinstance(by, ast.Name) or isinstance(by, ast.Constant) and type(by.value) in _NUMBERS
    if last.target.id != k or not known or not isinstance(last.op, (ast.Add, ast.Sub)):
        return None, before
    if isinstance(last.op, ast.Add):
        return by, before
    less = isinstance(by, ast.Constant)
    return ast.Constant(-by.value) if less else ast.UnaryOp(ast.USub(), by), before  # type: ignore


_NUMBERS = (int, float)


def _are_flags(test: ast.expr, flags: list[str]) -> bool:
    read = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
    return isinstance(test, ast.UnaryOp) and bool(read) and read <= set(flags)


def _is_steady(e: ast.expr, stored: set[str], known: set[str], lengths: list[ast.expr]) -> bool:
    """Whether the rounds cannot change this number. lengths: gets what `len` measures."""

    def steady(e: ast.expr) -> bool:
        if isinstance(e, ast.Constant):
            return type(e.value) in _NUMBERS
        if isinstance(e, ast.Name):
            return e.id in known and e.id not in stored
        if isinstance(e, ast.BinOp):
            return steady(e.left) and steady(e.right)
        if isinstance(e, ast.UnaryOp):
            return steady(e.operand)
        if isinstance(e, ast.Attribute):
            return e.attr == "size" and _is_measured(e.value)
        if isinstance(e, ast.Subscript):
            of = e.value
            shape = isinstance(of, ast.Attribute) and of.attr == "shape"
            return shape and _is_measured(of.value) and isinstance(e.slice, ast.Constant)  # type: ignore
        if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "len":
            return len(e.args) == 1 and not e.keywords and _is_measured(e.args[0])
        return False

    def _is_measured(e: ast.expr) -> bool:
        lengths.append(e)
        return isinstance(e, ast.Name) and steady(e)

    return steady(e)
