"""Sparse Jacobians: columns that share no row are one forward product (Curtis, Powell and Reid, "On
the estimation of sparse Jacobian matrices", 1974). A stencil of five points needs some five
products, however many points there are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._flush import host_value
from lazynp._later import Later
from lazynp._node import aval_of_node, leaf
from lazynp._quiet import quietly
from lazynp.transforms._grad import Given
from lazynp.transforms._pulls import linearize
from lazynp.transforms._stack import name_of
from lazynp.transforms._vmap import vmap

sparse: Any = Later("scipy.sparse")
_BYTES = 1 << 24  # of the columns of one forward product, while the pattern is looked for
_MOST = 16  # patterns that a function keeps


def jac_sparse(
    fun: Callable[..., Any], argnums: int = 0, *, sparsity: Any = None
) -> Callable[..., Any]:
    """The Jacobian of a function as a `scipy.sparse.csr_array` of shape (result.size, x.size): of
    the result, in C order, by the argument `argnums`, in C order.

    It is computed at once. Columns that share no row are computed together, as one forward product.
    sparsity: which elements may be other than 0, an array or a sparse matrix of that shape. Without
    it, the first call for a shape computes all columns, a few at a time, and keeps the places that
    are not 0. Every call is checked along one random direction. If the Jacobian has elements
    elsewhere, the places are looked for again (`where(x > 0, ...)` may change them); with
    `sparsity`, that is a ValueError. A traced argument is a TypeError, if the Jacobian depends on
    it.
    """
    if type(argnums) is not int:
        raise TypeError(f"jac_sparse: argnums must be an int, got {argnums!r}")
    known: dict[Any, _Pattern] = {}

    @functools.wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        given = Given(fun, args, kwargs, argnums, f"jac_sparse of {name_of(fun)}")
        x = _checked(new_array(given.nodes[0]), "argument")
        y, push = linearize(given.function, x)
        columns = _Columns(push, x.shape, x.dtype, _checked(y, name_of(fun)).shape)
        key = x.shape, x.dtype, columns.out
        pattern = known.get(key)
        if pattern is None and sparsity is not None:
            pattern = _given(sparsity, columns.shape)
        if pattern is not None:
            found = pattern.filled(columns)
            if columns.agree(found):
                _keep(known, key, pattern)
                return found
            if sparsity is not None:
                raise ValueError(f"{name_of(fun)}: the Jacobian has elements outside of `sparsity`")
        found = columns.all()
        places = found if pattern is None else abs(found) + pattern.places.astype(found.dtype)
        _keep(known, key, _Pattern(places))
        return found

    return jacobian


def _keep(known: dict[Any, _Pattern], key: Any, pattern: _Pattern) -> None:
    if len(known) >= _MOST and key not in known:
        known.pop(next(iter(known)), None)
    known[key] = pattern


def _checked(x: Any, what: str) -> Array:
    kind = aval_of_node(x._read()).dtype.kind if isinstance(x, Array) else "a"
    if kind not in ("f" if what == "argument" else "fc"):
        got = x.dtype if isinstance(x, Array) else type(x).__name__
        raise TypeError(f"jac_sparse: {what} must be an array of floating point, got {got}")
    return x


def _given(sparsity: Any, shape: tuple[int, int]) -> _Pattern:
    places = sparse.csr_array(sparsity if sparse.issparse(sparsity) else np.asarray(sparsity))
    if places.shape != shape:
        raise ValueError(f"jac_sparse: sparsity has shape {places.shape}, the Jacobian {shape}")
    return _Pattern(places)


class _Columns:
    """Products of the Jacobian at a point with vectors."""

    def __init__(
        self, push: Any, shape: tuple[int, ...], dtype: np.dtype[Any], out: tuple[int, ...]
    ) -> None:
        self._push, self._in, self.dtype, self.out = vmap(push), shape, dtype, out
        self.shape = int(np.prod(out)), int(np.prod(shape))

    def products(self, vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A row for each row of `vectors`."""
        tangents = vectors.reshape(len(vectors), *self._in).astype(self.dtype, copy=False)
        found = host_value(self._push(new_array(leaf(tangents)))._read())
        return np.asarray(found).reshape(len(vectors), self.shape[0])

    def all(self) -> Any:
        """The whole Jacobian, some columns at a time."""
        rows, n = self.shape
        some = max(1, _BYTES // max(8 * (rows + n), 1))
        parts = [
            sparse.csc_array(self.products(np.eye(min(some, n - k), n, k)).T)
            for k in range(0, n, some)
        ]
        return sparse.csr_array(sparse.hstack(parts)) if parts else sparse.csr_array((rows, 0))

    def agree(self, jacobian: Any) -> bool:
        """Whether a matrix is the Jacobian, along one direction, row by row."""
        vector = np.random.default_rng(0).standard_normal(self.shape[1]).astype(self.dtype)
        want = self.products(vector[None])[0] if self.shape[1] else np.zeros(self.shape[0])
        got, size = jacobian @ vector, abs(jacobian) @ abs(vector)
        apart = abs(quietly(np.subtract, [got, want]))
        near = apart <= np.sqrt(np.finfo(self.dtype).eps) * size
        return bool(np.all(near | (got == want) | np.isnan(got) & np.isnan(want)))


class _Pattern:
    """The places of a Jacobian that may be other than 0, and its columns in groups."""

    def __init__(self, places: Any) -> None:
        self.places = sparse.csr_array(places != 0)
        self.places.sort_indices()
        self._rows = np.repeat(np.arange(places.shape[0]), np.diff(self.places.indptr))
        self._groups = _groups(sparse.csc_array(self.places))
        self._seeds = np.zeros((self._groups.max(initial=-1) + 1, places.shape[1]))
        self._seeds[self._groups, np.arange(places.shape[1])] = 1

    def filled(self, columns: _Columns) -> Any:
        """The Jacobian, from one product for each group."""
        if not self._seeds.size:
            return sparse.csr_array(self.places.shape, dtype=columns.dtype)
        products = columns.products(self._seeds)
        at = self.places.indices
        values = products[self._groups[at], self._rows]
        return sparse.csr_array((values, at, self.places.indptr), shape=self.places.shape)


def _groups(places: Any) -> np.ndarray[Any, Any]:
    """A number for each column. Those with one number share no row. Each column gets the first
    number that it may have.
    """
    found, taken = np.zeros(places.shape[1], np.intp), list[np.ndarray[Any, Any]]()
    for j, (first, last) in enumerate(zip(places.indptr, places.indptr[1:], strict=False)):
        rows = places.indices[first:last]
        k = next((k for k, of in enumerate(taken) if not of[rows].any()), len(taken))
        if k == len(taken):
            taken.append(np.zeros(places.shape[0], bool))
        taken[k][rows] = True
        found[j] = k
    return found
