"""Rewriting copies and places syntax trees as `copy` and `ast` do, and goes through them once."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections import Counter
from typing import Any

import pytest

from lazynp.transforms.control import _jumps, _rewrite
from lazynp.transforms.control._trees import copied, placed


def _dumped(tree: Any) -> str:
    return ast.dump(tree, include_attributes=True)


def test_copies() -> None:
    for module in (_rewrite, _jumps):
        tree = ast.parse(inspect.getsource(module))
        made, before = copied(tree), _dumped(tree)
        assert _dumped(made) == before == _dumped(copy.deepcopy(tree))
        for node in ast.walk(made):
            if "lineno" in node._attributes:
                node.lineno = 7  # type: ignore[attr-defined]
            for _, value in ast.iter_fields(node):
                if isinstance(value, list):
                    value.clear()
        assert _dumped(tree) == before
    of_test: Any = ast.parse("a and b").body[0]
    of_test.value.of_test = True
    assert copied([of_test])[0].value.of_test


def test_places() -> None:
    """New parts, down to the next part that has a place, get the place of what they are in."""
    old: Any = ast.parse("\n\nf(x)[\n1]", mode="eval").body
    new = ast.Call(ast.Name("g", ast.Load()), [ast.BinOp(old, ast.Add(), ast.Constant(2))], [])
    whole = ast.copy_location(ast.Expr(new), ast.parse("\ny").body[0])
    want = ast.fix_missing_locations(copy.deepcopy(whole))
    assert _dumped(placed(whole)) == _dumped(want)
    unplaced = ast.Expr(ast.Name("g", ast.Load()))
    assert placed(unplaced) is unplaced and not hasattr(unplaced.value, "lineno")


def test_each_statement_is_rewritten_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However deep the loops are: what a round reads is found beforehand."""
    seen: Counter[int] = Counter()
    plain = _rewrite._Function._statement

    def counting(self: Any, s: ast.stmt, live: set[str]) -> Any:
        seen[s.lineno] += 1
        return plain(self, s, live)

    monkeypatch.setattr(_rewrite._Function, "_statement", counting)
    depth = 12
    lines = ["def f(x, n):", " a = b = 0"]
    for k in range(depth):
        lines += [f"{' ' * (k + 1)}for i{k} in range(n):"]
    inner = " " * (depth + 1)
    lines += [f"{inner}a = b + x[i0]", f"{inner}b = a * i{depth - 1}", " return a"]
    node: Any = ast.parse("\n".join(lines)).body[0]
    made = _rewrite.rewritten(node)
    assert set(seen.values()) == {1} and len(seen) == depth + 4
    assert "'a', 'b'" in ast.unparse(made)  # both are carried: a round reads them of the last


def test_what_a_round_reads_of_the_last_is_carried() -> None:
    source = """
        def f(x, n):
            first = last = 0.0
            for i in range(n):
                before = last
                while first < i:
                    first = first + before
                    other = first
                last = x[i]
                unread = last
            return first
    """
    tree: Any = ast.parse(textwrap.dedent(source)).body[0]
    calls = [n for n in ast.walk(_rewrite.rewritten(tree)) if isinstance(n, ast.Call)]
    found = {
        c.func.attr: ast.literal_eval(c.args[2 if c.func.attr == "while_" else 3])
        for c in calls
        if isinstance(c.func, ast.Attribute) and c.func.attr in ("for_", "while_")
    }
    assert found == {"for_": ("first", "last"), "while_": ("first",)}
