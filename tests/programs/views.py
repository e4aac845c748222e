"""Aliasing: writes through one name are visible through the others."""

import numpy as np


def chains_of_views(a):
    """A view of a view of a view, written at each stage."""
    b = a[2:, ::2]
    c = b.T
    d = c[1:-1][::-1]
    d += 100
    c[0] = -1
    b[..., -1] *= 2
    e = d[:, np.newaxis, :]
    e[0, 0, 0] = 7
    return a, b, c, d, e, e.sum(axis=2)


def overlapping(a):
    """Right and left shifts where source and target share memory."""
    b = a.copy()
    a[1:] = a[:-1]
    b[:-1] = b[1:]
    c = np.arange(12.0)
    c[::2] = c[6:]
    c[3:9] += c[:6]
    d = np.arange(9).reshape(3, 3)
    d[...] = d.T
    d += d.T
    return b, c, d


def reshaped(a):
    """ravel and reshape of contiguous arrays are views, of others copies."""
    flat = a.reshape(-1)
    flat[::7] = 0
    blocks = a.reshape(2, a.shape[0] // 2, 2, -1)
    blocks[:, 0, 1] += 1
    copied = a.T.reshape(-1)
    copied[:] = -5
    flat[-1] = 99
    n = min(a.shape)
    a[:n, :n].copy().ravel()[:: n + 1] = 1
    return flat, blocks.sum(axis=(1, 3)), copied


def diagonals(n):
    """Strided stores on the flat array draw diagonals."""
    a = np.zeros((n, n), dtype=int)
    flat = a.ravel()
    flat[:: n + 1] = 2
    flat[1 :: n + 1] = -1
    flat[n :: n + 1] = -1
    b = a.copy()
    i = np.arange(n)
    b[i, i] += 10
    b[i, n - 1 - i] += 5
    return a, b, np.diagonal(b), b.diagonal(1)


def swaps(a):
    """Rows and columns change places through fancy indices, and through tuples of copies."""
    a[[0, 2]] = a[[2, 0]]
    a[:, [1, -1]] = a[:, [-1, 1]]
    a[0], a[1] = a[1].copy(), a[0].copy()
    a[-1] = a[-1, ::-1]
    b = a[::-1]
    b[0, 0] = 1000
    return a, b


def rows_as_views(a):
    """Iteration gives views; so do unpacking and split."""
    for i, row in enumerate(a):
        row *= i
        row[i % 3] = -i
    first, *_, last = a
    first += 1
    last -= 1
    left, right = np.split(a, 2, axis=1)
    left[:] = right
    right[0] = 0
    for part in np.array_split(a, 3):
        part[0, 0] += 50
    return left, right


def in_place_operators(a, b):
    """Every augmented assignment, on floats and on integers."""
    keep = a
    a += 1
    a *= b[0]
    a -= 0.5
    a /= 3
    a **= 2
    a //= 0.1
    a %= 7
    ints = np.arange(10)
    alias = ints[2:8]
    alias <<= 2
    alias |= 1
    alias ^= 0b110
    alias &= 0b111101
    alias >>= 1
    ints //= 3
    return keep is a, keep, ints, alias


def out_arguments(a, b):
    """Results stored where the caller says, into pieces of larger arrays too."""
    work = np.empty((3, *a.shape))
    np.add(a, b, out=work[0])
    np.multiply(a, b, out=work[1])
    np.sqrt(work[1], out=work[1])
    np.maximum(work[0], work[1], out=work[2])
    total = np.zeros(a.shape[1])
    np.sum(work[2], axis=0, out=total)
    np.exp(total / 10, out=total)
    np.negative(a, out=a, where=b > 0.5)
    np.cumsum(b, axis=1, out=b)
    np.clip(b, 0.5, 2, out=b)
    return work, total


def two_buffers(n, steps):
    """Names that change places; a snapshot by copy stays, one by name does not."""
    a, b = np.arange(n), np.zeros(n, dtype=int)
    snapshots, names = [], []
    for i in range(steps):
        b[:] = a
        b[1:] += a[:-1]
        snapshots.append(b.copy())
        names.append(b)
        a, b = b, a
    return snapshots, names, a, b


def complex_parts(z):
    """real and imag are views that can be written."""
    z.real[z.real < 0] = 0
    z.imag *= 2
    z[::2].imag += 1
    conj = z.conj()
    conj.real = 9
    return z, conj, z.real.sum(), np.abs(z).max()


def masks_and_fancy(a):
    """Reads are copies, stores reach the array, repeated places keep the last value."""
    picked = a[a > 0.5]
    picked[:] = -1
    a[a > 0.9] = 0.9
    a[[0, 0, 1], [1, 1, 2]] = [5.0, 6.0, 7.0]
    a[np.array([True, False] * (len(a) // 2)), 0] *= -1
    rows = a[[1, 3]]
    rows += 10
    a[1:3][a[1:3] < 0.2] = 0.2
    a[np.ix_([0, 2], [1, 3])] += 100
    a[-1][:] = np.where(a[-1] > 0.3, a[-1], 0)
    b = np.zeros(5, dtype=int)
    b[[1, 1, 3]] += 1
    np.add.at(b, [1, 1, 3], 1)
    return picked, rows, b, np.take(a, [0, -1], axis=1)


def zero_dimensional():
    """0-d arrays are mutable, scalars are not."""
    a = np.array(3.0)
    b = a
    b += 1
    a[...] = a * 2
    c = np.arange(5)
    t = c[2]
    t += 10
    u = c[2, ...]
    u += 10
    m = c.max()
    m -= 1
    return a, b, c, t, u, m, a.item(), a.ndim, float(a) + int(t)


def swapped_axes(a):
    """transpose, swapaxes, moveaxis and flips, each written through."""
    np.swapaxes(a, 0, 2)[0] = 1
    np.moveaxis(a, 0, -1)[..., 0] += 2
    a.transpose(1, 2, 0)[1, 1] = 3
    np.flip(a, axis=1)[:, 0] *= 5
    np.rot90(a[0])[0] -= 4
    np.squeeze(a[:, :1])[0] = 8
    np.broadcast_to(a[0, 0], (2, 2, a.shape[2])).sum()
    return a, a.T.shape, a.swapaxes(0, 1).sum(axis=0)


def late_write_after_read(a):
    """A lazy result must hold the array's earlier value, not its later one."""
    doubled = a * 2
    view = a[1:]
    total = view.sum()
    a[...] = 0
    after = view.sum()
    frozen = a + 1
    for i in range(3):
        a[i] = i
        doubled[i] += a[i]
    return doubled, view, total, after, frozen


def reinterpretation(a):
    """view(dtype) shares bytes; astype does not."""
    words = a.view(np.uint32)
    sign = words >> 31
    words &= 0x7FFFFFFF
    halves = a.astype(np.float16)
    halves[0] = 3
    pairs = words.view(np.uint16).reshape(-1, 2)
    return sign, words, halves, pairs[:, 1] >> 7


def assemble(a):
    """Arrays built from others are copies of these."""
    stacked = np.stack([a, a + 1])
    joined = np.concatenate([a[:1], a[-1:]])
    tiled = np.tile(a[0], (2, 2))
    repeated = np.repeat(a, [1, 0, 2], axis=0)
    padded = np.pad(a, ((1, 0), (0, 2)), constant_values=9)
    blocks = np.block([[a, np.zeros((3, 1))], [np.ones((1, a.shape[1] + 1))]])
    a[:] = -1
    return stacked, joined, tiled, repeated, padded, blocks, np.vstack([a, a]), np.dstack([a, a])
