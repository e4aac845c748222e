"""`match` and `:=` become `if` and assignments: Python runs both alike, and `jit` stages them."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.transforms import control
from lazynp.transforms.control import plainer

KINDS = (ast.Match, ast.NamedExpr)

# functions of a number and of a `say` that notes the order of evaluation
PLAIN = {
    "a later operand": "if x > 1 and (a := x) < 4: return a\nreturn x",
    "of or": "if x > 3 or (a := say(x + 1)) < 2: return x\nelse: x = a\nreturn x, a",
    "of not": "if not (x > 1 and (a := say(x)) < 4): x += 1\nelse: x += a\nreturn x",
    "three operands": """
        if x > 0 and (a := say(x - 1)) > 0 and (b := say(a - 1)) >= 0 and a > b: return a, b
        elif x > 1 or (a := say(5)) > 4 or say(3): return a
        return x
    """,
    "and in or": "if (x > 2 and (a := say(x)) < 4) or (a := say(-x)) < -1: return a\nreturn x, a",
    "in a value": "y = say(x) if x > 1 and (a := say(2 * x)) > 5 else -x\nreturn y",
    "in a result": "return a if x > 1 and (a := say(2 * x)) > 5 else x",
    "in a loop": """
        n = 0
        while n < 5 and (rest := say(x - n)) > 1:
            n += 1
            if rest == 2: continue
        return n, x
    """,
    "if": "if (a := say(x)) > 2: return a\nelif (b := say(a + 1)) < 0: return b\nreturn a, b",
    "while": """
        while (n := say(x)) > 0 and n < 9:
            x -= 1
            if n == 3: continue
            if n == 2: break
        return x, n
    """,
    "parts of an expression": "y = x * 2 + (z := x + 5) - z\nreturn y, x",
    "a call": "return abs((a := say(x)) - 7) + a",
    "one in another": "return (a := (b := say(x)) + 1) * b, a",
    "a chain": "return 0 < (a := say(x)) < 5, a",
    "an augmented assignment": "y = 1\ny += (a := say(x)) * a\nreturn y, a",
    "match": """
        match say(x):
            case 1: return "one"
            case 2 | 3: return "few"
            case -1 if say(5) > 7: return "never"
            case n if n > 4:
                return "many", n
            case None | True: return "none"
            case _: return "rest"
    """,
    "match without an end": """
        y = 0
        match x % 4:
            case 1: y += 1
            case 2:
                match y:
                    case 0: y = 7
        return y
    """,
    "a name that stays bound": """
        match x:
            case n if n > 100: return 0
            case 2: return n * 2
        return n
    """,
    "loops": """
        found = []
        for k in range(say(m := x + 2)):
            match k:
                case 0: continue
                case 4: break
                case other: found.append(other * m)
        return found
    """,
    "sequences": """
        match [say(x), 2, say(3)]:
            case [0, _, k]: return k
            case [1, a, b, c]: return a, b, c
            case [1, *rest] if rest[0] > 5: return "never"
            case [2, *rest]: return rest
            case [a, (2 | 4) as b, _] if a > 3: return a, b
            case [*first, last] if x < 0: return first, last
            case [*_]: return "rest"
    """,
    "what is no sequence": """
        match "ab" if x > 2 else x if x > 0 else (x, (x + 1, "b")):
            case [a, [b, "b"]]: return a, b
            case [a, b]: return "a string is none"
            case int(n) if n > 1: return n
            case str(): return "text"
            case float() | bool(): return "never"
        return "no"
    """,
    "names of a case that does not fit": """
        a = k = 7
        match [x, x + 1]:
            case [1, a]: say(a)
            case [2 as k, a] if a > 3: say(k)
            case [3, a] if a > 5: say(k)
        return a, k
    """,
    "inner functions": """
        def f(z):
            if (q := z * 2) > 4: return q
            match z:
                case 0: return "zero"
            return z
        return f(x)
    """,
}
# these are left to Python, or a part of them
KEPT = {
    "a later operand of many statements": "y = x and (a := say(x)) > 1\nreturn y, x",
    "after a call": "return say(x) + (a := x * 2), a",
    "after what it changes": "y = x * 2 + (x := 5) - x\nreturn y, x",
    "arguments": "return max(x, (x := 3), x), x",
    "an augmented name": "x += (x := say(x))\nreturn x",
    "the second of two calls": "return abs((a := say(x)) - 7) + a, (b := a * 2) + b",
    "a lambda": "return (lambda z: (w := z) + w)(x)",
    "a comprehension": "return [(a := k) for k in range(x + 3)], a",
    "while with else": "while (n := x) > 3: x -= 1\nelse: x = 77\nreturn x, n",
    "alternatives with names": """
        match [x, 2]:
            case [1, k] | [k, 2]: return k
        return "no"
    """,
    "a mapping": """
        match {"a": x}:
            case {"a": 3}: return 1
        return "no"
    """,
    "a class with attributes": """
        match x:
            case int(real=3): return 1
        return "no"
    """,
}


def outcomes(body: list[ast.stmt]) -> list[Any]:
    arguments = ast.arguments([], [ast.arg("x"), ast.arg("say")], None, [], [], None, [])
    made = ast.FunctionDef("f", arguments, body, [])
    made.type_params = []  # type: ignore[attr-defined]
    scope: dict[str, Any] = {".control": control}
    module = ast.fix_missing_locations(ast.Module([made], []))
    exec(compile(module, "<test>", "exec"), scope)
    found = []
    for x in (-1, 0, 1, 2, 3, 4, 5, 12):
        said: list[Any] = []

        def say(value: Any, said: list[Any] = said) -> Any:
            said.append(value)
            return value

        found.append((scope["f"](x, say), said))
    return found


@pytest.mark.parametrize("name", [*PLAIN, *KEPT])
def test_python_runs_both_alike(name: str) -> None:
    source = textwrap.dedent({**PLAIN, **KEPT}[name])
    # a `return` outside of a function compiles to no code, but has a tree
    before, after = ast.parse(source).body, plainer(ast.parse(source).body)
    assert outcomes(before) == outcomes(after)
    left = any(isinstance(n, KINDS) for s in after for n in ast.walk(s))
    assert left == (name in KEPT)


def test_statements_without_these_stay_the_same() -> None:
    body = ast.parse("x = 1\nif x: y = 2").body
    assert plainer(body) is body


def newton(x: Any, target: Any) -> Any:
    n = 0
    while np.abs(error := x * x - target) > 1e-12 and n < 50:
        x = x - error / (2 * x)
        n += 1
    return x, error, n


def sorted_out(x: Any, k: Any) -> Any:
    match k:
        case 0:
            out = x.sum()
        case 1 | 2 if x[0] > 0:
            out = x.max()
        case n:
            out = x.min() * n
    return out


def test_a_loop_is_staged() -> None:
    f = np.jit(newton)
    for target in (2.0, 9.0):
        got, want = f(np.float64(1.0), np.float64(target)), newton(1.0, target)
        numpy.testing.assert_allclose([float(v) for v in got], want, rtol=1e-14, atol=1e-14)
    slope = np.jvp(lambda t: f(np.float64(1.0), t)[0], (np.float64(9.0),), (np.float64(1.0),))[1]
    assert abs(float(slope) - 1 / 6) < 1e-6


def test_branches_are_staged() -> None:
    f, x = np.jit(sorted_out), np.array([1.0, 5.0, -2.0])
    for k in range(4):
        assert float(f(x, np.asarray(k))) == float(sorted_out(x, k))
    by_hand = numpy.array([[1.0, 1, 1], [0, 1, 0], [0, 1, 0], [0, 0, 3]])
    for k in range(4):
        got = np.grad(lambda x, k=k: f(x, np.asarray(k)))(x)
        numpy.testing.assert_array_equal(numpy.asarray(got), by_hand[k])


def neighbours(x: Any) -> Any:
    total = 0.0
    for i in range(len(x) - 1):
        match [int(x[i]), (x[i], x[i + 1])]:
            case [0, (_, b)]:
                total += b
            case [a, [p, q]] if p > q:
                total += 10 * a + p
            case [a, *rest]:
                total += 100 * a + rest[0][1]
    return total


def of_a_class(x: Any) -> Any:
    match int(x[0]):
        case int(n) if isinstance(n, int) and type(float(x[1])) is float:
            return x.sum() * n
    return x.max()


def kinds(x: Any, y: Any) -> Any:
    total = x.sum()
    for k in (int(x[0]), float(x[1]), x[0] > 0, x[1], len(x), int(x[0]) / 2, y, x, 2 * y):
        seen = hasattr(k, "dtype"), hasattr(k, "real"), isinstance(k, int), isinstance(k, float)
        total += sum(2**i for i, s in enumerate((*seen, isinstance(k, bool))) if s)
        total = total * 2 + (1 if type(k) in (int, float) else 0)
    return total


def test_numbers_of_pythons_show_their_types() -> None:
    for x in ([1.0, 2.0], [0.0, -1.0]):
        for y in (3.0, numpy.float64(3.0)):
            assert float(np.jit(kinds)(np.array(x), y)) == float(kinds(numpy.array(x), y))
    sized = np.jit(kinds, abstracted_axes=(("n",), ()))
    assert float(sized(np.array([1.0, 2.0]), 3.0)) == float(kinds(numpy.array([1.0, 2.0]), 3.0))


def test_sequences_and_classes_of_traced_numbers() -> None:
    f, g = np.jit(neighbours), np.jit(of_a_class)
    for x in ([0.0, 3, 2, 0, 1, 1, 5, 4, 0, 9], [2.0, 1] * 5, [0.0] * 10):
        assert float(f(np.array(x))) == float(neighbours(numpy.array(x)))
        assert float(g(np.array(x))) == float(of_a_class(numpy.array(x)))
    assert "unrolled" not in str(np.explain(f))
