"""`match`, `:=` and `x = a if test else b` in terms of `if` and assignments, which the other steps
know.

`while (err := f(x)) > tol` assigns first and tests then. That is possible where nothing before the
assignment is evaluated that it could change. `if a and (b := f()) > 0` is `if a`, and in it an `if`
that assigns before. `match` becomes a chain of comparisons (`_matching`). `x = a if test else b`
becomes an `if`, which knows the variables: an array that only one of them held may be written
afterwards. What is left stays Python's.
"""

from __future__ import annotations

import ast
from typing import Any

from lazynp.transforms.control._matching import can_be_chained, chained
from lazynp.transforms.control._names import binds, inside, names
from lazynp.transforms.control._trees import copied

_SUBJECT = ".subject"
_KINDS = (ast.Match, ast.NamedExpr)
_FIRST = {  # of statements, the part that is evaluated before all others
    ast.If: "test", ast.Assert: "test", ast.Assign: "value", ast.Expr: "value", ast.Return: "value",
    ast.For: "iter",
}  # fmt: skip
_STEADY = (ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.Compare, ast.operator,
           ast.unaryop, ast.cmpop, ast.expr_context)  # fmt: skip


def plainer(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements without these, where that is possible; the same list, if there are none."""
    if not any(isinstance(n, _KINDS) or _picks(n) for s in statements for n in ast.walk(s)):
        return statements
    return _Plainer().block(copied(statements))


def without_annotations(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body, where `x: int = 0` is `x = 0`: a shared variable cannot be annotated."""
    return [_Unannotated().visit(copied(s)) for s in body]


class _Unannotated(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if not isinstance(node.target, ast.Name):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node


def without_short_super(node: Any) -> Any:
    """The function, where `super()` is `super(__class__, self)`: the bodies of loops and branches
    are functions without arguments.
    """
    given = [*node.args.posonlyargs, *node.args.args]
    if not given or not any(map(_is_super, inside(node.body))):
        return node
    if {given[0].arg, "super", "__class__"} & names(*node.body).stores:
        return node
    made = copied(node)
    of = _Supers(given[0].arg)
    made.body = [of.visit(s) for s in made.body]
    return made


def of_super(statements: list[Any]) -> set[int]:
    """By id, the names in calls of `super` that need no frame."""
    calls: list[Any] = [n for n in inside(statements) if _is_super(n)]
    calls = [n for n in calls if len(n.args) == 2]
    return {id(part) for n in calls for part in (n.func, n.args[0])}


def _is_super(n: Any) -> bool:
    return isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "super"


class _Supers(ast.NodeTransformer):
    def __init__(self, first: str) -> None:
        self._first = first

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _is_super(node) and not node.args and not node.keywords:
            pair: list[ast.expr] = [
                ast.Name("__class__", ast.Load()),
                ast.Name(self._first, ast.Load()),
            ]
            return _at(ast.Call(node.func, pair, []), node)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.AST) -> ast.AST:
        return node  # has a first argument of its own

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_FunctionDef


class _Plainer(ast.NodeTransformer):
    def __init__(self) -> None:
        self._subjects = 0

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        found = [self.visit(s) for s in statements]
        return [t for s in found for t in (s if isinstance(s, list) else [s])]

    def visit(self, node: ast.AST) -> Any:
        part = _FIRST.get(type(node))
        return super().visit(node) if part is None else self._statement(node, part)

    def _statement(self, node: Any, part: str) -> Any:
        """Assign before a statement what its part `part`, evaluated first, binds."""
        self.generic_visit(node)
        before: list[ast.stmt] = []
        value = getattr(node, part)
        if value is not None:
            setattr(node, part, _taken_out(value, before))
        if _binds_later(node):
            return [*before, *_nested(*_test_of(node), node)]
        node = _apart(node) if _picks(node) else node
        return [*before, node] if before else node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """The target is read first."""
        self.generic_visit(node)
        before: list[ast.stmt] = []
        value = _taken_out(copied(node.value), before)
        target = node.target
        if not isinstance(target, ast.Name) or target.id in _bound(before):
            return node
        node.value = value
        return [*before, node] if before else node

    def visit_While(self, node: ast.While) -> Any:
        """`while True: if not test: break; ...`, if the test binds names and there is no `else`: a
        `break` there is that of a loop around this one.
        """
        if binds(node.test) and not node.orelse:
            end = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
            node.body = [_at(end, node.test), *node.body]
            node.test = ast.copy_location(ast.Constant(True), node.test)
        return self.generic_visit(node)

    def visit_Match(self, node: ast.Match) -> Any:
        self.generic_visit(node)
        self._subjects += 1
        name = f"{_SUBJECT}{self._subjects}"
        made: list[ast.stmt] = []
        for case in reversed(node.cases):
            if not can_be_chained(case.pattern):
                return node
            made = chained(case, name, made)
        first: list[ast.stmt] = []
        subject = _taken_out(node.subject, first)
        return [*first, _at(ast.Assign([ast.Name(name, ast.Store())], subject), subject), *made]


def _picks(node: ast.AST) -> bool:
    """Whether it is `x = a if test else b`, with a variable as a or b."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.IfExp):
        return False
    ends = node.value.body, node.value.orelse
    return (
        isinstance(node.targets[0], ast.Name)
        and len(node.targets) == 1
        and any(isinstance(end, (ast.Name, ast.IfExp)) for end in ends)
    )


def _apart(node: Any) -> ast.stmt:
    """`if test: x = a`, `else: x = b`"""
    whole, (target,) = node.value, node.targets
    ends = [_at(ast.Assign([copied(target)], end), end) for end in (whole.body, whole.orelse)]
    first, second = ([_apart(end) if _picks(end) else end] for end in ends)
    return _at(ast.If(whole.test, first, second), node)


_MOST_TWICE = 200  # nodes of what may stand there twice


def _test_of(node: Any) -> tuple[ast.expr, list[ast.stmt], list[ast.stmt]]:
    """The test of an `if`, of `x = a if test else b` or `return a if test else b`, and what is done
    where it holds, and where it fails.
    """
    if isinstance(node, ast.If):
        return node.test, node.body, node.orelse

    def with_value(value: ast.expr) -> list[ast.stmt]:
        made: Any = ast.Return(value)
        if isinstance(node, ast.Assign):
            made = ast.Assign(copied(node.targets), value)
        return [_at(made, value)]

    return node.value.test, with_value(node.value.body), with_value(node.value.orelse)


def _binds_later(node: Any) -> bool:
    """Whether the test of this statement binds names after its first operand, and may be taken
    apart.
    """
    if not isinstance(node, ast.If):
        if not isinstance(node, (ast.Assign, ast.Return)) or not isinstance(node.value, ast.IfExp):
            return False
    test, *parts = _test_of(node)
    if not any(isinstance(n, ast.BoolOp) and binds(*n.values[1:]) for n in ast.walk(test)):
        return False
    return sum(1 for part in parts for s in part for _ in ast.walk(s)) <= _MOST_TWICE


def _nested(
    test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], node: Any
) -> list[ast.stmt]:
    """`if test: ...` as an `if` for each operand of `and` and `or`, and what it binds before it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _nested(test.operand, orelse, body, node)
    if isinstance(test, ast.BoolOp) and binds(*test.values[1:]):
        first, *rest = test.values
        others = rest[0] if len(rest) == 1 else _at(ast.BoolOp(test.op, rest), test)
        inner = _nested(others, copied(body), copied(orelse), node)
        if isinstance(test.op, ast.And):
            return _nested(first, inner, orelse, node)
        return _nested(first, body, inner, node)
    before: list[ast.stmt] = []
    test = _taken_out(test, before)
    body = body or [_at(ast.Pass(), node)]
    return [*before, _at(ast.If(test, body, orelse), node)]


def _taken_out(value: Any, before: list[ast.stmt]) -> Any:
    """The expression without the names that it binds before all else. before: gets the
    assignments.
    """
    if isinstance(value, ast.NamedExpr):
        inner = _taken_out(value.value, before)
        before.append(_at(ast.Assign([value.target], inner), value))
        return ast.copy_location(ast.Name(value.target.id, ast.Load()), value)
    read: set[str] = set()  # by the parts before
    for owner, field, k in _first_parts(value):
        part = getattr(owner, field) if k is None else getattr(owner, field)[k]
        if read & {n.target.id for n in ast.walk(part) if isinstance(n, ast.NamedExpr)}:
            break
        made = _taken_out(part, before)
        if k is None:
            setattr(owner, field, made)
        else:
            getattr(owner, field)[k] = made
        if not _is_steady(made):
            break
        read |= {n.id for n in ast.walk(made) if isinstance(n, ast.Name)}
    return value


def _first_parts(value: ast.expr) -> list[tuple[Any, str, int | None]]:
    """The parts that are evaluated whatever the others give, in their order."""
    if isinstance(value, ast.Compare):
        return [(value, "left", None), (value, "comparators", 0)]
    if isinstance(value, ast.BoolOp):
        return [(value, "values", 0)]
    if isinstance(value, ast.BinOp):
        return [(value, "left", None), (value, "right", None)]
    if isinstance(value, ast.UnaryOp):
        return [(value, "operand", None)]
    if isinstance(value, ast.IfExp):
        return [(value, "test", None)]
    if isinstance(value, ast.Attribute):
        return [(value, "value", None)]
    if isinstance(value, ast.Subscript):
        return [(value, "value", None), (value, "slice", None)]
    if isinstance(value, ast.Call):
        return [(value, "func", None), *((value, "args", k) for k in range(len(value.args)))]
    if isinstance(value, ast.Tuple):
        return [(value, "elts", k) for k in range(len(value.elts))]
    return []


def _is_steady(part: ast.expr) -> bool:
    """Whether what comes after it may be evaluated before it: it calls nothing, and reads only
    names and their attributes, such as `np.abs`.
    """
    return all(isinstance(n, _STEADY) for n in ast.walk(part))


def _bound(statements: list[ast.stmt]) -> set[str]:
    return {t.id for s in statements if isinstance(s, ast.Assign) for t in s.targets
            if isinstance(t, ast.Name)}  # fmt: skip


def _at(node: Any, place: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, place))
