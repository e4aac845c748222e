"""Sums and products of which only the low bits count: `(a * s + c) & mask`, `h * 31 % 2**32`.

Python's ints have more than 64 bits on the way. The low bits are those of integers that wrap.

    (a * s + c) & mask    ->    modular("BitAnd", mask, lambda .wraps: a * s + c)
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from lazynp.transforms.control._jumps import name
from lazynp.transforms.control._known import arithmetic, is_int
from lazynp.transforms.control._names import binds
from lazynp.transforms.control._state import undecided
from lazynp.transforms.control._wide import masked

WRAPS = ".wraps"  # the variable that says whether sums and products may wrap
_GROWING = (ast.Add, ast.Sub, ast.Mult, ast.LShift)
_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
_SIGNS = (ast.Invert, ast.USub)
_FIXED = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Name, ast.Load)
_ALL = 1 << 64


# -- rewriting -------------------------------------------------------------------------------------


def is_modular(node: ast.BinOp) -> bool:
    """Whether this takes low bits of sums or products. The modulus is evaluated first, so it must
    be made of names and constants. Marks the sums and products.
    """
    if not isinstance(node.op, (ast.BitAnd, ast.Mod)) or hasattr(node, "of_modulus"):
        return False
    if isinstance(node.op, ast.BitAnd) and isinstance(node.left, ast.Constant):  # `255 & x`
        node.left, node.right = node.right, node.left
    if not all(isinstance(n, _FIXED) for n in ast.walk(node.right)) or binds(node.left):
        return False
    if any(isinstance(n, (ast.Await, ast.Yield, ast.YieldFrom)) for n in ast.walk(node.left)):
        return False
    found = _growing(node.left)
    for n in found:
        n.wraps = True  # type: ignore[attr-defined]
    node.of_modulus = True  # type: ignore[attr-defined]
    return bool(found)


def _growing(e: ast.expr) -> list[ast.expr]:
    """Sums and products, and what is made of them, of whose results only the low bits are used."""
    if isinstance(e, ast.UnaryOp) and isinstance(e.op, _SIGNS):
        return [e, *_growing(e.operand)]
    if not isinstance(e, ast.BinOp) or not isinstance(e.op, _GROWING + _BITWISE):
        return []
    return [e, *_growing(e.left), *([] if isinstance(e.op, ast.LShift) else _growing(e.right))]


def wraps(node: ast.expr) -> list[ast.expr]:
    """The argument of `arithmetic` that says so, of such a sum."""
    return [name(WRAPS)] if hasattr(node, "wraps") else []


def of_wraps(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [ast.arg(WRAPS)], None, [], [], None, []), value)


# -- the operator ----------------------------------------------------------------------------------


def modular(
    kind: str, modulus: Any, compute: Callable[[bool], Any], line: int, wraps: bool = False
) -> Any:
    """`compute() & modulus` or `compute() % modulus`. wraps: of a result of which only low bits
    count.
    """
    mask = None
    if type(modulus) is int and 0 < modulus <= _ALL:
        mask = modulus - (kind == "Mod")
        mask = mask if mask < _ALL and (kind == "BitAnd" or not mask & (mask + 1)) else None
    wraps = wraps and kind == "BitAnd"
    value = compute(mask is not None or wraps)
    if mask is not None and is_int(value) and undecided(value):
        return masked(value, mask)
    return arithmetic(kind, value, modulus, line, wraps)
