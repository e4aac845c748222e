"""Random functions as scientists write them, and the arguments that they are called with.

All numbers are multiples of powers of two, and no operation rounds but where numbers grow large, so
that the order of operations does not matter.
"""

from __future__ import annotations

import random
from typing import Any

import numpy

PREAMBLE = """\
K = 0.75


def h(u, w=1.5):
    if u > w:
        return u - w
    return u * 0.5


def g(u, w):
    u = u * 1
    for q in range(len(u)):
        u[q] = u[q] * 0.5 + w
    return u


def f(x, y, k=3, s=0.5, flag=True):
    a, b, n, i, j, ok = x[0], 0.5, 0, 1, 2, False
    z = x.copy()
"""
RESULTS = [
    "return a, b, n", "return a, b, n, x.sum(), ok", "return x, a", "return {'x': z, 'n': n}",
    "return", "return [x.copy(), n]", "return i, j, a, ok",
]  # fmt: skip
PLACES = [
    "i % len(x)", "(i + 1) % len(x)", "-1", "0", "i", "i - 1", "n % len(x)", "-i",
    "len(x) - 1 - i % len(x)",
]  # fmt: skip
SLICES = [
    "1:", "::2", "::-1", ":-1", "i % 3:", "i % 3:i % 3 + 2", ":n % 4", "-3:", "i:j", "3:0:-1", ":0",
    "i % 4:2:-1", "...",
]  # fmt: skip
TESTS = [
    "a > b", "x[i % len(x)] > 0", "i > 3", "a < 1 and x[0] < a", "not b > 2 or a > 0", "n > 2",
    "n % 2 == 1", "s > 1", "flag", "(x > 0).any()", "0 < a < 2", "x.max() > 1", "a != a", "ok",
    "len(x) > 3", "i in (1, 2)", "n < x[0]", "x[0] == n",
]  # fmt: skip
RANGES = [
    "range(3)", "range(9)", "range(12)", "range(n % 4, 10)", "range(len(x))",
    "range(len(x) - 1, -1, -1)", "range(1, len(x) - 1)", "range(10, 0, -3)", "range(k)",
    "range(i, 12)", "range(k, 0, -1)",
]  # fmt: skip
ITEMS = [
    "for q, w in enumerate(x):", "for q, w in zip(x, y):", "for w in x:", "for w in (1, 2, 3):",
    "for w in reversed(range(11)):", "for w in np.arange(12) * 0.5:",
]  # fmt: skip


class Generator:
    """The source of one function. Equal seeds give equal functions."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def source(self) -> str:
        lines = [*self._block(3, False), self._one(RESULTS)]
        return PREAMBLE + "".join(f"    {line}\n" for line in lines)

    def _one(self, of: list[str]) -> str:
        return self._random.choice(of)

    def _number(self, depth: int = 2) -> str:
        kind = self._random.random()
        if not depth or kind < 0.5:
            names = ["a", "b", "n", "K", "i", "s", "x.sum()", "0.5", "2", "-1", "True", "300"]
            return self._one([*names, f"x[{self._one(PLACES)}]", f"y[{self._one(PLACES)}]"])
        if kind < 0.8:
            op = self._one(["+", "-", "*", "+", "-"])
            return f"({self._number(depth - 1)} {op} {self._number(depth - 1)})"
        form = ["abs({})", "min({}, b)", "max({}, 1)", "float({})", "-{}", "bool({})",
                "np.minimum({}, 3)", "({} if a > b else b)", "np.float32({})", "np.sign({})",
                "np.where({} > 0, a, b)", "({}) ** 2", "int({})", "h({}, b)"]  # fmt: skip
        return self._one(form).format(self._number(depth - 1))

    def _array(self, depth: int = 1) -> str:
        kind = self._random.random()
        if not depth or kind < 0.4:
            return self._one(["x", "y", "z", "G"])
        if kind < 0.8:
            other = self._one([self._array(depth - 1), self._number(1)])
            return f"({self._array(depth - 1)} {self._one(['+', '-', '*'])} {other})"
        form = ["np.abs({})", "np.roll({}, 1)", "np.cumsum({})", "{}[::-1]", "np.sort({})",
                "np.where({} > 0, x, y)", "np.zeros_like({})", "{}.copy()", "np.clip({}, -1, 1)",
                "{}.astype(np.float32)", "np.diff({})", "({} > 1)", "g({}, b)"]  # fmt: skip
        return self._one(form).format(self._array(depth - 1))

    def _simple(self) -> list[str]:
        one, number, array = self._one, self._number, self._array
        p, q, part = one(PLACES), one(PLACES), one(SLICES)
        forms = [
            f"a = {number()}", f"b = {number()}", f"a {one(['+=', '-=', '*='])} {number(1)}",
            f"b {one(['+=', '-='])} {number(1)}", f"x[{p}] = {number(1)}", "a, b = b, a", "n += 1",
            f"x[{p}] {one(['+=', '-=', '*='])} {number(1)}", f"y[{p}] = {number(1)}", "n //= 2",
            f"z[{p}] += {number(1)}", "n = n * 2 + 1", "n -= i", "n = n ^ 5", "n <<= 1", "j = i",
            f"x[{p}], x[{q}] = x[{q}], x[{p}]", f"x {one(['+=', '*=', '-='])} {array()}",
            f"x[{part}] = {number(1)}", f"x[{part}] {one(['+=', '*='])} {number(1)}",
            f"z = {array(2)}", f"y = {array()}", f"x = {array()}", f"z[{part}] = x[{part}]",
            "x[:-1] = x[1:]", "x[1:] += x[:-1]", "x[...] = x[::-1]", "x, z = z, x",
            f"ok = {one(TESTS)}", f"v = x[{part}]\nv[...] = {number(1)}", f"v = x[{part}]\nv += 1",
            f"a += x[{part}].sum()", f"z = g(z, {number(0)})", f"x[x > {number(0)}] = {number(0)}",
            f"np.add.at(x, [0, 0, 1], {number(0)})", f"np.multiply(x, {number(0)}, out=x)",
            "t = (a, b, n)\nb, a, n = t[1], t[0], t[2]", "a = sum(q * b for q in range(3))",
            "z = np.array([a, b, s])", f"x[np.array([0, i % 2])] += {number(0)}", "a = x.dot(y)",
            "n = int(np.argmax(x))", "n = len(z)", f"x.fill({number(0)})",
            "d = {'a': a, 'b': b}\na = d['b']", "l = [a, b]\nl.append(n)\na = l[-2]",
            "assert n < 10**6, 'large'", "G[0] = a", "z = G * 0.5",
        ]  # fmt: skip
        return one(forms).split("\n")

    def _block(self, depth: int, loop: bool) -> list[str]:
        out: list[str] = []
        for _ in range(self._random.randint(1, 4)):
            out += self._statement(depth, loop)
        return out

    def _statement(self, depth: int, loop: bool) -> list[str]:
        kind, one = self._random.random(), self._one
        if loop and 0.5 < kind < 0.6 and depth:
            jump = one(["break", "continue", "return a, b, n", "return x", "raise ValueError('x')"])
            return [f"if {one(TESTS)}:", f"    {jump}"]
        if not depth or kind < 0.6:
            return self._simple()
        if kind < 0.75:
            out = [f"if {one(TESTS)}:", *self._inner(depth, loop)]
            if self._random.random() < 0.5:
                out += ["else:", *self._inner(depth, loop)]
            return out
        if kind < 0.93:
            over = f"for {one(['i', 'i', 'j'])} in {one(RANGES)}:"
            head = [one(ITEMS), "    a += w"] if self._random.random() < 0.15 else [over]
            last = ["else:", "    n += 3"] if self._random.random() < 0.15 else []
            return [*head, *self._inner(depth, True), *last]
        k, most = f"k{depth}", one(["4", "15", "70"])
        test = f"while {k} < {most} and ({one(TESTS)}):"
        return [f"{k} = 0", test, f"    {k} += 1", *self._inner(depth, True)]

    def _inner(self, depth: int, loop: bool) -> list[str]:
        return ["    " + line for line in self._block(depth - 1, loop)]


DTYPES = ["f8", "f8", "f8", "f4", "c16", "i8", "i4", "i1", "u1", "?"]
CHANGES = [
    "dtype", "size", "alias", "nan", "inf", "zero", "view", "overlap", "number", "flag", "empty",
    "0-d", "scalar", "large", "mismatch",
]  # fmt: skip


def calls(seed: int, count: int) -> list[dict[str, Any]]:
    """What the function is called with, call by call: mostly the same, then now and then not."""
    chosen = random.Random(seed)
    usual = {"dtype": chosen.choice(DTYPES), "size": chosen.choice([4, 5, 7, 12]),
             "k": chosen.choice([3, 9, 12]), "change": ""}  # fmt: skip
    made = []
    for c in range(count):
        change = chosen.choice(CHANGES) if c > 5 and chosen.random() < 0.4 else ""
        made.append({**usual, "change": change, "seed": seed + c})
        if change == "dtype":
            made[-1]["dtype"] = chosen.choice(DTYPES)
        if change in ("size", "empty"):
            made[-1]["size"] = chosen.choice([1, 2, 6]) if change == "size" else 0
    return made


def arguments(call: dict[str, Any], module: Any) -> list[Any]:
    """The arguments of one call, as arrays of the module."""
    drawn, n, change = numpy.random.default_rng(call["seed"]), call["size"], call["change"]
    dtype = numpy.dtype(call["dtype"])
    steps = 30 if dtype.itemsize == 1 else 0.5 if dtype.kind in "fc" else 1
    x, y = ((drawn.integers(-4, 5, m) * steps).astype(dtype)
            for m in (n, n + (change == "mismatch")))  # fmt: skip
    if dtype.kind == "f" and change in ("nan", "inf"):
        x[-1:] = numpy.nan if change == "nan" else -numpy.inf
    if change == "zero":
        x[:] = 0
    ours, k, s, flag = [module.array(x), module.array(y)], call["k"], 0.5, change != "flag"
    twice = module.array(numpy.concatenate([x, x]))
    if change == "alias":
        ours[1] = ours[0]
    if change in ("view", "overlap"):
        ours = [twice[:n], twice[1 : n + 1] if change == "overlap" else ours[1]]
    if change == "0-d":
        ours[1] = module.array(y.sum())
    if change == "number":
        k, s = int(drawn.choice([0, -1, 5])), float(drawn.choice([-0.0, 2.0]))
    s = module.float64(s) if change == "scalar" else s
    return [*ours, 2**63 if change == "large" else k, s, flag]
