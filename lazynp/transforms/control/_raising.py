"""`raise` in a `try` whose handlers may catch it: where a traced value decides, it is a jump.

try:                                    try:
    if x > 0:                               if x > 0:
        raise ValueError                        (raise ValueError, if nothing traced decides)
    y = 2 * x                    ->             .raised1 = True
except ValueError:                          else:
    y = 0                                       y = 2 * x
                                        except ValueError:
                                            y = 0
                                        if .raised1:
                                            if catches(ValueError, ValueError):
                                                y = 0
                                            else:
                                                raise ValueError
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from lazynp.transforms.control._jumps import call, name, set_to, thunk
from lazynp.transforms.control._names import SCOPES, Thrown, Unsupported
from lazynp.transforms.control._trees import copied

_MOST = 16  # places that raise in a `try`: each gets the handlers


class Raising:
    """The lowering of one function."""

    def __init__(self) -> None:
        self._made = 0

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, without what the handlers inside may catch."""
        return [t for s in statements for t in self._statement(s)]

    def _statement(self, s: ast.stmt) -> list[ast.stmt]:
        if isinstance(s, SCOPES):
            return [s]
        t: Any = copy.copy(s)
        for part in ("body", "orelse", "finalbody"):
            if isinstance(getattr(t, part, None), list):
                setattr(t, part, self.block(getattr(t, part)))
        if not isinstance(s, ast.Try):
            return [t]
        t.handlers = [copy.copy(h) for h in s.handlers]
        for h in t.handlers:
            h.body = self.block(h.body)
        return self._try(t) if t.handlers else [t]

    def _try(self, s: Any) -> list[ast.stmt]:
        self._made += 1
        depth, last = f".try{self._made}", list[ast.stmt]()
        first = [set_to(depth, call("depth"), s)]
        throwing = _Throwing(f".raised{self._made}_", depth)
        s.body = throwing.block(s.body)
        for flag, error in throwing.raised:
            first.append(set_to(flag, ast.Constant(False), s))
            last.append(_at(ast.If(name(flag), self._handled(s, error), []), error))
        s.caught = [flag for flag, _ in throwing.raised]
        types = [copied(h.type or name("BaseException")) for h in s.handlers]
        guard = call("catching", ast.Constant(s.lineno), thunk(ast.Tuple(types, ast.Load())))
        s.body = [_at(ast.With([ast.withitem(guard)], s.body), s.body[0])]
        for h in s.handlers:
            here = _at(ast.Expr(call("caught", name(depth), ast.Constant(h.lineno))), h)
            h.body = [here, *h.body]
        if not s.finalbody or not last:
            return [*first, s, *last]
        whole = ast.copy_location(ast.Try([s, *last], [], [], s.finalbody), s)
        s.finalbody = []
        return [*first, whole]

    def _handled(self, s: ast.Try, error: ast.Raise) -> list[ast.stmt]:
        """What the handlers do about this exception."""
        made: list[ast.stmt] = [copied(error)]
        for h in reversed(s.handlers):
            body = [_Again(error).visit(copied(b)) for b in h.body]
            if h.name:
                body = [set_to(h.name, call("raised", copied(error.exc)), h), *body]
            if h.type is None:
                made = body
                continue
            kind: Any = copied(error.exc)
            kind = kind.func if isinstance(kind, ast.Call) else kind
            made = [_at(ast.If(call("catches", kind, copied(h.type)), body, made), error)]
        return made


def _at(made: Any, place: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(made, place))


class _Throwing(ast.NodeTransformer):
    """Replace each `raise` and `assert` of the body of a `try`."""

    def __init__(self, prefix: str, depth: str) -> None:
        self._prefix, self._depth = prefix, depth
        self.raised: list[tuple[str, ast.Raise]] = []

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        found = [self.visit(s) for s in statements]
        return [t for s in found for t in (s if isinstance(s, list) else [s])]

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is None or getattr(node, "sure", False):
            return node
        flag = f"{self._prefix}{len(self.raised) + 1}"
        if len(self.raised) == _MOST:
            raise Unsupported
        self.raised.append((flag, node))
        sure: Any = copied(node)
        sure.sure = True  # for the handlers of this `try`, not of those around it
        here = ast.If(call("surely", name(self._depth)), [sure], [])
        return [_at(here, node), _at(Thrown(flag), node)]  # type: ignore

    def visit_Assert(self, node: ast.Assert) -> Any:
        error = ast.Call(name("AssertionError"), [] if node.msg is None else [node.msg], [])
        thrown = self.visit_Raise(_at(ast.Raise(error, None), node))
        return _at(ast.If(ast.UnaryOp(ast.Not(), node.test), thrown, []), node)

    def _scope(self, node: Any) -> Any:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _scope


class _Again(ast.NodeTransformer):
    """Replace `raise`, in a handler, by what it raises."""

    def __init__(self, error: ast.Raise) -> None:
        self._error = error

    def visit_Raise(self, node: ast.Raise) -> Any:
        return node if node.exc is not None else ast.copy_location(copied(self._error), node)
