"""Blocks in a running loop that a program runs as straight code: `try`, and `with np.errstate`.

What Python could raise, the program checks. If it meets an error, nothing was written, and Python
runs those rounds, with their handlers.
"""

from __future__ import annotations

import ast
from typing import Any

from lazynp.transforms.control import copied

_WIDE = {"BaseException", "KeyboardInterrupt", "SystemExit", "GeneratorExit"}
_QUIET = {"ignore"}


def without_blocks(statements: list[ast.stmt]) -> tuple[list[ast.stmt], set[str], bool]:
    """The statements without these blocks; the names of modules whose `errstate` they used; and
    whether there was a `try`.
    """
    removing = _Removing()
    body = removing.block([copied(s) for s in statements])
    return body, removing.modules, removing.tries


class _Removing(ast.NodeTransformer):
    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.tries = False

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        found = [self.visit(s) for s in statements]
        return [t for s in found for t in (s if isinstance(s, list) else [s])]

    def visit_With(self, node: ast.With) -> Any:
        modules = [_module_of(item) for item in node.items]
        self.generic_visit(node)
        if None in modules:
            return node
        self.modules.update(m for m in modules if m is not None)
        return node.body

    def visit_Try(self, node: ast.Try) -> Any:
        self.generic_visit(node)
        parts = [n for s in (*node.body, *node.orelse) for n in ast.walk(s)]
        leaves = any(isinstance(n, (ast.Return, ast.Break, ast.Continue)) for n in parts)
        if leaves and node.finalbody or any(map(_is_wide, node.handlers)):
            return node
        self.tries = True
        return [*node.body, *node.orelse, *node.finalbody]


def _module_of(item: ast.withitem) -> str | None:
    """The np of `np.errstate(all="ignore")`."""
    e = item.context_expr
    if item.optional_vars is not None or not isinstance(e, ast.Call) or e.args:
        return None
    f = e.func
    if (
        not isinstance(f, ast.Attribute)
        or f.attr != "errstate"
        or not isinstance(f.value, ast.Name)
    ):
        return None
    values = [k.value for k in e.keywords if k.arg is not None]
    quiet = all(isinstance(v, ast.Constant) and v.value in _QUIET for v in values)
    return f.value.id if quiet and len(values) == len(e.keywords) else None


def _is_wide(handler: ast.ExceptHandler) -> bool:
    """Whether it may catch what interrupts a program, such as Ctrl-C."""
    if handler.type is None:
        return True
    return any(isinstance(n, ast.Name) and n.id in _WIDE or isinstance(n, ast.Attribute)
               and n.attr in _WIDE for n in ast.walk(handler.type))  # fmt: skip


def is_errstate(module: Any) -> bool:
    """Whether this is NumPy, or lazynp, as the name of a module says."""
    name = getattr(getattr(module, "errstate", None), "__module__", None) or ""
    return type(module) is type(ast) and name.partition(".")[0] in ("numpy", "lazynp")
