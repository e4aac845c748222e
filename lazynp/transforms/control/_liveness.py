"""Which names are read after a statement, before they are bound anew."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from lazynp.transforms.control._names import Names, names

_BINDING = (ast.Assign, ast.AnnAssign, ast.FunctionDef)


class Liveness:
    """Of the statements of one function. later: names that may be read at any time."""

    def __init__(self, later: set[str]) -> None:
        self.later = later
        self._names: dict[int, tuple[ast.AST, Names]] = {}  # by id; the node is kept alive

    def names(self, node: ast.AST) -> Names:
        """What a statement or an expression reads and binds."""
        found = self._names.get(id(node))
        if found is None:
            found = self._names[id(node)] = node, names(node)
        return found[1]

    def stores(self, *nodes: ast.AST) -> set[str]:
        """The names that they bind."""
        return set().union(*(self.names(n).stores for n in nodes))

    def loads(self, *nodes: ast.AST) -> set[str]:
        """The names that they read."""
        return set().union(*(self.names(n).loads for n in nodes))

    def before(self, statements: Sequence[ast.stmt], live: set[str]) -> set[str]:
        """The names that are read from the first statement on. live: those read afterwards."""
        for s in reversed(statements):
            live = self._before(s, live | self.later)
        return live

    def _before(self, s: ast.stmt, live: set[str]) -> set[str]:
        if isinstance(s, ast.If):
            both = self.before(s.body, live) | self.before(s.orelse, live)
            return self.names(s.test).loads | both
        if isinstance(s, ast.For):
            return self.names(s.iter).loads | self.head(s, live)
        if isinstance(s, ast.While):
            return self.head(s, live)
        if isinstance(s, ast.With):
            inner, live = self.before(s.body, live), set(live)
            for item in s.items:
                inner -= self.names(item).stores
                live |= self.names(item).loads
            return inner | live
        found = self.names(s)
        kills = found.stores if isinstance(s, _BINDING) else set()
        return (live - kills) | found.loads

    def head(self, s: Any, live: set[str]) -> set[str]:
        """The names that are read when a round of a loop begins, or after the last."""
        head = live | set(getattr(s, "stop", ()))
        if isinstance(s, ast.For):
            return head | (self.before(s.body, head) - self.names(s.target).stores)
        head |= self.names(s.test).loads
        return head | self.before(s.body, head)


def _assigned(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that every path through the statements binds."""
    found: set[str] = set()
    for s in statements:
        if isinstance(s, ast.If):
            found |= _assigned(s.body) & _assigned(s.orelse)
        elif isinstance(s, ast.With):
            found |= names(*s.items).stores | _assigned(s.body)
        elif not isinstance(s, (ast.For, ast.While, ast.Try, ast.TryStar, ast.Match, ast.Delete)):
            found |= names(s).stores
    return found


def may_be_unbound(statements: Sequence[ast.stmt], bound: set[str]) -> set[str]:
    """The names that some path through the statements may read unbound."""
    found: set[str] = set()
    for s in statements:
        if isinstance(s, ast.With):
            found |= may_be_unbound(s.body, bound)
        elif isinstance(s, (ast.If, ast.For, ast.While, ast.Try, ast.TryStar, ast.Match)):
            found |= names(s).stores - bound - _assigned([s])
        bound = bound | _assigned([s])
    return {n for n in found if not n.startswith(".")}
