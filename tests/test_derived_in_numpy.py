"""NumPy's own functions on arrays of derived classes: their methods are asked as by lazynp."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp

CALLS = [
    "numpy.float64(2) * a",
    "a * numpy.float64(2)",
    "numpy.arange(2) * a",
    "a * numpy.arange(2)",
    "numpy.multiply(a, 1)",
    "numpy.multiply(2, a)",
    "numpy.int64(3) == a",
    "numpy.add(a, a)",
    "numpy.multiply.reduce(a)",
    "numpy.add.at(a, [0], 1)",
    "numpy.add(a, 1, out=a)",
    "numpy.modf(a)[0]",
    "numpy.sum(a)",
    "numpy.clip(a, 1, 2)",
    "numpy.mean(a)",
    "numpy.concatenate([a, a])",
    "numpy.vstack([a, a])",
    "numpy.linalg.inv(a)",
    "numpy.fft.fft(a)",
    "numpy.median(a)",
    "numpy.where(a > 2, a, 0)",
    "numpy.sort(a)",
    "numpy.zeros_like(a)",
    "numpy.allclose(a, a)",
    "numpy.einsum('ij->i', a)",
    "numpy.copyto(a, 1)",
]


def _class(np: Any, told: list[Any]) -> Any:
    """A class that does as such classes do: it looks at which function it is, and strips operands
    by `view`.
    """

    class Kind(np.ndarray):  # type: ignore[name-defined,misc]
        def __array_ufunc__(
            self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any
        ) -> Any:
            known = ufunc is np.multiply, ufunc is np.equal, ufunc is np.add
            told.append((method, *known, [type(x) in (np.ndarray, Kind) for x in inputs]))
            args = [x.view(np.ndarray) if isinstance(x, np.ndarray) else x for x in inputs]
            if out:
                kwargs["out"] = tuple([x.view(np.ndarray) for x in out])
            made = getattr(ufunc, method)(*args, **kwargs)
            return made.view(Kind) if isinstance(made, np.ndarray) and made.ndim else made

        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            of_rooms = function is np.linalg.inv, function is np.fft.fft
            told.append((function.__name__, function is np.concatenate, *of_rooms))
            return super().__array_function__(function, types, args, kwargs)

    return Kind


@pytest.mark.parametrize("call", CALLS)
def test_a_class_sees_the_functions_and_operands_of_its_module(call: str) -> None:
    def outcome(np: Any) -> Any:
        told: list[Any] = []
        a = np.array([[1.0, 2.0], [3.0, 7.0]]).view(_class(np, told))
        made = eval(call, {"numpy": numpy, "a": a})
        kind: Any = type(made)
        kind = kind.__name__.replace("Scalar", "float64")
        value = numpy.asarray(made).tolist()
        return kind, value, numpy.asarray(a).tolist(), told

    assert outcome(lazynp) == outcome(numpy)


def test_the_class_of_numpys_results_is_kept() -> None:
    kind = type("Kind", (lazynp.ndarray,), {})
    x = lazynp.arange(3.0).view(kind)
    made = x.__array_wrap__(numpy.ones(2))
    assert type(made) is kind and made.tolist() == [1.0, 1.0]


def test_scipys_ufuncs_stay_its_own() -> None:
    special = pytest.importorskip("scipy.special")
    told = []

    class Kind(lazynp.ndarray):  # type: ignore[misc]
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            told.append(ufunc)
            return getattr(ufunc, method)(*[numpy.asarray(x) for x in inputs], **kwargs)

    special.jv(1, lazynp.arange(3.0).view(Kind))
    assert told == [special.jv]
