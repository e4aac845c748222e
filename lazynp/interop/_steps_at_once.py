"""Derivatives of a chain of Runge-Kutta steps, of all steps together.

States and slopes solve a system of equations. Newton's step from their values gives them the first
derivative, and each further one another, with the same matrix: it is made of values, the Jacobians
of f at all stages. So f is traced once in each step, for all stages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import lazynp as np
from lazynp._dataclass import dataclass
from lazynp.interop._matrix_functions import solve_banded
from lazynp.interop._on_values import on_values
from lazynp.interop._searches import order_of, plain, valued
from lazynp.transforms._vmap import vmap

_FEW = 4  # steps for which this gains nothing
_LARGE = 1 << 23  # elements of the matrices of the stages
_SLOW = 1 << 20  # products for the matrices of a step: more take longer than its repetition


@dataclass(frozen=True)
class _Path:
    """The values of a chain: times and sizes of the steps; times, states and slopes of the
    stages, the one after the last step at the end.
    """

    times: Any
    h: Any
    states: Any
    stage_times: Any
    stages: Any
    slopes: Any
    kind: Any

    def of_steps(self, slopes: Any) -> Any:
        """The slopes of the stages of each step."""
        return slopes[:-1].reshape(self.h.size, self.kind.n_stages, -1)

    def stages_of(self, states: Any, slopes: Any) -> Any:
        """The states of the stages."""
        a = self.kind.A
        moved = np.matmul(a, self.of_steps(slopes)[:, : a.shape[1]])
        inner = states[:-1, None] + self.h[:, None, None] * moved
        return np.concatenate([inner.reshape(-1, states.shape[1]), states[-1:]])

    def within(self, states: Any, slopes: Any, step: Any, weights: Any) -> Any:
        """The states within these steps, by these weights of the slopes."""
        h = self.h[step][:, None]
        mean = np.matmul((h * weights[:, :-1])[:, None], self.of_steps(slopes)[step])[:, 0]
        found = states[step] + mean
        last = weights[:, -1:]
        if last.any():
            found = found + h * last * slopes[(step + 1) * self.kind.n_stages]
        return found


def states(f: Callable[..., Any], kind: Any, times: Any, y: Any, places: Any) -> Any:
    """The states at `places`, in the order of the steps; None where steps must be repeated."""
    count, n = len(times) - 1, y.size
    weights = _weights_within(kind, times, places)
    if count < _FEW or weights is None or y.dtype != numpy.float64:
        return None
    size = (kind.n_stages * n) ** 2
    if count * size > _LARGE or size * n > _SLOW:
        return None
    path = _walked(valued(f), kind, numpy.asarray(times), plain(y))
    found = _at_stages(f, path)
    if found is None:
        return None
    slopes, jacobians = found
    solve = _System(path, jacobians)
    moved = solve(y - path.states[0], slopes - path.slopes)
    states, own = path.states + moved[0], path.slopes + moved[1]
    for _ in range(1, max(order_of(y), order_of(slopes))):
        slopes = vmap(f)(np.asarray(path.stage_times), path.stages_of(states, own))
        more = solve(y - states[0], slopes - own)
        states, own = states + more[0], own + more[1]
    return path.within(states, own, *weights)


def _weights_within(kind: Any, times: Any, places: Any) -> Any:
    """For each place the step that it is in, and weights of the slopes of the step."""
    forward = numpy.sign(times[-1] - times[0])
    step = numpy.searchsorted(forward * times, forward * places, side="left") - 1
    step = numpy.clip(step, 0, len(times) - 2)
    share = (places - times[step]) / (times[step + 1] - times[step])
    weights = numpy.zeros((len(places), kind.n_stages + 1))
    weights[:, :-1] = kind.B
    inside = (share > 0) & (share < 1)
    if inside.any():
        if not isinstance(getattr(kind, "P", None), numpy.ndarray):
            return None  # another polynomial
        powers = share[inside, None] ** numpy.arange(1, kind.P.shape[1] + 1)
        weights[inside] = powers @ kind.P.T
    weights[share == 0] = 0.0
    return step, weights


def _walked(f: Callable[..., Any], kind: Any, times: Any, y: Any) -> _Path:
    count, stages = len(times) - 1, kind.n_stages
    at = numpy.empty((count + 1, stages, y.size))
    slopes = numpy.empty_like(at)
    states, h = numpy.empty((count + 1, y.size)), numpy.diff(times)
    stage_times = times[:-1, None] + h[:, None] * kind.C
    slope = f(times[0], y)
    for i in range(count):
        states[i] = at[i, 0] = y
        slopes[i, 0] = slope
        for s in range(1, stages):
            at[i, s] = y + h[i] * (kind.A[s, :s] @ slopes[i, :s])
            slopes[i, s] = f(stage_times[i, s], at[i, s])
        y = y + h[i] * (kind.B @ slopes[i])
        slope = f(times[i + 1], y)
    states[count] = y
    last = count * stages
    at, slopes = at.reshape(-1, y.size)[: last + 1], slopes.reshape(-1, y.size)[: last + 1]
    at[last], slopes[last] = y, slope
    return _Path(times, h, states, numpy.append(stage_times, times[-1]), at, slopes, kind)


def _at_stages(f: Callable[..., Any], path: _Path) -> Any:
    """The slopes at all stages as f gives them there, and the Jacobians by the state."""
    try:
        traced = np.asarray(vmap(f)(np.asarray(path.stage_times), np.asarray(path.stages)))
        slopes = vmap(np.jacfwd(on_values(f), argnums=1))
        jacobians = plain(slopes(np.asarray(path.stage_times), np.asarray(path.stages)))
    except Exception:  # what it raises for all, it may not raise for one
        return None
    if traced.dtype != numpy.float64:
        return None
    values, size = plain(traced), abs(path.slopes).max(initial=0.0)
    if not numpy.allclose(values, path.slopes, rtol=1e-9, atol=1e-9 * size):
        return None  # it depends on more than its arguments
    return traced - values + path.slopes, numpy.asarray(jacobians)


class _System:
    """Newton's step: how states and slopes change, by what the equations of the first state and of
    the slopes lack.
    """

    def __init__(self, path: _Path, jacobians: Any) -> None:
        count, n = path.h.size, path.states.shape[1]
        self.jacobian = jacobians[-1]
        by_state, by_slopes = _stage_matrices(
            path, path.of_steps(jacobians).reshape(count, -1, n, n)
        )
        h = path.h[:, None, None]
        self.onward = numpy.eye(n) + h * numpy.einsum("s,isab->iab", path.kind.B, by_state)
        added = h * numpy.einsum("s,isacb->iacb", path.kind.B, by_slopes).reshape(count, n, -1)
        self.added = added
        self.by_state = by_state.reshape(count, -1, n)
        self.by_slopes = by_slopes.reshape(count, self.by_state.shape[1], -1)

    def __call__(self, first: Any, lack: Any) -> tuple[Any, Any]:
        count, n, _ = self.onward.shape
        of_steps = lack[:-1].reshape(count, -1, 1)
        states = _propagated(self.onward, first, np.matmul(self.added, of_steps)[..., 0])
        inner = np.matmul(self.by_state, states[:-1, :, None]) + np.matmul(self.by_slopes, of_steps)
        last = np.matmul(self.jacobian, states[-1]) + lack[-1]
        return states, np.concatenate([inner.reshape(-1, n), last[None]])


def _stage_matrices(path: _Path, jacobians: Any) -> tuple[Any, Any]:
    """How the slopes of a step depend on its first state, and on what moves each slope."""
    count, stages, n, _ = jacobians.shape
    by_state = numpy.empty((count, stages, n, n))
    by_slopes = numpy.zeros((count, stages, n, stages, n))
    for s in range(stages):
        a, h = path.kind.A[s, :s], path.h[:, None, None]
        reached = numpy.eye(n) + h * numpy.einsum("j,ijab->iab", a, by_state[:, :s])
        by_state[:, s] = jacobians[:, s] @ reached
        before = h * numpy.einsum("j,ijacb->iacb", a, by_slopes[:, :s]).reshape(count, n, -1)
        by_slopes[:, s] = (jacobians[:, s] @ before).reshape(count, n, stages, n)
        by_slopes[:, s, :, s] += numpy.eye(n)
    return by_state, by_slopes


def _propagated(onward: Any, first: Any, added: Any) -> Any:
    """z[0] = first, z[i + 1] = onward[i] @ z[i] + added[i]: a system with a band."""
    count, n, _ = onward.shape
    band = numpy.zeros((2 * n, (count + 1) * n))
    band[0] = 1.0
    for a in range(n):
        for b in range(n):
            band[n + a - b, b : count * n : n] = -onward[:, a, b]
    right = np.concatenate([first, added.ravel()])
    return solve_banded((2 * n - 1, 0), band, right).reshape(count + 1, n)
