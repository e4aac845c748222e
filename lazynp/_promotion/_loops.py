"""The source of a loop that is running, and a function that runs some of its rounds.

The function takes what a round reads of the variables around it, and returns what a later round
reads of the one before. A `break` or `return` becomes an error: then Python runs these rounds. An
`if` that decides by the loop's variable alone, and that has effects, is left out of the function:
rounds in which it is taken are Python's as well.
"""

from __future__ import annotations

import ast
import copy
import inspect
from dataclasses import dataclass, field
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from lazynp._memo import Memo
from lazynp._promotion._histories import (
    Rewriting,
    Site,
    begun,
    ended,
    flushed,
    grown,
    prologue,
    results,
)
from lazynp._promotion._items import AT, Items
from lazynp.transforms.control import is_users, names, transplanted, whole_tree

FIRST, LAST = ".first", ".last"  # parameters of the function: the range of its rounds
_ROUND = ".round"
_LONGEST = 6  # rounds until exchanged names are back
_NAME = "loop"
_REFUSED = (
    ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom, ast.Yield, ast.YieldFrom,
    ast.Await, ast.Try, ast.TryStar, ast.With, ast.Match, ast.FunctionDef, ast.AsyncFunctionDef,
    ast.ClassDef, ast.Lambda, ast.SetComp, ast.DictComp, ast.GeneratorExp,
    ast.NamedExpr, ast.AsyncFor, ast.AsyncWith,
)  # fmt: skip
_SIMPLE = (
    ast.Expression, ast.Compare, ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Constant, ast.Name,
    ast.operator, ast.boolop, ast.unaryop, ast.cmpop, ast.expr_context,
)  # fmt: skip
SUSPENDED = (  # flags of code that gives up its frame before it ends
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)  # fmt: skip


@dataclass
class Loop:
    """A loop; `while` loops are refused. depth: the `for` loops around
    it, in its function. stored: names that
    a round may bind, in Python. read: names that the program takes. carried: those that it gives
    back, because a later round may read them. aliased: those that may get a second name.
    variables: those of the loop; counters: numbers among them. events:
    the tests by which a round has effects, each with its names. rounds: the bodies of so many
    rounds that exchanged names are back; a program runs a multiple of them. watch: since when it
    is known to run. grown: names that may be those of lists which it changes; lists: those that
    are; sites: where.
    """

    line: int
    depth: int
    refused: str = ""
    stored: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    carried: tuple[str, ...] = ()
    aliased: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    counters: set[str] = field(default_factory=set)
    events: list[tuple[CodeType, frozenset[str]]] = field(default_factory=list)
    rounds: list[list[ast.stmt]] = field(default_factory=list)
    watch: Any = None
    node: Any = None
    grown: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)
    sites: list[Site] = field(default_factory=list)


_Place = tuple[int, int]  # line and column
# by code: the loops with the extent of their bodies; the place of each instruction; and the code,
# kept alive
_Known = tuple[list[tuple[_Place, _Place, Loop]], list[_Place | None], CodeType]
_loops: Memo[int, _Known] = Memo("running loops", 256)


def loops_at(frame: FrameType) -> list[Loop]:
    """The loops in whose bodies the frame is, from the outermost on."""
    code = frame.f_code
    known = _loops.get(id(code))
    if known is None:
        known = _loops.put(id(code), _known(frame, code))
    loops, places, _ = known
    place = places[frame.f_lasti // 2] if loops else None
    if place is None:
        return []
    return [loop for begin, end, loop in loops if begin <= place < end]


def _known(frame: FrameType, code: CodeType) -> _Known:
    found: list[tuple[_Place, _Place, Loop]] = []
    if is_users(code) and not code.co_flags & SUSPENDED:
        tree: Any = whole_tree(FunctionType(code, frame.f_globals, closure=_no_cells(code)))
        if tree is not None:
            _collect(tree.body, 0, found)
    places: list[_Place | None] = []
    if found:
        for line, _, column, _ in code.co_positions():
            places.append(None if line is None or column is None else (line, column))
    return found, places, code


def _no_cells(code: CodeType) -> tuple[Any, ...]:
    return tuple(CellType() for _ in code.co_freevars)


def _collect(
    statements: list[ast.stmt], depth: int, found: list[tuple[_Place, _Place, Loop]]
) -> None:
    for s in statements:
        if isinstance(s, (ast.For, ast.While)):
            first, last = s.body[0], s.body[-1]
            begin = first.lineno, first.col_offset
            end = last.end_lineno or 0, last.end_col_offset or 0
            found.append((begin, end, _described(s, depth)))
            _collect(s.body, depth + isinstance(s, ast.For), found)
            _collect(s.orelse, depth, found)
        elif isinstance(s, ast.If):
            _collect([*s.body, *s.orelse], depth, found)
        elif isinstance(s, ast.Try):
            _collect([*s.body, *s.orelse], depth, found)
        # `with`, `match`, `except` and `finally` keep values of their own on the stack


def _counters(target: ast.expr, over: ast.expr) -> set[str]:
    """The names that count the rounds: an `if` that looks only at these is known beforehand."""
    if not isinstance(over, ast.Call) or not isinstance(over.func, ast.Name):
        return set()
    kind, args = over.func.id, over.args
    if isinstance(target, ast.Name):
        return {target.id} if kind in ("range", "reversed") else set()
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    if kind == "enumerate" and len(parts) == 2 and args and isinstance(parts[0], ast.Name):
        return {parts[0].id} | _counters(parts[1], args[0])
    if kind == "zip":
        return {n for t, a in zip(parts, args) for n in _counters(t, a)}
    return set()


def _described(s: ast.For | ast.While, depth: int) -> Loop:
    loop = Loop(s.lineno, depth)
    if isinstance(s, ast.While):
        loop.refused = "it is a `while` loop"
        return loop
    kinds = (ast.Name, ast.Tuple, ast.List, ast.expr_context)
    if not all(isinstance(n, kinds) for n in ast.walk(s.target)):
        loop.refused = "it binds other things than variables"
        return loop
    loop.node, loop.counters = s, _counters(s.target, s.iter)
    loop.variables = names(s.target).stores
    for part in ast.walk(s):
        if isinstance(part, _REFUSED):
            loop.refused = f"line {part.lineno}: {type(part).__name__}"  # type: ignore
            return loop
    loop.stored = names(*s.body).stores | loop.variables
    if loop.variables & names(*s.body).stores:
        loop.refused = "the loop binds its own variable"
        return loop
    loop.grown = grown(s.body) - loop.stored
    describe(loop, set())
    return loop


def describe(loop: Loop, lists: set[str]) -> None:
    """What a program of its rounds takes and gives, if these names are those of lists."""
    rewriting = Rewriting(loop.node.body, lists, lambda s: _is_event(s, loop))
    loop.lists, loop.sites, loop.events = lists, rewriting.sites, []
    body = _Leaving().block(_without_events(rewriting.body, loop))
    loop.rounds, exchanged = _without_exchanges(body)
    for site in loop.sites:
        site.name = "" if site.name in exchanged else site.name
    body = [t for one in loop.rounds for t in one]
    loop.aliased = _aliases(body, False)
    inside = names(*body)
    fresh = loop.variables | _fresh(loop.rounds[0], loop.variables) - exchanged
    loop.carried = tuple(sorted(n for n in inside.stores - fresh if n[0] != "."))
    loop.read = {n for n in (inside.loads | inside.stores) - fresh if n[0] != "."}


def _without_events(statements: list[ast.stmt], loop: Loop) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for s in statements:
        if isinstance(s, ast.If) and _is_event(s, loop):
            loop.events.append(_test(s.test))
            out += _without_events(s.orelse, loop)
        else:
            out.append(s)
    return out or [ast.copy_location(ast.Pass(), statements[0])] if statements else []


def _is_event(s: ast.If, loop: Loop) -> bool:
    """Whether an `if` has effects, and looks at nothing that changes but counters of the loop."""
    if not all(isinstance(n, _SIMPLE) for n in ast.walk(s.test)):
        return False
    if names(s.test).loads & (loop.stored - loop.counters):
        return False
    return any(
        isinstance(n, (ast.Break, ast.Return, ast.Raise))
        or isinstance(n, ast.Expr)
        and isinstance(n.value, ast.Call)
        for part in s.body
        for n in ast.walk(part)
    )


def _test(test: ast.expr) -> tuple[CodeType, frozenset[str]]:
    return compile(ast.Expression(test), "<loop>", "eval"), frozenset(names(test).loads)


class _Leaving(ast.NodeTransformer):
    """`break` of the loop, and `return`, as a failed assertion."""

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        self._inner = 0
        return [self.visit(copy.deepcopy(s)) for s in statements]

    def _loop(self, node: Any) -> Any:
        self._inner += 1
        node.body = [self.visit(s) for s in node.body]
        self._inner -= 1
        node.orelse = [self.visit(s) for s in node.orelse]
        return node

    visit_For = visit_While = _loop

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        return node if self._inner else self.visit_Return(node)

    def visit_Return(self, node: ast.AST) -> ast.stmt:
        made = ast.Assert(ast.Constant(False), ast.Constant("the loop ends"))
        return ast.fix_missing_locations(ast.copy_location(made, node))


def _aliases(statements: list[ast.stmt], inside: bool) -> set[str]:
    """The names y of assignments `x = y` that some rounds skip."""
    found: set[str] = set()
    for s in statements:
        if isinstance(s, ast.Assign) and not all(
            isinstance(t, (ast.Subscript, ast.Attribute)) for t in s.targets
        ):
            values = s.value.elts if isinstance(s.value, ast.Tuple) else [s.value]
            for value in values:
                named = isinstance(value, ast.Name) and inside and not _is_exchange(s)
                if named or isinstance(value, (ast.IfExp, ast.BoolOp)):
                    found |= names(value).loads
        for part in ("body", "orelse"):
            found |= _aliases(getattr(s, part, []), True)
    return found


def _is_exchange(s: ast.stmt) -> bool:
    """`a, b = b, a`"""
    if not isinstance(s, ast.Assign) or len(s.targets) > 1:
        return False
    target = s.targets[0]
    if not isinstance(target, ast.Tuple) or not isinstance(s.value, ast.Tuple):
        return False
    ours = [t.id if isinstance(t, ast.Name) else None for t in target.elts]
    theirs = [t.id if isinstance(t, ast.Name) else None for t in s.value.elts]
    return None not in ours and set(ours) == set(theirs) and len(set(ours)) == len(theirs)


def _without_exchanges(body: list[ast.stmt]) -> tuple[list[list[ast.stmt]], set[str]]:
    """So many rounds that every name is back, without `u, v = v, u`: what follows uses the other
    names. And these names. (An array that is written in place could not be staged otherwise.)
    """
    exchanged = {t for s in body if _is_exchange(s) for t in names(s).stores}
    if not exchanged or any(isinstance(n, ast.Continue) for s in body for n in ast.walk(s)):
        return [body], set()
    now = {n: n for n in exchanged}
    rounds: list[list[ast.stmt]] = []
    while len(rounds) < _LONGEST:
        rounds.append([])
        for s in body:
            if _is_exchange(s):
                pairs = zip(s.targets[0].elts, s.value.elts)  # type: ignore[attr-defined]
                now = now | {t.id: now[v.id] for t, v in pairs}
            else:
                rounds[-1].append(_Renaming(now).visit(copy.deepcopy(s)))
        if all(n == m for n, m in now.items()):
            return rounds, exchanged
    return [body], set()


class _Renaming(ast.NodeTransformer):
    def __init__(self, new: dict[str, str]) -> None:
        self._new = new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._new.get(node.id, node.id)
        return node


def _fresh(statements: list[ast.stmt], known: set[str]) -> set[str]:
    """The names that each round binds before it reads them."""
    bound: set[str] = set()
    seen: set[str] = set()
    for s in statements:
        found = names(s)
        if any(isinstance(n, ast.Continue) for n in ast.walk(s)):
            break
        seen |= found.loads
        if isinstance(s, ast.Assign):
            bound |= found.stores - seen
        elif isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            seen.add(s.target.id)
        seen |= found.stores - bound
    return bound - known


def rounds_function(
    loop: Loop, frame: FrameType, parameters: tuple[str, ...], items: Items, head: list[ast.stmt]
) -> FunctionType:
    """A function of `parameters`, FIRST and LAST that runs the rounds and returns what is
    carried. head: statements before.
    """
    body, period = copy.deepcopy(loop.rounds[0]), len(loop.rounds)
    sites, stride, target = loop.sites, items.step, copy.deepcopy(loop.node.target)
    if period > 1 or not items.plain:
        target, body = ast.Name(_ROUND if items.plain else AT, ast.Store()), []
        for k, one in enumerate(loop.rounds):
            value = ast.BinOp(ast.Name(_ROUND, ast.Load()), ast.Add(), ast.Constant(k * stride))
            plain = ast.Assign([copy.deepcopy(loop.node.target)], value)
            bound = plain if items.plain else copy.deepcopy(items.binding(k))
            bound.lineno = bound.end_lineno = loop.line
            bound.col_offset = bound.end_col_offset = 0
            body += [*(flushed(sites) if k else []), bound, *copy.deepcopy(one)]
    over = ast.Call(
        ast.Name("range", ast.Load()),
        [ast.Name(FIRST, ast.Load()), ast.Name(LAST, ast.Load()),
         ast.Constant(stride * period)], [],
    )  # fmt: skip
    body = [*begun(sites, loop.carried), *body, *ended(sites)]
    made = ast.For(target, over, body, [])
    left: list[ast.expr] = [ast.Name(n, ast.Load()) for n in loop.carried]
    out = ast.Return(ast.Tuple([*left, *results(sites)], ast.Load()))
    given = [ast.arg(n) for n in (*parameters, FIRST, LAST)]
    takes = ast.arguments([], given, None, [], [], None, [])
    whole_body = [*head, *prologue(sites), made, *flushed(sites), out]
    node = ast.FunctionDef(_NAME, takes, whole_body, [], None)
    for part in (node, *whole_body):
        part.lineno = part.end_lineno = loop.line
        part.col_offset = part.end_col_offset = 0
    ast.fix_missing_locations(node)
    whole = compile(ast.Module([node], []), frame.f_code.co_filename, "exec", dont_inherit=True)
    code = next(c for c in whole.co_consts if isinstance(c, CodeType))
    return transplanted(FunctionType(code, frame.f_globals, _NAME), node)
