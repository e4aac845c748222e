"""Rules recorded once for a kind of operands, and then repeated: the same results, and errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jvp, vjp
from lazynp.transforms import _backward, _jvp, _kept, _linearize

X, Y = np.array([0.3, -0.7, 1.2]), np.array([1.0, 2.0, 3.0])
BINARY = [np.add, np.subtract, np.multiply, np.divide, np.arctan2, np.maximum, np.power]
OPERANDS = [X + 2.0, Y[:, None], np.float64(1.5), 2, 0.5, np.array([1, 2, 3]), Y.astype("f4")]


def untemplated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jvp, "KINDS", frozenset())
    monkeypatch.setattr(_backward, "KINDS", frozenset())
    monkeypatch.setattr(_kept, "_LONGEST", -1)


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_templates_are_the_rules(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pair of kinds of operands, with every choice of moving operands, twice."""

    def outcomes() -> list[Any]:
        found = []
        for x, y in itertools.product(OPERANDS, repeat=2):
            for f, z in ((lambda z, y=y: function(z, y), x), (lambda z, x=x: function(x, z), y)):
                if getattr(z, "dtype", np.dtype(float)).kind != "f" or type(z) is int:
                    continue
                out, pull = vjp(f, z)
                (ct,) = pull(np.ones(out.shape, out.dtype))
                found += [out, ct, jvp(f, (z,), (np.ones_like(z),))[1]]
            if all(getattr(z, "dtype", None) == np.float64 for z in (x, y)):
                out, pull = vjp(function, x, y)
                found += [out, *pull(np.ones(out.shape))]
        return list(map(numpy.asarray, found))

    with np.config(execution="reference"):
        first, again = outcomes(), outcomes()
        assert _linearize._rules and _backward._transposes
        untemplated(monkeypatch)
        want = outcomes()
    for got in (first, again):
        for g, w in zip(got, want, strict=True):
            assert g.dtype == w.dtype and g.shape == w.shape
            numpy.testing.assert_array_equal(g, w)


def test_which_operand_moves_is_part_of_a_template() -> None:
    def f(x: Any) -> Any:
        return x * 2.0 * x + 3.0 * (x * x) * 2.0

    assert float(grad(f)(3.0)) == 48.0 and float(grad(grad(f))(3.0)) == 16.0
    scale = np.array(4.0)
    assert float(grad(lambda x: scale * x)(3.0)) == 4.0
    assert float(grad(lambda x: x * scale)(3.0)) == 4.0


def test_rules_that_raise_do_so_each_time() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="no derivative by x"):
            grad(lambda x: np.special.zeta(x, 1.0))(2.0)
        with pytest.raises(ValueError, match="broadcast"):
            grad(lambda x: (x * np.ones(2)).sum())(X)
