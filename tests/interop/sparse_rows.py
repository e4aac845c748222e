"""Rows with sparse matrices whose elements are traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import scipy.sparse as ss
import scipy.sparse.linalg as ssl

import lazynp as np

Row = Callable[[Any], Any]
_I, _J = numpy.array([0, 1, 2, 0, 1, 2, 0, 3]), numpy.array([0, 1, 2, 1, 2, 0, 0, 3])
_rng = numpy.random.default_rng(2)
_DENSE = _rng.normal(size=(4, 4)) * (_rng.random((4, 4)) < 0.6) + 4 * numpy.eye(4)
_CONSTANT = ss.csr_array(_DENSE)
_MATRIX = ss.csc_matrix(_DENSE)
_V = _rng.normal(size=(4, 2))


def _both(x: Any) -> Any:
    """Eight elements."""
    join = np.concatenate if isinstance(x, np.ndarray) else numpy.concatenate
    return join([x + 3.0, x * x])


def _coo(x: Any, kind: Any = ss.coo_matrix) -> Any:
    """One place has two elements."""
    return kind((_both(x), (_I, _J)), shape=(4, 4))


def _dense(*matrices: Any) -> tuple[Any, ...]:
    return tuple(m.toarray() for m in matrices)


def _assembled(x: Any) -> Any:
    """Springs in a row, of which the first is held: displacements under loads."""
    first = numpy.repeat(numpy.arange(4), 4) + numpy.tile([0, 0, 1, 1], 4)
    second = numpy.repeat(numpy.arange(4), 4) + numpy.tile([0, 1, 0, 1], 4)
    elements = (x[:, None] * numpy.array([1.0, -1.0, -1.0, 1.0])).ravel()
    stiffness = ss.coo_matrix((elements, (first, second)), shape=(5, 5)).tocsc()
    stiffness = (stiffness + stiffness.T) / 2.0
    free = numpy.arange(1, 5)
    return ssl.spsolve(stiffness[free, :][:, free], numpy.arange(4.0))


SPARSE: dict[str, Row] = {
    "made": lambda x: _dense(
        _coo(x), _coo(x, ss.csr_array), _coo(x, ss.csc_matrix), ss.coo_array(x[:, None] * _V),
        ss.csr_matrix((x, [0, 2, 1, 3], [0, 2, 2, 4])), ss.csc_array((x[1:], [0, 2, 1], [0, 1, 3])),
        ss.dia_array((x.reshape(2, 2), [0, 1]), shape=(2, 3)), ss.csr_array(_coo(x)),
    ),
    "diags": lambda x: _dense(
        ss.diags(x), ss.diags([x[:3], x], [-1, 0], format="csr"), ss.spdiags(x, 1, 4, 4),
        ss.diags_array([x[:2], x[:1]], offsets=[1, -2], shape=(3, 3)),
        ss.diags([x[:1]], [0], (3, 3)),
    ),
    "bmat": lambda x: _dense(
        ss.bmat([[_coo(x), None], [_MATRIX, ss.diags(x)]]), ss.vstack([_coo(x), _CONSTANT]),
        ss.hstack([_CONSTANT, _coo(x)]), ss.block_diag((_coo(x), _V)), ss.kron(_coo(x), _MATRIX),
        ss.block_array([[ss.diags_array(x)], [_coo(x, ss.csr_array)]]),
    ),
    "parts": lambda x: (
        _coo(x).tocsr()[0, 0], _coo(x).tocsr()[1:, ::2].toarray(), _coo(x).diagonal(1),
        _coo(x, ss.csc_array)[[2, 0]].toarray(), _coo(x).T.tocsr()[:, [1, 3]].toarray(),
        _coo(x).tocsc()[numpy.ix_([0, 2], [1, 0])].toarray(), _coo(x).trace(),
        _coo(x).tocsr().getrow(1).toarray(), _coo(x).tocsr().data, _coo(x).sum(),
        _coo(x, ss.csr_array).sum(axis=0), _coo(x).mean(), _coo(x).reshape((2, 8)).toarray(),
    ),
    "sums and products by numbers": lambda x: _dense(
        _coo(x) + _MATRIX, _CONSTANT - _coo(x, ss.csr_array), -_coo(x) * x[0], _coo(x) / x[1],
        x[0] * ss.eye(3), ss.eye_array(3) * x[1], _CONSTANT.multiply(x),
        _coo(x).multiply(_V[:, :1]), _coo(x).multiply(_MATRIX), _coo(x).power(2), abs(_coo(-x)),
        (_coo(x) * (1 + 2j)).imag,
        (_coo(x) * (1 + 2j)).conj().real,
    ),
    "products": lambda x: (
        _coo(x) @ _V, _coo(x) * x, _coo(x).dot(x), x @ _coo(x), _V.T @ _coo(x).tocsr(),
        (_coo(x) @ _coo(x).T).toarray(), (_CONSTANT.T @ ss.diags_array(x) @ _CONSTANT).toarray(),
        (_coo(x).tocsr() * _MATRIX).toarray(), (_MATRIX @ _coo(x).tocsc()).toarray(),
        (_coo(x, ss.csr_array) * x).toarray(),
    ),
    "spsolve": lambda x: (
        _assembled(x), ssl.spsolve(_coo(x).tocsc(), x),
        ssl.spsolve(_coo(x).tocsr(), x[:, None] * _V),
        ssl.spsolve(_MATRIX, x * x), ssl.spsolve((_coo(x) * (1 + 1j)).tocsc(), x),
        ssl.spsolve((ss.diags([x[1:], x], [1, 0]) + 3 * ss.eye(4)).tocsc(), _V[:, 1]),
    ),
    "factorized": lambda x: (
        ssl.factorized(_coo(x).tocsc())(x), ssl.splu(_coo(x).tocsc()).solve(x),
        ssl.splu(_coo(x).tocsc()).solve(_V, "T"),
    ),
}  # fmt: skip
