"""scipy.optimize: roots and minima as functions of what the user's function reads, by the implicit
function theorem.

SciPy searches on values. The result x then depends on the traced values t that the function sees:
F(x(t), t) is constant, with F the function, or its gradient for a minimum. Newton's step from the
value found, with F differentiated and the step's own value left out, gives x its derivative:
x - F_x^-1 (F(x, t) - value of F). Each step doubles the number of right orders: as many steps are
taken as the active transformations need.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy

import lazynp as np
from lazynp._array import Array
from lazynp._node import VALUE, is_tracer
from lazynp._values import knowable
from lazynp.interop._calls import is_traced, refuse
from lazynp.interop._on_values import on_values
from lazynp.transforms._jvp import JVPTracer

_NEAR = 1e-3  # of Newton's next step, relative to x


def plain(x: Any) -> Any:
    """The value, for SciPy; TypeError if a transformation hides it."""
    if isinstance(x, (tuple, list)):
        values = map(plain, x)
        return list(values) if isinstance(x, list) else tuple(values)
    if not isinstance(x, Array):
        return x
    node = x._read()
    if not knowable(node):
        error: Any = TypeError(
            "SciPy's searches and integrations need values, which vmap and jit hide: use them "
            "under grad, jvp, jacfwd or jacrev"
        )
        error.only_traced = True
        raise error
    return numpy.asarray(np.stop_gradient(x) if is_tracer(node) else x)[()]


def valued(function: Any) -> Any:
    """The function as SciPy calls it."""
    if not callable(function):
        return function
    untraced = on_values(function)
    return lambda *args, **kwargs: plain(untraced(*args, **kwargs))


def _constant(x: Any) -> Any:
    return np.asarray(plain(x))


def order_of(x: Any) -> int:
    """How many derivatives are taken of this value."""
    count, node = 0, np.asarray(x)._read()
    while node is not None and is_tracer(node):
        count += type(node[VALUE]) is JVPTracer
        node = node[VALUE].behind()
    return max(count, 1)


def moved(
    f: Callable[[Any], Any], x: Any, rates: Callable[[Any], Any] | None = None, of: Any = None
) -> Any:
    """The root x of f with its dependence on what f reads. The value of f at x counts as 0.

    rates: a transformation that gives the Jacobian of f, of the function `of`. One derivative needs
    its value only.
    """
    start = np.asarray(x, float)
    miss = f(start)
    rest, order = _constant(miss), order_of(miss)
    of = f if of is None else of
    if order == 1:
        of = on_values(of)
    if rates is None:
        rates = _slope if start.ndim == 0 else np.jacfwd
    slope = rates(of)
    x = start
    for i in range(order.bit_length()):
        miss = (f(x) if i else miss) - rest
        rate = slope(x) if order > 1 else _constant(slope(x))
        if start.ndim == 0:
            step, left = miss / rate, rest / rate
        else:
            step, left = np.linalg.solve(rate, miss), np.linalg.solve(rate, rest)
        left = numpy.asarray(plain(left))
        if not (abs(left) <= _NEAR * (1 + abs(numpy.asarray(plain(x))))).all():
            raise RuntimeError(
                "scipy.optimize: the search ended far from a solution, where the implicit function "
                f"theorem gives no derivative: another step of Newton's would be {left}"
            )
        x = x - step
    return x


def _slope(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.jvp(f, (x,), (np.ones_like(x),))[1]


def _second(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return _slope(np.grad(f))


def _with(args: Any, function: Any) -> Callable[[Any], Any]:
    args = args if isinstance(args, tuple) else (args,)
    return lambda x: np.asarray(function(x, *args))


def _check(success: bool, name: str, message: str) -> None:
    if not success:
        raise RuntimeError(f"{name}: the search failed, so there is no derivative: {message}")


def _depends(function: Callable[..., Any], *args: Any) -> bool:
    """Whether the function reads traced values. That takes a call of it."""
    return is_traced(args) or is_traced(function(*args))


def scalar_root(original: Any, f: Any, *options: Any, **named: Any) -> Any:
    """brentq, brenth, bisect, ridder, toms748: `(f, a, b, args=...)`."""
    a, b, *rest = options
    args = named.get("args", rest[0] if rest else ())
    if not _depends(f, a, *(args if isinstance(args, tuple) else (args,))):
        return NotImplemented
    if named.get("full_output"):
        refuse(original.__name__, "full_output=True")
    values = tuple(map(plain, (a, b, *rest)))
    found = original(valued(f), *values, **{k: plain(v) for k, v in named.items()})
    return moved(_with(args, f), found)


def newton(
    original: Any, func: Any, x0: Any, fprime: Any = None, args: Any = (), **named: Any
) -> Any:
    given = args if isinstance(args, tuple) else (args,)
    if numpy.ndim(x0):
        if is_traced(x0) or _depends(func, x0, *given):
            refuse("newton", "x0 with more than one element")
        return NotImplemented
    if not is_traced(x0) and not _depends(func, x0, *given):
        return NotImplemented
    if named.get("full_output"):
        refuse("newton", "full_output=True")
    named = {k: valued(v) if callable(v) else plain(v) for k, v in named.items()}
    found = original(valued(func), plain(x0), valued(fprime), plain(given), **named)
    return moved(_with(args, func), found)


def root_scalar(original: Any, f: Any, args: Any = (), **named: Any) -> Any:
    given = args if isinstance(args, tuple) else (args,)
    bracket = named.get("bracket")
    start = named.get("x0") if bracket is None else bracket[0]
    if start is None or (not is_traced(start) and not _depends(f, start, *given)):
        return NotImplemented
    if named.get("fprime") is True:
        refuse("root_scalar", "fprime=True")
    if bracket is not None:
        named["bracket"] = [plain(v) for v in bracket]
    named = {k: valued(v) if callable(v) else plain(v) for k, v in named.items()}
    found = original(valued(f), plain(given), **named)
    _check(found.converged, "root_scalar", found.flag)
    found.root = moved(_with(args, f), found.root)
    return found


def root(original: Any, fun: Any, x0: Any, args: Any = (), *options: Any, **named: Any) -> Any:
    given = args if isinstance(args, tuple) else (args,)
    if not is_traced(x0) and not _depends(fun, x0, *given):
        return NotImplemented
    if named.get("jac") is True or options[1:2] == (True,):
        refuse("root", "jac=True")
    options = tuple(valued(v) for v in options)
    named = {k: valued(v) if callable(v) else plain(v) for k, v in named.items()}
    found = original(valued(fun), plain(x0), plain(given), *options, **named)
    _check(found.success, "root", found.message)
    found.x = moved(_with(args, fun), found.x)
    return found


def fsolve(original: Any, func: Any, x0: Any, args: Any = (), *options: Any, **named: Any) -> Any:
    given = args if isinstance(args, tuple) else (args,)
    if not is_traced(x0) and not _depends(func, numpy.atleast_1d(x0), *given):
        return NotImplemented
    if named.get("full_output") or any(options[1:2]):
        refuse("fsolve", "full_output=True")
    options = tuple(valued(v) for v in options)
    named = {k: valued(v) if callable(v) else plain(v) for k, v in named.items()}
    found = original(valued(func), plain(x0), plain(given), *options, **named)
    return moved(_with(args, func), found)


# -- minima ----------------------------------------------------------------------------------------


def _scalar(function: Any, args: Any) -> Callable[[Any], Any]:
    """The function as one of x alone, with a 0-d result."""
    f = _with(args, function)
    return lambda x: f(x).reshape(())


def _of_pairs(bounds: Any) -> tuple[Any, Any]:
    """The lower and the upper bounds that `minimize` was given."""
    if hasattr(bounds, "lb"):
        return bounds.lb, bounds.ub
    pairs = [(-numpy.inf if a is None else a, numpy.inf if b is None else b) for a, b in bounds]
    low, high = numpy.array(pairs, float).reshape(-1, 2).T
    return low, high


def _free(f: Callable[[Any], Any], x: Any, bounds: Any) -> Any:
    """The indices of the components of a minimum of f that no bound holds. By the gradient, a
    component presses against a bound that it has nearly reached.
    """
    slope = numpy.asarray(plain(np.grad(f)(np.asarray(x))))
    low, high = bounds
    low, high = (numpy.broadcast_to(numpy.asarray(v, float), x.shape) for v in (low, high))
    near = 1e-4 * (1 + abs(x))
    held = (x <= low) | (x >= high)
    pressed = abs(slope) > 1e-5 * (1 + abs(x))
    held |= pressed & ((x - low < near) & (slope > 0) | (high - x < near) & (slope < 0))
    return numpy.flatnonzero(~held)


def _moved_apart(f: Callable[[Any], Any], at: Any, free: Any) -> Any:
    """The minimum of f, whose components at these indices depend on what f reads."""

    def of_free(part: Any) -> Any:
        x = np.array(at)
        x[free] = part
        return f(x)

    x = np.array(at)
    if free.size:
        x[free] = moved(np.grad(of_free), at[free], np.hessian, of_free)
    return x


def minimize(original: Any, fun: Any, x0: Any, args: Any = (), *options: Any, **named: Any) -> Any:
    names = (
        "method",
        "jac",
        "hess",
        "hessp",
        "bounds",
        "constraints",
        "tol",
        "callback",
        "options",
    )
    named |= dict(zip(names, options))
    given = args if isinstance(args, tuple) else (args,)
    both = named.get("jac") is True
    value = (lambda *a: fun(*a)[0]) if both else fun
    x0_plain = numpy.atleast_1d(numpy.asarray(plain(x0), float))
    if not is_traced(x0) and not _depends(value, x0_plain, *given):
        return NotImplemented
    constraints, bounds = named.get("constraints", ()), named.get("bounds")
    if not isinstance(constraints, (tuple, list)) or constraints:
        refuse("minimize", "constraints")
    if is_traced(bounds):
        refuse("minimize", "bounds that are traced")
    kept = {k: valued(v) if callable(v) and k != "method" else v for k, v in named.items()}
    found = original(valued(fun), x0_plain, plain(given), **kept)
    f = _scalar(value, args)
    whole = numpy.asarray(found.x, float)
    every = numpy.arange(whole.size)
    free = every if bounds is None else _free(f, whole, _of_pairs(bounds))
    found.x = _moved_apart(f, whole, free)
    found.fun = f(found.x)
    return found


def minimize_scalar(original: Any, fun: Any, *options: Any, **named: Any) -> Any:
    names = ("bracket", "bounds", "args", "method", "tol", "options")
    named |= dict(zip(names, options))
    args = named.get("args", ())
    given = args if isinstance(args, tuple) else (args,)
    place = named.get("bounds") or named.get("bracket") or (0.0,)
    if not is_traced(place) and not _depends(fun, place[0], *given):
        return NotImplemented
    kept = {k: plain(tuple(v) if isinstance(v, list) else v) for k, v in named.items()}
    found = original(valued(fun), **kept)
    bounds, f = kept.get("bounds"), _scalar(fun, args)
    slack = 1e-4 * (bounds[1] - bounds[0]) if bounds is not None else 0.0
    if bounds is not None and min(found.x - bounds[0], bounds[1] - found.x) <= slack:
        refuse("minimize_scalar", "a minimum at a bound")
    found.x = moved(np.grad(f), numpy.asarray(found.x, float)[()], _second, f)
    found.fun = f(found.x)
    return found


# -- sums of squares -------------------------------------------------------------------------------


_UNBOUNDED = (-numpy.inf, numpy.inf)


def _two(name: str, bounds: Any) -> tuple[Any, Any]:
    """The bounds of a sum of squares."""
    bounds = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else tuple(bounds)
    if any(map(is_traced, bounds)):
        refuse(name, "bounds that are traced")
    return bounds


def _least(residuals: Callable[[Any], Any], x: Any, bounds: Any = _UNBOUNDED) -> Any:
    """The minimum x of a sum of squares, with its dependence on what the residuals read."""

    def half(x: Any) -> Any:
        return 0.5 * (residuals(x) ** 2).sum()

    if not any(numpy.isfinite(b).any() for b in bounds):
        return moved(np.grad(half), x, np.hessian, half)
    return _moved_apart(half, x, _free(half, x, bounds))


def least_squares(
    original: Any, fun: Any, x0: Any, jac: Any = "2-point", bounds: Any = _UNBOUNDED, *options: Any,
    args: Any = (), kwargs: Any = None, **named: Any,
) -> Any:  # fmt: skip
    given, more = args if isinstance(args, tuple) else (args,), kwargs or {}

    def residuals(x: Any) -> Any:
        return np.atleast_1d(np.asarray(fun(x, *given, **more)))

    start = numpy.atleast_1d(numpy.asarray(plain(np.asarray(x0)), float))
    if not is_traced((x0, more)) and not _depends(residuals, start):
        return NotImplemented
    if named.get("loss", "linear") != "linear":
        refuse("least_squares", "a loss")
    bounds = _two("least_squares", bounds)
    found = original(valued(residuals), start, valued(jac), bounds, *options, **named)
    _check(found.success, "least_squares", found.message)
    found.x = _least(residuals, numpy.asarray(found.x), bounds)
    found.fun = residuals(found.x)
    found.cost = 0.5 * (found.fun**2).sum()
    found.jac = np.jacfwd(residuals)(found.x)
    found.grad = found.jac.T @ found.fun
    return found


def _within(bounds: tuple[Any, Any], n: int) -> Any:
    """Where SciPy begins for n parameters: at 1 without bounds."""
    low, high = (numpy.broadcast_to(numpy.asarray(b, float), n) for b in bounds)
    begins, ends = numpy.isfinite(low), numpy.isfinite(high)
    start = numpy.ones(n)
    both = begins & ends
    start[both] = 0.5 * (low[both] + high[both])
    start[begins & ~ends] = low[begins & ~ends] + 1
    start[~begins & ends] = high[~begins & ends] - 1
    return start


def curve_fit(
    original: Any, f: Any, xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None,
    absolute_sigma: bool = False, **named: Any,
) -> Any:  # fmt: skip
    data = np.asarray(ydata)

    def misses(p: Any) -> Any:
        miss = np.asarray(f(xdata, *p)) - data
        return miss.ravel() if sigma is None else (miss / np.asarray(sigma)).ravel()

    values = [plain(np.asarray(v)) if is_traced(v) else v for v in (xdata, ydata, p0, sigma)]
    known = {k: v for k, v in named.items() if v is not None}
    if known.get("full_output") or sigma is not None and numpy.ndim(sigma) > 1:
        if is_traced((xdata, ydata, p0, sigma)):
            refuse("curve_fit", "full_output, or a matrix sigma")
        return NotImplemented
    bounds = _two("curve_fit", named.pop("bounds", _UNBOUNDED))
    if p0 is None:
        start = _within(bounds, len(inspect.signature(f).parameters) - 1)
    else:
        start = numpy.asarray(values[2], float)
    if not is_traced((xdata, ydata, p0, sigma)) and not _depends(misses, start):
        return NotImplemented
    best, _ = original(
        valued(f), values[0], values[1], start, values[3], absolute_sigma, bounds=bounds, **named
    )  # fmt: skip
    best = _least(misses, numpy.asarray(best), bounds)
    slopes = np.jacfwd(misses)(best)
    spread = np.linalg.inv(slopes.T @ slopes)
    if not absolute_sigma:
        spread = spread * (misses(best) ** 2).sum() / (data.size - best.size)
    return best, spread
