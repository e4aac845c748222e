"""Names that change places from round to round, get a second name, or are bound anew."""

from __future__ import annotations

import ast

from lazynp.transforms.control import copied, names

STOP = ".stop"  # the function's name for: Python must run this round
LEAVES = ".leaves"  # a statement before an `if` that may end the loop in the middle of a round
_LONGEST = 6  # rounds until exchanged names are back


def aliases(statements: list[ast.stmt], inside: bool) -> list[tuple[set[str], set[str]]]:
    """The names y and x of assignments `x = y` that some rounds skip."""
    found: list[tuple[set[str], set[str]]] = []
    for s in statements:
        if isinstance(s, ast.Assign) and not all(
            isinstance(t, (ast.Subscript, ast.Attribute)) for t in s.targets
        ):
            values = s.value.elts if isinstance(s.value, ast.Tuple) else [s.value]
            for value in values:
                named = isinstance(value, ast.Name) and inside and not is_exchange(s)
                if named or isinstance(value, (ast.IfExp, ast.BoolOp)):
                    found.append((_chosen(value), names(*s.targets).stores))
        for part in ("body", "orelse"):
            found += aliases(getattr(s, part, []), True)
    return found


def _chosen(value: ast.expr) -> set[str]:
    """The names of what such a value may be. (If one part is a number, so is an element.)"""
    if isinstance(value, ast.IfExp):
        parts = value.body, value.orelse
        if any(isinstance(p, ast.Constant) for p in parts):
            return set().union(*(_chosen(p) for p in parts if not isinstance(p, ast.Subscript)))
        return _chosen(parts[0]) | _chosen(parts[1])
    return names(value).loads


def is_exchange(s: ast.stmt) -> bool:
    """`a, b = b, a`"""
    if not isinstance(s, ast.Assign) or len(s.targets) > 1:
        return False
    target = s.targets[0]
    if not isinstance(target, ast.Tuple) or not isinstance(s.value, ast.Tuple):
        return False
    ours = [t.id if isinstance(t, ast.Name) else None for t in target.elts]
    theirs = [t.id if isinstance(t, ast.Name) else None for t in s.value.elts]
    return None not in ours and set(ours) == set(theirs) and len(set(ours)) == len(theirs)


def without_exchanges(body: list[ast.stmt]) -> tuple[list[list[ast.stmt]], set[str]]:
    """So many rounds that every name is back, without `u, v = v, u`: what follows uses the other
    names. And these names. (An array that is written in place could not be staged otherwise.)
    """
    exchanged = {t for s in body if is_exchange(s) for t in names(s).stores}
    if not exchanged or any(isinstance(n, ast.Continue) for s in body for n in ast.walk(s)):
        return [body], set()
    now = {n: n for n in exchanged}
    rounds: list[list[ast.stmt]] = []
    while len(rounds) < _LONGEST:
        rounds.append([])
        for s in body:
            if is_exchange(s):
                pairs = zip(s.targets[0].elts, s.value.elts)  # type: ignore[attr-defined]
                now = now | {t.id: now[v.id] for t, v in pairs}
            else:
                rounds[-1].append(_Renaming(now).visit(copied(s)))
        if all(n == m for n, m in now.items()):
            return rounds, exchanged
    return [body], set()


class _Renaming(ast.NodeTransformer):
    def __init__(self, new: dict[str, str]) -> None:
        self._new = new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._new.get(node.id, node.id)
        return node


def fresh(statements: list[ast.stmt], known: set[str]) -> set[str]:
    """The names that each round binds before it reads them, and before the loop may end: Python
    runs such a round next, or has run it.
    """
    bound: set[str] = set()
    _follow(statements, bound, set())
    return bound - known


def _follow(statements: list[ast.stmt], bound: set[str], seen: set[str]) -> None:
    """Add the names that they bind first to `bound`, and those that they may read to `seen`."""
    for s in statements:
        if any(isinstance(n, ast.Continue) for n in ast.walk(s)) or _leaves(s):
            break
        if isinstance(s, ast.For) and _has_items(s.iter):
            seen |= names(s.iter).loads - bound
            bound |= names(s.target).stores - seen
            _follow(s.body, bound, seen)
        found = names(s)
        seen |= found.loads - bound
        if isinstance(s, (ast.Assign, ast.FunctionDef)):
            bound |= found.stores - seen
        elif isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            seen |= {s.target.id} - bound
        seen |= found.stores - bound


def _has_items(e: ast.expr) -> bool:
    """Whether a loop over it has a first round."""
    return isinstance(e, (ast.Tuple, ast.List)) and bool(e.elts) and not isinstance(
        e.elts[0], ast.Starred
    )  # fmt: skip


def renewed(statements: list[ast.stmt]) -> set[str]:
    """The names that each round binds before the loop may end, whether it has read them or not."""
    bound: set[str] = set()
    for s in statements:
        if any(isinstance(n, ast.Continue) for n in ast.walk(s)) or _leaves(s):
            break
        bound |= names(s).stores if isinstance(s, ast.Assign) else set()
    return bound


def seconds(
    rounds: list[list[ast.stmt]], new: set[str], written: set[str]
) -> tuple[set[str], set[str]]:
    """The names of arrays that get a second name in some rounds; of these, those with which nobody
    sees that if each round binds them to another array. new: names that each round binds before it
    reads them. written: those of arrays that the rounds write in place.
    """
    body, found, again = [t for one in rounds for t in one], set[str](), set[str]()
    bound = renewed(body) if len(rounds) == 1 else set[str]()
    for i, s in enumerate(body):
        after = body[i:] if len(rounds) == 1 else body
        later = set[str]().union(*(names(t).written for t in after))
        for values, targets in aliases([s], False):
            if targets & written:
                found |= values
                continue
            found |= {n for n in values if n in later or n in written - new}
            again |= values - new - written
    return found | again - bound, again & bound - found


def _leaves(s: ast.stmt) -> bool:
    if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant):
        return s.value.value == LEAVES
    return not isinstance(s, ast.If) and STOP in names(s).stores
