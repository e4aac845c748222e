"""Objects of the user's that are no arrays: NumPy's functions call their methods, and reductions
hand themselves to their `__array_ufunc__`.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
from typing import Any

import numpy
import pytest

import lazynp

METHODS = (
    "all", "any", "argmax", "argmin", "argsort", "clip", "compress", "cumprod", "cumsum",
    "diagonal", "max", "mean", "min", "nonzero", "partition", "prod", "ravel", "repeat", "reshape",
    "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose",
    "var",
)  # fmt: skip
CALLS = {
    "clip": (0, 1), "compress": ([1],), "partition": (1,), "repeat": (2,),
    "reshape": (3,), "searchsorted": (1,), "swapaxes": (0, 1), "take": ([0],),
}  # fmt: skip


class Told:
    """Tells which of its methods was called, and how."""

    def __repr__(self) -> str:
        return type(self).__name__


class Sequence(Told):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, k: int) -> int:
        return (1, 2)[k]


for _name in METHODS:

    def _method(self: Any, *args: Any, _name: str = _name, **kwargs: Any) -> Any:
        return _name, args, sorted((k, repr(v)) for k, v in kwargs.items())

    setattr(Told, _name, _method)


class Ufuncs:
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc.__name__, method, len(inputs), sorted(kwargs, key=str)


def outcome(call: Any) -> Any:
    try:
        return repr(call())
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("kind", [Told, Sequence])
@pytest.mark.parametrize("name", METHODS)
def test_functions_call_the_method_of_an_object(name: str, kind: Any) -> None:
    def called(np: Any) -> Any:
        return outcome(lambda: getattr(np, name)(kind(), *CALLS.get(name, ())))

    assert called(lazynp) == called(numpy)


@pytest.mark.parametrize("name", ["all", "any", "amax", "amin", "max", "min", "prod", "sum"])
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"keepdims": True}, {"out": None}])
def test_reductions_ask_the_object_about_the_ufunc(name: str, options: Any) -> None:
    def called(np: Any) -> Any:
        return outcome(lambda: getattr(np, name)(Ufuncs(), **options))

    assert called(lazynp) == called(numpy)
    assert "reduce" in called(lazynp)


@pytest.mark.parametrize("name", ["trim_zeros", "diff", "flip", "tile", "stack", "sort", "cov"])
def test_without_a_method_of_that_name_the_elements_count(name: str) -> None:
    more: Any = (2,) if name == "tile" else ()

    def called(np: Any) -> Any:
        return outcome(lambda: numpy.asarray(getattr(np, name)(Sequence(), *more)).tolist())

    assert called(lazynp) == called(numpy)


NUMBERS = [
    decimal.Decimal("1.5"), fractions.Fraction(1, 3), datetime.timedelta(3),
    datetime.datetime(2020, 1, 2),
]  # fmt: skip


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "copy", "sort", "ravel", "flip"])
@pytest.mark.parametrize("x", NUMBERS, ids=lambda x: type(x).__name__)
def test_numbers_of_other_kinds_are_elements(name: str, x: Any) -> None:
    def called(np: Any, given: Any) -> Any:
        return outcome(lambda: numpy.asarray(getattr(np, name)(given)).tolist())

    for given in (x, [x, x]):
        assert called(lazynp, given) == called(numpy, given)


WRAPPING = [
    "np.linalg.solve(np.eye(2), o)", "np.linalg.solve(o, np.ones(2))", "np.linalg.qr(o)",
    "np.linalg.qr(o, mode='r')", "np.linalg.svd(o)", "np.linalg.svd(o, compute_uv=False)",
    "np.linalg.eig(o)", "np.linalg.eigh(o)", "np.linalg.eigvals(o)", "np.linalg.inv(o)",
    "np.linalg.cholesky(o)", "np.linalg.pinv(o)", "np.compress([1, 0, 1], o)",
    "np.compress([1, 0], o, axis=0)", "np.apply_along_axis(lambda x: x * 2, 0, o)", "np.sum(o)",
    "np.cumsum(o)", "np.take(o, [0])", "np.polydiv(o.a[0], [1.0])", "np.unique_counts(o)",
]  # fmt: skip


@pytest.mark.parametrize("call", WRAPPING)
def test_which_results_an_object_without_methods_wraps(call: str) -> None:
    def outcome(np: Any) -> Any:
        class Object:
            a = numpy.array([[2.0, 1.0], [1.0, 3.0]])

            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                return self.a

            def __array_wrap__(self, array: Any, *_: Any) -> Any:
                return Wrapped(array)

        return shown(eval(call, {"np": np, "o": Object()}))

    assert outcome(lazynp) == outcome(numpy)


class Wrapped:
    def __init__(self, array: Any) -> None:
        self.array = array


def shown(x: Any) -> Any:
    """The signs of vectors are open."""
    if isinstance(x, tuple):
        return [shown(y) for y in x]
    if isinstance(x, Wrapped):
        return "wrapped", shown(x.array)
    return numpy.abs(numpy.asarray(x)).round(9).tolist()
