"""Sums of products of two labelled arrays: the common form of all of NumPy's products.

Each axis of an operand has a label, any hashable. Labels are distinct within an operand. An axis of
size 1 is broadcast against the other operand's axis with the same label.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from lazynp._array import Array
from lazynp.functions._operands import plain
from lazynp.primitives import contraction, elementwise, reduction, shaping

Labels = tuple[Hashable, ...]


def contract(x: Array, xs: Labels, y: Array, ys: Labels, out: Labels) -> Array:
    """The product of x and y, summed over all labels not in `out`. The dtypes must be equal."""
    x, y = plain(x), plain(y)
    x, xs, y, ys = _without_ones(x, xs, y, ys)
    x, xs = summed(x, xs, (*ys, *out))
    y, ys = summed(y, ys, (*xs, *out))
    shared = [label for label in xs if label in ys]
    batch = [label for label in shared if label in out]
    contracted = [label for label in shared if label not in out]
    if not contracted:
        return elementwise.multiply(_aligned(x, xs, out), _aligned(y, ys, out))
    numbers = tuple(
        (tuple(map(xs.index, labels)), tuple(map(ys.index, labels)))
        for labels in (contracted, batch)
    )
    product = contraction.dot_general(x, y, dimension_numbers=numbers)
    free = [label for label in (*xs, *ys) if label not in shared]
    return arranged(product, (*batch, *free), out)


def _without_ones(
    x: Array, xs: Labels, y: Array, ys: Labels
) -> tuple[Array, Labels, Array, Labels]:
    """Drop axes of size 1 that meet a longer axis."""
    x_size, y_size = dict(zip(xs, x.shape, strict=True)), dict(zip(ys, y.shape, strict=True))
    drop_x = [k for k in xs if x_size[k] == 1 and y_size.get(k, 1) != 1]
    drop_y = [k for k in ys if y_size[k] == 1 and x_size.get(k, 1) != 1]
    return *_dropped(x, xs, drop_x), *_dropped(y, ys, drop_y)


def _dropped(x: Array, labels: Labels, drop: Sequence[Hashable]) -> tuple[Array, Labels]:
    if not drop:
        return x, labels
    kept = tuple(label for label in labels if label not in drop)
    shape = tuple(n for n, label in zip(x.shape, labels, strict=True) if label in kept)
    return shaping.reshape(x, shape=shape), kept


def summed(x: Array, labels: Labels, keep: Labels) -> tuple[Array, Labels]:
    """Sum over the axes whose labels are not kept; any() for bools."""
    axes = tuple(k for k, label in enumerate(labels) if label not in keep)
    if not axes:
        return x, labels
    add = reduction.reduce_or if x.dtype.kind == "b" else reduction.reduce_sum
    return add(plain(x), axes=axes), tuple(label for label in labels if label in keep)


def arranged(x: Array, labels: Labels, out: Labels) -> Array:
    """Reorder the axes."""
    if labels == out:
        return x
    return shaping.transpose(x, permutation=tuple(map(labels.index, out)))


def _aligned(x: Array, labels: Labels, out: Labels) -> Array:
    """The axes in the order of `out`, with axes of size 1 for labels that x lacks."""
    x = arranged(x, labels, tuple(label for label in out if label in labels))
    sizes = dict(zip([label for label in out if label in labels], x.shape, strict=True))
    shape = tuple(sizes.get(label, 1) for label in out)
    return x if shape == x.shape else shaping.reshape(x, shape=shape)


def ordered_labels(prefix: Any, n: int) -> Labels:
    """Labels for n leading axes, counted from the last one, so that shapes align at the right."""
    return tuple((prefix, k) for k in range(n, 0, -1))
