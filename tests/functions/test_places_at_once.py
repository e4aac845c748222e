"""Index arrays with values: what `x[i]` takes at once under derivatives, and what it does not."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.functions import _getset

I3 = numpy.array([2, 0, 2])
AT_ONCE: dict[str, Any] = {
    "numpy": lambda np: I3,
    "ours": lambda np: np.array([2, 0, 2]),
    "list": lambda np: [1, 0],
    "range": lambda np: range(1, 3),
    "two axes": lambda np: (I3, numpy.array([0, 1, 3])),
    "lists": lambda np: ([0, 1], [3, 3]),
    "ix_": lambda np: np.ix_([0, 2], [1, 2, 3]),
    "table": lambda np: I3.reshape(3, 1),
    "broadcast": lambda np: (numpy.arange(3)[:, None], np.array([1, 2])),
}
OTHERWISE: dict[str, Any] = {
    "negative": lambda np: numpy.array([-1, 0]),
    "small ints": lambda np: numpy.array([2, 1], "i1"),
    "a mask": lambda np: numpy.array([True, False, True]),
    "truths": lambda np: [True, False, True],
    "with a slice": lambda np: (slice(1, None), I3[:1]),
    "with None": lambda np: (None, I3),
    "nothing": lambda np: [],
    "beyond": lambda np: numpy.array([0, 3]),
    "too many": lambda np: (I3, I3, I3),
    "of two shapes": lambda np: ([0, 1], [0, 1, 2]),
    "floats": lambda np: [0.5],
}


@pytest.mark.parametrize("name", [*AT_ONCE, *OTHERWISE])
def test_places_that_are_there_are_taken_at_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values, slopes and errors as by the general way, and values as NumPy's."""
    index, x = (AT_ONCE | OTHERWISE)[name], numpy.arange(12.0).reshape(3, 4)
    general = _getset.get_advanced
    asked: list[Any] = []

    def f(x: Any) -> Any:
        y = x * 1.0
        return y[index(np)] ** 2

    def outcome() -> Any:
        found = []
        for transform in (np.vjp, np.linearize):
            try:
                out, moved = transform(f, np.array(x))
            except IndexError as error:
                return str(error)
            ones = out * 0 + np.arange(float(out.size)).reshape(out.shape)
            found += [out, moved(ones)[0] if transform is np.vjp else moved(np.array(x))]
        return [*found, np.vmap(np.grad(lambda x: f(x).sum()))(np.array(x)[None] * 1.0)]

    monkeypatch.setattr(_getset, "get_advanced", lambda *a: (asked.append(a[1]), general(*a))[1])
    with np.config(promotion=False):  # a trial of a hot function stages it
        got = outcome()
    assert bool(asked) == (name in OTHERWISE)
    monkeypatch.setattr(_getset, "taken_at_once", lambda *a: None)
    want = outcome()
    if type(want) is str:
        assert got == want
        with pytest.raises(IndexError):
            x[index(numpy)]
        return
    numpy.testing.assert_array_equal(got[0], x[index(numpy)] ** 2)
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        numpy.testing.assert_array_equal(g, w)


VALUES: dict[str, Any] = {
    "float": lambda np, shape: -7.5,
    "zero": lambda np, shape: -0.0,
    "int": lambda np, shape: 3,
    "array": lambda np, shape: np.arange(1.0, numpy.prod(shape) + 1).reshape(shape),
    "one for all": lambda np, shape: np.float64(2.5),
    "broadcast": lambda np, shape: np.full(shape[-1:], 4.0),
    "ints": lambda np, shape: np.ones(shape, int),
    "large int": lambda np, shape: 2**60 + 1,
    "too many": lambda np, shape: np.ones((*shape, 2)),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", [*AT_ONCE, "negative", "a mask", "beyond", "with a slice"])
def test_stores_at_such_places(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the general way and NumPy have them: values, slopes by both operands, and errors."""
    index, v = (AT_ONCE | OTHERWISE)[name], VALUES[value]
    table = numpy.arange(12.0).reshape(3, 4)
    shape = (2, 4) if name == "beyond" else table[index(numpy)].shape
    general, asked = _getset.set_advanced, []

    def stored(np: Any, x: Any, t: Any) -> Any:
        y, what = x * 1.0, v(np, shape)
        y[index(np)] = what * t if np is not numpy and "array" in value else what
        return y * y

    def outcome() -> Any:
        try:
            out, pull = np.vjp(lambda x, t: stored(np, x, t), np.array(table), np.float64(1.0))
        except (IndexError, ValueError) as error:
            return f"{type(error)} {error}"
        return [out, *pull(np.array(table + 1.0))]

    monkeypatch.setattr(_getset, "set_advanced", lambda *a: (asked.append(0), general(*a))[1])
    with np.config(promotion=False):
        got = outcome()
        if name in AT_ONCE and value in ("float", "zero", "int", "array"):
            assert not asked
        monkeypatch.setattr(_getset, "put_at_once", lambda *a: False)
        want = outcome()
    if type(want) is str:
        assert got == want
        with pytest.raises((IndexError, ValueError)):
            stored(numpy, table, 1.0)
        return
    numpy.testing.assert_array_equal(got[0], stored(numpy, table, 1.0))
    for g, w in zip(got, want, strict=True):
        numpy.testing.assert_array_equal(g, w)


def test_places_are_those_of_the_call() -> None:
    """An index array that is written later has been read."""
    i, j = numpy.array([0, 2]), np.array([0, 2])

    def f(x: Any) -> Any:
        y = x * 2.0
        a, b = y[i], y[j]
        i[:], j[:] = 1, 1
        return (a * b).sum()

    numpy.testing.assert_array_equal(np.grad(f)(np.array([1.0, 2.0, 3.0])), [8.0, 0.0, 24.0])
