"""Which names statements read and bind, and where they jump."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Thrown(ast.stmt):
    """A jump behind the `try` around it, with this flag set: see `_raising`."""

    _fields = ("flag",)
    flag: str


JUMPS = (ast.Break, ast.Continue, ast.Return)


class Unsupported(Exception):
    """The function contains what is not rewritten; it runs as it is."""


class Names(ast.NodeVisitor):
    """loads: names read. stores: names bound. later: names that inner functions read, at any later
    time. written: names of arrays that are written in place.
    """

    def __init__(self) -> None:
        self.loads: set[str] = set()
        self.stores: set[str] = set()
        self.later: set[str] = set()
        self.written: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        (self.loads if isinstance(node.ctx, ast.Load) else self.stores).add(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.loads.add(node.target.id)
            self.written.add(node.target.id)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            base: ast.expr = node
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            if isinstance(base, ast.Name):
                self.written.add(base.id)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.stores.add(node.name)
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        self.stores.add(node.asname or node.name.split(".")[0])

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self.stores.add(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.stores.add(node.rest)
        self.generic_visit(node)

    def _scope(self, node: ast.AST) -> None:
        inner = Names()
        for child in ast.iter_child_nodes(node):
            inner.visit(child)
        self.loads |= inner.loads
        self.later |= inner.loads | inner.later
        if not isinstance(node, ast.Lambda):
            self.stores.add(node.name)  # type: ignore[attr-defined]

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _scope

    def _comprehension(self, node: Any) -> None:
        """Its variables are its own, though from Python 3.12 on they lie in the function's frame:
        there they are unbound, or bound as before, when it has ended.
        """
        inner = Names()
        inner.generic_visit(node)
        targets = Names()
        for part in node.generators:
            targets.visit(part.target)
        own = targets.stores
        self.visit(node.generators[0].iter)  # belongs to whoever holds the comprehension
        self.loads |= inner.loads - own
        self.written |= inner.written - own
        self.later |= inner.later - own
        self.stores |= {w.target.id for w in ast.walk(node) if isinstance(w, ast.NamedExpr)}
        if isinstance(node, ast.GeneratorExp):
            self.later |= inner.loads - own

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def names(*nodes: ast.AST) -> Names:
    """What these nodes read and bind."""
    found = Names()
    for node in nodes:
        found.visit(node)
    return found


def inside(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes, without those of inner functions and classes."""
    for node in nodes:
        yield node
        if not isinstance(node, SCOPES):
            yield from inside(ast.iter_child_nodes(node))


def jumps(statements: Sequence[ast.stmt], kinds: tuple[type, ...] = JUMPS) -> bool:
    """Whether the statements contain a jump of these kinds that leaves them."""
    for s in statements:
        if isinstance(s, kinds):
            return True
        if isinstance(s, (ast.For, ast.While)):
            inner = tuple(k for k in kinds if k is ast.Return)
            if inner and jumps(s.body, inner) or jumps(s.orelse, kinds):
                return True
        elif not isinstance(s, SCOPES):
            parts = [getattr(s, name, ()) for name in ("body", "orelse", "finalbody")]
            more = [*getattr(s, "handlers", ()), *getattr(s, "cases", ())]
            if any(jumps(p, kinds) for p in [*parts, *(m.body for m in more)]):
                return True
    return False


def thrown(statements: Sequence[ast.stmt]) -> dict[str, None]:
    """The flags of exceptions that leave the statements."""
    found: dict[str, None] = {}
    for s in statements:
        if isinstance(s, Thrown):
            found[s.flag] = None
        elif not isinstance(s, SCOPES):
            blocks = [getattr(s, name, ()) for name in ("body", "orelse", "finalbody")]
            blocks += [h.body for h in getattr(s, "handlers", ())]
            for block in blocks:
                found |= thrown(block) if isinstance(block, list) else {}
            for flag in getattr(s, "caught", ()):
                found.pop(flag, None)
    return found


def always(statements: Sequence[ast.stmt]) -> bool:
    """Whether every path through the statements ends in a jump or an exception."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, (*JUMPS, ast.Raise, Thrown)):
        return True
    if isinstance(last, ast.If):
        return always(last.body) and always(last.orelse)
    return isinstance(last, ast.With) and always(last.body)


def returns(statements: Sequence[ast.stmt]) -> bool:
    """Whether every path through the statements of a function ends in `return` or an exception."""
    for s in statements:
        if isinstance(s, (ast.Return, ast.Raise)):
            return True
        if isinstance(s, ast.If) and returns(s.body) and returns(s.orelse):
            return True
        if isinstance(s, ast.With) and returns(s.body):
            return True
        if isinstance(s, ast.Try) and returns(s.finalbody):
            return True
        if isinstance(s, ast.Try) and returns([*s.body, *s.orelse]):
            if all(returns(h.body) for h in s.handlers):
                return True
        if isinstance(s, (ast.For, ast.While)) and returns(s.orelse):
            if not jumps(s.body, (ast.Break,)):
                return True
        if isinstance(s, (ast.For, ast.While)) and _is_endless(s):
            if not jumps(s.body, (ast.Break,)):  # else it never ends
                return True
    return False


def _is_endless(s: Any) -> bool:
    """Whether it is `while True` or `for i in itertools.count()`."""
    if isinstance(s, ast.While):
        return isinstance(s.test, ast.Constant) and bool(s.test.value)
    of = s.iter.func if isinstance(s, ast.For) and isinstance(s.iter, ast.Call) else None
    return isinstance(of, ast.Attribute) and ast.unparse(of) == "itertools.count"


def is_chain(node: ast.expr) -> bool:
    """Whether it is a name, or attributes of one: reading it twice does nothing more."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def is_float(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is not int


def is_sequence(node: ast.AST) -> bool:
    """Whether it makes what a loop may count by a traced number, or list: `range(n)`,
    `x.tolist()`.
    """
    of = node.func if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and node.keywords:
        known = _KEYWORD.get(getattr(of, "id", ""))
        return known is not None and [k.arg for k in node.keywords] == [known]
    if isinstance(of, ast.Attribute):
        return of.attr in _COMBINING or of.attr == "tolist" and not node.args  # type: ignore
    return isinstance(of, ast.Name) and of.id in ("range", "enumerate", "zip", *_COMBINING)


_KEYWORD = {"enumerate": "start", "zip": "strict"}
_COMBINING = ("reversed", "map", "product", "ndindex", "pairwise", "islice", "combinations",
              "permutations", "combinations_with_replacement", "count")  # fmt: skip


def walks_elements(node: ast.AST) -> bool:
    """`x.flat`, `np.ndenumerate(x)`"""
    of = node.func if isinstance(node, ast.Call) else None
    name = getattr(of, "attr", None) or getattr(of, "id", None)
    return isinstance(node, ast.Attribute) and node.attr == "flat" or name == "ndenumerate"


_PLAIN = (ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop)


def names_in_sum(e: ast.expr) -> set[ast.AST]:
    """The names in an expression of names and numbers, as `n - 1`; none, if it holds a call."""
    parts = list(ast.walk(e))
    plain = all(isinstance(n, _PLAIN) for n in parts)
    return {n for n in parts if isinstance(n, ast.Name)} if plain else set()


def binds(*nodes: ast.AST) -> bool:
    """Whether an expression binds a name, which a lambda would keep to itself."""
    return any(isinstance(n, ast.NamedExpr) for node in nodes for n in ast.walk(node))
