"""scipy.integrate: integrals of functions, and differential equations, by what the functions read.

SciPy chooses the intervals and the steps, on values. With these held fixed, the integral is a sum,
and the solution a chain of Runge-Kutta steps: both are repeated on traced values. What other rules
would give differs within the tolerances. The values are those that SciPy returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop._calls import is_traced, refuse
from lazynp.interop._searches import plain, valued

_NODES, _WEIGHTS = numpy.polynomial.legendre.leggauss(21)


def _with_value(x: Any, value: Any) -> Any:
    """x, with another value: that which SciPy computes in another way."""
    return x + (np.asarray(value) - np.stop_gradient(x))


# -- integrals -------------------------------------------------------------------------------------


def _sum(f: Callable[[Any], Any], low: Any, high: Any) -> Any:
    middle, half = (low + high) / 2, (high - low) / 2
    terms = [w * f(middle + half * t) for w, t in zip(_WEIGHTS, _NODES, strict=True)]
    return half * sum(terms[1:], terms[0])


def _over_half_line(f: Callable[[Any], Any], end: Any, sign: float) -> Callable[[Any], Any]:
    """The integrand from `end` to infinity, as one from 0 to 1: QUADPACK's variable."""
    return lambda t: f(end + sign * (1 - t) / t) / (t * t)


def quad(original: Any, func: Any, a: Any, b: Any, args: Any = (), *rest: Any, **named: Any) -> Any:
    args = args if isinstance(args, tuple) else (args,)
    ends = [numpy.asarray(plain(v), float)[()] for v in (a, b)]
    finite = [v for v in ends if numpy.isfinite(v)]
    start = sum(finite) / len(finite) if finite else 0.0
    if not is_traced((a, b, args)) and not is_traced(func(float(start), *args)):
        return NotImplemented
    if rest or any(named.get(k) is not None for k in ("weight", "points", "complex_func")):
        refuse("quad", "points, weight, complex_func, or options by place")
    if named.pop("full_output", 0):
        refuse("quad", "full_output")
    value, error, info, *_ = original(
        valued(func), *ends, plain(args), full_output=1, **{k: plain(v) for k, v in named.items()}
    )

    def f(x: Any) -> Any:
        return np.asarray(func(x, *args))

    count = info["last"]
    parts = zip(info["alist"][:count], info["blist"][:count], strict=True)
    low, high = ends
    if numpy.isfinite(low) and numpy.isfinite(high):
        width = high - low
        total = [
            _sum(f, a + (b - a) * ((p - low) / width), a + (b - a) * ((q - low) / width))
            for p, q in parts
        ] if width else [(b - a) * f(a)]  # fmt: skip
    else:
        total = [_sum(_unbounded(f, a, b, low, high), p, q) for p, q in parts]
    return _with_value(sum(total[1:], total[0]), value)[()], error


def _unbounded(f: Callable[[Any], Any], a: Any, b: Any, low: Any, high: Any) -> Any:
    if numpy.isfinite(low):
        return _over_half_line(f, a, 1.0)
    if numpy.isfinite(high):
        return _over_half_line(f, b, -1.0)
    right, left = _over_half_line(f, 0.0, 1.0), _over_half_line(f, 0.0, -1.0)
    return lambda t: right(t) + left(t)


# -- differential equations ------------------------------------------------------------------------


def _replayed(f: Callable[..., Any], kind: Any, times: Any, y: Any, wanted: Any) -> list[Any]:
    """The states at `wanted`, by the steps between `times` of an explicit rule."""
    stages, found, slope = kind.n_stages, [], f(times[0], y)
    direction = 1.0 if times[-1] >= times[0] else -1.0
    left = list(wanted)
    while left and left[0] == times[0]:
        found.append(y)
        left.pop(0)
    for t, after in zip(times[:-1], times[1:], strict=True):
        h, slopes = after - t, [slope]
        for s in range(1, stages):
            moved = sum(kind.A[s, j] * slopes[j] for j in range(s) if kind.A[s, j])
            slopes.append(f(t + kind.C[s] * h, y + h * moved))
        new = y + h * sum(kind.B[j] * k for j, k in enumerate(slopes) if kind.B[j])
        slope = f(after, new)
        slopes.append(slope)
        while left and direction * (left[0] - after) <= 0:
            x = (left.pop(0) - t) / h
            if x == 1:
                found.append(new)
                continue
            powers = numpy.cumprod(numpy.full(kind.P.shape[1], x))
            shares = kind.P @ powers
            found.append(y + h * sum(w * k for w, k in zip(shares, slopes, strict=True)))
        y = new
    return found


def _steps(name: str, fun: Any, span: Any, y0: Any, options: dict[str, Any]) -> Any:
    found = scipy.integrate.solve_ivp(fun, span, y0, **options)
    if not found.success:
        raise RuntimeError(f"{name}: the integration failed: {found.message}")
    return found.t


_EXPLICIT = ("RK45", "RK23")
_OPTIONS = ("rtol", "atol", "first_step", "max_step")


def solve_ivp(
    original: Any, fun: Any, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None,
    dense_output: bool = False, events: Any = None, vectorized: bool = False, args: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    given = () if args is None else args
    begin, end = (float(plain(t)) for t in t_span)
    state = np.asarray(y0)

    def f(t: Any, y: Any) -> Any:
        return np.asarray(fun(t, y[:, None], *given) if vectorized else fun(t, y, *given)).ravel()

    start = numpy.asarray(plain(state))
    if not is_traced((y0, given)) and not is_traced(f(begin, np.asarray(start))):
        return NotImplemented
    if is_traced(t_span) or is_traced(t_eval):
        refuse("solve_ivp", "times that are traced")
    if dense_output or events is not None:
        refuse("solve_ivp", "dense_output and events")
    values = valued(f)
    found = original(values, (begin, end), start, method, t_eval, **options)
    explicit = method if method in _EXPLICIT else "RK45"
    chosen = {k: v for k, v in options.items() if k in _OPTIONS}
    times = _steps("solve_ivp", values, (begin, end), start, {"method": explicit, **chosen})
    dtype = numpy.result_type(start.dtype, numpy.float64)
    states = _replayed(
        f, getattr(scipy.integrate, explicit), times, state.astype(dtype), found.t
    )  # fmt: skip
    found.y = _with_value(np.stack(states, axis=-1), found.y)
    return found


def odeint(
    original: Any, func: Any, y0: Any, t: Any, args: Any = (), *rest: Any, tfirst: bool = False,
    **named: Any,
) -> Any:  # fmt: skip
    args = args if isinstance(args, tuple) else (args,)
    state = np.atleast_1d(np.asarray(y0)).astype(float)

    def f(t: Any, y: Any) -> Any:
        return np.asarray(func(t, y, *args) if tfirst else func(y, t, *args)).ravel()

    start = numpy.asarray(plain(state))
    times = numpy.asarray(plain(t), float)
    if not is_traced((y0, args)) and not is_traced(f(times[0], np.asarray(start))):
        return NotImplemented
    if rest or is_traced(t) or named.get("full_output"):
        refuse("odeint", "traced times, full_output, or options by place")
    named.pop("Dfun", None)
    values = valued(f)
    whole = original(values, start, times, tfirst=True, **named)
    tolerances = {k: named.get(k) or 1.49012e-8 for k in ("rtol", "atol")}
    if times.size < 2:
        return _with_value(state[None], whole)
    steps = _steps("odeint", values, (times[0], times[-1]), start, tolerances)
    states = _replayed(f, scipy.integrate.RK45, steps, state, times)
    return _with_value(np.stack(states), whole)
