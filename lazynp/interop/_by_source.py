"""SciPy's functions that only compose NumPy's: their own source, run on lazynp.

A function is copied, with all functions of its module, into a scope where numpy is lazynp. So
SciPy's module stays as it is, for other threads too. What a function asks for as it runs, as in
`if x.min() <= 0`, has a value under grad, jvp and jacfwd, and none under jit and vmap: some of
these functions work there, and some do not.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import lazynp as np
from lazynp.functions.functional import counterpart
from lazynp.interop._calls import is_traced, only, refuse

Function = Callable[..., Any]

# module -> the functions
PLAIN = {
    "scipy.integrate": "newton_cotes",
    "scipy.interpolate": "pchip_interpolate",
    "scipy.linalg": "diagsvd",
    "scipy.ndimage": "sum sum_labels mean maximum minimum variance standard_deviation median "
    "labeled_comprehension extrema",
    "scipy.optimize": "rosen rosen_der rosen_hess rosen_hess_prod",
    "scipy.signal": "freqs deconvolve hilbert2 wiener istft lombscargle gausspulse chirp sawtooth "
    "square zpk2tf cont2discrete vectorstrength envelope group_delay tf2zpk "
    "bilinear firwin",
    "scipy.spatial": "distance_matrix procrustes geometric_slerp",
    "scipy.spatial.distance": "jensenshannon",
    "scipy.sparse.csgraph": "laplacian",
}
# of scipy.stats: what they are asked for besides stands in a decorator
SAMPLES = (
    "wasserstein_distance bartlett boxcox yeojohnson energy_distance gzscore levene kstat kstatvar "
    "differential_entropy circmean circvar circstd directional_stats combine_pvalues lmoment "
    "scoreatpercentile tmin tmax ttest_ind ttest_rel ttest_1samp chisquare power_divergence "
    "describe theilslopes pmean gstd tstd tvar tsem sigmaclip alexandergovern brunnermunzel "
    "expectile obrientransform jarque_bera skewtest kurtosistest normaltest"
)


def _namespace(*arrays: Any, **options: Any) -> Any:
    return np


def _number(x: Any) -> Any:
    """`float`, where its argument may be traced."""
    return np.asarray(x) if is_traced(x) else float(x)


def _array(x: Any, dtype: Any = None, **options: Any) -> Any:
    return np.asarray(x, dtype)


# helpers of SciPy's that many of its modules import
_INSTEAD = {"array_namespace": _namespace, "is_numpy": lambda xp: True, "_asarray": _array}
_OF_MODULES = {"scipy.signal._waveforms": {"float": _number}}


@functools.cache
def _scope(home: str) -> dict[str, Any]:
    """The globals of a module, with lazynp for numpy and copies of the functions."""
    plain = vars(sys.modules[home])
    scope: dict[str, Any] = {}
    for name, value in plain.items():
        found = counterpart(value)
        if found is None and isinstance(value, types.FunctionType) and value.__globals__ is plain:
            found = types.FunctionType(
                value.__code__, scope, name, value.__defaults__, value.__closure__
            )
            found.__kwdefaults__ = value.__kwdefaults__
        scope[name] = value if found is None else found
    scope.update({k: v for k, v in _INSTEAD.items() if k in plain})
    scope.update(_OF_MODULES.get(home, {}))
    return scope


def _copied(original: Function) -> Function:
    inner: Any = inspect.unwrap(original)
    scope = _scope(inner.__module__)
    found = types.FunctionType(
        inner.__code__, scope, inner.__name__, inner.__defaults__, inner.__closure__
    )
    found.__kwdefaults__ = inner.__kwdefaults__
    return found


def plain(original: Function) -> Function:
    """SciPy's function, on lazynp."""
    return lambda *args, **kwargs: _copied(original)(*args, **kwargs)


def of_samples(original: Function) -> Function:
    """The same of scipy.stats. Where a decorator takes samples of several axes apart, one axis is
    required, or axis=, if the function within knows it.
    """
    name = original.__name__
    apart = "keepdims" in inspect.signature(original).parameters

    def ours(
        *args: Any, nan_policy: Any = "propagate", keepdims: Any = False, **kwargs: Any
    ) -> Any:
        only(name, nan_policy=(nan_policy, "propagate"), keepdims=(keepdims, False))
        function = _copied(original)
        if apart and any(getattr(x, "ndim", 0) > 1 for x in (*args, *kwargs.values())):
            given = inspect.signature(function).bind(*args, **kwargs)
            given.apply_defaults()
            if given.arguments.get("axis") is None:
                refuse(name, "samples of several axes without axis=, an integer")
        return function(*args, **kwargs)

    return ours


def _rows(names: str, kind: Function) -> dict[str, Function]:
    return dict.fromkeys(names.split(), kind)


def functions() -> dict[str, dict[str, Function]]:
    """Module -> name -> what makes ours of SciPy's."""
    rows = [(place, names, plain) for place, names in PLAIN.items()]
    rows.append(("scipy.stats", SAMPLES, of_samples))
    return {place: _rows(names, kind) for place, names, kind in rows}
