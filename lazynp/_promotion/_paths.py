"""Where a list is that rounds append to: a variable, or a part of an object (`hist["x"]`,
`self.path`), by what the source calls it.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any

from lazynp._promotion._objects import MISSING, attributes, is_plain

LENGTH = ".length"


def path_of(e: ast.expr) -> str | None:
    """The name of a variable, or how a part of it is written; None if it may be another each time
    that it is asked for.
    """
    part = e
    while not isinstance(part, ast.Name):
        if isinstance(part, ast.Attribute):
            part = part.value
        elif isinstance(part, ast.Subscript) and _is_key(part.slice):
            part = part.value
        else:
            return None
    return ast.unparse(e)


def _is_key(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and type(e.value) in (str, int)


@functools.cache
def _steps(path: str) -> tuple[str, tuple[tuple[bool, Any], ...]]:
    """The variable, and what is asked of it: an attribute, or a key."""
    part: Any = ast.parse(path, mode="eval").body
    found: list[tuple[bool, Any]] = []
    if isinstance(part, ast.Call):  # `len(xs)`
        found.append((False, LENGTH))
        part = part.args[0]
    while not isinstance(part, ast.Name):
        by_key = isinstance(part, ast.Subscript)
        found.append((by_key, ast.literal_eval(part.slice) if by_key else part.attr))
        part = part.value
    return part.id, tuple(found[::-1])


def root_of(path: str) -> str:
    return path if path.isidentifier() else _steps(path)[0]


def found_at(path: str, value: Callable[[str], Any]) -> Any:
    """What is there by now, or MISSING; no code of the user's runs. value: of a variable."""
    if path.isidentifier():
        return value(path)
    name, steps = _steps(path)
    found: Any = value(name)
    for by_key, key in steps:
        if key is LENGTH:
            found = len(found) if type(found) is list else MISSING
        elif by_key:
            if type(found) not in (dict, list):
                return MISSING
            try:
                found = found[key]
            except LookupError:
                return MISSING
        elif is_plain(type(found)):
            found = (attributes(found) or {}).get(key, MISSING)
        else:
            return MISSING
    return found


# -- statements that change lists -----------------------------------------------------------------


def joined(s: ast.AST) -> tuple[str, str, ast.expr] | None:
    """The variable, the function, and what it joins to its array: `x = np.append(x, e)`,
    `x = np.vstack([x, e])`, `x = np.r_[x, e]`. With `axis=0`, the function's name ends with ":0".
    """
    if not isinstance(s, ast.Assign) or not isinstance(s.value, (ast.Call, ast.Subscript)):
        return None
    made, target = s.value, s.targets[0]
    f = made.func if isinstance(made, ast.Call) else made.value
    if not isinstance(f, ast.Attribute) or not isinstance(f.value, ast.Name):
        return None
    given, axis = _given(made, f.attr)
    if len(s.targets) > 1 or len(given) != 2 or not isinstance(target, ast.Name):
        return None
    first, more = given
    if not isinstance(first, ast.Name) or first.id != target.id:
        return None
    if isinstance(more, (ast.Starred, ast.Slice)):
        return None
    return target.id, f"{f.value.id}.{f.attr}{axis}", more


def _given(made: ast.Call | ast.Subscript, name: str) -> tuple[list[ast.expr], str]:
    """What a call of this function joins, and `axis=0`."""
    if isinstance(made, ast.Subscript):
        parts = made.slice
        return (parts.elts if name == "r_" and isinstance(parts, ast.Tuple) else []), ""
    axis = ""
    if made.keywords:
        (k, *others) = made.keywords
        zero = isinstance(k.value, ast.Constant) and type(k.value.value) is int
        if others or k.arg != "axis" or not zero or k.value.value or name == "vstack":  # type: ignore
            return [], ""
        axis = ":0"
    if name in ("concatenate", "hstack", "vstack"):
        parts = made.args[0] if len(made.args) == 1 else None
        return (parts.elts if isinstance(parts, (ast.Tuple, ast.List)) else []), axis
    return (made.args if name == "append" else []), axis


def joins_in(statements: Sequence[ast.stmt], *others: ast.AST) -> dict[str, set[str]]:
    """By name, the functions that join something to a variable which nothing else of the loop
    reads or binds. others: what a round evaluates besides its statements.
    """
    found: dict[str, set[str]] = {}
    made = [join for s, _ in _changing(statements) if (join := joined(s)) is not None]
    for name, function, _ in made:
        found.setdefault(name, set()).add(function)
    if not found:
        return found
    parts = [n for s in (*statements, *others) for n in ast.walk(s) if isinstance(n, ast.Name)]
    times, joins = Counter(n.id for n in parts), Counter(name for name, _, _ in made)
    return {n: f for n, f in found.items() if times[n] == 2 * joins[n]}


def _extends(s: ast.stmt) -> tuple[str, ast.expr, list[ast.expr]] | None:
    """The list, and what `xs += [a, b]` or `xs.extend([a, b])` appends to it."""
    if isinstance(s, ast.AugAssign) and isinstance(s.op, ast.Add):
        of, more = s.target, s.value if isinstance(s.value, ast.List) else None
    elif isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and len(s.value.args) == 1:
        f, more = s.value.func, s.value.args[0]
        if not isinstance(f, ast.Attribute) or f.attr != "extend" or s.value.keywords:
            return None
        of = f.value
    else:
        return None
    path = path_of(of) if isinstance(more, (ast.List, ast.Tuple)) else None
    if path is None or any(isinstance(e, ast.Starred) for e in more.elts):  # type: ignore
        return None
    return path, of, more.elts  # type: ignore[union-attr]


def appending(
    statements: Iterable[ast.stmt], lists: Container[str] | None = None
) -> list[ast.stmt]:
    """The statements with `xs.append(a)` in place of what appends several values, to all or to
    these lists.
    """
    made: list[ast.stmt] = []
    for s in statements:
        found = _extends(s)
        if found is not None and (lists is None or found[0] in lists):
            for e in found[2]:
                of = copy.deepcopy(found[1])
                of.ctx = ast.Load()  # type: ignore[attr-defined]
                call = ast.Call(ast.Attribute(of, "append", ast.Load()), [e], [])
                made.append(ast.fix_missing_locations(ast.copy_location(ast.Expr(call), s)))
        elif isinstance(s, ast.If):
            one = ast.If(s.test, appending(s.body, lists), appending(s.orelse, lists))
            one.body = one.body or [ast.copy_location(ast.Pass(), s)]
            made.append(ast.copy_location(one, s))
        else:
            made.append(s)
    return made


def target_of(s: ast.stmt) -> tuple[str, ast.expr, ast.expr | None] | None:
    """The list, the value and the index of a statement that may append to a list, or set in it; or
    of one that joins something to an array.
    """
    if (join := joined(s)) is not None:
        return join[0], join[2], None
    if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call):
        f, given = s.value.func, s.value
        if not isinstance(f, ast.Attribute) or f.attr != "append":
            return None
        if len(given.args) != 1 or given.keywords or (of := path_of(f.value)) is None:
            return None
        return of, given.args[0], None
    if isinstance(s, ast.Assign) and len(s.targets) == 1:
        t = s.targets[0]
        if isinstance(t, ast.Subscript) and (of := path_of(t.value)) is not None:
            return of, s.value, t.slice
    return None


def grown(statements: Sequence[ast.stmt]) -> set[str]:
    """Names, or paths, of what may be lists which the statements, and no inner loops, change. Not
    those that they read as well: if these are short, they are objects that the rounds change.
    """
    changing = [t for s, t in _changing(statements) if joined(s) is None]
    found = {of for of, _, _ in changing}
    only_set = found - {of for of, _, index in changing if index is None}
    if not only_set:
        return found
    times = Counter([path_of(n) for s in statements for n in ast.walk(s)
                     if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))])  # fmt: skip
    changes = Counter([of for of, _, _ in changing])
    return {of for of in found if of not in only_set or times[of] == changes[of]}


def targets(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
    return (target for _, target in _changing(statements))


def _changing(statements: Iterable[ast.stmt]) -> Iterator[tuple[ast.stmt, Any]]:
    for s in statements:
        target = target_of(s)
        if target is not None:
            yield s, target
        elif isinstance(s, ast.If):
            yield from _changing([*s.body, *s.orelse])
