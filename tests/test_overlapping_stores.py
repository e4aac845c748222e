"""Stores that read the array they write, on parts of one row: XLA must not write in place there."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import PartitionSpec as P
from tests.devices.worker import on_eight


def moved(np, b):
    z = np.zeros(b.shape)
    z[..., 1:] = b[..., :-1]
    z[..., 1:] = z[..., :-1]
    return z.reshape(-1)


def doubled(np, b):
    z = b + np.zeros(b.shape)
    z[..., 1:] = z[..., :-1] * 2
    z[..., 0] = b[..., 1]
    return z.reshape(-1)


def cumulated(np, b):
    z = np.zeros(b.shape)
    z[..., 1:] = b[..., :-1]
    z[..., 1:] += z[..., :-1]
    return z.reshape(-1)


def backwards(np, b):
    z = b * 2
    z[..., :-1] = z[..., 1:]
    z[..., ::-1] = z
    z[..., :2] = z[..., 1:3]
    return z.T.reshape(-1)


PROGRAMS = [moved, doubled, cumulated, backwards]


@pytest.mark.parametrize("devices", [2, 4, 8])
@pytest.mark.parametrize("program", PROGRAMS)
@on_eight
def test_one_row_on_each_device(program: Any, devices: int) -> None:
    mesh = np.make_mesh((devices,), ("x",))
    values = numpy.arange(1.0, 4 * devices + 1).reshape(devices, 4)
    x = np.device_put(values, np.NamedSharding(mesh, P("x")))
    want = program(numpy, values)
    assert np.jit(lambda b: program(np, b))(x).tolist() == want.tolist()
    assert program(np, x).tolist() == want.tolist()


@pytest.mark.parametrize("program", PROGRAMS)
@on_eight
def test_blocks_of_shard_map(program: Any) -> None:
    mesh = np.make_mesh((4,), ("x",))
    values = numpy.arange(16.0)
    f = np.shard_map(lambda b: program(np, b), mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    want = [v for block in values.reshape(4, 4) for v in program(numpy, block).tolist()]
    assert f(values).tolist() == want
    assert np.jit(f)(values).tolist() == want
