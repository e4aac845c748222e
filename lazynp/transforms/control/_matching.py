"""The cases of `match` as a chain of comparisons.

Patterns are values, alternatives of them, names, sequences of patterns, and classes with at most
one pattern (`int(n)`). Names are bound when the whole pattern fits, as Python does it:

match pair:                     if is_sequence(s, 2, False) and s[0] == 0:
    case [0, b] if b > 1:           b = s[1]
        body              ->        .matched = b > 1
    case _:                     if .matched: body
        rest                    else: rest
"""

from __future__ import annotations

import ast
from collections.abc import Sequence as Sequences
from typing import Any

from lazynp.transforms.control._jumps import call
from lazynp.transforms.control._trees import copied


def is_sequence(x: Any, count: int, more: bool) -> bool:
    """Whether a pattern of so many parts, or more, fits by its length."""
    if not isinstance(x, Sequences) or isinstance(x, (str, bytes, bytearray)):
        return False
    return len(x) >= count if more else len(x) == count


def can_be_chained(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return all(can_be_chained(p) and not _names(p) for p in pattern.patterns)
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or can_be_chained(pattern.pattern)
    if isinstance(pattern, ast.MatchSequence):
        return all(isinstance(p, ast.MatchStar) or can_be_chained(p) for p in pattern.patterns)
    if isinstance(pattern, ast.MatchClass):
        parts = pattern.patterns
        itself = isinstance(pattern.cls, ast.Name) and pattern.cls.id in _THEMSELVES
        return (
            itself and not pattern.kwd_attrs and len(parts) < 2 and all(map(can_be_chained, parts))
        )
    return isinstance(pattern, (ast.MatchValue, ast.MatchSingleton))


_THEMSELVES = {"bool", "float", "int", "str", "bytes", "list", "tuple", "dict", "set"}


def chained(case: ast.match_case, subject: str, rest: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a case, and of those after it."""
    pattern, guard = case.pattern, case.guard
    tests: list[ast.expr] = []
    bound: list[tuple[str, ast.expr]] = []
    _look(pattern, ast.Name(subject, ast.Load()), tests, bound)
    first = [_at(ast.Assign([ast.Name(n, ast.Store())], value), pattern) for n, value in bound]
    if not tests:
        whole = case.body if guard is None else [_at(ast.If(guard, case.body, rest), guard)]
        return [*first, *whole]
    if guard is not None and not bound:
        tests.append(guard)
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    if guard is None or not bound:
        return [_at(ast.If(test, [*first, *case.body], rest), pattern)]
    flag = f"{subject}.matched"
    unmatched = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(False))
    matched = ast.Assign([ast.Name(flag, ast.Store())], guard)
    return [
        _at(unmatched, pattern),
        _at(ast.If(test, [*first, _at(matched, guard)], []), pattern),
        _at(ast.If(ast.Name(flag, ast.Load()), case.body, rest), guard),
    ]


def _names(pattern: ast.pattern) -> bool:
    return any(isinstance(n, (ast.MatchAs, ast.MatchStar)) and n.name for n in ast.walk(pattern))


def _look(
    pattern: Any, read: ast.expr, tests: list[ast.expr], bound: list[tuple[str, ast.expr]]
) -> None:
    """Collect what must be true, in order, and what is then bound."""
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            _look(pattern.pattern, read, tests, bound)
        if pattern.name:
            bound.append((pattern.name, copied(read)))
    elif isinstance(pattern, ast.MatchSequence):
        _look_inside(pattern.patterns, read, tests, bound)
    elif isinstance(pattern, ast.MatchClass):
        kind = ast.Call(ast.Name("isinstance", ast.Load()), [copied(read), pattern.cls], [])
        tests.append(_at(kind, pattern))
        for part in pattern.patterns:
            _look(part, read, tests, bound)
    else:
        tests.append(_test(pattern, read))


def _look_inside(
    parts: list[Any], read: ast.expr, tests: list[ast.expr], bound: list[tuple[str, ast.expr]]
) -> None:
    star = next((k for k, p in enumerate(parts) if isinstance(p, ast.MatchStar)), None)
    count = len(parts) - (star is not None)
    facts = [ast.Constant(count), ast.Constant(star is not None)]
    fits: Any = call("is_sequence", copied(read), *facts)
    fits.of_operator = True
    tests.append(fits)
    for k, part in enumerate(parts):
        place = k if star is None or k < star else k - len(parts)
        if k != star:
            _look(part, _part(read, ast.Constant(place)), tests, bound)
        elif part.name:
            end = ast.Constant(place + 1) if place + 1 < 0 else None
            middle = _part(read, ast.Slice(ast.Constant(k), end, None))
            rest: ast.expr = ast.List([ast.Starred(middle, ast.Load())], ast.Load())
            bound.append((part.name, rest))


def _part(read: ast.expr, at: ast.expr) -> ast.expr:
    return ast.Subscript(copied(read), at, ast.Load())


def _test(pattern: Any, subject: ast.expr) -> ast.expr:
    if isinstance(pattern, ast.MatchOr):
        either: list[ast.expr] = []
        for p in pattern.patterns:
            inner: list[ast.expr] = []
            _look(p, subject, inner, [])
            none: ast.expr = ast.Constant(True)
            either.append(ast.BoolOp(ast.And(), inner) if len(inner) > 1 else [*inner, none][0])
        made: ast.expr = ast.BoolOp(ast.Or(), either)
    elif isinstance(pattern, ast.MatchSingleton):
        made = ast.Compare(copied(subject), [ast.Is()], [ast.Constant(pattern.value)])
    else:
        made = ast.Compare(copied(subject), [ast.Eq()], [pattern.value])
    return _at(made, pattern)


def _at(node: Any, place: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, place))
