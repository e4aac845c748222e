"""The determinant, and its derivative: the cofactors, which are finite for singular matrices too.

For an invertible matrix, the cofactors are det(A) times the transposed inverse. For others we use
the singular values. With A = U S V and unitary U, V: cof(A) = cof(U) cof(S) cof(V), where cof(U) =
det(U) conj(U), and cof(S) has the products of all singular values but one.
"""

from __future__ import annotations

from typing import Any

from lazynp._array import Array
from lazynp.functions import products
from lazynp.functions._matrices import adjoint, identity, swapped
from lazynp.functions._operands import plain
from lazynp.primitives import elementwise, linear_algebra, reduction, shaping
from lazynp.transforms import cond, custom_jvp, jit


def determinant(a: Array) -> Array:
    """The determinant by LU factors; its derivative fails at singular matrices."""
    sign, log = linear_algebra.slogdet(a)
    return elementwise.multiply(sign, elementwise.exp(log))


@custom_jvp
def differentiable(a: Any) -> Any:
    """`determinant` with a derivative, for matrices that are not empty."""
    return determinant(plain(a))


def _differentiable_jvp(primals: Any, tangents: Any) -> Any:
    terms = elementwise.multiply(cofactors(primals[0]), tangents[0])
    return differentiable(primals[0]), reduction.reduce_sum(terms, axes=_last_two(terms))


differentiable.defjvp(_differentiable_jvp)


@jit  # jitted so that the branches are traced once for each shape
def cofactors(a: Array) -> Any:
    """The derivative of the determinant with respect to each element."""
    sign, _ = linear_algebra.slogdet(a)
    singular = elementwise.equal(sign, 0)
    some = reduction.reduce_or(singular, axes=tuple(range(singular.ndim)))
    invertible = elementwise.select(  # whichever branch runs, its own derivative is finite
        _spread(singular, a), identity(a.shape, a.dtype), a
    )
    return cond(some, lambda: _by_singular_values(a), lambda: _by_inverse(invertible))


def _by_inverse(a: Array) -> Array:
    inverse, _ = linear_algebra.solve(a, identity(a.shape, a.dtype))
    return elementwise.multiply(_spread(determinant(a), a), swapped(inverse))


@custom_jvp
def _by_singular_values(a: Any) -> Any:
    u, s, vh, turn = _factors(a)
    return _turned(turn, u, elementwise.multiply(_rows(_all_but(s), a), elementwise.conjugate(vh)))


def _by_singular_values_jvp(primals: Any, tangents: Any) -> Any:
    """cof(S + F) = cof(S) + diag(P diag(F)) - P F^T + ..., elementwise. P[i, j] is the product of
    all singular values except i and j (and zero for i = j).
    """
    (a,), (e,) = primals, tangents
    u, s, vh, turn = _factors(a)
    f = products.matmul(products.matmul(adjoint(u), e), adjoint(vh))
    pairs = elementwise.convert(_all_but_two(s), dtype=a.dtype)
    eye = identity(a.shape, a.dtype)
    diagonal = reduction.reduce_sum(elementwise.multiply(f, eye), axes=(a.ndim - 1,))
    sums = reduction.reduce_sum(
        elementwise.multiply(pairs, _columns(diagonal, a)), axes=(a.ndim - 1,)
    )
    moved = elementwise.subtract(
        elementwise.multiply(_rows(sums, a), eye), elementwise.multiply(pairs, swapped(f))
    )
    middle = products.matmul(moved, elementwise.conjugate(vh))
    return _by_singular_values(a), _turned(turn, u, middle)


_by_singular_values.defjvp(_by_singular_values_jvp)


def _factors(a: Array) -> tuple[Array, Array, Array, Array]:
    """Returns u, s, vh, and det(u) det(vh)."""
    u, s, vh, _ = linear_algebra.svd(a, full_matrices=True, compute_uv=True)
    turns = [linear_algebra.slogdet(x)[0] for x in (u, vh)]
    return u, s, vh, elementwise.multiply(*turns)


def _turned(turn: Array, u: Array, middle: Any) -> Array:
    whole = products.matmul(elementwise.conjugate(u), middle)
    return elementwise.multiply(_spread(turn, whole), whole)


def _known(s: Array) -> tuple[Array, Array, Array]:
    """Returns which singular values are zero, the others (with 1 for zeros), and the product of the
    others.
    """
    zero = elementwise.equal(s, 0)
    others = elementwise.select(zero, 1.0, s)
    last = s.ndim - 1
    product = reduction.reduce_prod(others, axes=(last,))
    whole = shaping.broadcast_in_dim(product, shape=s.shape, dims=tuple(range(last)))
    return elementwise.convert(zero, dtype=s.dtype), others, whole


def _all_but(s: Array) -> Array:
    zero, others, product = _known(s)
    last = s.ndim - 1
    count = reduction.reduce_sum(zero, axes=(last,))
    count = shaping.broadcast_in_dim(count, shape=s.shape, dims=tuple(range(last)))
    left = elementwise.equal(elementwise.subtract(count, zero), 0)
    return elementwise.select(left, elementwise.divide(product, others), 0.0)


def _all_but_two(s: Array) -> Array:
    zero, others, product = _known(s)
    last, n = s.ndim - 1, s.shape[-1]
    shape = (*s.shape, n)
    batch = tuple(range(last))

    def spread(x: Array, axis: int) -> Array:
        return shaping.broadcast_in_dim(x, shape=shape, dims=(*batch, axis))

    count = reduction.reduce_sum(zero, axes=(last,))
    count = shaping.broadcast_in_dim(count, shape=shape, dims=batch)
    taken = elementwise.add(spread(zero, last), spread(zero, last + 1))
    off = elementwise.equal(identity(shape, s.dtype), 0)
    left = elementwise.logical_and(off, elementwise.equal(count, taken))
    pairs = elementwise.multiply(spread(others, last), spread(others, last + 1))
    return elementwise.select(left, elementwise.divide(spread(product, last), pairs), 0.0)


def _last_two(x: Array) -> tuple[int, int]:
    return x.ndim - 2, x.ndim - 1


def _spread(x: Array, like: Array) -> Array:
    """Repeat a value for each matrix over its elements."""
    return shaping.broadcast_in_dim(x, shape=like.shape, dims=tuple(range(x.ndim)))


def _rows(x: Array, like: Array) -> Array:
    """Repeat a value for each row over its elements."""
    return _spread(elementwise.convert(x, dtype=like.dtype), like)


def _columns(x: Array, like: Array) -> Array:
    dims = (*range(x.ndim - 1), like.ndim - 1)
    return shaping.broadcast_in_dim(x, shape=like.shape, dims=dims)
