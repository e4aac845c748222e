"""The harness itself, on a primitive defined here."""

from __future__ import annotations

import numpy as np

from tests.lowering.helpers import Stub
from tests.primitives.harness import Static, lowered_text, run_lowered


class Scale(Stub):
    """x * factor, or its negative: a factor that is a literal is known to the rule."""

    def __init__(self):
        super().__init__(None)

    def lower(self, b, x, factor, *, negate=False):
        self.seen = b.static(factor)
        y = b.product(x, b.splat(factor, x.aval.shape))
        return [b.unary("stablehlo.negate", y) if negate else y]

    def abstract(self, x, factor, *, negate=False):
        return [x]


def test_run_lowered():
    scale, x = Scale(), np.arange(3.0)
    (y,) = run_lowered(scale, x, np.array(2.0))
    assert scale.seen is None
    np.testing.assert_array_equal(y, 2 * x)
    (y,) = run_lowered(scale, x, Static(3.0))
    assert scale.seen == 3
    np.testing.assert_array_equal(y, 3 * x)
    (y,) = run_lowered(scale, x, Static(np.float64(3)), negate=True)
    np.testing.assert_array_equal(y, -3 * x)


def test_literals_are_kept_apart():
    scale, x = Scale(), np.ones(3)
    assert not np.signbit(run_lowered(scale, x, Static(0.0))[0]).any()
    assert np.signbit(run_lowered(scale, x, Static(-0.0))[0]).all()


def test_lowered_text():
    text = lowered_text(Scale(), np.ones(3), Static(2.0))
    assert "stablehlo.multiply" in text and "0x4000000000000000" in text
