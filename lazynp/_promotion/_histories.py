"""What the rounds of a running loop append to lists, or set in them.

In the function of the rounds, `xs.append(e)` becomes a write of one row of an array that the
program makes, and that `_lists` brings to the list. A first trace, the probe, finds the types.
"""

from __future__ import annotations

import ast
import copy
import math
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable
from typing import Any

import numpy as np

from lazynp._array import NDArray, Scalar, new_array
from lazynp._avals import aval_of
from lazynp._dataclass import dataclass, field
from lazynp._promotion._joins import own
from lazynp._promotion._paths import joined, target_of, targets
from lazynp._promotion._row_views import find_holders, way_of
from lazynp._recorder import StagingRecorder, local
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._stack import node_of, zeros
from lazynp.transforms._stage import weak_aval
from lazynp.transforms.control import CannotStage, names, session

KEPT = ".kept"  # the function's name of the `Histories`
_BYTES = 2**21  # of the rows of one program
_ROWS = 2**16
_OFTEN = 32  # an `if` that is taken less often is left to Python,
_APART = 5e-3  # ... if so many seconds of Python lie between


@dataclass
class Site:
    """A statement that appends to a list or sets an element. sure: every round runs it. name: the
    variable that is appended, if it is one, and every round binds it; kept: ... and it still has
    that value at the end of the round. A statement in a branch has a name if only the branch binds
    it: then the variable always is what was appended last.
    """

    number: int
    of: str
    line: int
    sets: bool
    sure: bool
    name: str = ""
    kept: bool = False
    spec: Any = None
    leaves: list[Any] = field(default_factory=list)
    begun: bool = False
    every: ast.expr | None = None
    rounds: int = 1
    at: Any = None  # the statement
    inside: bool = False  # a method appends, each round once
    holder: str = ""  # the variable of the array that a view shows, at the end of a round

    @property
    def rows(self) -> str:
        return f".rows{self.number}"

    @property
    def row(self) -> str:
        return f".row{self.number}"

    @property
    def count(self) -> str:
        return f".count{self.number}"

    @property
    def more(self) -> str:
        return f".more{self.number}"


# -- the source ------------------------------------------------------------------------------------


def _every(test: ast.expr) -> ast.expr | None:
    """The 100 of `step % 100 == 0`."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return None
    left = test.left
    by_name = isinstance(left, ast.BinOp) and isinstance(left.left, ast.Name)
    return left.right if by_name and isinstance(left.op, ast.Mod) else None  # type: ignore


def _is_rare(test: ast.expr, rare: int) -> bool:
    every = _every(test)
    return isinstance(every, ast.Constant) and type(every.value) is int and every.value >= rare


class Rewriting:
    """The statements of a round without changes of `lists`; and what these were, as sites."""

    def __init__(
        self, statements: list[ast.stmt], lists: set[str], is_event: Callable[[ast.If], bool],
        rate: float,
    ) -> None:  # fmt: skip
        """rate: seconds of a round in Python."""
        self.sites: list[Site] = []
        self._rare = max(_OFTEN, int(_APART / rate) if rate else 0)
        self._lists, self._is_event = lists, is_event
        jumps = any(isinstance(n, ast.Continue) for s in statements for n in ast.walk(s))
        bound = [t for s in statements if isinstance(s, ast.Assign) for t in s.targets]
        self._written = names(*statements).written
        self._bound = names(*bound).stores - self._written
        self.always = set[str]() if jumps else self._bound
        # bound in a branch only: see `Histories._same`
        inner = [n for s in statements if isinstance(s, ast.If) for n in ast.walk(s)]
        again = [t for n in inner if isinstance(n, ast.Assign) for t in n.targets]
        self._picked = names(*again).stores - self._bound - self._written
        parts = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)]
        self._times = Counter(n.id for n in parts if not isinstance(n.ctx, ast.Load))
        self.body = []
        for i, s in enumerate(statements):
            self.body += self._statement(s, statements[i + 1 :], not jumps)

    def _statement(self, s: ast.stmt, rest: list[ast.stmt], sure: bool) -> list[ast.stmt]:
        target = target_of(s)
        if target is not None and target[0] in self._lists:
            return self._site(s, target, rest, sure)
        if not isinstance(s, ast.If) or not {t[0] for t in targets([s])} & self._lists:
            return [s]
        before, made = len(self.sites), copy.copy(s)
        made.body = [t for b in s.body for t in self._statement(b, [], False)]
        made.orelse = [t for b in s.orelse for t in self._statement(b, [], False)]
        if self._is_event(s) and (_is_rare(s.test, self._rare) or self._is_event(made)):
            del self.sites[before:]  # Python runs it
            return [s]
        for block in (s.body, s.orelse):
            for i, b in enumerate(block):
                self._name_in_branch(b, block[:i])
        for site in self.sites[before:]:
            site.every = site.every or _every(s.test)
        return [made]

    def _name_in_branch(self, s: ast.stmt, before: list[ast.stmt]) -> None:
        """Give the site that this statement of a branch has become its name."""
        of, value, index = target_of(s) or ("", None, None)
        if of not in self._lists or not isinstance(value, ast.Name) or index is not None:
            return
        here = [t for b in before if isinstance(b, ast.Assign) for t in b.targets]
        bound = [n for n in here if isinstance(n, ast.Name) and n.id == value.id]
        if bound and len(bound) == self._times[value.id] and value.id not in self._written:
            site = next(made for made in self.sites if made.at is s)
            site.name, site.kept = value.id, True

    def _site(self, s: ast.stmt, target: Any, rest: list[ast.stmt], sure: bool) -> list[ast.stmt]:
        of, value, index = target
        value = value if joined(s) is None else _call("own", value)
        site = Site(len(self.sites), of, s.lineno, index is not None, sure, at=s)
        name = value.id if isinstance(value, ast.Name) and value.id[0] != "." else ""
        if sure and name in self._bound | self._picked:
            site.name, site.kept = name, name not in names(*rest).stores
        self.sites.append(site)
        given = value if index is None else ast.Tuple([index, value], ast.Load())
        number = ast.Constant(site.number)
        if sure:
            args = [number, read(site.rows), read(site.count), given, _call("fresh")]
            made = [store(site.rows, _call("put", *args)), _counted(site, ast.Constant(1))]
        else:
            made = [store(site.row, _call("held", number, given, _call("fresh"))),
                    store(site.more, ast.Constant(1))]  # fmt: skip
        return [_at(m, s) for m in made]


def read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def store(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _call(function: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(read(KEPT), f".{function}", ast.Load()), list(args), [])


def _counted(site: Site, more: ast.expr) -> ast.stmt:
    return store(site.count, ast.BinOp(read(site.count), ast.Add(), more))


def _at(made: ast.stmt, place: ast.AST) -> ast.stmt:
    ast.copy_location(made, place)
    return ast.fix_missing_locations(made)


def flushed(sites: list[Site]) -> list[ast.stmt]:
    """Statements that write the rows which a round may have left."""
    made: list[ast.stmt] = []
    for s in sites:
        if not s.sure:
            args = [ast.Constant(s.number), read(s.rows), read(s.count), read(s.row)]
            made += [store(s.rows, _call("put", *args)), _counted(s, read(s.more)),
                     store(s.more, ast.Constant(0))]  # fmt: skip
    return made


def of_methods(sites: list[Site], value: Callable[[str], ast.expr]) -> list[ast.stmt]:
    """Statements at the end of a round: what methods have appended. value: by the list's path."""
    made: list[ast.stmt] = []
    for s in (s for s in sites if s.inside):
        args = [ast.Constant(s.number), read(s.rows), read(s.count), value(s.of), _call("fresh")]
        made += [store(s.rows, _call("put", *args)), _counted(s, ast.Constant(1))]
    return made


def begun(sites: list[Site], carried: Iterable[str], renewed: set[str]) -> list[ast.stmt]:
    """Statements at the beginning of a round."""
    if not sites and not renewed:
        return []
    named: list[ast.expr] = [ast.Constant(n) for n in carried]
    values = [ast.Tuple(named, ast.Load()), *map(read, carried)]
    return [ast.Expr(_call("begin", *values)), *flushed(sites)]


def ended(sites: list[Site], carried: Iterable[str], renewed: set[str]) -> list[ast.stmt]:
    """Statements at the end of a round."""
    made = [_call("end", ast.Constant(s.number), read(s.name)) for s in sites if s.name]
    named: list[ast.expr] = [ast.Constant(n) for n in carried]
    made += [_call("over", ast.Tuple(named, ast.Load()), *map(read, carried))] if sites else []
    made += [_call("another", ast.Constant(n), read(n)) for n in sorted(renewed)]
    return [ast.Expr(m) for m in made]


def prologue(sites: list[Site]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for s in sites:
        number = ast.Constant(s.number)
        made += [store(s.rows, _call("rows", number)), store(s.count, ast.Constant(0))]
        if not s.sure:
            made += [store(s.row, _call("row", number)), store(s.more, ast.Constant(0))]
    return made


def results(sites: list[Site]) -> list[ast.expr]:
    return [read(n) for s in sites for n in (s.rows, s.count)]


# -- while the rounds are traced -------------------------------------------------------------------


def _counts(parts: Any, keys: Any) -> list[int]:
    """How many references there are to each part."""
    return [sys.getrefcount(parts[i]) for i in keys]


_ALONE = _counts((object(),), (0,))[0]  # if nothing else refers to it


class Histories:
    """What the rewritten statements call. capacity: rounds of one program; 0 in the probe."""

    def __init__(self, sites: list[Site], always: Container[str] = ()) -> None:
        """always: names that each round binds anew, and of arrays that nothing writes."""
        self.sites, self.capacity, self._always = sites, 0, always
        self._owners: list[tuple[Site, Any, bool]] = []  # of this round; whether a view is appended
        self._begun: list[Any] = []
        self._first: dict[str, Any] = {}
        self._round: Any = None  # the recorder of the round
        self._seen: list[tuple[Site, Any, Any]] = []

    def begin(self, names: tuple[str, ...], *values: Any) -> None:
        self._begun = [x for x in values if type(x) is NDArray]
        self._first = dict(zip(names, values, strict=True))
        self._round, self._owners = local.recorder, []

    def rows(self, number: int) -> Any:
        if not self.capacity:
            return 0
        site = self.sites[number]
        length = self.length(site)
        return tuple([zeros(aval_of((length, *a.shape), a.dtype)) for a in site.leaves])

    def length(self, site: Site) -> int:
        """Of the arrays of rows; the last row is written if there is none to write."""
        return self.capacity // site.rounds + 2

    def row(self, number: int) -> Any:
        if not self.capacity:
            return 0
        return tuple([_nothing(a) for a in self.sites[number].leaves])

    def fresh(self) -> object:
        """Something that nothing else refers to, for comparison."""
        return object()

    def put(self, number: int, rows: Any, count: Any, value: Any, fresh: Any = None) -> Any:
        site = self.sites[number]
        if not self.capacity:
            if site.sure:
                more = sys.getrefcount(value) - sys.getrefcount(fresh)
                self._probe(site, value, more)
            return rows
        given = self._leaves(site, value) if site.sure else value
        return tuple([
            shaping.update_slice(
                new_array(r._read()), _operand(x), _operand(count), axes=(0,), sizes=(1,),
                strides=(1,), shape=a.shape,
            )
            for r, x, a in zip(rows, given, site.leaves, strict=True)
        ])  # fmt: skip

    def held(self, number: int, value: Any, fresh: Any) -> Any:
        site = self.sites[number]
        if not self.capacity:
            more = sys.getrefcount(value) - sys.getrefcount(fresh)
            self._probe(site, value, more)
            return 0
        return tuple(self._leaves(site, value))

    def end(self, number: int, value: Any) -> None:
        """The round is over. An array that it has appended must not be bound any longer as if it
        were another.
        """
        site = self.sites[number]
        picked = site.begun and session.pick_of(value) is not None
        if not self.capacity and type(value) is NDArray and (picked or not self._is_ours(value)):
            raise CannotStage(f"line {site.line}: `{site.name}` stays the same array")

    def another(self, name: str, value: Any) -> None:
        """The round is over. It must have bound this variable to an array that it has made."""
        if type(value) is NDArray and not self._is_ours(value):
            raise CannotStage(f"a branch may give the array `{name}` another name")

    def over(self, names: tuple[str, ...], *values: Any) -> None:
        """The round is over."""
        if not self.capacity:
            find_holders(self._owners, dict(zip(names, values, strict=True)), self._always)

    # -- the probe ---------------------------------------------------------------------------------

    def _probe(self, site: Site, value: Any, references: int) -> None:
        """references: to the value, other than those of the call."""
        leaves: list[Any] = []
        ours = id(value) in session.fresh  # a list that the round has made
        same = self._same(site, value) if type(value) is NDArray else False
        spec = self._described(site, value, leaves, references == ours)
        if same is not False:
            spec = "picked", *spec[1:]
            leaves.append(aval_of((), np.dtype(bool)))
        if site.spec is not None and site.spec != spec:
            raise CannotStage(f"line {site.line}: what `{site.of}` gets changes its type")
        site.spec, site.leaves = spec, leaves

    def _described(self, site: Site, value: Any, leaves: list[Any], alone: bool) -> Any:
        t = type(value)
        if t is tuple or t in (list, dict) and alone:
            keys = tuple(value) if t is dict else range(len(value))
            counts = zip(keys, [n == _ALONE and alone for n in _counts(value, keys)])
            return t, tuple([self._described(site, value[i], leaves, n) for i, n in counts]), keys
        if value is None or t is str:
            return "fixed", value
        if t in (bool, int, float, complex):
            aval = weak_aval(value)
            leaves.append(aval)
            return "number", aval.dtype.kind
        if t is Scalar:
            aval = value.aval
            leaves.append(aval)
            return ("number", aval.dtype.kind) if aval.weak else ("scalar", aval.dtype)
        if t is not NDArray:
            raise CannotStage(f"line {site.line}: `{site.of}` gets {t.__name__}")
        if value._base is not None and (way := self._way(site, value)) is not None:
            owner = value._owner()
            leaves.append(aval_of(owner.aval.shape, owner.aval.dtype))
            return "view", owner.aval.shape, owner.aval.dtype, way
        self._check_array(site, value, alone)
        leaves.append(aval_of(value.aval.shape, value.aval.dtype))
        return "array", value.aval.shape, value.aval.dtype

    def _way(self, site: Site, x: Any) -> Any:
        """How a view shows an array that the round has made; None if its list cannot get it."""
        owner = x._owner()
        plain = x._flags is None and owner._flags is None and owner._order is None
        known = site.sure and not site.sets and plain and self._is_ours(owner)
        if not known or session.pick_of(owner) is not None or session.pick_of(x) is not None:
            return None
        self._owners.append((site, owner, True))
        self._seen.append((site, owner, owner._node))
        return way_of(x)

    def _check_array(self, site: Site, x: Any, alone: bool) -> None:
        """It must be an array that stays as it is: nothing else refers to it, or the round binds
        it to a variable, and nothing writes it.
        """
        why = f"line {site.line}: `{site.of}` gets an array that something else refers to"
        picked = session.pick_of(x)
        odd = picked is None and x._flags is not None  # `x.ndim` reads what was picked: the last
        if odd or x._base is not None or x._order is not None or session.unlaid and x.ndim > 1:
            raise CannotStage(f"line {site.line}: `{site.of}` gets a view, or a read-only array")
        for old in (picked[1] or ()) if picked is not None else ():
            if old is not None:
                self._seen.append((site, old, old._node))
        self._owners.append((site, x, False))
        ours, begun = self._is_ours(x), any(x is b for b in self._begun)
        if alone and ours:
            return
        if not site.name or site.sets or begun and site.kept or not (ours or begun):
            raise CannotStage(f"{why}; append a copy")
        site.begun = site.begun or begun
        self._seen.append((site, x, x._node))

    def _same(self, site: Site, x: Any) -> Any:
        """Whether an array is that which the variable had when the round began: the list then gets
        the same object again. A traced number, if a branch has picked it.
        """
        picked = session.pick_of(x)
        if picked is None:
            return False
        predicate, old = picked
        first = self._first.get(site.name)
        # one that is gone was made in this round: those from before are held
        found = [y for y in old or () if y is not None and y is not first]
        if not all(self._is_ours(y) and session.pick_of(y) is None for y in found):
            old = None
        if old is None or not site.name or not site.sure or site.sets or not site.kept:
            raise CannotStage(
                f"line {site.line}: `{site.of}` gets an array that branches have picked; "
                "append a copy"
            )
        other, then = (y is not None and y is first for y in old)
        if other is then:
            return other
        return predicate if then else elementwise.logical_not(predicate)

    def _is_ours(self, x: Any) -> bool:
        """Whether the round has made this array."""
        if any(x is b for b in self._begun):
            return False
        recorder, node = local.recorder, x._node
        while isinstance(recorder, StagingRecorder):
            known = recorder.handles.get(id(x))
            if known is None and recorder.owns(node):
                return True
            if recorder is self._round:
                return False
            node = node if known is None else known[1]
            recorder = recorder.outer  # a branch is staged by a recorder of its own
        return False

    def check(self, value: Callable[[ast.expr], Any], step: int) -> None:
        """After the probe: no array was written after it was appended. Then choose the capacity.
        value: of an expression; step: of the loop's variable.
        """
        if any(s.spec is None for s in self.sites):
            raise CannotStage("a statement that changes a list was not traced")
        for site, x, node in self._seen:
            if x._node is not node:
                raise CannotStage(
                    f"line {site.line}: `{site.of}` gets an array that is written later on; "
                    "append a copy"
                )
        self._seen, self._begun, self._owners = [], [], []
        for s in self.sites:
            every = None if s.every is None else value(s.every)
            s.rounds = max(1, abs(every) // math.gcd(every, step)) if type(every) is int else 1
        size = sum(a.nbytes / s.rounds for s in self.sites for a in s.leaves)
        self.capacity = min(_ROWS, max(8, int(_BYTES / max(size, 1.0))))

    def _leaves(self, site: Site, value: Any) -> list[Any]:
        found: list[Any] = []

        def walk(v: Any, spec: Any) -> None:
            if spec[0] in (tuple, list, dict):
                if spec[0] is dict and tuple(v) != spec[2]:
                    raise CannotStage(f"line {site.line}: a dict has other keys")
                for i, inner in zip(spec[2], spec[1], strict=True):
                    walk(v[i], inner)
            elif spec[0] != "fixed":
                found.append(v._owner() if spec[0] == "view" else v)

        walk(value, site.spec)
        if site.spec[0] == "picked":
            found.append(self._same(site, value))
        for v, a in zip(found, site.leaves, strict=True):
            if weak_aval(v).dtype != a.dtype or np.shape(v) != a.shape:
                raise CannotStage(f"line {site.line}: what `{site.of}` gets changes its type")
        return found


for _name in ("another", "begin", "end", "fresh", "held", "over", "put", "row", "rows"):
    # the function of the rounds knows them by names that no variable of the user's has
    setattr(Histories, f".{_name}", getattr(Histories, _name))
setattr(Histories, ".own", staticmethod(own))


def _nothing(a: Any) -> Any:
    if a.weak and not a.shape:
        return a.dtype.type(0).item()
    made = zeros(aval_of(a.shape, a.dtype))
    return made if a.shape else made[()]


def _operand(x: Any) -> Any:
    return new_array(node_of(x))
