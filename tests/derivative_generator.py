"""Random losses as scientists write them: loops, branches on values, writes, closures, globals."""

from __future__ import annotations

import random
from typing import Any

import numpy

HEAD = """\
def h(u, w):
    if u.sum() > w:
        return u * 0.5 + w
    return np.tanh(u)


def make(c, d, t):
    def f(x, k=3):
        u, s = x * 1.0, 0.0
"""
TAIL = """\
        return (u * u).sum() * 0.01 + s * s * 0.1 + (x * d[0]).sum()
    return f
"""
SIMPLE = [
    "u = np.sin(u) + c", "u = u * K - x", "s = s + u[0] * u[-1]", "u = np.where(u > 0, u, x * 0.3)",
    "u[1:] += 0.5 * u[:-1]", "u[0] = s", "u[::2] *= t", "s = s * 0.5 + (u * c).sum()",
    "u = h(u, t)", "u = u[::-1] / (1.0 + u * u)", "u[1:-1] = u[2:] - u[:-2]", "s = np.exp(-s * s)",
    "u = np.cumsum(u) * 0.3", "s = s + u.max()", "u = np.stack([u, x]).mean(axis=0)", "x = x * t",
    "u -= u.mean()", "s += d[1] * t", "u = abs(u) + x * G", "s = s + np.sqrt(1.0 + u[1] ** 2)",
]  # fmt: skip
TESTS = [
    "u.sum() > 0", "s > t", "k > 2", "u[0] > u[1]", "not s < 0.2 and x[0] > 0", "t > 0.5",
    "len(x) > 4", "(u > 1).any()",
]  # fmt: skip
RANGES = ["range(3)", "range(k)", "range(12)", "range(len(u))", "range(1, 6, 2)"]


class Generator:
    """The source of one loss. Equal seeds give equal sources."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def source(self) -> str:
        return HEAD + "".join(f"        {line}\n" for line in self._block(2)) + TAIL

    def _block(self, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self._random.randint(1, 4)):
            kind = self._random.random()
            if depth and kind < 0.25:
                lines.append(f"if {self._random.choice(TESTS)}:")
                lines += self._inner(depth)
                if self._random.random() < 0.5:
                    lines += ["else:", *self._inner(depth)]
            elif depth and kind < 0.45:
                lines.append(f"for i in {self._random.choice(RANGES)}:")
                lines += self._inner(depth)
                if self._random.random() < 0.4:
                    lines.append("    s = s + 0.1 * u[i % len(u)] * i")
            else:
                lines.append(self._random.choice(SIMPLE))
        return lines

    def _inner(self, depth: int) -> list[str]:
        return [f"    {line}" for line in self._block(depth - 1)]


def calls(seed: int, count: int) -> list[dict[str, Any]]:
    """What changes between calls: shape, data, what closures hold, defaults, global names."""
    rng = random.Random(seed + 1)
    sizes = rng.choice([(5,), (5, 7), (3,)])
    return [
        {
            "x": numpy.random.default_rng([seed, n]).normal(size=rng.choice(sizes)),
            "c": rng.choice([0.5, 0.5, 0.25 * n]), "t": rng.choice([0.7, 0.7, -0.1 * n]),
            "k": rng.choice([3, 3, 3, n]), "numpys": rng.random() < 0.3, "anew": rng.random() < 0.5,
            "K": 0.9 if n < count // 2 else 0.8,
        }
        for n in range(count)
    ]  # fmt: skip
