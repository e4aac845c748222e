"""Rearranging arrays, against NumPy: values, dtypes, views and writes through them, order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lazynp
from lazynp.transforms import make_jaxpr
from tests.functions.rows import check
from tests.test_fastpath import calls_of

rng = np.random.default_rng(3)

DATA: dict[str, Any] = {
    "a": rng.normal(size=(2, 3)),
    "f": np.asfortranarray(rng.normal(size=(3, 4))),
    "i": np.arange(6).reshape(2, 3),
    "b": np.array([True, False, True]),
    "c": rng.normal(size=3) + 1j,
    "h": np.float16([1.5, -2, 3]),
    "u": np.uint8([3, 200, 7]),
    "v": rng.normal(size=3),
    "w": np.arange(7.0),
    "e": np.array(2.5),
    "z": np.zeros((0, 3)),
    "d": rng.normal(size=(2, 3, 4)),
    "o": np.array([1, "x", None], object),
    "t": np.array(["ab", "c"]),
    "m": np.array([[0, 0, 0], [0, 3, 0]]),
}


def rows(table: str) -> list[str]:
    return [line for line in table.strip().splitlines() if line and not line.startswith("#")]


VIEWS = """
np.reshape(a, (3, 2))
np.reshape(a, -1)
np.reshape(a, (-1, 2))
np.reshape(a, 6)
np.reshape(a, [1, 6])
np.reshape(a, (i[0, 2], 3))
np.reshape(a, None)
np.reshape(a, (3, 2), order='F')
np.reshape(f, (4, 3), order='F')
np.reshape(f, (4, 3), order='A')
np.reshape(a, (3, 2), order='A')
np.reshape(f, (4, 3))
np.reshape(a.T, 6)
np.reshape(a.T, (3, 2))
np.reshape(a.T, (3, 1, 2))
np.reshape(a[:, :2], 4)
np.reshape(a[:, ::-1], (3, 2))
np.reshape(d[:, :2], (2, 8))
np.reshape(d[:, :2], (2, 2, 2, 2))
np.reshape(a, (3, 2), copy=True)
np.reshape(a, (3, 2), copy=False)
np.reshape(z, (3, 0))
np.reshape(z, (0, -1, 3)).shape
np.reshape(e, (1, 1))
np.reshape(e, ())
np.reshape(v[0], ())
np.reshape(v[0], (1,))
np.reshape(3, (1,))
np.reshape([1, 2, 3, 4], (2, 2))
np.reshape(a, (-2,))
a.reshape(3, 2)
a.reshape(3, -1)
a.reshape((3, 2), order='F')
a.reshape(6, copy=True)
np.ravel(a)
np.ravel(v)
np.ravel(a.T)
np.ravel(a.T, 'F')
np.ravel(a, 'F')
np.ravel(f)
np.ravel(f, 'F')
np.ravel(f, 'A')
np.ravel(f, 'K')
np.ravel(d.transpose(1, 0, 2), 'K')
np.ravel(d.transpose(1, 0, 2))
np.ravel(v[0])
np.ravel([[1, 2], [3, 4]])
np.ravel(e)
a.ravel()
a.flatten()
np.transpose(a)
np.transpose(d, (1, 2, 0))
np.transpose(d, (-1, 0, 1))
np.transpose(v)
np.transpose(v[0])
np.transpose([[1, 2], [3, 4]])
np.permute_dims(d, (2, 0, 1))
np.matrix_transpose(d)
np.matrix_transpose(a)
np.swapaxes(d, 0, 2)
np.swapaxes(d, -1, -2)
np.moveaxis(d, 0, -1)
np.moveaxis(d, (0, 1), (-1, -2))
np.moveaxis(d, [2, 0], [0, 1])
np.rollaxis(d, 2)
np.rollaxis(d, 0, 3)
np.rollaxis(d, -1, 1)
np.squeeze(a)
np.squeeze(a[None])
np.squeeze(a[:, None, :, None], 1)
np.squeeze(a[:, None, :, None], (1, -1))
np.squeeze(v[None, :1])
np.squeeze(v[0])
np.squeeze(e)
np.squeeze(e, 0)
np.expand_dims(a, 0)
np.expand_dims(a, (0, -1))
np.expand_dims(a.T, 1)
np.expand_dims(3, 0)
np.expand_dims(e, (0, 1))
np.atleast_1d(a) is a
np.atleast_1d(3)
np.atleast_1d(e)
np.atleast_1d(v[0])
np.atleast_1d()
np.atleast_1d(1, [2, 3])
np.atleast_2d(v)
np.atleast_2d(3)
np.atleast_2d(d) is d
np.atleast_3d(v)
np.atleast_3d(a)
np.atleast_3d(e)
np.broadcast_to(v, (2, 3))
np.broadcast_to(a, (4, 2, 3)).strides
np.broadcast_to(v, (2, 3)).flags.writeable
np.broadcast_to(v[0], 2)
np.broadcast_to(3, (2, 2))
np.broadcast_to(v, (0, 3))
np.broadcast_to(z, (2, 0, 3))
np.broadcast_arrays(a, a)
np.broadcast_arrays()
np.broadcast_shapes((2, 1), (1, 3))
np.broadcast_shapes(2, (4, 1))
np.flip(a)
q = np.array(2.5); q[...] = 4; np.flip(q), hash(np.flip(q, ()))
np.flip(a, 0)
np.flip(d, (0, -1))
np.flip(e)
np.flip([1, 2])
np.flip(z)
np.flipud(a)
np.fliplr(a)
np.rot90(a)
np.rot90(a, 2)
np.rot90(a, 3)
np.rot90(a, 4)
np.rot90(a, -1)
np.rot90(d, 1, (1, 2))
np.rot90(d, 1, (2, 0))
np.split(w, [2, 5])
np.split(a, 2)
np.split(a, 3, axis=1)
np.split(a, 3, -1)
np.split(w, np.array([1, 3]))
np.split(w, [5, 2, 9, -1])
np.split(a, i[0, 2])
np.array_split(w, 3)
np.array_split(w, [])
np.array_split(w, 9)
np.array_split([1, 2, 3], 2)
np.array_split(d, 3, axis=2)
np.hsplit(a, 3)
np.hsplit(w, [3])
np.vsplit(a, 2)
np.dsplit(d, 2)
np.split(a, 3, axis=1)[1]
np.split(w, 7)[3]
np.unstack(a)
np.unstack(a, axis=1)
np.unstack(v)
np.unstack(a, axis=1)[2]
np.trim_zeros(np.array([0, 0, 1, 2, 0]))
np.trim_zeros(m)
np.trim_zeros(m, axis=1)
np.trim_zeros(m, 'f')
np.trim_zeros(m, 'b', axis=-1)
np.trim_zeros(m * 0)
np.trim_zeros([0, 1, 0])
np.trim_zeros(np.array([0.0, 1, 0, 2, 0]), 'B')
np.squeeze(a) is a, a.squeeze(()) is a
np.squeeze(e, (0,))
np.squeeze(e, 0)
np.lib.stride_tricks.as_strided(d, (1, 2, 3))
np.lib.stride_tricks.as_strided(d.T, (1, 2, 2))
"""

WRITES = """
r = np.reshape(a, (3, 2)); r[0] = 7; a
r = np.reshape(a.T, 6); r[0] = 7; a
r = np.reshape(f, 12); r[0] = 7; f
r = np.reshape(f, 12, order='F'); r[1] = 7; f
r = np.reshape(a, (3, 2), copy=True); r[0] = 7; a
r = np.reshape(a[:, ::2], (4, 1)); r[0] = 7; a
r = np.reshape(d[:, :2], (2, 2, 2, 2)); r[0, 1, 1] = 7; d
r = np.reshape(e, (1, 1)); r[0, 0] = 7; e
a[0, 0] = 5; r = np.reshape(a, 6); a[0, 1] = 6; r
r = np.ravel(a); r[2] = 7; a
r = np.ravel(a.T); r[2] = 7; a
r = np.ravel(f, 'K'); r[2] = 7; f
r = np.transpose(d, (1, 2, 0)); r[1, 2] = 7; d
r = np.swapaxes(a, 0, 1); r[1] += 7; a
r = np.moveaxis(d, 0, -1); r[1, 1] *= 7; d
r = np.rollaxis(d, 2); r[1] = 7; d
r = np.squeeze(a[None]); r[0] = 7; a
r = np.expand_dims(v, 0); r[0, 1] = 7; v
r = np.atleast_2d(v); r[0, 1] = 7; v
r = np.atleast_1d(e); r[0] = 7; e
r = np.atleast_3d(a); r[0] = 7; a
r = np.flip(a); r[0] = 7; a
r = np.flip(d, (0, 2)); r[0, 1, 1:] = 7; d
r = np.rot90(a); r[0] = 7; a
r = np.rot90(a, 2); r[0, 0] = 7; a
r = np.rot90(a, 4); r[0, 0] = 7; a
p, q = np.split(a, 2); q[...] = 7; a
p = np.array_split(w, 3); p[1][0] = 7; w
p = np.hsplit(a, 3); p[2] += 1; a
p = np.unstack(a, axis=1); p[1][:] = 0; a
r = np.trim_zeros(m); r[0, 0] = 9; m
r = np.roll(w, 1); r[0] = 9; w
r = np.tile(w, 1); r[0] = 9; w
r = np.repeat(w, 1); r[0] = 9; w
r = np.concatenate([w]); r[0] = 9; w
r = np.delete(w, []); r[0] = 9; w
r = np.resize(w, 7); r[0] = 9; w
r = np.pad(w, 0); r[0] = 9; w
r = np.block(w); r[0] = 9; w
r = np.astype(w, float); r[0] = 9; w
r = np.astype(w, float, copy=False); r[0] = 9; w
np.copyto(a, 3); a
np.copyto(a, v); a
np.copyto(a[:, 1], [5, 6]); a
np.copyto(a, i, where=i > 2); a
np.copyto(a, 0.0, where=b); a
np.copyto(i, 2.7, casting='unsafe'); i
np.copyto(i, True); i
np.copyto(u, 7, where=b); u
np.copyto(a, v, where=[[True], [False]]); a
np.copyto(a.T, 1, where=False); a
np.copyto(o, 5); o.tolist()
np.copyto(w, w[::-1]); w
"""

JOINING = """
np.concatenate([a, a])
np.concatenate((a, i), axis=1)
np.concatenate([a, i], axis=-1)
np.concatenate([a, i], axis=None)
np.concatenate([1, np.float32(2)], axis=None)
np.concatenate([[1, 2], [3.5]])
np.concatenate([u, h])
np.concatenate([b, u])
np.concatenate([v, c])
np.concatenate([z, a])
np.concatenate([v])
np.concatenate(d)
np.concatenate(d, axis=1)
np.concatenate(d, axis=None)
np.concatenate(d, axis=-2, dtype='f4')
np.concatenate(z.T)
np.concatenate([f, f]).flags.f_contiguous
np.concatenate([f, f], axis=1).strides
np.concatenate([a, a], dtype=np.float32)
np.concatenate([a], dtype=int, casting='unsafe')
np.concatenate([a, i], out=np.zeros((4, 3)))
out = np.zeros((4, 3), 'f4'); r = np.concatenate([a, i], out=out); (r is out, out)
np.concatenate([o, o]).tolist()
np.concatenate([t, ['longer']])
np.concat([a, a])
np.stack([a, a])
np.stack([a, i], axis=1)
np.stack([a, i], -1)
np.stack([1, 2])
np.stack([v[0], v[1]])
np.stack(a)
np.stack(a, axis=1)
np.stack([u, u], dtype=int)
np.stack([a, a], out=np.zeros((2, 2, 3)))
np.vstack([v, v])
np.vstack([a, v, [1, 2, 3]])
np.vstack(a)
np.vstack([1, 2])
np.vstack([i, i], dtype='f4')
np.row_stack([v, v])
np.hstack([1, 2])
np.hstack([v, 3, w])
np.hstack([a, i])
np.hstack(d)
np.hstack([v, v], dtype='f4')
np.dstack([v, v])
np.dstack([a, a])
np.dstack(a)
np.column_stack([v, [1, 2, 3]])
np.column_stack([a, [1, 2]])
np.column_stack([1, 2])
np.column_stack(a)
np.block([[a, a], [i, i]])
np.block([v, 3])
np.block([[1, 2], [3, 4]])
np.block([[a], [v]])
np.block(3)
np.block([[[1]], [[2]]])
np.block([d, d])
np.vstack([v, [1, 2, 3]], casting="no")
np.vstack([v, v], casting="unheard")
np.concatenate([v, v], casting="same_value")
np.concatenate([a, a], axis=True)
np.insert(v, 1.5, 1); v + 1
"""

REARRANGING = """
np.roll(w, 2)
np.roll(w, -2)
np.roll(w, 100)
np.roll(w, 0)
np.roll(a, 1)
np.roll(a, 1, axis=1)
np.roll(d, (1, 2), axis=(0, 2))
np.roll(d, 1, axis=(0, 2))
np.roll(d, (1, 1), axis=(1, 1))
np.roll(w, (1, 2), axis=0)
np.roll(a, 1.7)
np.roll(e, 1)
np.roll(z, 2)
np.roll(z, 2, axis=1)
np.roll(w, i.sum())
np.roll(w, i.sum() * 2 + 1)
np.roll(w, -(i * 2).sum(), axis=0)
np.roll(d, (i[0] + 1)[1], axis=2)
np.roll(w, i[0, 1:2])
np.roll(f, 1, axis=0).flags.f_contiguous
np.roll([1, 2, 3], 1)
np.roll(o, 1).tolist()
np.tile(v, 2)
np.tile(v, (2, 2))
np.tile(a, 2)
np.tile(a, (2, 1, 2))
np.tile(a, ())
np.tile(3, 3)
np.tile(a, (0, 2))
np.tile(z, (2, 2))
np.tile(d, (1, 2))
np.tile(a, i[0, 2])
np.repeat(v, 2)
np.repeat(a, 2)
np.repeat(a, 2, axis=1)
np.repeat(a, 2, axis=0)
np.repeat(a, [1, 2], axis=0)
np.repeat(a, [0, 2, 1], axis=-1)
np.repeat(a, [2], axis=1)
np.repeat(a, 0)
np.repeat(3, 4)
np.repeat(v[0], 2, axis=0)
np.repeat(i, i.ravel())
np.repeat(v, i[0])
np.repeat(z, 2, axis=0)
np.repeat(a, 1.5)
np.repeat(a, [1.5, 2.5], axis=0)
a.repeat(2, axis=1)
np.resize(a, (3, 5))
np.resize(a, 4)
np.resize(v, (2, 2))
np.resize(3, 2)
np.resize(z, (2, 2))
np.resize(a, (0, 2))
np.append(a, v)
np.append(v, 3)
np.append(a, i, axis=0)
np.append(a, [[9, 8, 7]], axis=0)
np.append(u, 5)
np.append([], [1, 2])
np.insert(w, 2, 9)
np.insert(w, -2, 9)
np.insert(w, 7, 9)
np.insert(w, 2, [8, 9])
np.insert(w, [1, 3], [8, 9])
np.insert(w, [3, 1], [8, 9])
np.insert(w, [1, 1], 9)
np.insert(w, [-1, 0], [8, 9])
np.insert(w, slice(1, 6, 2), 9)
np.insert(w, [], 5)
np.insert(w, i[0] * 2, v)
np.insert(a, 1, 5)
np.insert(a, 1, 5, axis=1)
np.insert(a, 1, [1, 2], axis=1)
np.insert(a, [1], [[7], [8]], axis=1)
np.insert(a, [0, 2], v[:2], axis=1)
np.insert(a, 1, v, axis=0)
np.insert(i, 1, 5.7, axis=0)
np.insert(d, 1, a[:, :1], axis=1).shape
np.insert(f, 1, 5, axis=1).flags.f_contiguous
np.insert(v, np.array([True, False, True]), 9)
np.delete(w, 2)
np.delete(w, -1)
np.delete(w, [1, 3])
np.delete(w, [1, 1, -1])
np.delete(w, slice(1, 5, 2))
np.delete(w, slice(None, None, -2))
np.delete(w, slice(2, 2))
np.delete(w, [])
np.delete(w, slice(None))
np.delete(w, [0, 2, 4, 6])
np.delete(a, 1)
np.delete(a, 1, axis=1)
np.delete(a, [0, 2], axis=1)
np.delete(a, [True, False], axis=0)
np.delete(v, b)
np.delete(w, i[0])
np.delete(w, i[0, 2])
np.delete(f, 1, axis=1).flags.f_contiguous
np.ndim(a)
np.ndim([[1]])
np.ndim(3)
np.shape(a)
np.shape([[1, 2]])
np.shape(3)
np.size(a)
np.size(a, 1)
np.size(a, (0, 1))
np.size([1, 2])
np.astype(a, int)
np.astype(v[0], 'f4')
np.astype(np.longdouble(1.5), 'f4'), repr(np.astype(np.longdouble(1.5), 'f4'))
np.astype(v[0], 'U4'), np.astype(v[0], object)
np.astype(a, float, copy=False) is a
np.astype(f, 'f4').flags.f_contiguous
np.astype(u, bool)
"""

PADDING = """
np.pad(v, 2)
np.pad(a, 1)
np.pad(a, (1, 2))
np.pad(a, ((1, 2), (3, 0)))
np.pad(a, ((1,), (2,)))
np.pad(a, {1: (1, 2)})
np.pad(a, {-1: 2, 0: 1})
np.pad(a, [[1, 1]])
np.pad(a, np.array([1, 2]))
np.pad(a, i[0, 1])
np.pad(a, 0)
np.pad(e, 1)
np.pad(3, 1)
np.pad(z, 1)
np.pad(u, 1, constant_values=9)
np.pad(i, 1, constant_values=2.7)
np.pad(a, 1, constant_values=(1, 2))
np.pad(a, (1, 2), constant_values=((1, 2), (3, 4)))
np.pad(a, 1, constant_values=((1,), (2,)))
np.pad(a, 1, constant_values=v[0])
np.pad(a, 1, constant_values=v.sum() * 2)
np.pad(a, 1, constant_values=[v.sum() * 2, 0])
np.pad(b, 1, constant_values=True)
np.pad(c, 1, constant_values=1j)
np.pad(f, 1).flags.f_contiguous
np.pad(o, 1).tolist()
np.pad(a, 1, mode='empty').shape
np.pad(a, 2, 'edge')
np.pad(d, ((1, 0), (0, 2), (1, 1)), 'edge')
np.pad(o, 1, 'edge').tolist()
np.pad(a, 3, 'linear_ramp')
np.pad(a, 2, 'linear_ramp', end_values=(5, -4))
np.pad(i, (2, 3), 'linear_ramp', end_values=((5, -4), (1, 2)))
np.pad(u, 3, 'linear_ramp')
np.pad(a, 2, 'linear_ramp', end_values=v.sum() * 2)
np.pad(a, 2, 'maximum')
np.pad(a, 2, 'minimum', stat_length=2)
np.pad(i, (2, 1), 'maximum', stat_length=((1, 2), (2, 1)))
np.pad(a, 2, 'mean')
np.pad(i, 2, 'mean')
np.pad(u, 1, 'mean', stat_length=2)
np.pad(h, 1, 'mean')
np.pad(c, 1, 'mean')
np.pad(w, 2, 'mean', stat_length=(2, 3))
np.pad(a, 2, 'median')
np.pad(i, 1, 'median')
np.pad(d, 1, 'median', stat_length=2)
np.pad(np.array([1, np.nan, 3]), 1, 'median')
np.pad(np.array([1, np.nan, 3]), 1, 'maximum')
np.pad(w, 3, 'reflect')
np.pad(a, 1, 'reflect')
np.pad(a, 5, 'reflect')
np.pad(w, (20, 9), 'reflect')
np.pad(v, (7, 1), 'reflect', reflect_type='odd')
np.pad(a, 3, 'reflect', reflect_type='odd')
np.pad(u, 4, 'reflect', reflect_type='odd')
np.pad(v[:1], 3, 'reflect')
np.pad(a, 1, 'symmetric')
np.pad(a, 7, 'symmetric')
np.pad(v, (1, 8), 'symmetric', reflect_type='odd')
np.pad(a, 1, 'wrap')
np.pad(a, 7, 'wrap')
np.pad(w, (3, 20), 'wrap')
np.pad(v[:1], 3, 'wrap')
np.pad(z, ((0, 0), (1, 1)), 'edge')
np.pad(b, 1, 'wrap')
"""

ERRORS = """
np.reshape(a, (-1, -1))
np.reshape(a, (4, -1))
np.reshape(a, 4)
np.reshape(a, (3, 2), order='K')
np.reshape(a, (3, 2), order='Q')
np.reshape(a.T, 6, copy=False)
np.reshape(a, (2.0, 3))
np.reshape(z, (0, -1))
np.ravel(a, 'Q')
np.transpose(a, (0,))
np.transpose(a, (0, 0))
np.transpose(a, (0, 5))
np.matrix_transpose(v)
np.swapaxes(a, 0, 3)
np.moveaxis(a, 0, (0, 1))
np.moveaxis(a, 3, 0)
np.rollaxis(a, 1, 5)
np.squeeze(a, 0)
np.squeeze(a[None], (0, 0))
np.squeeze(a, 5)
np.expand_dims(a, 5)
np.expand_dims(a, (0, 0))
np.broadcast_to(a, (3,))
np.broadcast_to(a, ())
np.broadcast_to(a, (-1, 3))
np.broadcast_to(a, (2, 4))
np.broadcast_to(v, (2, 3)).__setitem__(0, 1)
np.broadcast_arrays(a, [1, 2])
np.broadcast_shapes((2,), (3,))
np.concatenate(5)
np.concatenate((x for x in [a]))
np.concatenate([])
np.concatenate([1, 2])
np.concatenate([a, a], axis=4)
np.concatenate([a, [1]])
np.concatenate([a, np.zeros((2, 4))])
np.concatenate([a], out=np.zeros((3, 3)))
np.concatenate([a], dtype=int)
np.concatenate([a], out=np.zeros((2, 3), int))
np.concatenate([a], dtype=int, out=a)
np.stack([])
np.stack([a, a[0]])
np.stack((x for x in [a]))
np.stack([a], axis=5)
np.vstack([])
np.vstack((x for x in [a]))
np.vstack([a, [1, 2]])
np.hstack([a, v])
np.block([1, (2,)])
np.block([])
np.block([[1], 2])
np.block([a, [1]])
np.split(a, 2, axis=1)
np.split(3, 1)
np.array_split(a, 0)
np.array_split(a, 2, axis=3)
np.hsplit(3, 1)
np.vsplit(w, 2)
np.dsplit(a, 2)
np.unstack(e)
np.unstack(3)
np.fliplr(v)
np.flipud(e)
np.flip(a, 5)
np.flip(a, (0, 0))
np.rot90(a, 1, (0, 0))
np.rot90(a, 1, (0, 7))
np.rot90(v)
np.roll(a, 1, axis=4)
np.roll(a, [[1, 2]], axis=0)
np.tile(a, -1)
np.tile(a, 1.5)
np.repeat(a, -1)
np.repeat(a, [1, -2], axis=0)
np.repeat(a, [1, 2], axis=1)
np.repeat(3, 2, axis=1)
np.repeat(a, np.array([1.5, 2.5]), axis=0)
np.resize(a, -1)
np.append(a, v, axis=0)
np.insert(w, 8, 1)
np.insert(w, [1, 9], 1)
np.insert(w, [[1]], 1) if False else np.insert(w, [[1, 2]], 1)
np.insert(a, 1, [1, 2], axis=0)
np.insert(a, 1, 1, axis=4)
np.delete(w, 9)
np.delete(w, [9])
np.delete(w, [1, 9])
np.delete(w, 1.0)
np.delete(w, [True, False])
np.copyto([1], 2)
np.copyto(i, 1.5)
np.copyto(i, v)
np.copyto(a, [1, 2])
np.copyto(u, 300)
np.copyto(a, 1, where=[True, False])
np.copyto(a, 1, where=v)
np.copyto(np.broadcast_to(v, (2, 3)), 1)
np.astype([1], float)
np.astype(a, float, device='gpu')
np.size(a, 5)
np.size(a, (0, 0))
np.pad(a, 1.5)
np.pad(a, -1)
np.pad(a, 1, mode='foo')
np.pad(a, 1, mode='edge', x=1)
np.pad(z, 1, mode='edge')
np.pad(a, ((1, 2), (3, 4), (5, 6)))
np.pad(a, 1, mode='maximum', stat_length=0)
np.pad(a, 1, mode='reflect', stat_length=2)
np.trim_zeros(v, 'x')
np.trim_zeros(v, axis=3)
"""

MESSAGES = """
np.reshape(a, (-1, -1))
np.reshape(a, (4, -1))
np.reshape(a, 4)
np.reshape(a, (3, 2), order='K')
np.reshape(a.T, 6, copy=False)
np.transpose(a, (0,))
np.matrix_transpose(v)
np.moveaxis(a, 3, 0)
np.rollaxis(a, 1, 5)
np.squeeze(a, 0)
np.broadcast_to(a, (2, 4))
np.concatenate([])
np.concatenate([1, 2])
np.concatenate([a, [1]])
np.concatenate([a, np.zeros((2, 4))])
np.concatenate([a], dtype=int)
np.stack([a, a[0]])
np.block([[1], 2])
np.split(a, 2, axis=1)
np.rot90(a, 1, (0, 7))
np.repeat(a, [1, 2], axis=1)
np.insert(w, 8, 1)
np.delete(w, 9)
np.copyto(i, v)
np.copyto(a, [1, 2])
np.copyto(a, 1, where=[True, False])
np.pad(a, 1, mode='foo')
np.pad(z, 1, mode='edge')
"""


@pytest.mark.parametrize("program", rows(VIEWS) + rows(WRITES))
def test_views(program: str) -> None:
    check(program, DATA, exact=True)


@pytest.mark.parametrize("program", rows(JOINING) + rows(REARRANGING))
def test_copies(program: str) -> None:
    check(program, DATA, exact=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's median of nan
@pytest.mark.parametrize("program", rows(PADDING))
def test_padding(program: str) -> None:
    check(program, DATA)


def test_padding_by_a_function() -> None:
    program = (
        "def p(x, w, axis, kw):\n"
        "    x[:w[0]] = 7 + axis\n"
        "    x[len(x) - w[1]:] = kw['k']\n"
        "np.pad(a, (1, 2), p, k=9)"
    )
    check(program, DATA)


@pytest.mark.parametrize("program", rows(ERRORS))
def test_errors(program: str) -> None:
    check(program, DATA)


@pytest.mark.parametrize("program", rows(MESSAGES))
def test_message(program: str) -> None:
    check(program, DATA, message=True)


# -- laziness ---------------------------------------------------------------------------------

LAZY = """
np.reshape(x, (3, 2))
np.concatenate([x, x])
np.stack([x, x])
np.block([[x, x]])
np.roll(x, 1)
np.roll(x, s)
np.tile(x, 2)
np.repeat(x, 2)
np.pad(x, 2, 'reflect')
np.pad(x, 2, 'median')
np.insert(x, 1, s)
np.delete(x, 1)
np.split(x, 2)[0]
np.flip(x)
np.resize(x, 9)
np.hstack([s, s])
"""


@pytest.mark.parametrize("program", rows(LAZY))
def test_computes_nothing(program: str) -> None:
    """Traced, so that there are no values to compute with."""

    def traced(x: Any, s: Any) -> Any:
        return eval(program, {"np": lazynp, "x": x, "s": s})

    make_jaxpr(traced)(np.ones((2, 3)), 3)


def test_one_program_serves_every_lazy_shift(compiles: Any) -> None:
    if lazynp.config.execution != "compiled":
        pytest.skip("about compiled programs")
    x = lazynp.array(np.arange(9.0))
    shifts = [lazynp.array([k, 0]) for k in range(-4, 14)]
    lazynp.roll(x, shifts[0].sum()).tolist()
    compiles.restart()
    for k, shift in enumerate(shifts):
        assert lazynp.roll(x, shift.sum()).tolist() == np.roll(np.arange(9.0), k - 4).tolist()
    assert compiles.since <= 1


# -- any shape, any axis ----------------------------------------------------------------------

shapes = st.sampled_from([(3,), (2, 3), (1, 3), (2, 1, 4), (0, 3), (2, 3, 2)])


def filled(shape: tuple[int, ...]) -> Any:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


@given(shapes, st.data())
def test_any_chain_of_views(shape: tuple[int, ...], data: Any) -> None:
    """Chains of views with a final write: NumPy decides which is a view of which."""
    steps, ndim = [], len(shape)
    for _ in range(data.draw(st.integers(1, 4))):
        axis = data.draw(st.integers(0, ndim - 1))
        step = data.draw(
            st.sampled_from(
                ["y.T", f"np.flip(y, {axis})", f"np.moveaxis(y, {axis}, -1)", "y[..., 1:]",
                 "y[::-1]", "np.ravel(y)", "np.expand_dims(y, 0)", "np.reshape(y, y.shape[::-1])",
                 "np.ravel(y, 'K')", "np.reshape(y, y.shape[::-1], order='F')", "np.squeeze(y)"]
            )
        )  # fmt: skip
        steps.append(f"y = np.atleast_1d({step})")
        probe: dict[str, Any] = {"np": np, "y": filled(shape)}
        exec("\n".join(steps), probe)
        ndim = probe["y"].ndim
    program = "y = x\n" + "\n".join(steps) + "\ny[:1] = -5\n(y, x)"
    check(program, {"x": filled(shape)}, exact=True)


@given(shapes, st.integers(-7, 7), st.data())
def test_any_roll(shape: tuple[int, ...], shift: int, data: Any) -> None:
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    check("np.roll(x, shift, axis)", {"x": filled(shape), "shift": shift, "axis": axis}, exact=True)


MODES = ["constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect",
         "symmetric", "wrap"]  # fmt: skip


@given(st.sampled_from([(3,), (2, 3), (1, 3)]), st.sampled_from(MODES), st.data())
def test_any_padding(shape: tuple[int, ...], mode: str, data: Any) -> None:
    width = st.integers(0, 7)
    widths = data.draw(st.lists(st.tuples(width, width), min_size=len(shape), max_size=len(shape)))
    x = filled(shape) * 1.5
    check("np.pad(x, widths, mode)", {"x": x, "widths": widths, "mode": mode})


@given(st.data())
def test_any_insert_and_delete(data: Any) -> None:
    shape = data.draw(st.sampled_from([(4,), (2, 3), (3, 2)]))
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    n = int(np.prod(shape)) if axis is None else shape[axis]
    places = data.draw(st.lists(st.integers(-n, n - 1), max_size=4))
    names = {"x": filled(shape), "axis": axis, "places": places}
    check("np.insert(x, places, 9, axis)", names, exact=True)
    check("np.delete(x, places, axis)", names, exact=True)


def test_squeezing_a_number_makes_no_views() -> None:
    for number in (np.float64(2.5), np.int8(3), np.bool_(True), np.complex64(1j)):
        out = lazynp.squeeze(number)
        assert isinstance(out, lazynp.generic) and out == np.squeeze(number)
        assert out.dtype == number.dtype and type(lazynp.squeeze(number.item())) is lazynp.ndarray
        calls = calls_of(lambda x=number: lazynp.squeeze(x))
        assert not [c for c in calls if c.startswith("_views.py") and c != "_views.py: call"]
    with pytest.raises(np.exceptions.AxisError):
        lazynp.squeeze(np.float64(2.5), 1)
