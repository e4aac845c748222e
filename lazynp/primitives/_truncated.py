"""Power series in small variables, cut off: the derivatives of what is computed by recurrences.

A series is an array whose first axis are its coefficients. Sums are those of arrays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]


class Truncated:
    """Series in as many variables as there are degrees, up to this degree in each."""

    def __init__(self, degrees: Sequence[int]) -> None:
        exponents = itertools.product(*[range(d + 1) for d in degrees])
        self.exponents = sorted(exponents, key=sum)  # what a quotient needs comes first
        place = {e: k for k, e in enumerate(self.exponents)}
        sums = [
            (place.get(tuple(map(sum, zip(e, f, strict=True)))), i, j)
            for (i, e), (j, f) in itertools.product(enumerate(self.exponents), repeat=2)
        ]
        self._sums: list[list[tuple[int, int]]] = [[] for _ in self.exponents]
        for k, i, j in sums:
            if k is not None:
                self._sums[k].append((i, j))
        self._degrees = [sum(e) for e in self.exponents]

    def constant(self, value: Values) -> Values:
        out = np.zeros((len(self.exponents), *value.shape))
        out[0] = value
        return out

    def variable(self, which: int, value: Values, scale: Values) -> Values:
        """value + scale * e, where e is the variable."""
        out = self.constant(value)
        for k, e in enumerate(self.exponents):
            if self._degrees[k] == 1 and e[which]:
                out[k] = scale
        return out

    def times(self, u: Values, v: Values) -> Values:
        return np.stack([sum([u[i] * v[j] for i, j in pairs]) for pairs in self._sums])

    def over(self, u: Values, v: Values) -> Values:
        out: list[Any] = []
        for k, pairs in enumerate(self._sums):
            rest = u[k] - sum([out[i] * v[j] for i, j in pairs if j])
            out.append(rest / v[0])
        return np.stack(out)

    def exp(self, u: Values) -> Values:
        out = [np.exp(u[0])]
        for k, pairs in enumerate(self._sums[1:], 1):  # by the terms' degrees, as by a derivative
            moved = sum([self._degrees[j] * u[j] * out[i] for i, j in pairs if j])
            out.append(moved / self._degrees[k])
        return np.stack(out)

    def compose(self, coefficients: Sequence[Values], u: Values) -> Values:
        """The sum of coefficients[n] (u - u[0])^n."""
        moved = u.copy()
        moved[0] = 0.0
        total = self.constant(coefficients[-1])
        for c in coefficients[-2::-1]:
            total = self.times(total, moved)
            total[0] += c
        return total

    def differ(self, u: Values, v: Values, tolerance: float) -> Any:
        """Whether coefficients of the first differ by more than this share of the second's."""
        return (abs(u - v) > tolerance * abs(v)).any()

    def derivative(self, u: Values, *scales: Values) -> Values:
        """That of the highest degree in each variable."""
        out = u[-1]
        for power, scale in zip(self.exponents[-1], scales, strict=True):
            out = out * (math.factorial(power) / scale**power)
        return out
