"""Checks of jvp, transpose and batch rules, called directly, against the reference rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, from_host, new_array
from lazynp._avals import aval_of
from lazynp._config import config
from lazynp._flush import host_value
from lazynp._primitive import Undefined

NDArray = np.ndarray[Any, Any]


def array(value: Any) -> Array:
    return new_array(from_host(np.asarray(value)))


def value(x: Any) -> NDArray:
    return np.asarray(host_value(x._read()))


def _uncompiled(check: Callable[..., None]) -> Callable[..., None]:
    """Run by the reference rules: `lower` has tests of its own, and compiling takes long."""

    @functools.wraps(check)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        with config(execution="reference"):
            check(*args, **kwargs)

    return wrapped


def _outs(prim: Any, out: Any) -> Sequence[Any]:
    return out if prim.multiple_results else (out,)


def _reference(prim: Any, operands: Sequence[Any], params: dict[str, Any]) -> list[NDArray]:
    outs = _outs(prim, prim.reference(*operands, **params))
    return [np.asarray(o) for o in outs]


def _random_like(rng: np.random.Generator, x: Any) -> NDArray:
    draw = rng.normal(size=np.shape(x))
    if np.asarray(x).dtype.kind == "c":
        return draw + 1j * rng.normal(size=np.shape(x))
    return np.asarray(draw)


@_uncompiled
def check_jvp(
    prim: Any,
    operands: Sequence[Any],
    moving: Sequence[int],
    *,
    eps: float = 1e-6,
    tolerance: float = 1e-7,
    **params: Any,
) -> None:
    """Compare the tangent with central differences, for `moving` operands; the others have None."""
    rng = np.random.default_rng(0)
    tangents = [_random_like(rng, x) if i in moving else None for i, x in enumerate(operands)]

    def at(step: float) -> list[NDArray]:
        moved = [x if t is None else x + step * t for x, t in zip(operands, tangents, strict=True)]
        return _reference(prim, moved, params)

    wanted = [(p - m) / (2 * eps) for p, m in zip(at(eps), at(-eps), strict=True)]
    outs, outs_dot = prim.jvp(
        tuple(map(array, operands)),
        tuple(None if t is None else array(t) for t in tangents),
        **params,
    )
    for got, ref in zip(_outs(prim, outs), _reference(prim, operands, params), strict=True):
        np.testing.assert_allclose(value(got), ref, rtol=1e-12, atol=1e-12)
    for got, ref in zip(_outs(prim, outs_dot), wanted, strict=True):
        if got is None:
            assert not ref.any()
        else:
            assert value(got).shape == ref.shape
            np.testing.assert_allclose(value(got), ref, rtol=tolerance, atol=tolerance)


@_uncompiled
def check_transpose(
    prim: Any, operands: Sequence[Any], linear: Sequence[int], **params: Any
) -> None:
    """<ct, f(operands)> is the sum of <ct_i, operand_i> over the linear operands."""
    rng = np.random.default_rng(1)
    (out,) = _reference(prim, operands, params)
    ct = _random_like(rng, out)
    given = [
        Undefined(aval_of(x.shape, x.dtype)) if i in linear else array(x)
        for i, x in enumerate(map(np.asarray, operands))
    ]
    cts = prim.transpose(array(ct), *given, **params)
    assert len(cts) == len(operands)
    total = 0
    for i, (ct_i, operand) in enumerate(zip(cts, operands, strict=True)):
        if i not in linear:
            assert ct_i is None
            continue
        got = value(ct_i)
        assert got.shape == np.shape(operand) and got.dtype == np.asarray(operand).dtype
        total = total + (got * operand).sum()
    np.testing.assert_allclose(total, (ct * out).sum(), rtol=1e-10, atol=1e-10)


@_uncompiled
def check_batch(prim: Any, operands: Sequence[Any], batched: Sequence[bool], **params: Any) -> None:
    """The batched result against a loop. Batched operands come with the axis in front."""
    size = next(len(x) for x, b in zip(operands, batched, strict=True) if b)
    outs = _outs(prim, prim.batch(size, tuple(batched), *map(array, operands), **params))
    for i in range(size):
        row = [x[i] if b else x for x, b in zip(operands, batched, strict=True)]
        for got, ref in zip(outs, _reference(prim, row, params), strict=True):
            assert got.dtype == ref.dtype and got.shape == (size, *ref.shape)
            np.testing.assert_allclose(value(got)[i], ref, rtol=1e-12, atol=1e-12)
