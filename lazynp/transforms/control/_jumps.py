"""break, continue and return become flags, so that each block has one entry and one exit.

What follows an `if` whose one branch always jumps moves into the other branch. What follows any
other statement that may jump is guarded by the flags. The flags are known in Python until a branch
on a traced value sets one.

A `return` of variables inside a loop, `with` or `try` only notes that it ran. Nothing changes the
variables until the outermost one has ended, and its value is taken then: an array that the rounds
write gets no second name.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from lazynp._dataclass import dataclass, replace
from lazynp.transforms.control._names import (
    Thrown,
    Unsupported,
    always,
    binds,
    inside,
    jumps,
    names,
    thrown,
)
from lazynp.transforms.control._state import VALUE
from lazynp.transforms.control._trees import copied

RETURNED = ".returned"


@dataclass(frozen=True)
class Flags:
    """The flags that the jumps of a block set."""

    leave: str | None = None  # of break
    skip: str | None = None  # of continue
    back: bool = False  # whether `return` sets a flag
    # in a loop, `with` or `try`: the flags of noted returns, whose values are taken after the
    # outermost one
    later: list[tuple[str, ast.Return]] | None = None


class Jumps:
    """The lowering of one function."""

    def __init__(self) -> None:
        self._loops = 0
        self._notes: list[str] = []  # flags of returns whose values are taken after a loop
        self._gives = True  # whether some `return` gives a value

    def function(self, body: list[ast.stmt], ends: bool) -> list[ast.stmt]:
        """The body with `return` at its end only. ends: every path returns, or raises."""
        nested = [s for s in body if not isinstance(s, ast.Return)]
        if not jumps(nested, (ast.Return,)):
            return self.block(body, Flags())
        self._gives = _gives(body)
        made = self.block(body, Flags(back=True))
        flags = [RETURNED, *self._notes]
        first = [set_to(flag, ast.Constant(False), body[0]) for flag in flags]
        if not self._gives:
            return [*first, *made]
        facts = ast.Constant(ends), ast.Constant(body[0].lineno)
        result = call("result", name(RETURNED), thunk(name(VALUE)), *facts)
        result.of_operator = True  # type: ignore[attr-defined]
        last = ast.Return(result)
        return [*first, *made, ast.copy_location(last, body[-1])]

    def block(self, statements: Sequence[ast.stmt], flags: Flags) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for i, s in enumerate(statements):
            rest = statements[i + 1 :]
            if isinstance(s, (ast.Break, ast.Continue)):
                flag = flags.leave if isinstance(s, ast.Break) else flags.skip
                return [*out, set_to(flag, ast.Constant(True), s)]
            if isinstance(s, ast.Return):
                if not flags.back:
                    return [*out, s]
                if self._gives:
                    out += self._given(s, flags)
                return [*out, set_to(RETURNED, ast.Constant(True), s)]
            if isinstance(s, Thrown):
                return [*out, set_to(s.flag, ast.Constant(True), s)]
            if isinstance(s, ast.If) and _leaves([s]):
                return [*out, *self._if(s, rest, flags)]
            if isinstance(s, (ast.For, ast.While, ast.Try, ast.With)):
                if isinstance(s, ast.While) and binds(s.test):  # and there is an `else`: `_plainer`
                    raise Unsupported
                make: Any = {ast.Try: self._try, ast.With: self._with}.get(type(s), self._loop)
                made, taken, jumping = make(s, flags)
                out += made
                if jumping and rest:
                    return [*out, self._guarded([s], rest, flags, taken)]
                out += [_if(RETURNED, taken, s)] if taken else []
            elif isinstance(s, (ast.TryStar, ast.Match)) and jumps([s]):
                raise Unsupported
            elif isinstance(s, ast.If):
                t = copy.copy(s)
                t.body, t.orelse = self.block(s.body, flags), self.block(s.orelse, flags)
                out.append(t)
                jumping = False
            else:
                out.append(s)
                jumping = False
            if jumping and rest:
                return [*out, self._guarded([s], rest, flags)]
        return out

    def _given(self, s: ast.Return, flags: Flags) -> list[ast.stmt]:
        """What `return` leaves behind: its value; or a note, and what parts are no variables."""
        value = s.value
        if value is None or flags.later is None or not _holds_variable(value):
            return [set_to(VALUE, value or ast.Constant(None), s)]
        note = f".return{len(self._notes) + 1}"
        self._notes.append(note)
        out: list[ast.stmt] = []
        later = _Later(note[1:], s, out).visit(copied(value))
        flags.later.append((note, ast.copy_location(ast.Return(later), s)))
        return [*out, set_to(note, ast.Constant(True), s)]

    def _with(self, s: Any, outer: Flags) -> tuple[list[ast.stmt], list[ast.stmt], bool]:
        """As `_loop`."""
        later = [] if outer.later is None else outer.later
        t = copy.copy(s)
        t.body = self.block(s.body, replace(outer, later=later))
        return [t], _taken(outer, later, s), _leaves([s])

    def _try(self, s: Any, outer: Flags) -> tuple[list[ast.stmt], list[ast.stmt], bool]:
        """As `_loop`."""
        if jumps(s.finalbody):
            raise Unsupported
        # `finally` may bind variables anew
        later = None if names(*s.finalbody).stores else [] if outer.later is None else outer.later
        flags = replace(outer, later=later)
        t = copy.copy(s)
        t.body, t.finalbody = self.block(s.body, flags), self.block(s.finalbody, flags)
        guarded = bool(s.orelse) and _leaves(s.body)
        t.orelse = (
            [self._guarded(s.body, s.orelse, flags)] if guarded else self.block(s.orelse, flags)
        )
        t.handlers = [copy.copy(h) for h in s.handlers]
        for h in t.handlers:
            h.body = self.block(h.body, flags)
        return [t], _taken(outer, later, s), _leaves([s])

    def _if(self, s: ast.If, rest: Sequence[ast.stmt], flags: Flags) -> list[ast.stmt]:
        t, body, orelse = copy.copy(s), s.body, s.orelse
        if always(body):
            t.body, t.orelse = self.block(body, flags), self.block([*orelse, *rest], flags)
            rest = ()
        elif always(orelse):
            t.body, t.orelse = self.block([*body, *rest], flags), self.block(orelse, flags)
            rest = ()
        else:
            t.body, t.orelse = self.block(body, flags), self.block(orelse, flags)
        t.body = t.body or [ast.copy_location(ast.Pass(), s)]
        return [t, self._guarded([s], rest, flags)] if rest else [t]

    def _loop(
        self, s: ast.For | ast.While, flags: Flags
    ) -> tuple[list[ast.stmt], list[ast.stmt], bool]:
        """A loop, what takes the values of its returns, and whether what follows is guarded."""
        self._loops += 1
        leaves, skips = jumps(s.body, (ast.Break,)), jumps(s.body, (ast.Continue,))
        back = jumps(s.body, (ast.Return,))
        inner = Flags(
            f".break{self._loops}" if leaves else None,
            f".continue{self._loops}" if skips else None,
            back,
            [] if flags.later is None else flags.later,
        )
        t: Any = copy.copy(s)
        t.body, t.orelse = self.block(s.body, inner), []
        out: list[ast.stmt] = []
        if inner.skip:
            t.body = [set_to(inner.skip, ast.Constant(False), s), *t.body]
        if inner.leave:
            out.append(set_to(inner.leave, ast.Constant(False), s))
        raised = thrown(s.body)
        t.stop = [f for f in (inner.leave, RETURNED if back else None, *raised) if f]
        out.append(t)
        if s.orelse:
            last = self.block(s.orelse, flags)
            if t.stop:
                guarded = ast.copy_location(ast.If(no(t.stop), last, []), s.orelse[0])
                last = [ast.fix_missing_locations(guarded)]
            out += last
        taken = _taken(flags, inner.later, s)
        return out, taken, back or bool(raised) or _leaves(s.orelse)

    def _guarded(
        self, before: list[ast.stmt], rest: Sequence[ast.stmt], flags: Flags,
        otherwise: Sequence[ast.stmt] = (),
    ) -> ast.stmt:  # fmt: skip
        """The rest, if none of the flags that the statements before may set is set."""
        kinds = {ast.Break: flags.leave, ast.Continue: flags.skip,
                 ast.Return: RETURNED if flags.back else None}  # fmt: skip
        chosen = [f for kind, f in kinds.items() if f and jumps(before, (kind,))]
        chosen += thrown(before)
        if otherwise and chosen != [RETURNED]:
            otherwise = [_if(RETURNED, otherwise, rest[0])]
        made = ast.If(no(chosen), self.block(rest, flags) or [ast.Pass()], list(otherwise))
        return ast.fix_missing_locations(ast.copy_location(made, rest[0]))


def _taken(
    outer: Flags, noted: Sequence[tuple[str, ast.Return]] | None, of: ast.stmt
) -> list[ast.stmt]:
    """Take the value of the `return` that has run of those noted in a statement, if it is the
    outermost one. If it has no other returns, the last needs no test.
    """
    if outer.later is not None or not noted:
        return []
    all_noted = len(noted) == sum(isinstance(x, ast.Return) for x in inside([of]))
    made: list[ast.stmt] = []
    for note, s in reversed(noted):
        value = s.value or ast.Constant(None)
        taken: list[ast.stmt] = [set_to(VALUE, value, s)]
        part = f" of {note[1:]}"
        if any(isinstance(n, ast.Name) and n.id.endswith(part) for n in ast.walk(value)):
            # where the trace has not come to this `return`, as in a handler, its parts are unbound
            never = ast.ExceptHandler(name("NameError"), None, [ast.Pass()])
            tried = ast.Try(taken, [never], [], [])
            taken = [ast.fix_missing_locations(ast.copy_location(tried, s))]
        made = taken if all_noted and not made else [_if(note, taken, s, made)]
    return made


def _if(
    flag: str, body: Sequence[ast.stmt], at: ast.AST, orelse: Sequence[ast.stmt] = ()
) -> ast.If:
    made = ast.If(name(flag), list(body), list(orelse))
    return ast.fix_missing_locations(ast.copy_location(made, at))


def _parts(value: Any) -> list[Any]:
    """The parts of a tuple, a list, a dict or an object of a class that an expression makes. (The
    names of classes begin with a capital letter.)
    """
    if isinstance(value, (ast.Tuple, ast.List)):
        return value.elts
    if isinstance(value, ast.Dict):
        return [v for v in (*value.keys, *value.values) if v is not None]
    of = value.func if isinstance(value, ast.Call) else None
    if isinstance(of, ast.Name) and (of.id[0].isupper() or of.id in ("dict", "list", "tuple")):
        return [*value.args, *(k.value for k in value.keywords)]
    return []


def _holds_variable(value: ast.AST) -> bool:
    return isinstance(value, ast.Name) or any(map(_holds_variable, _parts(value)))


class _Later(ast.NodeTransformer):
    """What is left of the value of a noted `return`: variables, and what holds them. Other parts
    are computed at once, as variables of their own.
    """

    def __init__(self, prefix: str, at: ast.Return, out: list[ast.stmt]) -> None:
        self._prefix, self._at, self._out = prefix, at, out

    def visit(self, node: Any) -> Any:
        kept = isinstance(node, (ast.Name, ast.Constant, ast.Starred))
        if kept or not isinstance(node, ast.expr):
            return node
        if not _holds_variable(node):
            place = f"{len(self._out)} of {self._prefix}"
            self._out.append(set_to(place, node, self._at))
            return name(place)
        if isinstance(node, ast.Call):
            node.args = list(map(self.visit, node.args))
            for k in node.keywords:
                k.value = self.visit(k.value)
            return node
        return self.generic_visit(node)


def _leaves(statements: Sequence[ast.stmt]) -> bool:
    """Whether the statements contain a jump, or an exception for a handler, that leaves them."""
    return jumps(statements) or bool(thrown(statements))


def _gives(body: Sequence[ast.stmt]) -> bool:
    """Whether the function returns something other than None. (A loop cannot carry None.)"""
    found = [s.value for s in inside(body) if isinstance(s, ast.Return)]
    return any(v is not None and not _is_none(v) for v in found)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


_VALUES = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.JoinedStr, ast.Tuple, ast.List, ast.Dict,
           ast.ListComp)  # fmt: skip


def never_none(body: Sequence[ast.stmt]) -> bool:
    """Whether no `return` can give None, whatever the variables are."""
    return all(_is_value(s.value) for s in inside(body) if isinstance(s, ast.Return))


def _is_value(x: ast.expr | None) -> bool:
    if isinstance(x, ast.BoolOp):
        return all(map(_is_value, x.values))
    if isinstance(x, ast.IfExp):
        return _is_value(x.body) and _is_value(x.orelse)
    return isinstance(x, _VALUES) or isinstance(x, ast.Constant) and not _is_none(x)


# -- parts of trees --------------------------------------------------------------------------------


def name(of: str) -> ast.Name:
    return ast.Name(of, ast.Load())


def set_to(flag: str | None, value: ast.expr, at: ast.AST) -> ast.stmt:
    made = ast.Assign([ast.Name(flag or VALUE, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, at))


def no(flags: Sequence[str]) -> ast.UnaryOp:
    """`not (a or b)`"""
    test = name(flags[0]) if len(flags) == 1 else ast.BoolOp(ast.Or(), [name(f) for f in flags])
    return ast.UnaryOp(ast.Not(), test)


def call(function: str, *args: ast.expr) -> ast.Call:
    """A call of an operator."""
    return ast.Call(ast.Attribute(name(".control"), function, ast.Load()), list(args), [])


def thunk(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)
