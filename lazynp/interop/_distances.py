"""scipy.spatial.distance: cdist and pdist; scipy.sparse: products with a constant matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import lazynp as np
from lazynp.interop._calls import inexact, is_traced, only, refuse

# -- distances: functions of two arrays that broadcast, over the last axis -------------------------


def _rows(x: Any, axis: int = -1) -> Any:
    """x / norm(x)."""
    return x / np.sqrt((x * x).sum(axis, keepdims=True))


def _cosine(x: Any, y: Any) -> Any:
    return 1.0 - (_rows(x) * _rows(y)).sum(-1)


def _correlation(x: Any, y: Any) -> Any:
    return _cosine(x - x.mean(-1, keepdims=True), y - y.mean(-1, keepdims=True))


def _minkowski(x: Any, y: Any, p: Any = 2.0, w: Any = None) -> Any:
    if not is_traced(p) and p == numpy.inf:
        return _chebyshev(x, y, w)
    parts = abs(x - y) ** p
    return (parts if w is None else np.asarray(w) * parts).sum(-1) ** (1.0 / p)


def _weighted(parts: Any, w: Any) -> Any:
    return (parts if w is None else np.asarray(w) * parts).sum(-1)


def _chebyshev(x: Any, y: Any, w: Any = None) -> Any:
    parts = abs(x - y)
    return np.max(parts if w is None else np.where(np.asarray(w) > 0, parts, 0.0), axis=-1)


def _seuclidean(x: Any, y: Any, V: Any) -> Any:
    return np.sqrt(((x - y) ** 2 / np.asarray(V)).sum(-1))


def _mahalanobis(x: Any, y: Any, VI: Any) -> Any:
    d = x - y
    return np.sqrt(((d @ np.asarray(VI)) * d).sum(-1))


def _canberra(x: Any, y: Any, w: Any = None) -> Any:
    size = abs(x) + abs(y)
    none = size == 0
    return _weighted(np.where(none, 0.0, abs(x - y) / np.where(none, 1.0, size)), w)


_METRICS: dict[str, Callable[..., Any]] = {
    "euclidean": lambda x, y, w=None: np.sqrt(_weighted((x - y) ** 2, w)),
    "sqeuclidean": lambda x, y, w=None: _weighted((x - y) ** 2, w),
    "cityblock": lambda x, y, w=None: _weighted(abs(x - y), w),
    "chebyshev": _chebyshev,
    "minkowski": _minkowski,
    "cosine": _cosine,
    "correlation": _correlation,
    "canberra": _canberra,
    "braycurtis": lambda x, y: abs(x - y).sum(-1) / abs(x + y).sum(-1),
    "seuclidean": _seuclidean,
    "mahalanobis": _mahalanobis,
}
_NEEDED = {"seuclidean": "V", "mahalanobis": "VI"}


def _metric(name: str, metric: Any, options: dict[str, Any]) -> Callable[..., Any]:
    function = _METRICS.get(metric) if isinstance(metric, str) else None
    if function is None:
        refuse(name, f"metric={metric!r}; there are {', '.join(_METRICS)}")
    needed = _NEEDED.get(metric)
    if needed is not None and options.get(needed) is None:
        refuse(name, f"metric={metric!r} without {needed}")
    if metric in ("cosine", "correlation", "braycurtis") and options:
        refuse(name, f"metric={metric!r} with weights")
    return function


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    only("cdist", out=(out, None))
    x, y = (v.astype(numpy.float64) for v in inexact(XA, XB))
    if x.ndim != 2 or y.ndim != 2:
        raise ValueError(f"{'XA' if x.ndim != 2 else 'XB'} must be a 2-dimensional array.")
    if x.shape[1] != y.shape[1]:
        raise ValueError("XA and XB must have the same number of columns "
                         "(i.e. feature dimension.)")  # fmt: skip
    return _metric("cdist", metric, kwargs)(x[:, None, :], y[None, :, :], **kwargs)


def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    only("pdist", out=(out, None))
    (x,) = (v.astype(numpy.float64) for v in inexact(X))
    if x.ndim != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    first, second = numpy.triu_indices(x.shape[0], 1)
    return _metric("pdist", metric, kwargs)(x[first], x[second], **kwargs)


def between(name: str) -> Callable[..., Any]:
    """The distance of two vectors."""

    def ours(u: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        x, y = inexact(u, v)
        if x.ndim != 1 or y.ndim != 1:
            raise ValueError("Input vector should be 1-D.")
        return _METRICS[name](x, y, *args, **kwargs)

    return ours


def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    x = np.asarray(X)
    if x.ndim == 1 and force in ("no", "tomatrix"):
        n = int(numpy.ceil(numpy.sqrt(x.size * 2)))
        if n * (n - 1) != x.size * 2:
            raise ValueError("Incompatible vector size. It must be a binomial coefficient n "
                             "choose 2 for some integer n >= 2.")  # fmt: skip
        out = np.zeros((n, n), x.dtype)
        first, second = numpy.triu_indices(n, 1)
        out[first, second] = x
        out[second, first] = x
        return out
    if x.ndim == 2 and force in ("no", "tovector"):
        return x[numpy.triu_indices(x.shape[0], 1)]
    return refuse("squareform", f"force={force!r} of shape {x.shape}")
