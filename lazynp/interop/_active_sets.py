"""scipy.optimize: linear programs, and linear least squares within bounds. The constraints that
hold a solution stay the same nearby, so the solution is that of a linear system made of them.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy

import lazynp as np
from lazynp.interop._calls import is_traced, refuse
from lazynp.interop._searches import plain

_SMALL = 1e-7  # relative: less of a slack or of a marginal is nothing


def _none(name: str, why: str) -> NoReturn:
    raise RuntimeError(f"scipy.optimize.{name}: there is no derivative: {why}")


def _values(x: Any) -> Any:
    """The values of what may be None, or a list of traced numbers."""
    return None if x is None else numpy.asarray(plain(np.asarray(x)), float)


def _ends(bounds: Any, n: int) -> tuple[Any, Any]:
    """The lower and upper ends of n variables; None is infinite."""
    if bounds is None:
        bounds = (0.0, None)
    if getattr(bounds, "ndim", 0) == 2:
        bounds = np.asarray(bounds)
        return bounds[:, 0], bounds[:, 1]
    pairs = list(bounds)
    if len(pairs) == 2 and not any(
        isinstance(p, (tuple, list)) or getattr(p, "ndim", 0) for p in pairs
    ):
        pairs = [pairs] * n
    elif len(pairs) == 1:
        pairs = pairs * n
    low = [-numpy.inf if a is None else a for a, _ in pairs]
    high = [numpy.inf if b is None else b for _, b in pairs]
    return np.asarray(low), np.asarray(high)


# -- linear programs -------------------------------------------------------------------------------

_PARTS = "eqlin", "ineqlin", "lower", "upper"


_DEGENERATE = "more constraints meet in the vertex than determine it"


def _system(n: int, equal: Any, unequal: Any, low: Any, high: Any) -> list[tuple[Any, Any]]:
    """The rows and right-hand sides of the four kinds of constraints, in the order of _PARTS."""
    none, one = (numpy.zeros((0, n)), numpy.zeros(0)), numpy.eye(n)

    def pair(a: Any, b: Any) -> tuple[Any, Any]:
        return none if a is None else (np.asarray(a), np.asarray(b).reshape(-1))

    return [pair(*equal), pair(*unequal), (one, low), (one, high)]


def _holding(found: Any, rows: list[tuple[Any, Any]]) -> list[Any]:
    """For each kind of constraint, the places of those that hold the solution."""
    marginals = [numpy.asarray(found[part].marginals) for part in _PARTS]
    size = max([1e-300, *(abs(m).max(initial=0.0) for m in marginals)])
    kept, x = [], numpy.asarray(found.x)
    for i, ((a, b), m) in enumerate(zip(rows, marginals, strict=True)):
        if i == 0:
            kept.append(numpy.arange(m.size))
            continue
        pressed = abs(m) > _SMALL * size
        b = numpy.asarray(plain(b), float)
        slack = abs(b - numpy.asarray(plain(a), float) @ x)
        fixed = i > 1 and numpy.asarray(plain(rows[2][1] == rows[3][1]))
        reached = (
            numpy.isfinite(b) & (slack <= _SMALL * (1 + abs(b))) & ~pressed & ~numpy.asarray(fixed)
        )
        if reached.any():
            _none("linprog", _DEGENERATE)
        kept.append(numpy.flatnonzero(pressed if i == 3 else pressed | fixed))
    kept[3] = numpy.setdiff1d(kept[3], kept[2])
    return kept


def linprog(
    original: Any, c: Any, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None,
    bounds: Any = (0, None), method: Any = "highs", *options: Any, **named: Any,
) -> Any:  # fmt: skip
    """The vertex is where the constraints that press meet."""
    if not is_traced((c, A_ub, b_ub, A_eq, b_eq, bounds)):
        return NotImplemented
    if not str(method).startswith("highs"):
        refuse("linprog", "methods other than those of HiGHS")
    if numpy.any(named.get("integrality", 0)):
        refuse("linprog", "integrality")
    c = np.asarray(c).reshape(-1)
    low, high = _ends(bounds, c.size)
    ends = numpy.stack([_values(low), _values(high)], 1)
    given = [_values(v) for v in (c, A_ub, b_ub, A_eq, b_eq)]
    found = original(*given, ends, method, *options, **named)
    if not found.success:
        _none("linprog", found.message)
    rows = _system(c.size, (A_eq, b_eq), (A_ub, b_ub), low, high)
    kept = _holding(found, rows)
    matrix = np.concatenate([a[i] for (a, _), i in zip(rows, kept, strict=True)])
    right = np.concatenate([b[i] for (_, b), i in zip(rows, kept, strict=True)])
    if numpy.linalg.matrix_rank(plain(matrix)) < c.size:
        _none("linprog", "the solution is not the only one")
    # equations may follow from others
    equations = numpy.linalg.matrix_rank(plain(rows[0][0])) if kept[0].size else 0
    if matrix.shape[0] - kept[0].size + equations > c.size:
        _none("linprog", _DEGENERATE)
    square = matrix.shape[0] == c.size
    x = np.linalg.solve(matrix, right) if square else np.linalg.lstsq(matrix, right)[0]
    found.x, found.fun = x, c @ x
    found.con, found.slack = (b - a @ x for a, b in rows[:2])
    found.eqlin.residual, found.ineqlin.residual = found.con, found.slack
    found.lower.residual, found.upper.residual = x - low, high - x
    if square:  # more rows have no single solution
        prices, begin = np.linalg.solve(matrix.T, c), 0
        for part, i in zip(_PARTS, kept, strict=True):
            marginals = np.zeros(numpy.shape(found[part].marginals))
            marginals[i] = prices[begin : begin + i.size]
            found[part].marginals, begin = marginals, begin + i.size
    return found


# -- least squares ---------------------------------------------------------------------------------


def _within(name: str, a: Any, b: Any, held: Any, at: Any, bounded: bool) -> Any:
    """The x of least |a x - b|, of which `held` components lie at `at`."""
    free = numpy.flatnonzero(~held)
    x = np.where(held, at, 0.0)
    matrix, full = a[:, free], not held.any() and not bounded
    if not full and numpy.linalg.matrix_rank(plain(matrix)) < free.size:
        _none(name, "the solution is not the only one")
    if free.size:
        x[free] = np.linalg.lstsq(matrix, b - a @ x)[0]
    values = [numpy.asarray(plain(v)) for v in (a, b, x)]
    slope = values[0].T @ (values[0] @ values[2] - values[1])
    size = numpy.linalg.norm(values[0], axis=0) * numpy.linalg.norm(values[1])
    if (abs(slope) <= _SMALL * size)[held].any():
        _none(name, "a bound that does not press is reached")
    return x


def nnls(original: Any, A: Any, b: Any, *options: Any, **named: Any) -> Any:
    if not is_traced((A, b)):
        return NotImplemented
    a, b = np.asarray(A), np.asarray(b)
    found, _ = original(_values(a), _values(b), *options, **named)
    x = _within("nnls", a, b, found <= 0, 0.0, True)
    return x, np.linalg.norm(a @ x - b)


def lsq_linear(
    original: Any, A: Any, b: Any, bounds: Any = (-numpy.inf, numpy.inf), *options: Any,
    **named: Any,
) -> Any:  # fmt: skip
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    if not is_traced((A, b, low, high)):
        return NotImplemented
    if hasattr(A, "tocsr") or hasattr(A, "matvec"):
        refuse("lsq_linear", "a matrix that is not dense")
    a, b = np.atleast_2d(np.asarray(A)), np.asarray(b)
    low, high = np.asarray(low), np.asarray(high)
    ends = _values(low), _values(high)
    found = original(_values(a), _values(b), ends, *options, **named)
    if not found.success:
        _none("lsq_linear", found.message)
    mask = numpy.asarray(found.active_mask)
    bounded = bool(numpy.isfinite(ends[0]).any() or numpy.isfinite(ends[1]).any())
    at = np.where(mask < 0, low, np.where(mask > 0, high, 0.0))
    found.x = _within("lsq_linear", a, b, mask != 0, at, bounded)
    found.fun = a @ found.x - b
    found.cost = 0.5 * (found.fun @ found.fun)
    return found
