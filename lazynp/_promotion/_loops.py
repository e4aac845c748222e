"""The source of a loop that is running, and what a program of its rounds takes and gives.

A `break`, `return` or `raise`, and an `if` that prints, end a run of the program: Python runs the
round. An `if` that decides by the loop's variable alone, and that has effects, is left out: Python
runs the rounds in which it is taken, and it is known beforehand which these are.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from lazynp._dataclass import dataclass, field
from lazynp._fronts import BUILT, fastpath
from lazynp._memo import Memo
from lazynp._promotion._blocks import without_blocks
from lazynp._promotion._exchanges import (
    LEAVES,
    STOP,
    fresh,
    renewed,
    seconds,
    without_exchanges,
)
from lazynp._promotion._histories import Rewriting, Site
from lazynp._promotion._paths import appending, grown, joins_in, root_of
from lazynp._promotion._tails import is_tail, tails_of, with_tails
from lazynp.transforms.control import (
    binds,
    copied,
    is_users,
    jumps,
    names,
    plainer,
    whole_tree,
)

_REFUSED = (
    ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom, ast.Yield, ast.YieldFrom,
    ast.Await, ast.Try, ast.TryStar, ast.With, ast.Match, ast.AsyncFunctionDef, ast.ClassDef,
    ast.NamedExpr, ast.AsyncFor, ast.AsyncWith,
)  # fmt: skip
_CONSUME = {"all", "any", "list", "max", "min", "sorted", "sum", "tuple"}  # generators, at once
_SELDOM = 5  # doublings of what must be left, by traces of the same loop
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
    """A loop. depth: the values on the frame's stack below its own: of `for` loops and
    `with` around it. stored: names that a round may bind, in Python. read: names that the program
    takes. carried: those that it gives back, because a later round may read them; staying: of
    these, those that a round may leave as they are. aliased: those that may get a second name;
    renewed: ... that each round must bind to another array. written: those of arrays that are
    written in place. always: those that each round binds, and that are not written. variables:
    those of the loop; counters: numbers among them.
    events: the tests by which a round has effects, each with its names. stops: whether a program
    may stop before the last of its rounds; wary: at any `if` that calls something. left_early: how
    often it has ended during a trial. rounds: the bodies of so many rounds that exchanged names
    are back; a program runs a multiple of them. flags: variables that are True or False. watch:
    since when it is known to run. grown: names that may be those of lists which it changes; joins:
    those of arrays that it makes longer, and by which functions; lists: those that are; sites:
    where; tails: how many of their last elements are read. body: the statements of a round, without
    blocks; blocks: what these called; tries: whether some handled errors. ready: programs of its
    rounds; traced: one that has had no trial yet; traces: how many there were.
    slower: whether a program was slower than Python.
    hot: whether its function takes long. spent: seconds of Python's when it was entered before;
    rate: of a round, when a program won; whole: of a round, when Python ran most of it. losses:
    how often a loop that began with a program took longer. attempts: to take it because of these.
    price: seconds that a program must be worth, where one was traced too early. prepared: whether
    the fields that describe it are filled.
    """

    line: int
    depth: int
    refused: str = ""
    slower: bool = False
    stored: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    carried: tuple[str, ...] = ()
    staying: set[str] = field(default_factory=set)
    aliased: set[str] = field(default_factory=set)
    renewed: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    always: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    counters: set[str] = field(default_factory=set)
    events: list[tuple[CodeType, frozenset[str]]] = field(default_factory=list)
    stops: bool = False
    wary: bool = False
    left_early: int = 0
    rounds: list[list[ast.stmt]] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    watch: Any = None
    node: Any = None
    grown: set[str] = field(default_factory=set)
    joins: dict[str, set[str]] = field(default_factory=dict)
    lists: set[str] = field(default_factory=set)
    sites: list[Site] = field(default_factory=list)
    body: list[ast.stmt] = field(default_factory=list)
    blocks: set[str] = field(default_factory=set)
    tries: bool = False
    tails: dict[str, int] = field(default_factory=dict)
    ready: list[Any] = field(default_factory=list)
    traced: Any = None
    traces: int = 0
    hot: bool = False
    spent: float = 0.0
    whole: float = math.inf
    rate: float = 0.0
    losses: int = 0
    attempts: int = 0
    price: float = 0.0
    prepared: bool = False

    @property
    def is_while(self) -> bool:
        return isinstance(self.node, ast.While)

    @property
    def continues(self) -> bool:
        """Whether a round may end before its last statement."""
        return any(isinstance(n, ast.Continue) for s in self.body for n in ast.walk(s))

    def affords(self, expected: float, least: float) -> bool:
        """Whether to trace it once more. Where no program serves for long, that is seldom.
        expected: seconds of Python's that are left; least: what is worth a trace.
        """
        wanted = least * 2.0 ** min(self.traces, _SELDOM) if self.traces else 0.0
        if self.spent + expected < wanted:
            self.spent += expected
            return False
        self.traces += 1
        self.spent = 0.0 if self.traces > 1 else self.spent
        return True

    @property
    def boxed(self) -> set[str]:
        """Names that may be those of objects: lists to which rounds append are `sites`."""
        return self.read - self.stored - {s.of for s in self.sites}

    @property
    def test(self) -> ast.expr | None:
        """The condition of a `while` loop; None for `while True`, and for one that binds names."""
        test = self.node.test if self.is_while else None
        if test is None or isinstance(test, ast.Constant) or binds(test):
            return None
        return with_tails(test, self.tails)

    @property
    def head(self) -> int:
        """The line of a `while` loop at which a round begins."""
        return self.node.body[0].lineno if isinstance(self.node.test, ast.Constant) else self.line


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


def has_slower(code: CodeType | None) -> bool:
    """Whether a program of one of its loops was slower than Python."""
    known = _loops.get(id(code))
    return known is not None and any(loop.slower for _, _, loop in known[0])


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


def _per_with() -> int | None:
    """How many values a `with` keeps on the frame's stack; None if that is not known."""
    frame = sys._getframe()
    try:
        with nullcontext():
            for _ in range(1):
                for k in (1, 2, 3):
                    try:
                        if type(fastpath.frame_value(frame, -k, None)) is _RANGE:
                            return k - 1
                    except (NotImplementedError, IndexError):
                        break
        return None
    finally:
        del frame  # it refers to itself, and to all frames around it


_RANGE = type(iter(range(0)))
_PER_WITH = _per_with() if BUILT else None


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
            found.append((begin, end, Loop(s.lineno, depth, node=s)))
            _collect(s.body, depth + isinstance(s, ast.For), found)
            _collect(s.orelse, depth, found)
        elif isinstance(s, ast.If):
            _collect([*s.body, *s.orelse], depth, found)
        elif isinstance(s, ast.Try):
            _collect([*s.body, *s.orelse], depth, found)
        elif isinstance(s, ast.With) and _PER_WITH is not None:
            _collect(s.body, depth + _PER_WITH * len(s.items), found)
        # `match`, `except` and `finally` keep values of their own on the stack


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


def prepare(loop: Loop) -> None:
    """Find out, once, what a program of its rounds takes and gives, or why there can be none. Most
    loops end before that is asked: it takes longer than to parse them.
    """
    if not loop.prepared:
        loop.prepared = True
        loop.refused = _refusal(loop)
        if not loop.refused:
            describe(loop, set())


def _refusal(loop: Loop) -> str:
    s = loop.node
    if isinstance(s, ast.While):
        unclear = _unclear(s)
        if unclear:
            return unclear
    else:
        kinds = (ast.Name, ast.Tuple, ast.List, ast.expr_context)
        if not all(isinstance(n, kinds) for n in ast.walk(s.target)):
            return "it binds other things than variables"
        loop.counters, loop.variables = _counters(s.target, s.iter), names(s.target).stores
    plain = plainer([s])[-1]
    if isinstance(plain, ast.While) and binds(plain.test):
        return "its condition binds names, and it has an `else`"
    loop.body, loop.blocks, loop.tries = without_blocks(plain.body)  # type: ignore[attr-defined]
    loop.body = _without_deletions(loop.body, loop.variables)
    head = [loop.test] if loop.test is not None else []
    stores = names(*loop.body).stores
    if loop.variables & stores:
        return "the loop binds its own variable"
    loop.stored = stores | loop.variables
    parts = [n for part in (*head, *_of_programs(loop.body, loop)) for n in ast.walk(part)]
    calls = [n for n in parts if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    at_once = {id(a) for n in calls if n.func.id in _CONSUME for a in n.args}  # type: ignore
    for part in parts:
        is_later = isinstance(part, ast.GeneratorExp) and id(part) not in at_once
        if isinstance(part, _REFUSED) or is_later or _is_busy(part):
            return f"line {part.lineno}: {type(part).__name__}"  # type: ignore
    body = appending(loop.body)
    bound = names(*body, *head).stores | loop.variables
    loop.grown = {path for path in grown(body) if root_of(path) not in bound}
    loop.joins = joins_in(loop.body, *head)
    return ""


def _is_busy(part: ast.AST) -> bool:
    """Whether it is a function, made in each round, that does more than compute."""
    return isinstance(part, ast.FunctionDef) and any(
        isinstance(n, (ast.Raise, ast.Continue, ast.Break, ast.FunctionDef)) and n is not part
        or isinstance(n, ast.Expr) and not isinstance(n.value, ast.Constant)
        for n in ast.walk(part)
    )  # fmt: skip


def _without_deletions(body: list[ast.stmt], variables: set[str]) -> list[ast.stmt]:
    """A round without the `del` of names that each round binds first: Python runs the last one."""
    own = fresh(body, variables)

    def is_done(s: ast.stmt) -> bool:
        return isinstance(s, ast.Delete) and all(
            isinstance(t, ast.Name) and t.id in own for t in s.targets
        )

    return [s for s in body if not is_done(s)] if any(map(is_done, body)) else body


def _of_programs(statements: list[ast.stmt], loop: Loop) -> Iterator[ast.AST]:
    """The parts of the statements without those branches that only Python runs."""
    for s in statements:
        if isinstance(s, ast.If) and (_is_event(s, loop) or _stops(s, loop)):
            yield s.test
            yield from _of_programs(s.orelse, loop)
        else:
            yield s


def _unclear(s: ast.While) -> str:
    """Why the line alone does not tell that a round of a `while` loop begins; empty if it does."""
    first = s.body[0]
    head: Any = s.test
    if isinstance(s.test, ast.Constant):
        head = first.test if isinstance(first, ast.If) else first
        if not s.test.value or not isinstance(first, (ast.Assign, ast.AugAssign, ast.Expr, ast.If)):
            return "its first statement is none that a program can begin with"
    loops = any(isinstance(n, (ast.ListComp, ast.Lambda)) for n in ast.walk(head))
    many = loops or s.test.lineno == first.lineno or head.lineno != head.end_lineno
    return "its condition takes several lines, or holds a loop" if many else ""


def describe(loop: Loop, lists: set[str], wary: bool = False, rate: float = 0.0) -> None:
    """What a program of its rounds takes and gives, if these names are those of lists. rate:
    seconds of a round in Python.
    """
    loop.wary, loop.stops, loop.ready = wary, loop.test is not None, []
    loop.traced = None
    has_effects = lambda s: _is_event(s, loop) or _stops(s, loop)  # noqa: E731
    body = appending(loop.body, lists)
    loop.tails = tails_of(body, loop.node.test if loop.is_while else loop.node.iter, lists)
    rewriting = Rewriting(with_tails(body, loop.tails), lists, has_effects, rate)
    loop.lists, loop.sites, loop.events = lists, rewriting.sites, []
    loop.always = rewriting.always
    body = _Leaving(loop).block(_without_events(rewriting.body, loop))
    test = loop.test
    if test is not None:
        body = [ast.copy_location(ast.Expr(copied(test)), test), *body]
    loop.rounds, exchanged = without_exchanges(body)
    for site in loop.sites:
        site.name = "" if site.name in exchanged else site.name
    body = [t for one in loop.rounds for t in one]
    inside = names(*body)
    new = loop.variables | fresh(loop.rounds[0], loop.variables) - exchanged
    loop.carried = tuple(sorted(n for n in inside.stores - new if n[0] != "."))
    loop.written, loop.staying = inside.written, set(loop.carried) - renewed(body)
    loop.aliased, loop.renewed = seconds(loop.rounds, new, inside.written)
    loop.flags = set(loop.carried) - _others(body)
    loop.read = {n for n in (inside.loads | inside.stores) - new if n[0] != "."}
    if test is not None:
        del loop.rounds[0][0]
        for one in loop.rounds[1:]:
            one[0] = _stop_if(ast.UnaryOp(ast.Not(), one[0].value), one[0])  # type: ignore


def _others(body: list[ast.stmt]) -> set[str]:
    """The names that something else than True or False is assigned to."""
    parts = [n for s in body for n in ast.walk(s)]
    plain = [n for n in parts if isinstance(n, ast.Assign)
             and isinstance(n.value, ast.Constant) and type(n.value.value) is bool]  # fmt: skip
    ours = {id(t) for n in plain for t in n.targets if isinstance(t, ast.Name)}
    stored = (ast.Store, ast.Del)
    bound = [n for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, stored)]
    return {n.id for n in bound if id(n) not in ours}


def _without_events(statements: list[ast.stmt], loop: Loop) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for s in statements:
        if isinstance(s, ast.If) and _is_event(s, loop):
            loop.events.append(_test(s.test))
            out += _without_events(s.orelse, loop)
        elif isinstance(s, ast.If) and _stops(s, loop):
            loop.stops = True
            if _leaves(s):
                out.append(ast.copy_location(ast.Expr(ast.Constant(LEAVES)), s))
            out.append(_stop_if(s.test, s, _without_events(s.orelse, loop)))
        else:
            out.append(s)
    return out or [ast.copy_location(ast.Pass(), statements[0])] if statements else []


def _stop(place: ast.AST) -> ast.stmt:
    made = ast.Assign([ast.Name(STOP, ast.Store())], ast.Constant(True))
    return ast.fix_missing_locations(ast.copy_location(made, place))


def _stop_if(test: ast.expr, place: ast.AST, orelse: list[ast.stmt] | None = None) -> ast.stmt:
    made = ast.If(test, [_stop(place)], orelse or [])
    return ast.fix_missing_locations(ast.copy_location(made, place))


def _stops(s: ast.If, loop: Loop) -> bool:
    """Whether Python must run the rounds in which an `if` is taken."""
    calls = [n.value.func for b in s.body for n in ast.walk(b)
             if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)]  # fmt: skip
    return _leaves(s) or any(
        loop.wary or isinstance(f, ast.Name) and f.id == "print" for f in calls
    )


def _leaves(s: ast.If) -> bool:
    """Whether the loop may end there, in the middle of a round."""
    return jumps(s.body, (ast.Break, ast.Return)) or any(
        isinstance(n, ast.Raise) for b in s.body for n in ast.walk(b)
    )


def _is_event(s: ast.If, loop: Loop) -> bool:
    """Whether an `if` has effects, and looks at nothing that changes but counters of the loop."""
    if loop.is_while or not all(isinstance(n, _SIMPLE) for n in ast.walk(s.test)):
        return False
    read = names(s.test).loads
    if read & (loop.stored - loop.counters) or any(map(is_tail, read)):
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
    """A `break` of the loop, or a `return`, stops the program."""

    def __init__(self, loop: Loop) -> None:
        self._of = loop

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        self._inner = 0
        return [self.visit(copied(s)) for s in statements]

    def _loop(self, node: Any) -> Any:
        self._inner += 1
        node.body = [self.visit(s) for s in node.body]
        self._inner -= 1
        node.orelse = [self.visit(s) for s in node.orelse]
        return node

    visit_For = visit_While = _loop

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        return node if self._inner else self.visit_Return(node)

    def visit_Return(self, node: ast.AST) -> ast.stmt:
        self._of.stops = True
        return _stop(node)
