"""break, continue and return become flags, so that each block has one entry and one exit.

What follows an `if` whose one branch always jumps moves into the other branch. What follows any
other statement that may jump is guarded by the flags. The flags are known in Python until a branch
on a traced value sets one.

A `return` of variables inside a loop only notes that it ran. Nothing changes the variables until
the loop has ended, and its value is taken then: an array that the rounds write gets no second name.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lazynp.transforms.control._names import (
    Thrown,
    Unsupported,
    always,
    binds,
    inside,
    jumps,
    thrown,
)

RETURNED, VALUE = ".returned", ".value"


@dataclass(frozen=True)
class Flags:
    """The flags that the jumps of a block set."""

    leave: str | None = None  # of break
    skip: str | None = None  # of continue
    back: bool = False  # whether `return` sets a flag
    # in a loop: the flags of noted returns, whose values are taken after the outermost loop
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
        last = ast.Return(call("result", name(RETURNED), thunk(name(VALUE)), *facts))
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
            if isinstance(s, (ast.For, ast.While)):
                if isinstance(s, ast.While) and binds(s.test):  # and there is an `else`: `_plainer`
                    raise Unsupported
                made, taken, jumping = self._loop(s, flags)
                out += made
                if jumping and rest:
                    return [*out, self._guarded([s], rest, flags, taken)]
                out += [_if(RETURNED, taken, s)] if taken else []
            elif isinstance(s, ast.With) and _leaves([s]):
                t = copy.copy(s)
                t.body = self.block(s.body, flags)
                out.append(t)
                jumping = True
            elif isinstance(s, ast.Try):
                out.append(self._try(s, flags))
                jumping = _leaves([s])
            elif isinstance(s, (ast.TryStar, ast.Match)) and jumps([s]):
                raise Unsupported
            elif isinstance(s, ast.If):
                t = copy.copy(s)
                t.body, t.orelse = self.block(s.body, flags), self.block(s.orelse, flags)
                out.append(t)
                jumping = False
            else:
                out.append(self._inner(s, flags))
                jumping = False
            if jumping and rest:
                return [*out, self._guarded([s], rest, flags)]
        return out

    def _given(self, s: ast.Return, flags: Flags) -> list[ast.stmt]:
        """What `return` leaves behind: its value; or a note, and what parts are no variables."""
        value = s.value
        parts: list[Any] = value.elts if isinstance(value, ast.Tuple) else [value]
        if value is None or flags.later is None or not any(map(_is_variable, parts)):
            return [set_to(VALUE, value or ast.Constant(None), s)]
        note = f".return{len(self._notes) + 1}"
        self._notes.append(note)
        out: list[ast.stmt] = []
        kept: list[Any] = []
        for k, part in enumerate(parts):
            if _is_variable(part) or isinstance(part, (ast.Constant, ast.Starred)):
                kept.append(part)
            else:
                out.append(set_to(f"{k} of {note[1:]}", part, s))
                kept.append(name(f"{k} of {note[1:]}"))
        later = kept[0] if parts == [value] else ast.Tuple(kept, ast.Load())
        flags.later.append((note, ast.copy_location(ast.Return(later), s)))
        return [*out, set_to(note, ast.Constant(True), s)]

    def _inner(self, s: ast.stmt, flags: Flags) -> ast.stmt:
        """The loops inside `with`."""
        if not isinstance(s, ast.With):
            return s
        t = copy.copy(s)
        t.body = self.block(t.body, flags)
        return t

    def _try(self, s: ast.Try, flags: Flags) -> ast.Try:
        if jumps(s.finalbody):
            raise Unsupported
        flags = replace(flags, later=None)  # `finally` may change the variables
        t = copy.copy(s)
        t.body, t.finalbody = self.block(s.body, flags), self.block(s.finalbody, flags)
        guarded = bool(s.orelse) and _leaves(s.body)
        t.orelse = (
            [self._guarded(s.body, s.orelse, flags)] if guarded else self.block(s.orelse, flags)
        )
        t.handlers = [copy.copy(h) for h in s.handlers]
        for h in t.handlers:
            h.body = self.block(h.body, flags)
        return t

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
        noted = [] if flags.later is not None else inner.later or []
        all_noted = len(noted) == sum(isinstance(x, ast.Return) for x in inside([s]))
        taken = _taken(noted, all_noted)
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


def _taken(noted: Sequence[tuple[str, ast.Return]], all_noted: bool) -> list[ast.stmt]:
    """Take the value of the `return` that has run. all_noted: the loop has no others, so the last
    needs no test.
    """
    made: list[ast.stmt] = []
    for note, s in reversed(noted):
        value = [set_to(VALUE, s.value or ast.Constant(None), s)]
        made = value if all_noted and not made else [_if(note, value, s, made)]
    return made


def _if(
    flag: str, body: Sequence[ast.stmt], at: ast.AST, orelse: Sequence[ast.stmt] = ()
) -> ast.If:
    made = ast.If(name(flag), list(body), list(orelse))
    return ast.fix_missing_locations(ast.copy_location(made, at))


def _is_variable(value: ast.expr | None) -> bool:
    """Whether it is a variable, or holds variables alone."""
    if isinstance(value, ast.Tuple):
        parts = [x for x in value.elts if not isinstance(x, ast.Constant)]
        return bool(parts) and all(map(_is_variable, parts))
    return isinstance(value, ast.Name)


def _leaves(statements: Sequence[ast.stmt]) -> bool:
    """Whether the statements contain a jump, or an exception for a handler, that leaves them."""
    return jumps(statements) or bool(thrown(statements))


def _gives(body: Sequence[ast.stmt]) -> bool:
    """Whether the function returns something other than None. (A loop cannot carry None.)"""
    found = [s.value for s in inside(body) if isinstance(s, ast.Return)]
    return any(v is not None and not _is_none(v) for v in found)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


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
