"""NumPy's arrays have up to 64 dimensions, its own `broadcast_shapes` 32."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np

SHAPE = (2, 2, 2, *[1] * 61)
_NONE = (slice(None),)


def _places(m: Any, count: int) -> tuple[Any, ...]:
    return (m.array([0]),) * count


def _stored(m: Any, index: Any) -> Any:
    x = m.arange(8.0).reshape(SHAPE)
    x[x > 5 if index is None else index] = 7
    return x


_RESULTS = [
    lambda m, x: x * 2 + x[..., ::-1],
    lambda m, x: m.where(x > 3, x, 0),
    lambda m, x: x[_NONE + _places(m, 63)],
    lambda m, x: x[_places(m, 33)].reshape(-1),
    lambda m, x: x[(0,) * 64],
    lambda m, x: m.arange(5.0)[m.ones((1,) * 64, int)],
    lambda m, x: m.ones((1,) * 40)[m.ix_(*[[0]] * 40)],
    lambda m, x: _stored(m, None),
    lambda m, x: _stored(m, (m.array([1, 0]), slice(None), *_places(m, 62))),
    lambda m, x: m.broadcast_to(m.arange(2.0), (1,) * 63 + (2,)) + x.reshape(4, *[1] * 62, 2),
]
_ERRORS = [
    lambda m, x: x[_places(m, 64)],
    lambda m, x: x[_places(m, 65)],
    lambda m, x: x[([0],) * 64],
    lambda m, x: _stored(m, _places(m, 64)),
    lambda m, x: x[None],
    lambda m, x: m.ones((5, 3))[m.zeros((1,) * 64, int)],
    lambda m, x: m.ones((5, *[1] * 30))[m.zeros((1,) * 40, int)],
    lambda m, x: m.stack([x]),
    lambda m, x: x.reshape((1,) * 65),
    lambda m, x: x + m.ones((3, *[1] * 63)),
    lambda m, x: m.add.outer(m.ones((1,) * 40), m.ones((1,) * 25)),
]


def test_many_arrays_share_a_shape() -> None:
    for m in (np, numpy):
        found = m.broadcast_arrays(*[m.ones((1 + k % 2, 1 + k // 100)) for k in range(130)])
        assert len(found) == 130 and {x.shape for x in found} == {(2, 2)}
    with pytest.raises(ValueError, match="shape mismatch"):
        np.broadcast_arrays(*[np.ones(2)] * 80, np.ones(3))


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
@pytest.mark.parametrize("reps", [2**62, (2**40, 2**20), (3, 0), (2, 1, 2)])
def test_nothing_is_repeated_however_often(shape: Any, reps: Any) -> None:
    found, want = (m.tile(m.ones(shape, "i4"), reps) for m in (np, numpy))
    assert found.shape == want.shape and found.dtype == want.dtype


def test_sixty_four_dimensions() -> None:
    found = [f(np, np.arange(8.0).reshape(SHAPE)) for f in _RESULTS]
    for f, x in zip(_RESULTS, found, strict=True):
        want = f(numpy, numpy.arange(8.0).reshape(SHAPE))
        assert x.shape == want.shape and x.dtype == want.dtype
        assert numpy.array_equal(numpy.asarray(x), want)


@pytest.mark.parametrize("f", _ERRORS)
def test_more_than_sixty_four(f: Any) -> None:
    with pytest.raises((IndexError, ValueError)) as wanted:
        f(numpy, numpy.arange(8.0).reshape(SHAPE))
    with pytest.raises(wanted.type) as found:
        f(np, np.arange(8.0).reshape(SHAPE))
    if wanted.type is IndexError:
        assert str(found.value) == str(wanted.value)
