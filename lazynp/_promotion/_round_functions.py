"""A function that runs some rounds of a loop.

It takes what a round reads of the variables around it, and returns what a later round reads of the
one before. Where a round may stop it, it also returns how many rounds it has begun, and whether
the loop goes on after them: if not, the caller runs fewer, up to a round that Python can run.
"""

from __future__ import annotations

import ast
from types import CodeType, FrameType, FunctionType

from lazynp._promotion._exchanges import STOP
from lazynp._promotion._histories import (
    begun,
    ended,
    flushed,
    prologue,
    read,
    results,
    store,
)
from lazynp._promotion._items import AT, Items, bounded, counted
from lazynp._promotion._loops import Loop
from lazynp.transforms.control import COUNT, copied, transplanted

# parameters of the function: the first round, and that before which it ends; if it may stop, the
# number of rounds
FIRST, LAST = ".first", ".last"
_ROUND, _GOES = ".round", ".goes"
_NAME = "loop"


def rounds_function(
    loop: Loop, frame: FrameType, parameters: tuple[str, ...], items: Items | None,
    head: list[ast.stmt], first: list[ast.stmt], last: list[ast.stmt], slots: list[str],
    carried: list[ast.expr], drawn: list[ast.expr],
) -> FunctionType:  # fmt: skip
    """A function of `parameters`, FIRST and LAST that runs the rounds and returns what is
    carried. items: None for a `while` loop. head: statements before.
    first, last: those at the beginning and the end of each round. slots: of objects, carried too.
    carried: what it gives of what it carries; drawn: ... besides.
    """
    sites = loop.sites
    rounds = _bodies(loop, items, first, last)
    body = [*begun(sites, loop.carried, loop.renewed), *rounds,
            *ended(sites, (*loop.carried, *slots), loop.renewed)]  # fmt: skip
    made: list[ast.stmt] = []
    more: list[ast.expr] = []
    if loop.stops:
        made = _stopping(loop, items, body)
        more = [read(COUNT), read(_GOES)]
    else:
        assert items is not None
        made = [_counted(loop, items, body)]
    left: list[ast.expr] = [*carried, *map(read, slots)]
    out = ast.Return(ast.Tuple([*left, *more, *results(sites), *drawn], ast.Load()))
    given = [ast.arg(n) for n in (*parameters, FIRST, LAST)]
    takes = ast.arguments([], given, None, [], [], None, [])
    whole_body = [*head, *prologue(sites), *made, *flushed(sites), out]
    node = ast.FunctionDef(_NAME, takes, whole_body, [], None)
    for part in ast.walk(node):
        if isinstance(part, (ast.stmt, ast.expr)) and not hasattr(part, "lineno"):
            part.lineno = part.end_lineno = loop.line
            part.col_offset = part.end_col_offset = 0
    ast.fix_missing_locations(node)
    whole = compile(ast.Module([node], []), frame.f_code.co_filename, "exec", dont_inherit=True)
    code = next(c for c in whole.co_consts if isinstance(c, CodeType))
    return transplanted(FunctionType(code, frame.f_globals, _NAME), node)


def _counted(loop: Loop, items: Items, body: list[ast.stmt]) -> ast.stmt:
    """`for` the rounds from FIRST to LAST."""
    together = len(loop.rounds)
    (low, high), step = items.ends(together), items.step * together
    first, last = read(FIRST), read(LAST)
    target = _target(loop, items)
    if step == 1:
        first = bounded(first, low, None)
        last = bounded(last, None, None if high is None else high + 1)
    else:
        again = copied(target)
        body.insert(0, ast.Assign([again], bounded(read(target.id), low, high)))  # type: ignore
    over = ast.Call(read("range"), [first, last, ast.Constant(step)], [])
    return ast.For(target, over, body, [])


def _target(loop: Loop, items: Items) -> ast.expr:
    """What is bound to the number of the round, or to that of the first of several."""
    if not items.plain:
        return ast.Name(AT, ast.Store())
    one = len(loop.rounds) == 1
    return copied(loop.node.target) if one else ast.Name(_ROUND, ast.Store())


def _bodies(
    loop: Loop, items: Items | None, first: list[ast.stmt], last: list[ast.stmt]
) -> list[ast.stmt]:
    """The statements of so many rounds that exchanged names are back."""
    body: list[ast.stmt] = []
    for k, one in enumerate(loop.rounds):
        body += flushed(loop.sites) if k else []
        if items is not None and not items.plain:
            body.append(copied(items.binding(k)))
        elif items is not None and len(loop.rounds) > 1:
            value = ast.BinOp(read(_ROUND), ast.Add(), ast.Constant(k * items.step))
            body.append(ast.Assign([copied(loop.node.target)], value))
        body += copied([*first, *one, *last])
    return body


def _stopping(loop: Loop, items: Items | None, body: list[ast.stmt]) -> list[ast.stmt]:
    """`while` there are rounds, and the loop goes on."""
    goes: list[ast.expr] = [ast.UnaryOp(ast.Not(), read(STOP))]
    if loop.test is not None:
        goes.append(copied(loop.test))
    counts: list[ast.stmt] = [store(COUNT, counted(read(COUNT), 1, 1))]
    if items is not None:
        value = counted(read(COUNT), read(FIRST), items.step * len(loop.rounds))
        value = bounded(value, *items.ends(len(loop.rounds)))
        counts.insert(0, ast.Assign([_target(loop, items)], value))
    left = ast.Compare(read(COUNT), [ast.Lt()], [read(LAST)])
    test = ast.BoolOp(ast.And(), [left, *copied(goes)])
    return [
        store(COUNT, ast.Constant(0)),
        store(STOP, ast.Constant(False)),
        ast.While(test, [*counts, *body], []),
        store(_GOES, goes[0] if loop.test is None else ast.BoolOp(ast.And(), goes)),
    ]
