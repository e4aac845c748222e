"""scipy.sparse: how matrices with traced elements are made, and systems of equations with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp._primitive import Undefined
from lazynp.interop._calls import inexact, is_traced, on_host, refuse
from lazynp.interop._searches import plain
from lazynp.interop._sparse import (
    Pattern,
    Sparse,
    as_sparse,
    class_for,
    fill,
    is_sparse,
    new,
    of_dense,
    renumbered,
    times,
)

# -- systems of equations --------------------------------------------------------------------------


def _reference(data: Any, b: Any, *, pattern: Pattern, effect: bool) -> tuple[Any, ...]:
    data, b = numpy.asarray(data), numpy.asarray(b)
    solve, make = scipy.sparse.linalg.spsolve, scipy.sparse.csc_array
    out = numpy.empty_like(b)
    for i in numpy.ndindex(*b.shape[:-2]):
        a = make((data[i], (pattern.row, pattern.col)), pattern.shape)
        right = b[i] if b.shape[-1] > 1 else b[i][:, 0]  # another routine of SciPy's
        out[i] = solve(a, right).reshape(b[i].shape)
    return (out,)


def _jvp(primals: Any, tangents: Any, *, pattern: Pattern, effect: bool) -> Any:
    (data, b), (data_dot, b_dot) = primals, tangents
    (x,) = system(data, b, pattern=pattern, effect=False)
    right = b_dot
    if data_dot is not None:
        moved = times(data_dot, pattern, x)
        right = -moved if right is None else right - moved
    if right is None:
        return (x,), [None]
    return (x,), [system(data, right, pattern=pattern, effect=False)[0]]


def _transpose(cts: Any, data: Any, b: Any, *, pattern: Pattern, effect: bool) -> list[Any]:
    if not isinstance(b, Undefined) or cts[0] is None:
        return [None, None]
    return [None, system(data, cts[0], pattern=pattern.turned, effect=False)[0]]


system = on_host("spsolve", lambda data, b, **_: (b,), _reference, _jvp, _transpose)


def _solved(a: Any, b: Any) -> Any:
    a = as_sparse(a)
    data, right = inexact(a.data, b)
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"matrix must be square (has shape {a.shape})")
    if right.ndim not in (1, 2) or right.shape[0] != a.shape[0]:
        raise ValueError(
            f"matrix - rhs dimension mismatch ({a.shape} - {right.shape[0] if right.ndim else 1})"
        )
    column = right[:, None] if right.ndim == 1 else right
    (x,) = system(data, column, pattern=a.pattern, effect=False)
    return x[:, 0] if right.ndim == 1 or right.shape[1] == 1 else x


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    if isinstance(b, Sparse) or scipy.sparse.issparse(b):
        refuse("spsolve", "a sparse right-hand side")
    if not isinstance(A, Sparse) and not scipy.sparse.issparse(A):
        A = of_dense(A)
    return _solved(A, b)


def factorized(A: Any) -> Callable[[Any], Any]:
    return lambda b: _solved(A, b)


class Factors:
    """`splu(A)`, as far as systems are concerned."""

    def __init__(self, a: Any) -> None:
        self._a, self.shape = a, a.shape

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        a = {"N": lambda: self._a, "T": lambda: self._a.T, "H": lambda: self._a.T.conj()}[trans]()
        return _solved(a, rhs).reshape(np.shape(rhs))


def splu(A: Any, *_: Any, **__: Any) -> Factors:
    return Factors(A)


def _valued(a: Any) -> Any:
    """The matrix, or array, as SciPy's iterations want it."""
    if not isinstance(a, Sparse):
        return plain(a)
    return scipy.sparse.coo_array((plain(a.data), (a.row, a.col)), a.shape).tocsr()


def iterative(
    original: Callable[..., Any], A: Any, b: Any, x0: Any = None, *rest: Any, **options: Any
) -> Any:
    """`cg`, `gmres` and others: SciPy's result, with the derivative of the exact one."""
    if not is_traced((A, b, x0)):
        return NotImplemented
    if is_traced((rest, tuple(options.values()))) or not hasattr(A, "shape"):
        refuse(original.__name__, "traced options, or what is not a matrix")
    value, info = original(_valued(A), plain(b), plain(x0), *rest, **options)
    if is_sparse(A):
        exact = _solved(A, b)
    elif isinstance(A, (np.ndarray, numpy.ndarray)):
        exact = np.linalg.solve(*inexact(A, b))
    else:
        refuse(original.__name__, f"a {type(A).__name__}")
    return exact + (np.asarray(value) - np.stop_gradient(exact)), info


# -- making matrices -------------------------------------------------------------------------------


def _placed(arg: Any, shape: Any, kind: Any) -> Sparse:
    """Of (data, indices, indptr) or (data, (row, col)). SciPy checks them, and finds the shape."""
    (data,), form = inexact(arg[0]), kind.__name__[:3]
    ones = numpy.ones(data.shape)
    if len(arg) == 3:
        _, indices, starts = arg
        shape = kind((ones, indices, starts), shape=shape).shape
        lines = numpy.repeat(numpy.arange(len(starts) - 1), numpy.diff(starts))
        indices = numpy.asarray(indices)[: len(lines)]
        row, col = (lines, indices) if form == "csr" else (indices, lines)
        return new(data[: len(lines)], row, col, shape, kind)
    if len(arg[1]) != 2:
        refuse("sparse", f"an array of {len(arg[1])} dimensions")
    row, col = map(numpy.asarray, arg[1])
    shape = scipy.sparse.coo_array((ones, (row, col)), shape=shape).shape
    found = new(data, row, col, shape, kind)
    return found if form == "coo" else found.unique()


def made(
    self: Any, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *,
    maxprint: Any = None,
) -> Any:  # fmt: skip
    """The constructors of COO, CSR, CSC and DIA matrices, for traced elements: the object becomes a
    `Sparse`.
    """
    kind, form = type(self), type(self).__name__[:3]
    if isinstance(arg1, Sparse):
        found = arg1.asformat(form)
    elif not isinstance(arg1, tuple):
        found = of_dense(arg1)
    elif is_traced((arg1[1:], shape)) or form not in ("coo", "csr", "csc", "dia"):
        refuse(kind.__name__, "places that are traced")
    elif form == "dia":
        (values,) = inexact(arg1[0])
        numbers = numpy.arange(1.0, values.size + 1).reshape(values.shape)
        found = renumbered(values.ravel(), kind((numbers, arg1[1]), shape=shape))
    else:
        found = _placed(arg1, shape, kind)
    data = found.data if dtype is None else found.data.astype(dtype)
    self.__class__ = class_for(kind)
    fill(self, data, found.row, found.col, found.shape, kind)
    return None


def diagonals(name: str) -> Callable[..., Any]:
    """`diags`, `diags_array` and `spdiags`, for traced diagonals."""

    def ours(diagonals: Any, *args: Any, **options: Any) -> Any:
        if is_traced((args, tuple(options.values()))):
            refuse(name, "what is not the diagonals")
        lone = not isinstance(diagonals, (list, tuple)) and np.ndim(diagonals) < 2
        several = [np.atleast_1d(d) for d in ([diagonals] if lone else diagonals)]
        (data,) = inexact(np.concatenate(several))
        ends = numpy.cumsum([len(d) for d in several])[:-1]
        numbers: Any = numpy.split(numpy.arange(1.0, len(data) + 1), ends)
        numbers = numbers[0] if lone else numbers
        return renumbered(data, getattr(scipy.sparse, name)(numbers, *args, **options))

    return ours


def blocks(name: str) -> Callable[..., Any]:
    """`bmat`, `vstack` and others, for blocks with traced elements."""

    def ours(parts: Any, *args: Any, **options: Any) -> Any:
        data, held = [], [0]

        def numbered(x: Any) -> Any:
            if isinstance(x, (list, tuple)):
                return [numbered(p) for p in x]
            if x is None:
                return None
            a = (as_sparse(x) if is_sparse(x) else of_dense(x)).unique()
            data.append(np.asarray(a.data))
            numbers = numpy.arange(1.0, a.nnz + 1) + held[0]
            held[0] += a.nnz
            return a.kind(scipy.sparse.coo_array((numbers, (a.row, a.col)), a.shape))

        found = getattr(scipy.sparse, name)(numbered(list(parts)), *args, **options)
        return renumbered(np.concatenate(data), found)

    return ours


def kron(A: Any, B: Any, format: Any = None) -> Sparse:
    a, b = (as_sparse(x) if is_sparse(x) else of_dense(x) for x in (A, B))
    row = (a.row[:, None] * b.shape[0] + b.row).ravel()
    col = (a.col[:, None] * b.shape[1] + b.col).ravel()
    data = (np.asarray(a.data)[:, None] * np.asarray(b.data)).ravel()
    shape = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    return new(data, row, col, shape, a.kind).asformat(format)


def scaled(self: Any, other: Any) -> Any:
    """A constant matrix times what is traced, element by element."""
    if not is_traced(other) or self.ndim != 2:
        return NotImplemented
    return as_sparse(self).multiply(other)


def product(self: Any, other: Any) -> Any:
    """`A @ other` for a constant A, and `A * other` of matrices."""
    if not is_traced(other):
        return NotImplemented
    a = as_sparse(self)
    return a @ other if is_sparse(other) or np.ndim(other) else a.multiply(other)


def product_from_the_left(self: Any, other: Any) -> Any:
    """`other @ A`."""
    if not is_traced(other):
        return NotImplemented
    a = as_sparse(self)
    return a.__rmatmul__(other) if is_sparse(other) or np.ndim(other) else a.multiply(other)
