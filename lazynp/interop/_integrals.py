"""scipy.integrate: integrals of functions, and differential equations, by what the functions read.

SciPy chooses the intervals and the steps, on values. With these held fixed, the integral is a sum,
and the solution a chain of Runge-Kutta steps: both are repeated on traced values. What other rules
would give differs within the tolerances. The values are those that SciPy returns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop._calls import is_traced, refuse
from lazynp.interop._searches import moved, plain, valued
from lazynp.interop._steps_at_once import states
from lazynp.transforms._vmap import vmap

_NODES, _WEIGHTS = numpy.polynomial.legendre.leggauss(21)


def _with_value(x: Any, value: Any) -> Any:
    """x, with another value: that which SciPy computes in another way."""
    return x + (np.asarray(value) - np.stop_gradient(x))


# -- integrals -------------------------------------------------------------------------------------


def _sum(f: Callable[[Any], Any], ends: Sequence[Any]) -> Any:
    """The sum of the integrals between these ends."""
    places, weights = [], []
    for low, high in ends:
        middle, half = (low + high) / 2, (high - low) / 2
        places.append(middle + half * _NODES)
        weights.append(half * _WEIGHTS)
    values = _everywhere(f, np.concatenate(places))
    return np.tensordot(np.concatenate(weights), values, axes=1)


def _everywhere(f: Callable[[Any], Any], places: Any) -> Any:
    """The integrand at all places, at once if it asks for no value; what it raises then, it may not
    raise for one place.
    """
    try:
        return vmap(f)(places)
    except Exception:
        return np.stack([f(x) for x in places])


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
    parts = list(zip(info["alist"][:count], info["blist"][:count], strict=True))
    low, high = ends
    if numpy.isfinite(low) and numpy.isfinite(high):
        width = high - low
        inside = [[a + (b - a) * ((p - low) / (width or 1.0)) for p in part] for part in parts]
        total = _sum(f, inside) if width else (b - a) * f(a)
    else:
        total = _sum(_unbounded(f, a, b, low, high), parts)
    return _with_value(total, value)[()], error


def _unbounded(f: Callable[[Any], Any], a: Any, b: Any, low: Any, high: Any) -> Any:
    if numpy.isfinite(low):
        return _over_half_line(f, a, 1.0)
    if numpy.isfinite(high):
        return _over_half_line(f, b, -1.0)
    right, left = _over_half_line(f, 0.0, 1.0), _over_half_line(f, 0.0, -1.0)
    return lambda t: right(t) + left(t)


def quad_vec(
    original: Any, f: Any, a: Any, b: Any, *rest: Any, args: Any = (), **named: Any
) -> Any:  # fmt: skip
    given = args if isinstance(args, tuple) else (args,)
    low, high = (float(plain(v)) for v in (a, b))
    finite = numpy.isfinite(low) and numpy.isfinite(high)
    start = low if numpy.isfinite(low) else high if numpy.isfinite(high) else 0.0
    if not is_traced((a, b, given)) and not is_traced(f(start, *given)):
        return NotImplemented
    if rest or not finite or named.get("full_output") or named.get("points") is not None:
        refuse("quad_vec", "unbounded intervals, points, full_output, or options by place")
    named = {k: plain(v) for k, v in named.items()} | {"full_output": True}
    value, error, info = original(valued(f), low, high, args=plain(given), **named)
    width = high - low
    ends = [a + (b - a) * ((p - low) / width) for p in numpy.unique(info.intervals)]
    total = _sum(lambda x: np.asarray(f(x, *given)), list(itertools.pairwise(ends)))
    return _with_value(total, value)[()], error


# -- differential equations ------------------------------------------------------------------------


def _stages(f: Callable[..., Any], kind: Any, t: Any, h: Any, y: Any, slope: Any) -> Any:
    """The slopes within a step of an explicit rule, and the state after it."""
    slopes = [slope]
    for s in range(1, kind.n_stages):
        moved = sum(kind.A[s, j] * slopes[j] for j in range(s) if kind.A[s, j])
        slopes.append(f(t + kind.C[s] * h, y + h * moved))
    return slopes, y + h * sum(kind.B[j] * k for j, k in enumerate(slopes) if kind.B[j])


def _replayed(f: Callable[..., Any], kind: Any, times: Any, y: Any, wanted: Any) -> Any:
    """The states at `wanted`, by the steps between `times` of an explicit rule."""
    at_once = states(f, kind, times, y, wanted) if is_traced((y, f(times[0], y))) else None
    return _one_by_one(f, kind, times, y, wanted) if at_once is None else at_once


def _one_by_one(f: Callable[..., Any], kind: Any, times: Any, y: Any, wanted: Any) -> list[Any]:
    found, slope = [], f(times[0], y)
    direction = 1.0 if times[-1] >= times[0] else -1.0
    left = list(wanted)
    while left and left[0] == times[0]:
        found.append(y)
        left.pop(0)
    for t, after in zip(times[:-1], times[1:], strict=True):
        if not left:
            break
        h = after - t
        slopes, new = _stages(f, kind, t, h, y, slope)
        slopes.append(f(after, new))
        while left and direction * (left[0] - after) <= 0:
            place = left.pop(0)
            found.append(new if place == after else _within(f, kind, t, h, y, slopes, place))
        y, slope = new, slopes[-1]
    return found


def _within(
    f: Callable[..., Any], kind: Any, t: Any, h: Any, y: Any, slopes: Any, place: Any
) -> Any:
    """The state inside of a step: by the rule's polynomial, or else by a shorter step."""
    shares = getattr(kind, "P", None)
    if not isinstance(shares, numpy.ndarray):
        return _stages(f, kind, t, place - t, y, slopes[0])[1]
    weights = shares @ numpy.cumprod(numpy.full(shares.shape[1], (place - t) / h))
    return y + h * sum(w * k for w, k in zip(weights, slopes, strict=True))


def _nearby(f: Callable[..., Any], t: Any, y: Any, by: Any) -> Any:
    """The state at t + by, where by is 0 and has a derivative: right in the first four orders."""
    k1 = f(t, y)
    k2 = f(t + by / 2, y + by / 2 * k1)
    k3 = f(t + by / 2, y + by / 2 * k2)
    k4 = f(t + by, y + by * k3)
    return y + by / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _steps(name: str, fun: Any, span: Any, y0: Any, options: dict[str, Any]) -> Any:
    found = scipy.integrate.solve_ivp(fun, span, y0, **options)
    if not found.success:
        raise RuntimeError(f"{name}: the integration failed: {found.message}")
    return found.t


class _Chain:
    """A solution as a chain of steps on traced values."""

    def __init__(self, f: Callable[..., Any], kind: Any, times: Any, y: Any) -> None:
        self.f, self.kind, self.times, self.y = f, kind, times, y

    def at(self, places: Any) -> Any:
        """The states at these values, in any order: a list, or an array."""
        places = numpy.asarray(places, float)
        first, last = sorted((self.times[0], self.times[-1]))
        if places.size and not (places.min() >= first and places.max() <= last):
            refuse("solve_ivp", "places outside of t_span")
        order = numpy.argsort(places if self.times[-1] >= self.times[0] else -places)
        found = _replayed(self.f, self.kind, self.times, self.y, places[order])
        back = numpy.argsort(order)
        return [found[i] for i in back] if isinstance(found, list) else found[back]

    def moved(self, y: Any, place: Any, t: Any) -> Any:
        """The state y at `place`, moved to t, which may be traced."""
        return _nearby(self.f, place, y, t - place) if is_traced(t) else y

    def solution(self, values: Any) -> Callable[[Any], Any]:
        """`sol`, with SciPy's values."""

        def sol(t: Any) -> Any:
            places = numpy.asarray(plain(t), float)
            times = np.asarray(t).reshape(-1)
            states = [
                self.moved(y, p, times[i])
                for i, (y, p) in enumerate(
                    zip(self.at(places.ravel()), places.ravel(), strict=True)
                )
            ]
            out = np.stack(states, axis=-1) if places.ndim else states[0]
            return _with_value(out, values(places))

        return sol


_EXPLICIT = ("RK45", "RK23", "DOP853")
_OPTIONS = ("rtol", "atol", "first_step", "max_step")


def _event(event: Any, given: Any) -> Any:
    """An event as SciPy calls it, on values."""
    if not callable(event):
        refuse("solve_ivp", f"events of type {type(event).__name__}")

    def called(t: Any, y: Any, *args: Any) -> Any:
        return plain(np.asarray(event(t, y, *given)))

    vars(called).update(vars(event) if hasattr(event, "__dict__") else {})
    return called


def _crossings(chain: _Chain, event: Any, given: Any, found: Any, i: int) -> None:
    """The times and states of an event: where it is 0, by the implicit function theorem."""
    times, states, ends = found.t_events[i], found.y_events[i], []
    if not len(times):
        return
    for place, y in zip(times, chain.at(times), strict=True):
        ends.append(_crossing(chain, event, given, float(place), y))
    found.t_events[i] = np.stack([t for t, _ in ends])
    found.y_events[i] = _with_value(np.stack([y for _, y in ends]), states)


def _crossing(chain: _Chain, event: Any, given: Any, place: float, y: Any) -> Any:
    def at(t: Any) -> Any:
        return np.asarray(event(t, _nearby(chain.f, place, y, t - place), *given)).reshape(())

    t = moved(at, place)
    return t, _nearby(chain.f, place, y, t - place)


def solve_ivp(
    original: Any, fun: Any, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None,
    dense_output: bool = False, events: Any = None, vectorized: bool = False, args: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    given = () if args is None else args
    begin, end = (float(plain(t)) for t in t_span)
    state = np.asarray(y0)
    hits = [] if events is None else list(events) if isinstance(events, (tuple, list)) else [events]

    def f(t: Any, y: Any) -> Any:
        return np.asarray(fun(t, y[:, None], *given) if vectorized else fun(t, y, *given)).ravel()

    start = numpy.asarray(plain(state))
    tried = [f(begin, np.asarray(start)), *(e(begin, np.asarray(start), *given) for e in hits)]
    if not is_traced((y0, given, t_span, t_eval, tried)):
        return NotImplemented
    values = valued(f)
    found = original(
        values, (begin, end), start, method, plain(t_eval), dense_output or t_eval is not None,
        [_event(e, given) for e in hits] or None, **options,
    )  # fmt: skip
    explicit = method if method in _EXPLICIT else "RK45"
    if method == explicit and found.status == 0:  # the steps are those of the solution
        times = found.t if found.sol is None else found.sol.ts
    else:
        chosen = {k: v for k, v in options.items() if k in _OPTIONS}
        last = end if found.status != 1 else float(max((t[-1] for t in found.t_events if len(t)),
                                                       key=lambda t: abs(t - begin)))  # fmt: skip
        times = _steps("solve_ivp", values, (begin, last), start, {"method": explicit, **chosen})
    first = state.astype(numpy.result_type(start.dtype, numpy.float64))
    if is_traced(t_span[0]):
        first = _nearby(f, t_span[0], first, begin - np.asarray(t_span[0]))
    chain = _Chain(f, getattr(scipy.integrate, explicit), times, first)
    for i, event in enumerate(hits):
        _crossings(chain, event, given, found, i)
    _place_states(chain, found, t_span, t_eval)
    found.sol = chain.solution(found.sol) if dense_output else None
    return found


def _place_states(chain: _Chain, found: Any, t_span: Any, t_eval: Any) -> None:
    """`found.t` and `found.y`, with the derivatives of what was asked for."""
    places = found.t
    times: list[Any] = list(places)
    if t_eval is not None:
        times = list(np.asarray(t_eval)) if is_traced(t_eval) else times
    elif found.status == 1:
        ends = [t for t in found.t_events if len(t)]
        times[-1] = max((t[-1] for t in ends), key=lambda t: abs(float(plain(t)) - places[0]))
    else:
        times[-1] = t_span[1]
    if t_eval is None and is_traced(t_span[0]):
        times[0] = t_span[0]
    states = chain.at(places)
    if isinstance(states, list) or is_traced(times):
        each = zip(states, places, times, strict=True)
        states = np.stack([chain.moved(y, p, t) for y, p, t in each])
    found.y = _with_value(states.T, found.y)
    if is_traced(times):
        found.t = np.stack([np.asarray(t) for t in times])


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
    found = _replayed(f, scipy.integrate.RK45, steps, state, times)
    return _with_value(np.stack(found) if isinstance(found, list) else found, whole)
