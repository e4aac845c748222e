"""`numpy.polynomial`: NumPy's code on values, and on traced arrays.

NumPy drops trailing zero coefficients. Traced coefficients have no values, so none are dropped: a
result has as many coefficients as it might need.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.polynomial import (
    _polybase,
    chebyshev,
    hermite,
    hermite_e,
    laguerre,
    legendre,
    polynomial,
    polyutils,
)

from lazynp._array import Array, from_host, new_array
from lazynp.functions import _clenshaw, linear_algebra, sorting, ufuncs
from lazynp.functions._checks import refuse, traced
from lazynp.functions._factorizations import eigvals
from lazynp.functions._host import hosted, to_host
from lazynp.functions._operands import as_array
from lazynp.functions._rebound import (
    LAZYNP,
    Scope,
    rebound,
    scope_of,
    transforming,
    where_traced,
)
from lazynp.functions.creation import zeros
from lazynp.functions.manipulation import concatenate, moveaxis, stack

PREFIXES = {
    polynomial: "poly",
    chebyshev: "cheb",
    legendre: "leg",
    laguerre: "lag",
    hermite: "herm",
    hermite_e: "herme",
}

# -- functions that decide by values in NumPy ------------------------------------------------------


def _trimmed(seq: Any) -> Any:
    if len(seq) == 0 or traced(seq):
        return seq
    nonzero = np.flatnonzero(to_host(as_array(seq)))
    return seq[: int(nonzero[-1]) + 1] if nonzero.size else seq[:1]


def _line(line: Callable[..., Any]) -> Callable[..., Any]:
    """`off + scl * x`, of degree 1 whatever scl is."""
    slope = np.asarray(line(0, 1), float)

    def call(off: Any, scl: Any) -> Any:
        if not traced(scl):
            scl = to_host(scl)
            return np.asarray(line(off, scl)) if not traced(off) else _sum(off, scl * slope)
        return _sum(off, [ufuncs.multiply(scl, s) for s in slope])

    return call


def _sum(off: Any, terms: Any) -> Any:
    return stack([ufuncs.add(off, terms[0]), ufuncs.add(ufuncs.multiply(off, 0), terms[1])])


def _longer(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that tests whether a single coefficient is zero: give it a second
    coefficient, zero, which makes the result longer by one.
    """

    def call(c: Any, *args: Any, **kwargs: Any) -> Any:
        axis = args[4] if len(args) > 4 else kwargs.get("axis", 0)
        if not traced(c) or as_array(c).ndim and as_array(c).shape[axis] != 1:
            return function(c, *args, **kwargs)
        c = LAZYNP.atleast_1d(as_array(c))
        c = moveaxis(c, axis, 0)
        args, kwargs = args[:4], {k: v for k, v in kwargs.items() if k != "axis"}
        found = function(concatenate((c, zeros(c.shape, c.dtype))), *args, **kwargs)
        return moveaxis(found[:-1], 0, axis)

    return call


def _quotient(mul: Callable[..., Any], c1: Any, c2: Any) -> tuple[Any, Any]:
    """Quotient and remainder. The last coefficient of a traced divisor must not be zero; the
    remainder has one coefficient less than the divisor.
    """
    c1, c2 = _UTILS["as_series"]([c1, c2])
    refuse(ufuncs.equal(c2[-1], 0), ZeroDivisionError, "division by zero")
    n, m = len(c1), len(c2)
    if n < m:
        return c1[:1] * 0, c1
    if m == 1:
        return c1 / c2[-1], c1[:1] * 0
    quotient: list[Any] = []
    for i in range(n - m, -1, -1):
        p = mul([0] * i + [1], c2)
        q = c1[-1] / p[-1]
        c1 = c1[:-1] - q * p[:-1]
        quotient.insert(0, q)
    return stack(quotient), c1


def _fit(
    vander: Any, x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None
) -> Any:
    """Fit without NumPy's warning, because a traced rank is unknown."""
    ranks = []

    def lstsq(a: Any, b: Any, rcond: Any) -> Any:
        c, residuals, rank, s = linear_algebra.lstsq(a, b, rcond)
        ranks.append(rank)
        return c, residuals, a.shape[1] if traced(rank) else rank, s

    numpy = _Instead(linalg=SimpleNamespace(lstsq=lstsq))
    found = rebound(polyutils._fit, _UTILS | {"np": numpy})(  # type: ignore[attr-defined]
        vander, x, y, np.asarray(to_host(deg)), rcond, full, w
    )
    if full:
        found[1][1] = ranks[0]
    return found


class _Instead(SimpleNamespace):
    """lazynp, with these names replaced."""

    def __getattr__(self, name: str) -> Any:
        return getattr(LAZYNP, name)


# -- scopes ----------------------------------------------------------------------------------------

_UTILS = scope_of(polyutils, {})
_UTILS.update(trimseq=_trimmed, _div=_quotient, _fit=_fit)


def _roots(scope: Scope, prefix: str) -> Any:
    """Complex roots, because the eigenvalues are not known. (NumPy returns real roots if all are
    real.)
    """
    of_few = scope[f"{prefix}roots"]

    def roots(c: Any) -> Any:
        [c] = _UTILS["as_series"]([c])
        if len(c) <= 2:
            return of_few(c)
        # reversing the companion matrix reduces errors
        return sorting.sort(eigvals(scope[f"{prefix}companion"](c)[::-1, ::-1]))

    return roots


def _scope(module: ModuleType, prefix: str) -> Scope:
    scope = scope_of(module, {polyutils.__name__: _UTILS})
    scope[f"{prefix}line"] = _line(getattr(module, f"{prefix}line"))
    for name in ("int", "mulx"):
        scope[prefix + name] = _longer(scope[prefix + name])
    scope[f"{prefix}roots"] = _roots(scope, prefix)
    scope[f"{prefix}div"] = lambda c1, c2: _quotient(scope[f"{prefix}mul"], c1, c2)
    scope.update(_clenshaw.evaluators(prefix))
    return scope


_SCOPES = {module.__name__: _scope(module, prefix) for module, prefix in PREFIXES.items()}
_SCOPES[polynomial.__name__]["polyvalfromroots"] = _clenshaw.from_roots
_SCOPES[polyutils.__name__] = _UTILS

# functions whose names end so read no values
_LAZY = ("vander", "vander2d", "vander3d", "der", "weight", "mapdomain", "mapparms")


def functions(module: ModuleType) -> dict[str, Any]:
    """The public functions and constants of a `numpy.polynomial` module, for lazy arrays."""
    scope, prefix = _SCOPES[module.__name__], PREFIXES.get(module, "")
    found: dict[str, Any] = {}
    for name in module.__all__:
        it = getattr(module, name)
        if name in _CLENSHAW or name == "format_float":
            it = hosted(it) if name == "format_float" else scope[name]
        elif name == "chebinterpolate":
            it = _interpolate(it, scope[name])
        elif type(it) is FunctionType:
            it = where_traced(it, scope[name], lazy=name.removeprefix(prefix) in _LAZY)
        elif type(it) is np.ndarray:
            it = new_array(from_host(it))
        elif isinstance(it, type):
            it = _class(it, scope, prefix)
        found[name] = it
    return found


_CLENSHAW = {n for p in PREFIXES.values() for n in _clenshaw.evaluators(p)} | {"polyvalfromroots"}


def _interpolate(function: Any, traceable: Any) -> Any:
    """The interpolated function may use traced arrays."""
    by_numpy = hosted(function)

    def chebinterpolate(func: Any, deg: Any, args: Any = ()) -> Any:
        """See `numpy.polynomial.chebyshev.chebinterpolate`."""
        return (traceable if transforming() else by_numpy)(func, deg, args)

    return chebinterpolate


# -- classes ---------------------------------------------------------------------------------------

_ABSTRACT = ("add", "sub", "mul", "div", "pow", "val", "int", "der", "fit", "line", "roots",
             "fromroots")  # fmt: skip


def _class(base: Any, scope: Scope, prefix: str) -> Any:
    """NumPy's class of such series. Called with a lazy array, a series returns a lazy one; the
    coefficients are NumPy arrays, or traced.
    """
    globals_ = scope_of(_polybase, {polyutils.__name__: _UTILS})
    made: dict[str, Any] = {
        name: _method(value, rebound(value, globals_))
        for name, value in vars(_polybase.ABCPolyBase).items()
        if type(value) is FunctionType and name not in ("__repr__", "__str__", "__format__")
    }
    made |= {
        f"_{n}": staticmethod(_method(getattr(base, f"_{n}"), scope[prefix + n])) for n in _ABSTRACT
    }

    def call(self: Any, arg: Any) -> Any:
        """Evaluate the series at `arg`, mapped from the domain to the window."""
        if not isinstance(arg, Array) and not traced(self.coef):
            return base.__call__(self, arg)
        if isinstance(arg, base):
            return made_call(self, arg)
        offset, scale = self.mapparms()
        return _clenshaw.values(prefix, offset + scale * as_array(arg), self.coef)

    made_call = made["__call__"]
    made["__call__"] = call
    for name in ("fit", "fromroots", "basis", "identity", "cast"):
        function = getattr(_polybase.ABCPolyBase, name).__func__
        made[name] = classmethod(_method(function, rebound(function, globals_)))
    made["__doc__"] = f"`numpy.polynomial.{base.__name__}`; called with a lazy array it stays lazy."
    made["__module__"] = "lazynp.polynomial"
    return type(base.__name__, (base,), made)


def _method(function: Any, traceable: Any) -> Any:
    """Run NumPy's method on values, or `traceable` if the series or an argument is traced."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        if traced(*given, *[vars(x).get("coef") for x in given if hasattr(x, "__dict__")]):
            return traceable(*args, **kwargs)
        return function(*map(to_host, args), **to_host(kwargs))

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call
