"""Rewrite a function: its loops and branches become calls of the operators of `_operators`.

The body of a loop, and each branch, becomes an inner function that shares the variables of the
function by `nonlocal`. The operators read and bind these variables through the cells of the
closures. Everything keeps its line.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from lazynp.transforms.control._absent import OPTIONAL
from lazynp.transforms.control._affected import MEMBERSHIP, may_be_number
from lazynp.transforms.control._counting import counting
from lazynp.transforms.control._jumps import Jumps, call, name, never_none, no, thunk
from lazynp.transforms.control._liveness import Liveness, may_be_unbound
from lazynp.transforms.control._marks import Texts, mark_message, mark_test
from lazynp.transforms.control._modular import is_modular, of_wraps, wraps
from lazynp.transforms.control._names import (
    Unsupported,
    binds,
    inside,
    is_chain,
    is_float,
    is_sequence,
    names,
    returns,
    walks_elements,
)
from lazynp.transforms.control._optional import is_fixed, is_none, may_pass_none, optional_names
from lazynp.transforms.control._plainer import (
    of_super,
    plainer,
    without_annotations,
    without_short_super,
)
from lazynp.transforms.control._raising import Raising
from lazynp.transforms.control._reductions import Reductions
from lazynp.transforms.control._state import VALUE
from lazynp.transforms.control._trees import constant, copied, located, stored
from lazynp.transforms.control._wide import BITWISE

_REFUSED = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.AsyncFor, ast.AsyncWith,
    ast.AsyncFunctionDef,
)  # fmt: skip
_FRAMES = {"super", "__class__", "locals", "vars", "dir", "eval", "exec"}  # look at the frame


def rewritten(node: Any, unsure: frozenset[str] | set[str] = frozenset()) -> Any:
    """The function or lambda with operators in place of its control flow.

    unsure: names of an outer function that may be unbound.
    """
    node = node if isinstance(node, ast.Lambda) else without_short_super(node)
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    plain = of_super(body)
    for part in inside(body):
        looks = isinstance(part, ast.Name) and part.id in _FRAMES and id(part) not in plain
        if isinstance(part, _REFUSED) or looks:
            raise Unsupported
    if isinstance(node, ast.Lambda):
        made = copy.copy(node)
        made.body = _Expressions(set(unsure)).visit(copied(node.body))
        return made
    return _Function(node, set(unsure)).made()


def _parameters(arguments: ast.arguments) -> set[str]:
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {a.arg for a in [*plain, arguments.vararg, arguments.kwarg] if a is not None}


class _Function:
    """The rewriting of one function."""

    def __init__(self, node: ast.FunctionDef, unsure: set[str]) -> None:
        self._node = node
        parameters = _parameters(node.args)
        plain = plainer(without_annotations(node.body))
        reductions = Reductions(names(*plain).stores | parameters)
        plain = [reductions.visit(s) for s in plain]
        ends = returns(plain)
        optional = optional_names(node.args, plain)
        if not (ends and never_none(plain)):
            optional |= {VALUE}
        plain = Raising().block(plain)
        self._body = [*reductions.made, *Jumps().function(plain, ends)]
        everything = names(*self._body)
        self._locals = everything.stores | parameters
        self._live = Liveness(everything.later & self._locals)
        self._written: set[str] = set()  # names of arrays that are written from here on
        self._optional = optional & self._locals
        unsure = (unsure - self._locals) | may_be_unbound(self._body, parameters)
        unsure |= self._optional - {VALUE}
        self._expressions = _Expressions(unsure, self._optional)
        self._parts = 0
        self._shared: set[str] = set()  # variables that inner functions bind

    def made(self) -> ast.FunctionDef:
        body = self._block(self._body, set())
        node = copy.copy(self._node)
        node.decorator_list, node.returns = [], None
        node.args = copied(node.args)
        for a in ast.walk(node.args):
            if isinstance(a, ast.arg):
                a.annotation = None
        first = [self._declaration()] if self._shared else []
        node.body = [*first, *body]
        return ast.fix_missing_locations(node)

    def _declaration(self) -> ast.stmt:
        """`if 0: x = y = None` makes the variables local, and leaves them unbound."""
        targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in sorted(self._shared)]
        made = ast.If(ast.Constant(0), [ast.Assign(targets, ast.Constant(None))], [])
        return ast.fix_missing_locations(ast.copy_location(made, self._body[0]))

    def _block(self, statements: Sequence[ast.stmt], live: set[str]) -> list[ast.stmt]:
        """live: the names that are read afterwards."""
        out: list[ast.stmt] = []
        for s in reversed(statements):
            parts = s.items if isinstance(s, ast.With) else [] if isinstance(s, ast.Try) else [s]
            for part in parts:
                self._written |= self._live.names(part).written & self._locals
            out[:0] = self._statement(s, live | self._live.later)
            live = self._live.before([s], live)
        return out

    def _statement(self, s: ast.stmt, live: set[str]) -> list[ast.stmt]:
        if isinstance(s, ast.If):
            return self._if(s, live)
        if isinstance(s, (ast.For, ast.While)):
            return self._loop(s, live)
        if isinstance(s, ast.With):
            t = copy.copy(s)
            t.items = [self._expressions.visit(copied(i)) for i in s.items]
            t.body = self._block(s.body, live)
            return [t]
        if isinstance(s, ast.Try):
            return [self._try(s, live | self._live.names(s).loads)]
        made = self._expressions.visit(copied(s))
        return made if isinstance(made, list) else [made]

    def _try(self, s: ast.Try, live: set[str]) -> ast.stmt:
        t = copy.copy(s)  # what comes last is looked at first: see `_written`
        t.finalbody = self._block(s.finalbody, live)
        t.handlers = [copy.copy(h) for h in s.handlers]
        for h in t.handlers:
            h.body = self._block(h.body, live)
        t.orelse = self._block(s.orelse, live)
        t.body = self._block(s.body, live)
        return t

    def _expression(self, e: ast.expr) -> ast.expr:
        return self._expressions.visit(copied(e))

    def _test(self, e: ast.expr) -> ast.expr:
        """An expression of which only the truth counts."""
        test = copied(e)
        mark_test(test)
        return self._expressions.visit(test)

    def _inner(
        self, of: str, body: Sequence[ast.stmt], stores: set[str], at: ast.AST, *args: str
    ) -> ast.FunctionDef:
        """An inner function that binds variables of this one."""
        bound = sorted(stores & self._locals)
        self._shared |= set(bound)
        head: list[ast.stmt] = [ast.Nonlocal(bound)] if bound else []
        optional = stores & self._optional
        more = [(ast.arg(OPTIONAL), constant(optional))] if optional else []
        given = ast.arguments(
            [], [ast.arg(a) for a in args], None,
            [a for a, _ in more], [d for _, d in more], None, [],
        )  # fmt: skip
        made = ast.FunctionDef(of, given, [*head, *(body or [ast.Pass()])], [], None)
        return located(made, at)

    def _if(self, s: ast.If, live: set[str]) -> list[ast.stmt]:
        self._parts += 1
        body, orelse = self._block(s.body, live), self._block(s.orelse, live)
        stores, loads = self._live.stores(*s.body, *s.orelse), self._live.loads(*s.body, *s.orelse)
        then, other = f".then{self._parts}", f".else{self._parts}"
        written = self._written & (stores | live)
        made = call(
            "branch", self._test(s.test), name(then), name(other), constant(stores & live),
            constant(written), ast.Constant(s.lineno), constant((loads & self._locals) - live),
        )  # fmt: skip
        functions = [self._inner(then, body, stores, s), self._inner(other, orelse, stores, s)]
        return [*functions, located(ast.Expr(made), s)]

    def _loop(self, s: Any, live: set[str]) -> list[ast.stmt]:
        stop: list[str] = getattr(s, "stop", [])
        is_for = isinstance(s, ast.For)
        head = self._live.head(s, live)
        body = self._block(s.body, head)
        self._parts += 1
        k = self._parts
        stores = self._live.stores(*s.body, s.target if is_for else s.test)
        loops = any(isinstance(n, (ast.For, ast.While)) for n in inside(s.body))
        facts = [constant(stores & head), constant(self._written), ast.Constant(loops),
                 ast.Constant(s.lineno), constant(stores & live)]  # fmt: skip
        ended = located(no(stop).operand, s) if stop else ast.Constant(None)
        ends = thunk(self._expression(ended)) if stop else ended
        if is_for:
            functions = [self._round(f".body{k}", s.target, body, stores, s)]
            made = call("for_", self._iterable(s.iter), name(f".body{k}"), ends, *facts)
            return [*functions, located(ast.Expr(made), s)]
        count = counting(s, self._locals)
        test: ast.expr = ast.BoolOp(ast.And(), [no(stop), s.test]) if stop else s.test
        going = [located(ast.Return(self._test(located(test, s.test))), s.test)]
        functions = [self._inner(f".test{k}", going, stores, s)]
        if count is None:
            functions.append(self._inner(f".body{k}", body, stores, s))
            made = call("while_", name(f".test{k}"), name(f".body{k}"), *facts)
        else:
            target = ast.Name(count.name, ast.Store())
            functions.append(self._round(f".body{k}", target, body, stores, s))
            parts = [located(copied(e), s) for e in (count.bound, count.sized, count.step)]
            more = [*[thunk(self._expression(e)) for e in parts], ast.Constant(count.beyond)]
            made = call("counted", ast.Constant(count.name), *more, name(f".test{k}"),
                        name(f".body{k}"), ends, *facts)  # fmt: skip
        return [*functions, located(ast.Expr(made), s)]

    def _round(
        self, of: str, target: ast.expr, body: list[ast.stmt], stores: set[str], s: ast.stmt
    ) -> ast.FunctionDef:
        """The body of a loop as a function of the item that it begins with."""
        bind = located(ast.Assign([copied(target)], name(".item")), s)
        bind = self._expressions.visit(bind)
        bound = bind if isinstance(bind, list) else [bind]
        return self._inner(of, [*bound, *body], stores, s, ".item")

    def _iterable(self, e: Any) -> ast.expr:
        """Sequences that a loop may count by a traced number."""
        if not is_sequence(e):
            walks, made = walks_elements(e), self._expression(e)
            return located(call("elements", made), e) if walks else made
        made, of = copy.copy(e), e.func
        of = self._expression(of) if isinstance(of, ast.Attribute) else copy.copy(of)
        made.func = located(call("sequence", of), e)
        inner = self._expression if getattr(of, "id", "") == "range" else self._iterable
        made.args = list(map(inner, made.args))
        made.keywords = [ast.keyword(k.arg, self._expression(k.value)) for k in made.keywords]
        return made


class _Expressions(Texts):
    """Expressions and simple statements. unsure: names that may be unbound, or None. optional:
    variables of this function that may be None.
    """

    def __init__(self, unsure: set[str], optional: set[str] | frozenset[str] = frozenset()) -> None:
        self._unsure, self._optional = unsure, optional

    def _call(self, node: ast.AST, function: str, *args: Any) -> Any:
        return located(call(function, *args), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self._unsure:
            if getattr(node, "of_test", False) and node.id in self._optional:
                return self._call(node, "present", node, ast.Constant(node.id))
            return self._call(node, "load", node, ast.Constant(node.id))
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`y = x` is None where x is."""
        value = node.value
        if may_pass_none(node) and names(node).stores <= self._optional:
            if isinstance(value, (ast.IfExp, ast.Call)):
                value.of_optional = True  # type: ignore[attr-defined]
            elif value.id in self._optional:  # type: ignore[attr-defined]
                return node
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """`return x`, where x may be None."""
        if not (isinstance(node.value, ast.Name) and node.value.id in self._optional - {VALUE}):
            return self.generic_visit(node)
        facts = ast.Constant(True), ast.Constant(node.lineno)
        node.value = self._call(node.value, "result", ast.Constant(True), thunk(node.value), *facts)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if binds(node):
            return self.generic_visit(node)
        plain = [isinstance(v, ast.BoolOp) for v in node.values]
        self.generic_visit(node)
        if getattr(node, "of_test", False):
            pairs = zip(node.values, plain, strict=True)
            node.values = [v if known else self._call(v, "tested", v) for v, known in pairs]
        out = node.values[-1]
        function = "and_" if isinstance(node.op, ast.And) else "or_"
        for v in reversed(node.values[:-1]):
            out = self._call(node, function, v, thunk(out), ast.Constant(node.lineno))
        return out

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            mark_test(node.operand)
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return self._call(node, "not_", node.operand)
        if isinstance(node.operand, ast.Constant):
            return node
        kind = type(node.op).__name__
        return self._call(node, "unary", ast.Constant(kind), node.operand, *wraps(node))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if binds(node.body, node.orelse):
            return self.generic_visit(node)
        mark_test(node.test)
        self.generic_visit(node)
        facts = [ast.Constant(node.lineno), ast.Constant(getattr(node, "of_optional", False))]
        return self._call(node, "choose", node.test, thunk(node.body), thunk(node.orelse), *facts)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        sides, op = [node.left, *node.comparators], node.ops[0]
        unsure = [x.id for x in sides if isinstance(x, ast.Name) and x.id in self._unsure]
        if len(sides) == 2 and unsure and isinstance(op, (ast.Is, ast.IsNot)) and is_none(sides[1]):
            found = self._call(node, "absent", sides[0], ast.Constant(unsure[0]))
            return found if isinstance(op, ast.Is) else self._call(node, "not_", found)
        optional = not self._optional.isdisjoint(unsure)
        if len(sides) == 2 and optional and isinstance(op, (ast.Eq, ast.NotEq)):
            given = [x if isinstance(x, ast.Name) and x.id in unsure else self.visit(x)
                     for x in sides]  # fmt: skip
            equal = ast.Constant(isinstance(op, ast.Eq))
            return self._call(node, "equals", *given, equal, constant(set(unsure)))
        if len(node.ops) > 1 and binds(*node.comparators):
            return self.generic_visit(node)
        self.generic_visit(node)
        if len(node.ops) == 1:
            if isinstance(op, (ast.Is, ast.IsNot)) and not is_fixed(sides[1]):
                return self._call(node, "same", *sides, ast.Constant(isinstance(op, ast.Is)))
            if not isinstance(op, MEMBERSHIP):
                return node
            found = self._call(node, "within", node.left, node.comparators[0])
            return found if isinstance(node.ops[0], ast.In) else self._call(node, "not_", found)
        steps = [
            ast.Tuple([ast.Constant(type(op).__name__), thunk(right)], ast.Load())
            for op, right in zip(node.ops, node.comparators, strict=True)
        ]
        return self._call(node, "chain", node.left, ast.Constant(node.lineno), *steps)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if getattr(node, "of_error", False) and isinstance(node.func, ast.Name):  # str(i)
            return self._call(node, "said", node.func, *node.args)
        if getattr(node, "of_error", False):  # "...".format(i)
            node.args = [self._call(a, "message", a) for a in node.args]
        if not getattr(node, "of_operator", False):
            kind = "call_or_none" if getattr(node, "of_optional", False) else "call"
            node.func = self._call(node.func, kind, node.func)
        elif getattr(node, "of_optional", False) and getattr(node.func, "attr", "") == "reduced":
            node.func = ast.copy_location(call("reduced_or_none").func, node.func)
        return node

    def visit_Attribute(self, node: ast.Attribute | ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            names = [ast.Constant(node.attr)] if isinstance(node, ast.Attribute) else []
            node.value = self._call(node, "changed", node.value, ast.Constant(node.lineno), *names)
        elif isinstance(node, ast.Subscript) and may_be_number(node.slice):
            return self._call(node, "item", node.value, node.slice)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            ends = [node.slice.lower, node.slice.upper, node.slice.step]
            return self._call(node, "cut", node.value, *(e or ast.Constant(None) for e in ends))
        return node

    visit_Subscript = visit_Attribute

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if isinstance(node.target, ast.Attribute) and is_chain(node.target):
            return self._attribute(node, node.target)
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return self._part(node, node.target)
        value = self._call(
            node, "own", name(node.target.id), ast.Constant(node.target.id),
            ast.Constant(node.lineno),
        )  # fmt: skip
        first = located(ast.Assign([stored(node.target.id)], value), node)
        if type(node.op).__name__ not in _GROWING | _DIVIDING:
            return [first, node]
        made = self._call(
            node, "augmented", ast.Constant(type(node.op).__name__), name(node.target.id),
            node.value, ast.Constant(node.lineno),
        )  # fmt: skip
        return [first, located(ast.Assign([stored(node.target.id)], made), node)]

    def _part(self, node: ast.AugAssign, target: Any) -> Any:
        """`x[i] += v`: what a list or a dict holds may be a number of Python's."""
        kind, at = type(node.op).__name__, getattr(target, "slice", ast.Constant(None))
        parts = at.elts if isinstance(at, ast.Tuple) else [at]
        if kind not in _GROWING | _DIVIDING or any(isinstance(p, ast.Slice) for p in parts):
            return node
        old: ast.expr = self._call(node, "item", name(".of"), name(".at"))
        new: Any = ast.Subscript(name(".of"), name(".at"), ast.Store())
        if isinstance(target, ast.Attribute):
            old = ast.Attribute(name(".of"), target.attr, ast.Load())
            new = ast.Attribute(name(".of"), target.attr, ast.Store())
        value = self._call(
            node, "augmented", ast.Constant(kind), old, node.value, ast.Constant(node.lineno)
        )
        done = ast.Assign([stored(".of"), stored(".at")], ast.Constant(None))  # lets go of them
        made = [ast.Assign([stored(".of")], target.value), ast.Assign([stored(".at")], at),
                ast.Assign([new], value), done]  # fmt: skip
        return [located(m, node) for m in made]

    def _attribute(self, node: ast.AugAssign, target: ast.Attribute) -> Any:
        """`x.name += v`. The object is looked at before anything happens."""
        kind, line = type(node.op).__name__, ast.Constant(node.lineno)
        read = ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
        old, value = self.visit(copied(read)), self.visit(node.value)
        set_ = self.visit(copied(target))
        if kind not in _GROWING | _DIVIDING:
            node.target, node.value = set_, value
            return node
        first = ast.copy_location(ast.Expr(copied(set_.value)), node)
        made = self._call(node, "augmented", ast.Constant(kind), old, value, line)
        return [first, located(ast.Assign([set_], made), node)]

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        modular = is_modular(node)
        self.generic_visit(node)
        kind = type(node.op).__name__
        if getattr(node, "of_error", False):
            return self._call(node, "percent", node.left, node.right)
        if getattr(node, "of_sum", False):
            return self._call(node, "summed", node.left, node.right)
        growing = kind in _GROWING and not (is_float(node.left) or is_float(node.right))
        of, more = ast.Constant(kind), (ast.Constant(node.lineno), *wraps(node))
        if modular:
            return self._call(node, "modular", of, node.right, of_wraps(node.left), *more)
        if not growing and kind not in _DIVIDING:
            return node
        return self._call(node, "arithmetic", of, node.left, node.right, *more)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        mark_message(node.exc)
        self.generic_visit(node)
        if node.exc is not None:
            node.exc = self._call(node.exc, "raised", node.exc)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if binds(node):
            return self.generic_visit(node)
        mark_test(node.test)
        mark_message(node.msg)
        self.generic_visit(node)
        message = ast.Constant(None) if node.msg is None else thunk(node.msg)
        return ast.copy_location(ast.Expr(self._call(node, "assert_", node.test, message)), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        try:
            made = rewritten(node, self._unsure)
        except Unsupported:
            return node
        made.args = self.visit(made.args)
        made.decorator_list = [self.visit(d) for d in node.decorator_list]
        return made

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def _made(self, node: Any) -> ast.AST:
        """A new list, dict or set, which a staged body may change."""
        self.generic_visit(node)
        if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            return node
        return self._call(node, "fresh", node)

    visit_List = visit_Dict = visit_Set = visit_ListComp = visit_SetComp = visit_DictComp = _made


_GROWING = {"Add", "Sub", "Mult", "Pow", "LShift"}  # may make ints large
_DIVIDING = {"Div", "FloorDiv", "Mod", "Pow", *BITWISE}  # NumPy's numbers and Python's differ
