"""scipy.sparse: matrices whose elements are traced.

Where the elements lie is known, as for all of SciPy's sparse matrices. An operation that only moves
elements (an index, `bmat`, `diags`) is SciPy's, done on a matrix that holds their numbers.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop._calls import inexact, is_traced, refuse

_FORMATS = ("coo", "csr", "csc", "dia", "bsr", "lil", "dok")


class Pattern:
    """Where the elements of a matrix lie. Patterns with the same places are equal."""

    __slots__ = ("row", "col", "shape", "key")

    def __init__(self, row: Any, col: Any, shape: tuple[int, int]) -> None:
        self.row, self.col, self.shape = row, col, shape
        self.key = shape, row.tobytes(), col.tobytes()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return type(other) is Pattern and self.key == other.key

    @property
    def turned(self) -> Pattern:
        n, m = self.shape
        return Pattern(self.col, self.row, (m, n))


def times(data: Any, pattern: Pattern, x: Any) -> Any:
    """The matrix times x[..., column, k]; data[..., element]."""
    terms = data[..., None] * x[..., pattern.col, :]
    out = np.zeros((*terms.shape[:-2], pattern.shape[0], terms.shape[-1]), terms.dtype)
    np.add.at(out, (..., pattern.row, slice(None)), terms)
    return out


# -- matrices --------------------------------------------------------------------------------------


class Sparse:
    """A sparse matrix with traced elements; those of one place are added up, as in SciPy's COO."""

    __slots__ = ()
    __array_ufunc__ = None  # operators of arrays come here
    __array_priority__ = 11.0
    _traced = True
    ndim = 2

    data: Any
    row: Any
    col: Any
    shape: tuple[int, int]
    kind: Any  # SciPy's class

    # -- properties

    @property
    def pattern(self) -> Pattern:
        return Pattern(self.row, self.col, self.shape)

    @property
    def format(self) -> str:
        return self.kind.__name__[:3]

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def nnz(self) -> int:
        return len(self.row)

    @property
    def size(self) -> int:
        return self.nnz

    @property
    def T(self) -> Sparse:
        return self.transpose()

    @property
    def H(self) -> Sparse:
        return self.T.conj()

    @property
    def real(self) -> Sparse:
        return self._with(self.data.real)

    @property
    def imag(self) -> Sparse:
        return self._with(self.data.imag)

    @property
    def indices(self) -> Any:
        return self.col if self.format == "csr" else self.row

    @property
    def indptr(self) -> Any:
        lines, count = (
            (self.row, self.shape[0]) if self.format == "csr" else (self.col, self.shape[1])
        )
        return numpy.searchsorted(lines, numpy.arange(count + 1))

    def __repr__(self) -> str:
        return f"<traced {self.kind.__name__}, {self.nnz} elements, shape {self.shape}>"

    def __array__(self, *_: Any, **__: Any) -> Any:
        refuse("sparse", "a matrix with traced elements as an array: A.toarray()")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name}: a sparse matrix with traced elements has none")

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use getnnz()")

    def get_shape(self) -> tuple[int, int]:
        return self.shape

    def getnnz(self) -> int:
        return self.nnz

    def getformat(self) -> str:
        return self.format

    # -- other forms

    def _with(self, data: Any) -> Sparse:
        return new(data, self.row, self.col, self.shape, self.kind)

    def _is_matrix(self) -> bool:
        return issubclass(self.kind, scipy.sparse.spmatrix)

    def _kind(self, form: str) -> Any:
        return getattr(scipy.sparse, f"{form}_{'matrix' if self._is_matrix() else 'array'}")

    def asformat(self, format: Any, copy: bool = False) -> Sparse:
        if format is None or format == self.format:
            return self
        found = new(self.data, self.row, self.col, self.shape, self._kind(format))
        return found if format == "coo" else found.unique()

    def unique(self) -> Sparse:
        """The same with one element for each place, row by row; column by column in CSC."""
        n, m = self.shape
        by_column = self.format == "csc"
        key = self.col * n + self.row if by_column else self.row * m + self.col
        if (numpy.diff(key) > 0).all():
            return self
        places, at = numpy.unique(key, return_inverse=True)
        data = np.zeros(len(places), self.data.dtype)
        np.add.at(data, at, self.data)
        first, second = numpy.divmod(places, n if by_column else m)
        row, col = (second, first) if by_column else (first, second)
        return new(data, row, col, self.shape, self.kind)

    def moved(self, change: Callable[[Any], Any]) -> Any:
        """What SciPy's function makes of the matrix, if it only moves elements."""
        a = self.unique()
        numbers = numpy.arange(1.0, a.nnz + 1)
        plain = scipy.sparse.coo_array((numbers, (a.row, a.col)), a.shape)
        return renumbered(a.data, change(self.kind(plain)))

    def copy(self) -> Sparse:
        return self._with(self.data)

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Sparse:
        return self._with(self.data.astype(dtype))

    def conj(self, copy: bool = True) -> Sparse:
        return self._with(np.conj(self.data))

    conjugate = conj

    def transpose(self, axes: Any = None, copy: bool = False) -> Sparse:
        kind = self._kind({"csr": "csc", "csc": "csr"}.get(self.format, self.format))
        return new(self.data, self.col, self.row, self.shape[::-1], kind)

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        dense = np.zeros(self.shape, self.data.dtype)
        np.add.at(dense, (self.row, self.col), self.data)
        return dense

    todense = toarray

    def sum_duplicates(self) -> None:
        found = self.unique()
        self.data, self.row, self.col = found.data, found.row, found.col

    def eliminate_zeros(self) -> None:
        """Which elements are zero is not asked."""

    sort_indices = prune = eliminate_zeros

    # -- parts

    def __getitem__(self, key: Any) -> Any:
        return self.asformat("csr").moved(lambda a: a[key])

    def diagonal(self, k: int = 0) -> Any:
        return self.moved(lambda a: a.diagonal(k))

    def getrow(self, i: int) -> Any:
        return self.asformat("csr").moved(lambda a: a.getrow(i))

    def getcol(self, j: int) -> Any:
        return self.asformat("csc").moved(lambda a: a.getcol(j))

    def reshape(self, *shape: Any, **options: Any) -> Any:
        return self.moved(lambda a: a.reshape(*shape, **options))

    def trace(self, offset: int = 0) -> Any:
        return self.diagonal(offset).sum()

    # -- sums

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if axis is None:
            return self.data.sum()
        axis = range(2)[axis]
        found = np.zeros(self.shape[1 - axis], self.data.dtype)
        np.add.at(found, self.row if axis else self.col, self.data)
        if self._is_matrix():
            return found[:, None] if axis else found[None]
        return found

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[axis]
        return self.sum(axis) / count

    # -- arithmetic

    def __neg__(self) -> Sparse:
        return self._with(-self.data)

    def __abs__(self) -> Sparse:
        found = self.unique()
        return found._with(np.abs(found.data))

    def power(self, n: Any, dtype: Any = None) -> Sparse:
        found = self.unique()
        return found._with(found.data**n)

    def __add__(self, other: Any) -> Any:
        if is_sparse(other):
            return self._plus(as_sparse(other))
        if np.ndim(other):
            return self.toarray() + other
        if is_traced(other) or other != 0:
            refuse("sparse", "a sum with a number")
        return self

    def _plus(self, b: Any) -> Sparse:
        if b.shape != self.shape:
            raise ValueError("inconsistent shapes")
        data = np.concatenate([self.data, np.asarray(b.data)])
        row, col = numpy.append(self.row, b.row), numpy.append(self.col, b.col)
        return new(data, row, col, self.shape, self._kind("csr")).unique()

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def multiply(self, other: Any) -> Any:
        """Elementwise: of numbers, arrays that broadcast, and constant sparse matrices."""
        if is_sparse(other):
            if isinstance(other, Sparse):
                refuse("sparse", "elementwise products of two matrices with traced elements")
            other = other.tocsr()[self.row, self.col]
            return self._with(self.data * numpy.asarray(other).reshape(-1))
        x = np.asarray(other)
        if not x.ndim:
            return self._with(self.data * x)
        return self._with(self.data * np.broadcast_to(x, self.shape)[self.row, self.col])

    def __mul__(self, other: Any) -> Any:
        return self @ other if self._is_matrix() and np.ndim(other) else self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        by_matrix = self._is_matrix() and np.ndim(other)
        return self.__rmatmul__(other) if by_matrix else self.multiply(other)

    def __truediv__(self, other: Any) -> Any:
        return self.multiply(1 / np.asarray(other))

    def __matmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _sparse_product(self, as_sparse(other), self._kind("csr"))
        x = np.asarray(other)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ValueError(
                f"matmul: dimension mismatch with signature (n,k={self.shape[1]}),"
                f"(k={x.shape[0] if x.ndim else 1},m)->(n,m)"
            )
        out = times(self.data, self.pattern, x[:, None] if x.ndim == 1 else x)
        return out[:, 0] if x.ndim == 1 else out

    def dot(self, other: Any) -> Any:
        return self @ other if np.ndim(other) or is_sparse(other) else self.multiply(other)

    def __pow__(self, n: Any) -> Any:
        if not self._is_matrix():
            return self.power(n)
        found = self
        for _ in range(int(n) - 1):
            found = found @ self
        return found if n >= 1 else refuse("sparse", f"the power {n} of a matrix")

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _sparse_product(as_sparse(other), self, self._kind("csr"))
        return (self.T @ np.asarray(other).T).T


class _Plain:
    """An object with a dict."""


class OfMatrix(_Plain, Sparse):
    """What an object of `coo_matrix`, `csr_matrix`, ... becomes: it has their layout."""


class OfArray(ABC, Sparse):
    """What one of `coo_array`, `csr_array`, ... becomes: their layout is an ABC's."""


for _form in _FORMATS:
    setattr(Sparse, f"to{_form}", lambda self, copy=False, _form=_form: self.asformat(_form))


def _sparse_product(a: Any, b: Any, kind: Any) -> Sparse:
    """For each element of a, those of b in the row that is its column."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(
            f"matmul: dimension mismatch with signature (n,k={a.shape[1]}),"
            f"(k={b.shape[0]},m)->(n,m)"
        )
    order = numpy.argsort(b.row, kind="stable")
    begin = numpy.searchsorted(b.row[order], a.col, "left")
    count = numpy.searchsorted(b.row[order], a.col, "right") - begin
    left = numpy.repeat(numpy.arange(len(a.col)), count)
    within = numpy.arange(len(left)) - numpy.repeat(numpy.cumsum(count) - count, count)
    right = order[numpy.repeat(begin, count) + within]
    data = np.asarray(a.data)[left] * np.asarray(b.data)[right]
    return new(data, a.row[left], b.col[right], (a.shape[0], b.shape[1]), kind).unique()


# -- making them -----------------------------------------------------------------------------------


def is_sparse(x: Any) -> bool:
    return isinstance(x, Sparse) or scipy.sparse.issparse(x)


def class_for(kind: Any) -> Any:
    return OfMatrix if issubclass(kind, scipy.sparse.spmatrix) else OfArray


def fill(found: Any, data: Any, row: Any, col: Any, shape: Any, kind: Any) -> Any:
    found.__dict__ = {
        "data": data, "row": numpy.asarray(row, numpy.int64),
        "col": numpy.asarray(col, numpy.int64), "shape": (int(shape[0]), int(shape[1])),
        "kind": kind,
    }  # fmt: skip
    return found


def new(data: Any, row: Any, col: Any, shape: Any, kind: Any) -> Sparse:
    return fill(class_for(kind)(), data, row, col, shape, kind)


def as_sparse(a: Any) -> Any:
    """A matrix of SciPy's, too, with elements and places."""
    if isinstance(a, Sparse):
        return a
    if a.ndim != 2:
        refuse("sparse", f"an array of {a.ndim} dimensions")
    plain = scipy.sparse.coo_array(a)
    return new(plain.data, plain.row, plain.col, a.shape, type(a))


def renumbered(data: Any, numbers: Any) -> Any:
    """The elements with these numbers, which count from 1; 0 is a zero."""
    if scipy.sparse.issparse(numbers):
        plain = scipy.sparse.coo_array(numbers)
        if plain.ndim != 2:
            refuse("sparse", f"an array of {plain.ndim} dimensions")
        chosen = data[plain.data.astype(int) - 1]
        return new(chosen, plain.row, plain.col, plain.shape, type(numbers))
    at = numpy.asarray(numbers).astype(int)
    if not len(data):
        return np.zeros(at.shape, data.dtype)
    return np.where(at > 0, data[numpy.maximum(at - 1, 0)], 0.0)


def of_dense(x: Any, kind: Any = None) -> Sparse:
    """Every element of a dense matrix: which of them are zero is not asked."""
    (x,) = inexact(x)
    if x.ndim != 2:
        refuse("sparse", f"an array of {x.ndim} dimensions")
    row, col = (i.ravel() for i in numpy.indices(x.shape))
    return new(x.ravel(), row, col, x.shape, kind or scipy.sparse.csr_array)
