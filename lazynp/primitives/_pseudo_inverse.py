"""as_pseudo_inverse: gives a pseudo-inverse that is known its derivative.

Singular vectors of equal singular values have no derivative, though the pseudo-inverse has one. So
it is not differentiated through the vectors that it is made of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lazynp._avals import Aval
from lazynp._primitive import NOT_LINEAR, Primitive
from lazynp.primitives import elementwise
from lazynp.primitives._matrices import adjoint, check_matrix, hermitian, matmul, stacked_batch


def _abstract(a: Aval, p: Aval, *, triangle: bool) -> Aval:
    check_matrix("as_pseudo_inverse", a)
    if p.dtype != a.dtype or p.shape != (*a.shape[:-2], a.shape[-1], a.shape[-2]):
        raise TypeError(f"as_pseudo_inverse: got {p} for {a}")
    return p


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, triangle: bool) -> tuple[Any, Any]:
    """P' = -P A' P + P P^H A'^H (1 - A P) + (1 - P A) A'^H P^H P, where the rank stays the same
    (Golub and Pereyra, 1973).
    """
    a, p = primals[0], as_pseudo_inverse(*primals, triangle=triangle)
    a_dot = tangents[0]
    if a_dot is None:
        return p, None
    if triangle:
        a, a_dot = hermitian(a), hermitian(a_dot)
    a_back, p_back = adjoint(a_dot), adjoint(p)
    outside = elementwise.subtract(a_back, _chain(a_back, a, p))
    inside = _chain(a_back, p_back, p)
    change = elementwise.subtract(_chain(p, p_back, outside), _chain(p, a_dot, p))
    return p, elementwise.add(change, elementwise.subtract(inside, _chain(p, a, inside)))


def _chain(x: Any, y: Any, z: Any) -> Any:
    """The product of three matrices, in the order that takes fewer steps."""
    (m, k), (_, n) = x.shape[-2:], z.shape[-2:]
    j = y.shape[-1]
    if math.prod((m, k, j)) + math.prod((m, j, n)) <= math.prod((k, j, n)) + math.prod((m, k, n)):
        return matmul(matmul(x, y), z)
    return matmul(x, matmul(y, z))


# p, the pseudo-inverse of a, for what depends on a; `triangle`: a is Hermitian, and only its lower
# triangle counts
as_pseudo_inverse = Primitive(
    "as_pseudo_inverse",
    abstract=_abstract,
    reference=lambda a, p, *, triangle: p,
    lower=lambda b, a, p, *, triangle: p,
    jvp=_jvp,
    transpose=NOT_LINEAR,
    batch=stacked_batch(lambda: as_pseudo_inverse),
    kind="linalg",
)
