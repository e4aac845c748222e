"""The reference interpreter of jaxprs: the same results as the rules one by one, and memory."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._errors import NanError
from lazynp._interpreter import eval_reference

X = numpy.linspace(0.5, 2.0, 12)


def branches(x: Any) -> Any:
    y = np.cond(x.sum() > 3, lambda: x * 2, lambda: x / 2)
    return np.fori_loop(0, 3, lambda i, c: c * 0.5 + i, y)


def slices(x: Any) -> Any:
    y = np.array(x)
    y[1:4] = x[:3] * 2
    i = np.argmax(y)
    return y[::-1].reshape(3, 4).sum(0), y[i], x @ y


@pytest.mark.parametrize("function", [branches, slices, np.sin, lambda x: x, lambda x: (x, x[0])])
def test_results(function: Any) -> None:
    jaxpr = np.make_jaxpr(function)(X)
    wanted = function(np.array(X))
    for _ in range(2):  # the second run finds the jaxpr prepared
        outs = eval_reference(jaxpr, [X])
        for got, want in zip(outs, wanted if type(wanted) is tuple else [wanted], strict=True):
            numpy.testing.assert_array_equal(got, want)


def test_zero_dimensional_arrays_are_scalars_to_the_rules() -> None:
    jaxpr = np.make_jaxpr(lambda x, i: x[i])(X, 3)
    assert eval_reference(jaxpr, [X, numpy.array(3)])[0] == X[3]


def test_the_number_of_values() -> None:
    jaxpr = np.make_jaxpr(np.sin)(X)
    with pytest.raises(ValueError, match="1 values are required, got 2"):
        eval_reference(jaxpr, [X, X])


def test_debug_nans_names_the_operation() -> None:
    jaxpr = np.make_jaxpr(lambda x: np.log(x) + 1)(X)
    with np.config(debug_nans=True), numpy.errstate(all="ignore"), pytest.raises(NanError):
        eval_reference(jaxpr, [-X])


def test_the_interpreter_drops_values_after_their_last_use() -> None:
    """At no time are more than a few of a hundred results alive."""
    alive, most = [], []

    def watched(x: Any) -> Any:
        for _ in range(100):
            x = np.sin(x)
        return x

    jaxpr = np.make_jaxpr(watched)(numpy.ones(10))
    for _ in range(2):  # the second run prepares it
        (out,) = eval_reference(jaxpr, [numpy.ones(10)])
    prepared: Any = jaxpr.prepared
    assert prepared is not None
    for _, _, outs, dead in prepared.steps:
        alive.append(outs)
        alive = [i for i in alive if i not in dead]
        most.append(len(alive))
    assert max(most) <= 2
    numpy.testing.assert_array_equal(out, watched(numpy.ones(10)))
