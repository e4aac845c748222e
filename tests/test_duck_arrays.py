"""Classes of the user's that override functions, and compare these with those of their module."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy
import pytest

import lazynp

SOURCE = """
class Duck:
    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        known = [ufunc is f for f in (np.multiply, np.add, np.matmul, np.sin, np.less)]
        told.append((method, known, len(inputs), sorted(kwargs)))
        if ufunc is np.less:
            return NotImplemented
        bare = [x.value if isinstance(x, Duck) else x for x in inputs]
        return Duck(getattr(ufunc, method)(*bare, **kwargs))

    def __array_function__(self, function, types, args, kwargs):
        known = [function is f for f in (np.concatenate, np.sum, np.linalg.inv, np.fft.fft)]
        told.append((function.__name__, known, [t.__name__ for t in types], len(args)))
        if function is np.vstack or function not in HANDLED:
            return NotImplemented
        return HANDLED[function](*args, **kwargs)

class Derived(Duck):
    pass

HANDLED = {
    np.concatenate: lambda ducks, axis=0: Duck(np.concatenate([d.value for d in ducks])),
    np.sum: lambda duck, axis=None: "the sum",
    np.linalg.inv: lambda duck: "the inverse",
    np.fft.fft: lambda duck: "the transform",
}
d, e, x = Duck(np.arange(3.0)), Derived(np.ones(3)), np.ones(3)
"""
CALLS = [
    "np.multiply(d, 2)",
    "np.sin(d)",
    "np.matmul(d, e)",
    "np.add.reduce(d)",
    "np.add.outer(d, x)",
    "x * d",
    "x + e",
    "x @ d",
    "np.less(d, 1)",
    "x < d",
    "np.concatenate([d, e])",
    "np.sum(d)",
    "np.linalg.inv(d)",
    "np.fft.fft(e)",
    "np.vstack([d, d])",
    "np.mean(d)",
    "np.where(d, x, e)",
]


@pytest.mark.parametrize("call", CALLS)
def test_they_get_the_functions_of_their_module(call: str) -> None:
    def outcome(np: Any) -> Any:
        told: list[Any] = []
        room = ModuleType("a_program")
        vars(room).update(np=np, told=told)
        exec(SOURCE, vars(room))
        told.clear()
        try:
            result = eval(call, vars(room))
        except TypeError as error:
            return str(error).split("a_program")[0].partition(":")[0], told
        value = getattr(result, "value", result)
        shown = value if isinstance(value, str) else numpy.asarray(value).tolist()
        return type(result).__name__, shown, told

    assert outcome(lazynp) == outcome(numpy)


def test_with_names_imported_from_it() -> None:
    source = """
from lazynp import multiply, ones

class Duck:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc is multiply, type(inputs[0])

found = ones(3) * Duck()
"""
    room: dict[str, Any] = {"__name__": "a_program"}
    exec(source, room)
    assert room["found"] == (True, lazynp.ndarray)


def test_a_module_that_knows_numpy_too_gets_numpys() -> None:
    class Duck:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            return ufunc is numpy.multiply, type(inputs[0])

    assert lazynp.ones(3) * Duck() == (True, numpy.ndarray)
