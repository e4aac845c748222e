"""Blocks in a running loop that a program runs as straight code: `try`, `with suppress(...)`, and
`with np.errstate`.

What Python could raise, the program checks. If it meets an error, nothing was written, and Python
runs those rounds, with their handlers.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from lazynp.transforms.control import CannotStage, copied

_WIDE = {"BaseException", "KeyboardInterrupt", "SystemExit", "GeneratorExit"}
_QUIET = {"ignore"}
_ERRSTATE, _SUPPRESS = "errstate", "suppress"


def without_blocks(statements: list[ast.stmt]) -> tuple[list[ast.stmt], set[str], bool]:
    """The statements without these blocks; what these called, `np.errstate` or `suppress`; and
    whether some of them handle errors.
    """
    removing = _Removing()
    body = removing.block([copied(s) for s in statements])
    return body, removing.used, removing.tries


class _Removing(ast.NodeTransformer):
    def __init__(self) -> None:
        self.used: set[str] = set()
        self.tries = False

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        found = [self.visit(s) for s in statements]
        return [t for s in found for t in (s if isinstance(s, list) else [s])]

    def visit_With(self, node: ast.With) -> Any:
        used = [_used(item) for item in node.items]
        self.generic_visit(node)
        if None in used:
            return node
        self.used.update(u for u in used if u is not None)
        self.tries = self.tries or any(u and u.endswith(_SUPPRESS) for u in used)
        return node.body

    def visit_Try(self, node: ast.Try) -> Any:
        self.generic_visit(node)
        parts = [n for s in (*node.body, *node.orelse) for n in ast.walk(s)]
        leaves = any(isinstance(n, (ast.Return, ast.Break, ast.Continue)) for n in parts)
        if leaves and node.finalbody or any(map(_is_wide, node.handlers)):
            return node
        self.tries = True
        return [*node.body, *node.orelse, *node.finalbody]


def _used(item: ast.withitem) -> str | None:
    """What a block calls, `np.errstate(all="ignore")` or `suppress(IndexError)`, if a program may
    run it as straight code.
    """
    e = item.context_expr
    if item.optional_vars is not None or not isinstance(e, ast.Call):
        return None
    f, by_name = e.func, [k.value for k in e.keywords if k.arg is not None]
    if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name):
        name = f.attr
    else:
        name = f.id if isinstance(f, ast.Name) else ""
    if name == _SUPPRESS:
        known = not e.keywords and not any(map(_names_wide, e.args))
    else:
        quiet = all(isinstance(v, ast.Constant) and v.value in _QUIET for v in by_name)
        whole = len(by_name) == len(e.keywords) and not e.args
        known = name == _ERRSTATE and isinstance(f, ast.Attribute) and quiet and whole
    return ast.unparse(f) if known else None


def _is_wide(handler: ast.ExceptHandler) -> bool:
    """Whether it may catch what interrupts a program, such as Ctrl-C."""
    return handler.type is None or _names_wide(handler.type)


def _names_wide(kinds: ast.expr) -> bool:
    return any(isinstance(n, ast.Starred) or isinstance(n, ast.Name) and n.id in _WIDE
               or isinstance(n, ast.Attribute) and n.attr in _WIDE
               for n in ast.walk(kinds))  # fmt: skip


def check_used(path: str, value_of: Callable[[str], Any]) -> None:
    """Refuse a block of another kind than its name says. value_of: a variable."""
    root, _, name = path.partition(".")
    value = value_of(root)
    if name and type(value) is not ModuleType:
        raise CannotStage(f"`{root}` is no module")
    if path.endswith(_SUPPRESS):
        known = (getattr(value, name, None) if name else value) is contextlib.suppress
    else:
        module = getattr(getattr(value, _ERRSTATE, None), "__module__", None) or ""
        known = module.partition(".")[0] in ("numpy", "lazynp")
    if not known:
        raise CannotStage(f"`{path}` is another one than it is taken for")
