"""Stateless random numbers: a `Key` and a shape determine them.

They are part of the program like any operation: lazy, and the same under `jit`, `vmap` (each
example with its key), loops and `grad`. Samples of a location and scale family are differentiable
with respect to both. The bits are the same under every execution policy. Do not use a key twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import index
from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._array import Array, from_host, new_array
from lazynp._tree import register_pytree_node
from lazynp.functions import sorting, ufuncs
from lazynp.functions._arguments import shape_argument
from lazynp.functions._distributions import Distributions, accepted, sample_shape
from lazynp.functions._getset import getitem
from lazynp.functions._implicit import at_its_place, gamma_cdf, gamma_density
from lazynp.functions._operands import as_array, broadcast, cast, plain, scalar_if_0d
from lazynp.functions._placing import beside
from lazynp.functions.creation import arange
from lazynp.functions.indexing import take, where
from lazynp.functions.manipulation import concatenate, reshape
from lazynp.functions.reductions import argmax, cumsum
from lazynp.functions.sorting import searchsorted
from lazynp.primitives import random, shaping

_U32, _U64, _F64 = np.dtype("u4"), np.dtype("u8"), np.dtype("f8")
_BITS, _SPLIT, _FOLD = range(3)  # streams: the purpose that a key is used for


class Key(Distributions):
    """A key, or an array of keys. Made by `random.key`; a tree with one array of uint32."""

    __slots__ = ("data",)

    def __init__(self, data: Any) -> None:
        self.data = data  # (..., 2)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array of keys; () for one key."""
        return self.data.shape[:-1]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single key")
        return self.shape[0]

    def __getitem__(self, item: Any) -> Key:
        if not self.shape:
            raise IndexError("a single key has no items: split it")
        return Key(getitem(self.data, item))

    def __iter__(self) -> Iterator[Key]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"Key({self.data!r})"

    # -- keys from keys ----------------------------------------------------------------------------

    def split(self, n: Any = 2) -> Key:
        """n independent keys: an array of them, which can be unpacked."""
        shape = shape_argument(n)
        self._single("split")
        words = _words(self.data, math.prod(shape), _SPLIT)
        return Key(reshape(getitem(words, (slice(None), slice(2))), (*shape, 2)))

    def fold_in(self, data: Any) -> Key:
        """A separate key for each integer, such as the step of a loop or the number of an
        example.
        """
        self._single("fold_in")
        number = as_array(data)
        if number.dtype.kind not in "iu":
            raise TypeError(f"fold_in: an integer is required, got {number.dtype}")
        number = cast(number, _U64)
        high = ufuncs.right_shift(number, as_array(np.uint64(32)))
        k0, k1 = (broadcast(plain(getitem(self.data, (..., k))), number.shape) for k in range(2))
        words = random.philox(
            k0, k1, plain(cast(number, _U32)), plain(cast(high, _U32)), stream=_FOLD
        )
        return Key(getitem(words, (..., slice(2))))

    def _single(self, what: str) -> None:
        if self.shape:
            raise ValueError(
                f"{what}: a single key is required, got keys of shape {self.shape}; use vmap, or "
                "index them"
            )

    # -- bits and uniform numbers ------------------------------------------------------------------

    def bits(self, shape: Any = (), dtype: Any = np.uint32) -> Any:
        """Random unsigned integers, uniform over all values."""
        self._single("bits")
        shape, dtype = shape_argument(shape), np.dtype(dtype)
        if dtype.kind != "u":
            raise TypeError(f"bits: an unsigned integer dtype is required, got {dtype}")
        size = math.prod(shape)
        if dtype == _U64:
            words = reshape(_words(self.data, -(-size // 2), _BITS), (-1, 2))
            words = cast(getitem(words, slice(size)), _U64)
            high = ufuncs.left_shift(getitem(words, (slice(None), 0)), as_array(np.uint64(32)))
            flat = ufuncs.bitwise_or(high, getitem(words, (slice(None), 1)))
        else:
            words = reshape(_words(self.data, -(-size // 4), _BITS), (-1,))
            flat = cast(getitem(words, slice(size)), dtype)
        return scalar_if_0d(plain(reshape(flat, shape)))

    def uniform(self, shape: Any = (), low: Any = 0.0, high: Any = 1.0, dtype: Any = float) -> Any:
        """Uniform between low (included) and high (excluded)."""
        return _scaled(_unit(self, sample_shape(shape, low, high), dtype), low, high)

    def _open(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Uniform between 0 and 1, both excluded."""
        if np.dtype(dtype).char not in "fd":
            raise TypeError(f"float32 or float64 is required, got {np.dtype(dtype)}")
        count = np.finfo(dtype).nmant  # the added half needs one more bit
        integers = cast(_top_bits(self, shape, count), _F64)
        return cast_scalar(ufuncs.multiply(ufuncs.add(integers, 0.5), 2.0**-count), dtype)

    # -- distributions -----------------------------------------------------------------------------

    def normal(self, shape: Any = (), loc: Any = 0.0, scale: Any = 1.0, dtype: Any = float) -> Any:
        """Normal samples, by the method of Box and Muller."""
        size = sample_shape(shape, loc, scale)
        pairs = -(-math.prod(size) // 2)
        u = self._open((2, pairs), dtype)
        radius = ufuncs.sqrt(ufuncs.multiply(ufuncs.log(getitem(u, 0)), -2.0))
        angle = ufuncs.multiply(getitem(u, 1), 2.0 * math.pi)
        parts = [ufuncs.multiply(radius, f(angle)) for f in (ufuncs.cos, ufuncs.sin)]
        z = getitem(concatenate(parts), slice(math.prod(size)))
        return _located(scalar_if_0d(plain(reshape(z, size))), loc, scale)

    def exponential(self, shape: Any = (), scale: Any = 1.0, dtype: Any = float) -> Any:
        """Exponential samples with mean `scale`."""
        u = self._open(sample_shape(shape, scale), dtype)
        return ufuncs.multiply(ufuncs.negative(ufuncs.log(u)), scale)

    def laplace(self, shape: Any = (), loc: Any = 0.0, scale: Any = 1.0, dtype: Any = float) -> Any:
        """Laplace samples: a double exponential around `loc`."""
        u = ufuncs.subtract(
            ufuncs.multiply(self._open(sample_shape(shape, loc, scale), dtype), 2.0), 1.0
        )
        size = ufuncs.log1p(ufuncs.negative(ufuncs.absolute(u)))
        return _located(ufuncs.negative(ufuncs.multiply(ufuncs.sign(u), size)), loc, scale)

    def logistic(
        self, shape: Any = (), loc: Any = 0.0, scale: Any = 1.0, dtype: Any = float
    ) -> Any:
        """Logistic samples around `loc`."""
        u = self._open(sample_shape(shape, loc, scale), dtype)
        odds = ufuncs.subtract(ufuncs.log(u), ufuncs.log1p(ufuncs.negative(u)))
        return _located(odds, loc, scale)

    def gumbel(self, shape: Any = (), loc: Any = 0.0, scale: Any = 1.0, dtype: Any = float) -> Any:
        """Gumbel samples: the extreme value distribution for maxima."""
        u = self._open(sample_shape(shape, loc, scale), dtype)
        return _located(ufuncs.negative(ufuncs.log(ufuncs.negative(ufuncs.log(u)))), loc, scale)

    def cauchy(self, shape: Any = (), loc: Any = 0.0, scale: Any = 1.0, dtype: Any = float) -> Any:
        """Cauchy samples around `loc`."""
        u = self._open(sample_shape(shape, loc, scale), dtype)
        return _located(ufuncs.tan(ufuncs.multiply(ufuncs.subtract(u, 0.5), math.pi)), loc, scale)

    def gamma(self, a: Any, shape: Any = (), scale: Any = 1.0, dtype: Any = float) -> Any:
        """Gamma samples, by rejection (Marsaglia, Tsang)."""
        size = sample_shape(shape, a, scale)
        a = plain(broadcast(cast(as_array(a), dtype), size))
        drawn = _gamma(self, transforms.stop_gradient(a))
        unit = at_its_place(gamma_cdf, gamma_density, drawn, a)
        return ufuncs.multiply(scalar_if_0d(plain(unit)), scale)

    def beta(self, a: Any, b: Any, shape: Any = (), dtype: Any = float) -> Any:
        """Beta samples between 0 and 1, from two gamma samples."""
        first, second = self.split()
        size = sample_shape(shape, a, b)
        x, y = first.gamma(a, size, dtype=dtype), second.gamma(b, size, dtype=dtype)
        return ufuncs.divide(x, ufuncs.add(x, y))

    # -- discrete ----------------------------------------------------------------------------------

    def integers(
        self,
        low: Any,
        high: Any = None,
        shape: Any = (),
        dtype: Any = np.int64,
        endpoint: Any = False,
    ) -> Any:
        """Integers from low to high (excluded, or included with `endpoint`); from 0 with one
        argument.

        They are 64 random bits modulo the length, so the bias is below length / 2**64.
        """
        if high is None:
            low, high = 0, low
        if type(low) is int and type(high) is int and low + (not endpoint) > high:
            raise ValueError("low > high" if endpoint else "low >= high")
        bits = self.bits(sample_shape(shape, low, high), _U64)
        low, high = cast(low, np.int64), cast(high, np.int64)
        length = ufuncs.subtract(ufuncs.add(high, 1) if endpoint else high, low)
        offset = cast(ufuncs.remainder(bits, cast(length, _U64)), np.int64)
        return cast_scalar(ufuncs.add(low, offset), dtype)

    def bernoulli(self, p: Any = 0.5, shape: Any = ()) -> Any:
        """True with probability p."""
        return ufuncs.less(_unit(self, sample_shape(shape, p), float), p)

    def categorical(self, logits: Any, axis: Any = -1, shape: Any = None) -> Any:
        """Indices on an axis, with probabilities proportional to exp(logits)."""
        logits = as_array(logits)
        size = logits.shape if shape is None else (*shape_argument(shape), *logits.shape)
        axis = axis if axis < 0 else axis - logits.ndim
        return argmax(ufuncs.add(logits, self.gumbel(size)), axis=axis)

    def permutation(self, x: Any) -> Any:
        """The array in random order along its first axis; for a number x, the integers below it."""
        array = as_array(x)
        items = arange(index(x)) if array.ndim == 0 else array
        return take(items, sorting.argsort(self.bits((items.shape[0],), _U64)), axis=0)

    def choice(self, a: Any, shape: Any = (), replace: Any = True, p: Any = None) -> Any:
        """Elements of `a` on its first axis (for a number, of the integers below it), with
        probabilities p.
        """
        items, shape = as_array(a), shape_argument(shape)
        items = arange(index(a)) if items.ndim == 0 else items
        size, count = items.shape[0], math.prod(shape)
        if not replace and count > size:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        if not replace:
            order: Any = self.bits((size,), _U64)
            if p is not None:
                order = ufuncs.negative(ufuncs.add(ufuncs.log(p), self.gumbel((size,))))
            places = reshape(getitem(sorting.argsort(order), slice(count)), shape)
        elif p is None:
            places = self.integers(size, shape=shape)
        else:
            sums = cumsum(as_array(p))
            u = ufuncs.multiply(_unit(self, shape, float), getitem(sums, -1))
            places = searchsorted(sums, u, side="right")
        return take(items, places, axis=0)


register_pytree_node(Key, lambda k: ((k.data,), None), lambda _, children: Key(children[0]))


def key(seed: Any) -> Key:
    """The key of a seed: an integer, possibly lazy."""
    number = as_array(seed)
    if number.dtype.kind not in "iu" or number.ndim:
        raise TypeError(f"key: an integer is required, got {seed!r}")
    return Key(beside(new_array(from_host(np.zeros(2, _U32))))).fold_in(number)


def split(key: Key, n: Any = 2) -> Key:
    """See `Key.split`."""
    return key.split(n)


def fold_in(key: Key, data: Any) -> Key:
    """See `Key.fold_in`."""
    return key.fold_in(data)


# -- inside ----------------------------------------------------------------------------------------


def _words(data: Any, blocks: int, stream: int) -> Array:
    """`blocks` blocks of four words."""
    shape = (blocks,)
    counter = shaping.iota(shape=shape, axis=0, dtype=_U32)
    none = shaping.full(0, shape=shape, dtype=_U32)
    k0, k1 = (broadcast(plain(getitem(data, (..., k))), shape) for k in range(2))
    return random.philox(k0, k1, counter, none, stream=stream)


def _top_bits(key: Key, shape: tuple[int, ...], count: int) -> Any:
    wide = count > 32
    bits = key.bits(shape, _U64 if wide else _U32)
    shift = (64 if wide else 32) - count
    return ufuncs.right_shift(bits, as_array((np.uint64 if wide else np.uint32)(shift)))


def _unit(key: Key, shape: tuple[int, ...], dtype: Any) -> Any:
    """From 0 (included) to 1 (excluded), in steps of the dtype's spacing just below 1."""
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        raise TypeError(f"a floating dtype is required, got {dtype}")
    count = np.finfo(dtype).nmant + 1
    return ufuncs.multiply(cast_scalar(_top_bits(key, shape, count), dtype), 2.0**-count)


def cast_scalar(x: Any, dtype: Any) -> Any:
    return scalar_if_0d(plain(cast(x, dtype)))


def _scaled(u: Any, low: Any, high: Any) -> Any:
    if type(low) is float and type(high) is float and (low, high) == (0.0, 1.0):
        return u
    return ufuncs.add(ufuncs.multiply(u, ufuncs.subtract(high, low)), low)


def _located(z: Any, loc: Any, scale: Any) -> Any:
    return ufuncs.add(ufuncs.multiply(z, scale), loc)


def _gamma(key: Key, a: Array) -> Array:
    """Samples with unit scale. Rejected elements are drawn again, together."""
    boosted = where(ufuncs.less(a, 1), ufuncs.add(a, 1), a)
    d = ufuncs.subtract(boosted, 1 / 3)
    c = ufuncs.reciprocal(ufuncs.sqrt(ufuncs.multiply(d, 9)))
    first, second = key.split()

    def propose(key: Key) -> Any:
        for_x, for_u = key.split()
        x, u = for_x.normal(a.shape, dtype=a.dtype), for_u._open(a.shape, a.dtype)
        root = 1.0 + c * x
        v = root * root * root
        bound = 0.5 * x * x + d - d * v + d * ufuncs.log(ufuncs.maximum(v, 1e-300))
        fits = ufuncs.logical_and(ufuncs.greater(v, 0), ufuncs.less(ufuncs.log(u), bound))
        return fits, d * v

    found = accepted(first, a.shape, a.dtype, propose)
    u = second._open(a.shape, a.dtype)
    small = ufuncs.multiply(found, ufuncs.power(u, ufuncs.reciprocal(a)))
    return as_array(where(ufuncs.less(a, 1), small, found))
