"""`sum(x[i] * y[i] for i in range(n))`: builtins that use up a generator become functions with
loops, which can be staged. So do `next(i for i in range(n) if x[i] > 0)`, and
`max(range(n), key=f)`. Where nothing in the generator, or in what the key reads, may be traced, the
builtin runs.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Sequence
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

from lazynp.transforms.control._jumps import call, name
from lazynp.transforms.control._names import COMPREHENSIONS, names
from lazynp.transforms.control._numbers import refuse_compensation
from lazynp.transforms.control._optional import is_none
from lazynp.transforms.control._state import UNBOUND, involved, operators, values_of
from lazynp.transforms.control._trees import copied

REDUCING = {"sum", "any", "all", "max", "min", "next"}


def _empty(function: Any) -> str:
    try:
        return str(function(iter(())))
    except ValueError as error:
        return str(error)


# names that may be unbound: `load` reads them (see `_liveness.may_be_unbound`)
_BEST, _PICKED = "best.", "picked."
_DEFAULT = ".default"
_TEXTS = {"max": _empty(max), "min": _empty(min)}


# -- the rewriting ---------------------------------------------------------------------------------


class Reductions(ast.NodeTransformer):
    """In the body of one function. made: the functions, to stand at its beginning."""

    def __init__(self, bound: set[str]) -> None:
        """bound: the names of the function's variables."""
        self.made: list[ast.stmt] = []
        self._bound = bound

    def visit_FunctionDef(self, node: ast.AST) -> ast.AST:
        return node  # has a rewriting of its own

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_FunctionDef

    def visit_Call(self, node: ast.Call) -> ast.AST:
        of = node.func.id if isinstance(node.func, ast.Name) else ""
        given = self._variables(node) if of in REDUCING - self._bound else None
        if given is None:
            return self.generic_visit(node)
        own = f".{of}{len(self.made)}"
        values, whole, keyed = list(map(name, given)), copied(node), _has_key(node)
        body = [] if keyed else _BODIES[of](node.args[0])
        if keyed:
            value = ast.Call(name(".key"), [name(".each")], [])
            body = _from_first(of, node.args[0], ".each", value, name(_PICKED))
            given, values = [*given, ".key"], [*values, node.keywords[0].value]
            whole.keywords[0].value = name(".key")  # type: ignore[attr-defined]
        elif node.keywords:  # what it gives if there is nothing
            empty: Any = next(t for t in body if hasattr(t, "of_none"))
            empty.body = [ast.Return(name(_DEFAULT))]
            given, values = [*given, _DEFAULT], [*values, node.keywords[0].value]
            whole.keywords[0].value = name(_DEFAULT)  # type: ignore[attr-defined]
        elif len(node.args) == 2:  # the same of `next`
            body[-1] = ast.Return(ast.Constant(None) if is_none(node.args[1]) else name(_DEFAULT))
            given, values = [*given, _DEFAULT], [*values, node.args[1]]
            whole.args[1] = name(_DEFAULT)  # type: ignore[attr-defined]
        parameters = ast.arguments([], [ast.arg(n) for n in given], None, [], [], None, [])
        made = ast.FunctionDef(own, parameters, body, [], None)
        self.made.append(_placed(made, node))
        plain = ast.Lambda(copied(parameters), whole)
        out: Any = call("reduced", copy.copy(node.func), name(own), plain, *values)
        out.of_operator = True
        return _placed(out, node)

    def _variables(self, node: ast.Call) -> list[str] | None:
        """The variables that the generator reads, or None if it stays as it is."""
        if "range" in self._bound and node.func.id in _TEXTS:  # type: ignore[attr-defined]
            return None
        if _has_key(node) and _counts(node.args[0]):
            return sorted(names(node.args[0]).loads & self._bound)
        if not _takes_one(node):
            return None
        comprehension: Any = node.args[0]
        inner = list(ast.walk(comprehension))
        refused = (ast.NamedExpr, ast.Lambda, ast.Await, ast.Yield)
        if any(isinstance(n, refused) or getattr(n, "is_async", False) for n in inner):
            return None
        own = names(*[g.target for g in comprehension.generators]).stores
        others = set[str]()
        for c in inner:
            if isinstance(c, COMPREHENSIONS) and c is not comprehension:
                others |= names(*[g.target for g in c.generators]).stores
        if others & self._bound or own & names(comprehension.generators[0].iter).loads:
            return None
        return sorted((names(comprehension).loads & self._bound) - own)


def _has_key(node: ast.Call) -> bool:
    """Whether this is `max(..., key=...)`."""
    extremum = isinstance(node.func, ast.Name) and node.func.id in _TEXTS
    return extremum and len(node.args) == 1 and [k.arg for k in node.keywords] == ["key"]


def _takes_one(node: Any) -> bool:
    """Whether the builtin takes one generator or list, and perhaps what it gives of none."""
    keywords = [k.arg for k in node.keywords]
    if node.func.id == "next":
        one = len(node.args) in (1, 2) and not keywords
        return one and isinstance(node.args[0], ast.GeneratorExp) and not isinstance(
            node.args[-1], ast.Starred
        )  # fmt: skip
    one = len(node.args) == 1 and (not keywords or keywords == ["default"])
    one = one and (not keywords or node.func.id in _TEXTS)
    return one and isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp))


def _placed(node: Any, at: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, at))


def _store(of: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(of, ast.Store())], value)


def _loops(comprehension: Any, inner: Sequence[ast.stmt]) -> ast.stmt:
    body: list[ast.stmt] = list(inner)
    for g in reversed(comprehension.generators):
        for test in reversed(g.ifs):
            body = [ast.If(copied(test), body, [])]
        body = [ast.For(copied(g.target), copied(g.iter), body, [])]
    return body[0]


def _sum(c: Any) -> list[ast.stmt]:
    value: Any = ast.BinOp(name(".total"), ast.Add(), copied(c.elt))
    value.of_sum = True
    start, end = _store(".total", ast.Constant(0)), ast.Return(name(".total"))
    return [start, _loops(c, [_store(".total", value)]), end]


def _any(c: Any) -> list[ast.stmt]:
    found = ast.If(copied(c.elt), [ast.Return(ast.Constant(True))], [])
    return [_loops(c, [found]), ast.Return(ast.Constant(False))]


def _all(c: Any) -> list[ast.stmt]:
    test = ast.UnaryOp(ast.Not(), copied(c.elt))
    found = ast.If(test, [ast.Return(ast.Constant(False))], [])
    return [_loops(c, [found]), ast.Return(ast.Constant(True))]


def _next(c: Any) -> list[ast.stmt]:
    found = _loops(c, [ast.Return(copied(c.elt))])
    return [found, ast.Raise(name("StopIteration"))]


def _extremum(of: str) -> Callable[[Any], list[ast.stmt]]:
    def body(c: Any) -> list[ast.stmt]:
        only = c.generators[0] if len(c.generators) == 1 else None
        if only and _counts(only.iter) and not only.ifs and isinstance(only.target, ast.Name):
            return _from_first(of, only.iter, only.target.id, c.elt, name(_BEST))
        take = _store(_BEST, name(".value"))
        later = ast.If(_closer(of), [copied(take)], [])
        first = ast.If(name(".none"), [take, _store(".none", ast.Constant(False))], [later])
        return [
            _store(".none", ast.Constant(True)),
            _loops(c, [_store(".value", copied(c.elt)), first]),
            _if_none(of, name(".none")),
            ast.Return(name(_BEST)),
        ]

    return body


def _closer(of: str) -> ast.expr:
    return ast.Compare(name(".value"), [ast.Gt() if of == "max" else ast.Lt()], [name(_BEST)])


def _if_none(of: str, test: ast.expr) -> ast.stmt:
    error = ast.Call(name("ValueError"), [ast.Constant(_TEXTS[of])], [])
    made: Any = ast.If(test, [ast.Raise(error)], [])
    made.of_none = True
    return made


def _counts(x: ast.expr) -> bool:
    """Whether this is `range(n)` or `range(m, n)`, for the builtin if `range` is no variable."""
    called = isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id == "range"
    refused = (ast.NamedExpr, ast.Lambda, ast.Starred, ast.Await, *COMPREHENSIONS)
    return called and len(x.args) in (1, 2) and not x.keywords and not any(  # type: ignore
        isinstance(n, refused) for n in ast.walk(x)
    )  # fmt: skip


def _from_first(
    of: str, items: Any, target: str, value: ast.expr, wanted: ast.expr
) -> list[ast.stmt]:
    """The extreme of the values, or what has it. The first round stands before the loop, so that
    the loop may have a number of rounds that is traced.
    """
    low, high = ([ast.Constant(0)] + list(map(copied, items.args)))[-2:]
    take = [_store(_BEST, name(".value")), _store(_PICKED, name(target))]
    item, one = ast.Name(target, ast.Store()), ast.BinOp(name(".low"), ast.Add(), ast.Constant(1))
    rest = ast.Call(copied(items.func), [one, name(".high")], [])
    better = ast.If(_closer(of), [copied(t) for t in take], [])
    return [
        _store(".low", low), _store(".high", high),
        _if_none(of, ast.Compare(name(".high"), [ast.LtE()], [name(".low")])),
        _store(target, name(".low")), _store(".value", copied(value)), *take,
        ast.For(item, rest, [_store(".value", copied(value)), better], []),
        ast.Return(copied(wanted)),
    ]  # fmt: skip


_BODIES: dict[str, Callable[[Any], list[ast.stmt]]] = {
    "sum": _sum, "any": _any, "all": _all, "max": _extremum("max"),
    "min": _extremum("min"), "next": _next,
}  # fmt: skip


def empty_text(function: Any) -> str:
    """What Python says of the maximum or minimum of nothing."""
    return _TEXTS[function.__name__]


# -- the operators ---------------------------------------------------------------------------------


def reduced(function: Any, loop: Any, plain: Any, *given: Any) -> Any:
    """A builtin that uses up a generator. given: what the generator reads."""
    used = getattr(builtins, getattr(function, "__name__", ""), None) is function
    return (loop if used and any(map(_reads, given)) else plain)(*given)


def reduced_or_none(function: Any, loop: Any, plain: Any, *given: Any) -> Any:
    """The same where the caller takes None: of `next(generator, None)`."""
    return reduced(function, operators[0].call_or_none(loop), plain, *given)


def _reads(x: Any, depth: int = 0) -> bool:
    """Whether x, or what a function or method reads of those around it, may be traced."""
    if isinstance(x, FunctionType) and depth < 4:
        read = [*values_of(x.__closure__ or ()), *(x.__defaults__ or ())]
        return any([y is not UNBOUND and _reads(y, depth + 1) for y in read])
    return involved(x.__self__ if isinstance(x, (MethodType, BuiltinMethodType)) else x)


def summed(total: Any, value: Any) -> Any:
    """`total + value` in a sum."""
    refuse_compensation(total, value)
    return operators[0].arithmetic("Add", total, value, 0)
