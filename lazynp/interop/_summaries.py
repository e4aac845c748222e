"""scipy.stats: numbers that describe a sample."""

from __future__ import annotations

from typing import Any

import lazynp as np
from lazynp.interop._calls import inexact, only


def _flat(a: Any, axis: Any) -> tuple[Any, int]:
    (a,) = inexact(a)
    return (a.ravel(), 0) if axis is None else (a, axis)


def _plain(name: str, nan_policy: str, keepdims: bool = False) -> None:
    only(name, nan_policy=(nan_policy, "propagate"), keepdims=(keepdims, False))


def _central(a: Any, order: int, axis: int) -> Any:
    return ((a - a.mean(axis=axis, keepdims=True)) ** order).mean(axis=axis)


def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    return zmap(a, a, axis, ddof, nan_policy)


def zmap(
    scores: Any, compare: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate"
) -> Any:
    _plain("zscore", nan_policy)
    scores, compare = inexact(scores, compare)
    mean = compare.mean(axis=axis, keepdims=True)
    return (scores - mean) / compare.std(axis=axis, ddof=ddof, keepdims=True)


def gmean(
    a: Any, axis: Any = 0, dtype: Any = None, weights: Any = None, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("gmean", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    return np.exp(np.average(np.log(a), axis=axis, weights=weights))


def hmean(
    a: Any, axis: Any = 0, dtype: Any = None, *, weights: Any = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("hmean", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    return 1.0 / np.average(1.0 / a, axis=axis, weights=weights)


def moment(
    a: Any, order: Any = 1, axis: Any = 0, nan_policy: str = "propagate", *, center: Any = None,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("moment", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    middle = a.mean(axis=axis, keepdims=True) if center is None else center
    return ((a - middle) ** order).mean(axis=axis)


def skew(
    a: Any, axis: Any = 0, bias: bool = True, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("skew", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    value, n = _central(a, 3, axis) / _central(a, 2, axis) ** 1.5, a.shape[axis]
    return value if bias or n < 3 else value * (n * (n - 1.0)) ** 0.5 / (n - 2)


def kurtosis(
    a: Any, axis: Any = 0, fisher: bool = True, bias: bool = True, nan_policy: str = "propagate",
    *, keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("kurtosis", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    value, n = _central(a, 4, axis) / _central(a, 2, axis) ** 2.0, a.shape[axis]
    if not bias and n > 3:
        value = ((n * n - 1.0) * value - 3 * (n - 1.0) ** 2) / ((n - 2) * (n - 3)) + 3
    return value - 3 if fisher else value


def sem(
    a: Any, axis: Any = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Any:
    _plain("sem", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    return a.std(axis=axis, ddof=ddof) / a.shape[axis] ** 0.5


def variation(
    a: Any, axis: Any = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False
) -> Any:
    _plain("variation", nan_policy, keepdims)
    a, axis = _flat(a, axis)
    return a.std(axis=axis, ddof=ddof) / a.mean(axis=axis)


def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    _plain("entropy", nan_policy, keepdims)
    (p,) = inexact(pk)
    p = p / p.sum(axis=axis, keepdims=True)
    if qk is None:
        value = np.special.entr(p).sum(axis=axis)
    else:
        (q,) = inexact(qk)
        p, q = np.broadcast_arrays(p, q / q.sum(axis=axis, keepdims=True))
        value = np.special.rel_entr(p, q).sum(axis=axis)
    return value if base is None else value / np.log(base)
