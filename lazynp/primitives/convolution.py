"""Convolution in any number of dimensions: one primitive and its rules.

x is (batch, channels, *space), the kernel (outs, channels / groups, *window), the result (batch,
outs, *space). The kernel is not flipped. x gets d - 1 zeros between its elements (dilation d), l
zeros before and h zeros behind them (padding). With steps s and kernel dilation e,

out[b, o, p] = sum over c, k of x[b, c, p * s + k * e] * kernel[o, c, k]

where o uses the channels of its own group. Negative padding crops.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazynp._avals import Aval, aval_of
from lazynp._primitive import Primitive, Undefined
from lazynp._sizes import largest
from lazynp.primitives import elementwise, shaping
from lazynp.primitives._axes import of_one_dtype
from lazynp.primitives._index_arrays import take

Sizes = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]

_FLOAT32, _FLOAT64, _INT64 = np.dtype("f4"), np.dtype("f8"), np.dtype("i8")
# channels: with so few, the library's float32 takes up to 20 times as long as a plain float64 loop
_FEW = 16


def _spread(size: int, dilation: int) -> int:
    """The extent of this many elements with dilation - 1 zeros between them."""
    if dilation == 1:
        return size
    return (size - 1) * dilation + 1 if size else 0


def _windows(size: int, window: int, step: int) -> int:
    return largest((size - window) // step + 1, 0)


# -- rules -----------------------------------------------------------------------------------------


def _abstract(
    x: Aval, kernel: Aval, *, strides: Sizes, padding: Padding, dilation: Sizes,
    kernel_dilation: Sizes, groups: int,
) -> Aval:  # fmt: skip
    n = x.ndim - 2
    if x.dtype != kernel.dtype:
        raise TypeError(f"convolution: operands of one dtype are required, got {x} and {kernel}")
    lengths = {len(strides), len(padding), len(dilation), len(kernel_dilation)}
    if n < 1 or kernel.ndim != x.ndim or lengths != {n}:
        raise ValueError(
            f"convolution: operands (batch, channels, *space) and (outs, channels, *window), and "
            f"as many strides, paddings and dilations, are required, got {x} and {kernel}"
        )
    if x.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
        raise ValueError(f"convolution: channels do not fit: {x} and {kernel}, groups={groups}")
    space = [
        _windows(_spread(size, d) + sum(pad), _spread(window, e), s)
        for size, window, s, pad, d, e in zip(
            x.shape[2:], kernel.shape[2:], strides, padding, dilation, kernel_dilation, strict=True
        )
    ]
    return aval_of((x.shape[0], kernel.shape[0], *space), x.dtype)


def _met(
    size: int, dilation: int, low: int, step: int, start: int, count: int
) -> tuple[slice, slice] | None:
    """Which of the results meet an element of x at one place of the window, and which elements.
    Zeros around and between these are left out: infinity times zero would be nan.
    """
    at = np.arange(count) * step + start - low
    met = np.flatnonzero((at >= 0) & (at < _spread(size, dilation)) & (at % dilation == 0))
    if not met.size:
        return None
    hop = int(met[1] - met[0]) if met.size > 1 else 1
    first, last = int(at[met[0]]) // dilation, int(at[met[-1]]) // dilation
    seen = slice(first, last + 1, max(1, hop * step // dilation))
    return slice(int(met[0]), int(met[-1]) + 1, hop), seen


def _line(x: Any, taps: Any, low: int, count: int) -> Any:
    """The sums in one dimension, all of whose windows touch x."""
    if low == 0 and count == x.size - taps.size + 1:
        return np.correlate(x, taps, "valid")
    before = taps.size - 1 - low
    return np.correlate(x, taps, "full")[before : before + count]


def _reference(
    x: Any, kernel: Any, *, strides: Sizes, padding: Padding, dilation: Sizes,
    kernel_dilation: Sizes, groups: int,
) -> Any:  # fmt: skip
    """A matrix product for each place in the window; np.correlate if that one call suffices."""
    dtype = np.result_type(x, kernel)
    x, kernel = np.asarray(x, dtype), np.asarray(kernel, dtype)
    axes = list(
        zip(x.shape[2:], kernel.shape[2:], strides, padding, dilation, kernel_dilation, strict=True)
    )
    space = [_windows(_spread(n, d) + sum(pad), _spread(k, e), s) for n, k, s, pad, d, e in axes]
    out = np.zeros((x.shape[0], kernel.shape[0], *space), dtype)
    if not x.size or not kernel.size or not out.size:
        return out
    if x.size == x.shape[-1] and kernel.size == kernel.shape[-1] == axes[-1][1] and len(axes) == 1:
        n, k, s, (low, high), d, e = axes[0]
        if d == e == 1 and 0 <= low < k and 0 <= high < k:
            taps = kernel[0, 0].conj() if dtype.kind == "c" else kernel[0, 0]  # bools: int8
            return _line(x[0, 0], taps, low, n + low + high - k + 1)[::s].reshape(out.shape)
    ins, outs = kernel.shape[1], kernel.shape[0] // groups
    for offset in itertools.product(*map(range, kernel.shape[2:])):
        met = [
            _met(n, d, low, s, k * e, count)
            for k, count, (n, _, s, (low, _), d, e) in zip(offset, space, axes, strict=True)
        ]
        if None in met:
            continue
        here, seen = zip(*met)  # type: ignore[arg-type]
        for g in range(groups):
            of_x = x[(slice(None), slice(g * ins, (g + 1) * ins), *seen)]
            of_kernel = kernel[(slice(g * outs, (g + 1) * outs), slice(None), *offset)]
            term = np.moveaxis(np.tensordot(of_kernel, of_x, (1, 1)), 0, 1)
            part = out[(slice(None), slice(g * outs, (g + 1) * outs), *here)]
            (np.logical_or if dtype.kind == "b" else np.add)(part, term, out=part)
    return out


def _lower(
    b: Any, x: Any, kernel: Any, *, strides: Sizes, padding: Padding, dilation: Sizes,
    kernel_dilation: Sizes, groups: int,
) -> Any:  # fmt: skip
    out = _abstract(
        x.aval, kernel.aval, strides=strides, padding=padding, dilation=dilation,
        kernel_dilation=kernel_dilation, groups=groups,
    )  # fmt: skip
    dtype = out.dtype
    if not out.size or not x.aval.size or not kernel.aval.size:
        return b.constant(False if dtype.kind == "b" else 0, dtype, out.shape)
    wide = dtype
    if dtype.kind == "b" or dtype == np.dtype("f2"):  # or-of-and is a count; float16 as in NumPy
        wide = _FLOAT32
    if b.platform.host and wide == _FLOAT32 and kernel.aval.shape[0] * kernel.aval.shape[1] < _FEW:
        wide = _FLOAT64
    y = _of_parts(
        b, b.convert(x, wide), b.convert(kernel, wide), strides=strides, padding=padding,
        lhs_dilation=dilation, rhs_dilation=kernel_dilation, feature_groups=groups,
    )  # fmt: skip
    if dtype.kind == "b":
        return b.compare(y, b.constant(0.0, wide, out.shape), "NE")
    return b.convert(y, dtype)


def _of_parts(b: Any, x: Any, kernel: Any, **params: Any) -> Any:
    """A convolution by those that the platform has: of complex numbers by their parts, as a product
    of two is computed.
    """
    own, dtype = b.platform.convolves, x.aval.dtype
    if dtype.kind == "c" and own:
        x_re, x_im, k_re, k_im = b.real(x), b.imag(x), b.real(kernel), b.imag(kernel)
        each = [(x_re, k_re), (x_im, k_im), (x_re, k_im), (x_im, k_re)]
        products = [_of_parts(b, u, v, **params) for u, v in each]
        return b.complex(
            b.binary("stablehlo.subtract", *products[:2]), b.binary("stablehlo.add", *products[2:])
        )
    if own and (dtype.char not in own or x.aval.ndim > 5):
        return _by_sums(b, x, kernel, **params)
    return b.convolution(x, kernel, **params)


def _by_sums(
    b: Any, x: Any, kernel: Any, *, strides: Sizes, padding: Padding, lhs_dilation: Sizes,
    rhs_dilation: Sizes, feature_groups: int,
) -> Any:  # fmt: skip
    """The definition: windows times kernel, added up. XLA makes one loop of it, in which the
    windows are read where they lie.
    """
    n, (batch, channels), dtype = x.aval.ndim - 2, x.aval.shape[:2], x.aval.dtype
    outs, window = kernel.aval.shape[0], kernel.aval.shape[2:]
    low, high = zip(*padding, strict=True)
    gaps = [d - 1 for d in lhs_dilation]
    x = b.pad(x, b.constant(0, dtype), (0, 0, *low), (0, 0, *high), (0, 0, *gaps))
    space = []
    for s, k, e in list(zip(strides, window, rhs_dilation, strict=True))[::-1]:
        count = _windows(x.aval.shape[-1], _spread(k, e), s)
        first, more = (
            b.binary("stablehlo.multiply", b.iota((count, k), axis, _INT64), step)
            for axis, step in enumerate(b.constant(m, _INT64, (count, k)) for m in (s, e))
        )
        places = b.binary("stablehlo.add", first, more)
        x = take.lower(b, x, places, axes=(x.aval.ndim - 1,))  # its two axes come first
        space.insert(0, count)
    groups, ins = feature_groups, channels // feature_groups
    x = b.reshape(x, (*x.aval.shape[: 2 * n], batch, groups, ins))
    order = (2 * n, 2 * n + 1, *range(0, 2 * n, 2), 2 * n + 2, *range(1, 2 * n, 2))
    x = b.transpose(x, order)
    kernel = b.reshape(kernel, (groups, outs // groups, ins, *window))
    whole = (batch, groups, outs // groups, *space, ins, *window)
    summed = tuple(range(3 + n, 4 + 2 * n))
    x = b.broadcast_in_dim(x, whole, (0, 1, *range(3, 4 + 2 * n)))
    kernel = b.broadcast_in_dim(kernel, whole, (1, 2, *summed))
    terms, add = b.binary("stablehlo.multiply", x, kernel), "stablehlo.add"
    (y,) = b.reduce(
        [terms], [b.constant(0, dtype)], summed,
        lambda b, accs, elems: [b.binary(add, *accs, *elems)], name=add,
    )  # fmt: skip
    return b.reshape(y, (batch, outs, *space))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    (x, kernel), (x_dot, kernel_dot) = primals, tangents
    out = convolution(x, kernel, **params)
    terms = []
    if x_dot is not None:
        terms.append(convolution(x_dot, kernel, **params))
    if kernel_dot is not None:
        terms.append(convolution(x, kernel_dot, **params))
    return out, elementwise.add(*terms) if len(terms) == 2 else terms[0] if terms else None


def _swapped(x: Any, groups: int = 1) -> Any:
    """Exchange the first two axes, within groups of the first."""
    first, second = x.shape[:2]
    space = x.shape[2:]
    x = shaping.reshape(x, shape=(groups, first // groups, second, *space))
    x = shaping.transpose(x, permutation=(0, 2, 1, *range(3, x.ndim)))
    return shaping.reshape(x, shape=(groups * second, first // groups, *space))


def _transpose(
    ct: Any, x: Any, kernel: Any, *, strides: Sizes, padding: Padding, dilation: Sizes,
    kernel_dilation: Sizes, groups: int,
) -> list[Any]:  # fmt: skip
    axes = list(zip(x.aval.shape[2:], kernel.aval.shape[2:], ct.shape[2:], strict=True))
    extents = [
        (_spread(n, d), _spread(k, e), _spread(m, s))
        for (n, k, m), d, e, s in zip(axes, dilation, kernel_dilation, strides, strict=True)
    ]
    lows = [lo for lo, _ in padding]
    # convolve ct, with zeros between its elements, with the reversed kernel
    if isinstance(x, Undefined):
        pads = []
        for (n, k, m), lo in zip(extents, lows, strict=True):
            low = k - lo - 1
            pads.append((low, n + k - 1 - m - low))
        turned = shaping.reverse(_swapped(kernel, groups), axes=tuple(range(2, kernel.ndim)))
        found = convolution(
            ct, turned, strides=dilation, padding=tuple(pads), dilation=strides,
            kernel_dilation=kernel_dilation, groups=groups,
        )  # fmt: skip
        return [found, None]
    pads = [(lo, m + k - n - 1 - lo) for (n, k, m), lo in zip(extents, lows, strict=True)]
    found = convolution(  # the channels become the batch, and the batch the channels
        _by_group(x, groups), _swapped(ct), strides=kernel_dilation, padding=tuple(pads),
        dilation=dilation, kernel_dilation=strides, groups=groups,
    )  # fmt: skip
    return [None, _swapped(found)]


def _by_group(x: Any, groups: int) -> Any:
    """(batch, groups * channels, ...) as (channels, groups * batch, ...)."""
    batch, channels = x.shape[:2]
    x = shaping.reshape(x, shape=(batch, groups, channels // groups, *x.shape[2:]))
    x = shaping.transpose(x, permutation=(2, 1, 0, *range(3, x.ndim)))
    return shaping.reshape(x, shape=(channels // groups, groups * batch, *x.shape[3:]))


def _batch(
    size: int, batched: Sequence[bool], x: Any, kernel: Any, *, groups: int, **params: Any
) -> Any:
    """Examples of x extend its batch, examples of the kernel its outs. If both are batched,
    examples are groups.
    """
    if not batched[1]:
        flat = shaping.reshape(x, shape=(size * x.shape[1], *x.shape[2:]))
        out = convolution(flat, kernel, groups=groups, **params)
        return shaping.reshape(out, shape=(size, x.shape[1], *out.shape[1:]))
    outs = kernel.shape[1]
    if batched[0]:  # (size, batch, channels) -> (batch, size * channels)
        batch = x.shape[1]
        x = shaping.transpose(x, permutation=(1, 0, *range(2, x.ndim)))
        x = shaping.reshape(x, shape=(batch, size * x.shape[2], *x.shape[3:]))
        kernel = shaping.reshape(kernel, shape=(size * outs, *kernel.shape[2:]))
        out = convolution(x, kernel, groups=groups * size, **params)
        out = shaping.reshape(out, shape=(batch, size, outs, *out.shape[2:]))
        return shaping.transpose(out, permutation=(1, 0, *range(2, out.ndim)))
    rest = kernel.shape[2:]
    kernel = shaping.reshape(kernel, shape=(size, groups, outs // groups, *rest))
    kernel = shaping.transpose(kernel, permutation=(1, 0, *range(2, kernel.ndim)))
    kernel = shaping.reshape(kernel, shape=(size * outs, *rest))
    out = convolution(x, kernel, groups=groups, **params)
    space = out.shape[2:]
    out = shaping.reshape(out, shape=(x.shape[0], groups, size, outs // groups, *space))
    out = shaping.transpose(out, permutation=(2, 0, 1, *range(3, out.ndim)))
    return shaping.reshape(out, shape=(size, x.shape[0], outs, *space))


convolution = Primitive(
    "convolution",
    abstract=_abstract,
    explicit=of_one_dtype,
    reference=_reference,
    lower=_lower,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    kind="contract",
)


def plain(x: Any, kernel: Any, padding: Padding) -> Any:
    """One channel, no strides; the arrays have spatial dimensions only."""
    n = x.ndim
    ones = (1,) * n
    out = convolution(
        shaping.reshape(x, shape=(1, 1, *x.shape)),
        shaping.reshape(kernel, shape=(1, 1, *kernel.shape)),
        strides=ones, padding=padding, dilation=ones, kernel_dilation=ones, groups=1,
    )  # fmt: skip
    return shaping.reshape(out, shape=out.shape[2:])
