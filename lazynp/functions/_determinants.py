"""The determinant, and its derivative: the cofactors, which are finite for singular matrices too.

For an invertible matrix, the cofactors are det(A) times the transposed inverse. For others we use
the singular values. With A = U S V and unitary U, V: cof(A) = cof(U) cof(S) cof(V), where cof(U) =
det(U) conj(U), and cof(S) has the products of all singular values but one.

Further derivatives are those of this inverse, if the condition number is small. If not, they are
those of Bird's algorithm, which only adds and multiplies: of U* A V*, with constant U and V. That
matrix is diagonal but for rounding, so little cancels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._array import Array
from lazynp.functions import products
from lazynp.functions._matrices import adjoint, identity, swapped
from lazynp.functions._operands import plain
from lazynp.primitives import elementwise, linear_algebra, reduction, shaping


def determinant(a: Array) -> Array:
    """The determinant by LU factors; its derivative fails at singular matrices."""
    sign, log = linear_algebra.slogdet(a)
    return elementwise.multiply(sign, elementwise.exp(log))


def _at_first_use(make: Callable[[], Any]) -> Callable[..., Any]:
    """The function that `make` gives: an import loads no transformations."""
    made = functools.cache(make)

    @functools.wraps(make)
    def call(*args: Any) -> Any:
        return made()(*args)

    return call


@_at_first_use
def differentiable() -> Any:
    """`determinant` with a derivative, for matrices that are not empty."""
    made = transforms.custom_jvp(lambda a: determinant(plain(a)))
    made.defjvp(_differentiable_jvp)
    return made


def _differentiable_jvp(primals: Any, tangents: Any) -> Any:
    terms = elementwise.multiply(cofactors(primals[0]), tangents[0])
    return differentiable(primals[0]), reduction.reduce_sum(terms, axes=_last_two(terms))


@_at_first_use
def cofactors() -> Any:
    """The derivative of the determinant with respect to each element."""
    made = transforms.custom_jvp(lambda a: _cofactors(plain(a)))
    made.defjvp(_cofactors_jvp)
    return made


def _cofactors_jvp(primals: Any, tangents: Any) -> Any:
    return cofactors(primals[0]), _second(primals[0], tangents[0])


@_at_first_use
def _cofactors() -> Any:
    return transforms.jit(_by_condition)  # so that the branches are traced once for each shape


def _by_condition(a: Array) -> Any:
    singular = _singular(a)
    invertible = _invertible(singular, a)
    return transforms.cond(
        _any(singular), lambda: _by_singular_values(a), lambda: _by_inverse(invertible)
    )


@_at_first_use
def _second() -> Any:
    return transforms.jit(_second_by_condition)


def _second_by_condition(a: Array, e: Array) -> Any:
    """The derivative of the cofactors in the direction e. By the inverse, it loses as many digits
    as the condition number has, and the third derivative twice as many.
    """
    singular = _singular(a)
    invertible = _invertible(singular, a)
    far = elementwise.greater(_condition(invertible), float(np.finfo(a.dtype).eps) ** -0.25)
    return transforms.cond(
        _any(elementwise.logical_or(singular, far)),
        lambda: _second_by_products(a, e),
        lambda: transforms.jvp(_by_inverse, (invertible,), (e,))[1],
    )


def _singular(a: Array) -> Array:
    return elementwise.equal(linear_algebra.slogdet(a)[0], 0)


def _any(x: Array) -> Array:
    return reduction.reduce_or(x, axes=tuple(range(x.ndim)))


def _invertible(singular: Array, a: Array) -> Array:
    """Whichever branch runs, its own derivative is finite."""
    return elementwise.select(_spread(singular, a), identity(a.shape, a.dtype), a)


def _condition(a: Array) -> Array:
    """About the condition number, of each matrix."""
    a = transforms.stop_gradient(a)
    inverse, _ = linear_algebra.solve(a, identity(a.shape, a.dtype))
    sizes = [reduction.reduce_max(elementwise.absolute(x), axes=_last_two(x)) for x in (a, inverse)]
    return elementwise.multiply(*sizes)


def _by_inverse(a: Array) -> Array:
    inverse, _ = linear_algebra.solve(a, identity(a.shape, a.dtype))
    return elementwise.multiply(_spread(determinant(a), a), swapped(inverse))


def _by_singular_values(a: Array) -> Array:
    u, s, vh, turn = _factors(a)
    return _turned(turn, u, elementwise.multiply(_rows(_all_but(s), a), elementwise.conjugate(vh)))


def _second_by_products(a: Array, e: Array) -> Any:
    """By all derivatives of a polynomial, with unitary matrices that are constants."""
    u, _, vh, turn = map(transforms.stop_gradient, _factors(transforms.stop_gradient(a)))
    one = shaping.full(1, shape=a.shape[:-2], dtype=a.dtype)

    def determinants(a: Any) -> Any:
        b = products.matmul(products.matmul(adjoint(u), a), adjoint(vh))
        return elementwise.multiply(turn, _by_products(b))

    return transforms.jvp(lambda a: transforms.vjp(determinants, a)[1](one)[0], (a,), (e,))[1]


def _by_products(a: Array) -> Array:
    """The determinant by Bird's algorithm (2011): x becomes (x above its diagonal, and on it minus
    the sum of what is below there on the diagonal) times a, as often as there are further rows.
    """
    n = a.shape[-1]
    eye = identity(a.shape, a.dtype)
    above, last = np.triu(np.ones((n, n), a.dtype), 1), a.ndim - 1

    def mu_times_a(_: Any, x: Any) -> Any:
        diagonal = reduction.reduce_sum(elementwise.multiply(x, eye), axes=(last,))
        below = reduction.reduce_sum(
            elementwise.multiply(_columns(diagonal, a), above), axes=(last,)
        )
        upper = elementwise.multiply(x, above)
        kept = elementwise.subtract(upper, elementwise.multiply(_rows(below, a), eye))
        return products.matmul(kept, a)

    out = transforms.fori_loop(0, n - 1, mu_times_a, a)[..., 0, 0]
    return elementwise.negative(out) if n % 2 == 0 else out


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
