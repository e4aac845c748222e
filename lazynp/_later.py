"""Other packages: modules that are loaded at their first use, not by `import lazynp`, and functions
that take no array but NumPy's.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np


class Later:
    """Stands for a module. The first attribute that is asked for imports it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> Any:
        return Later, (self._name,)

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._name), name)
        if not name.startswith("_"):
            setattr(self, name, found)
        return found

    def __repr__(self) -> str:
        return f"<module {self._name!r}, loaded at its first use>"


def matrix_classes() -> tuple[type, ...]:
    """NumPy's matrix and masked array, arrays of records and of strings: the classes that NumPy's
    functions keep. Importing `numpy.ma` takes 7 ms, and where nothing else has imported it, there
    are no masked arrays.
    """
    found = _classes
    for module, name in _LATE:
        kind = getattr(sys.modules.get(module), name, None)
        found = found if kind is None else (*found, kind)
    return found


def is_of_numpys_class(kind: type) -> bool:
    """Whether NumPy's functions keep this class: it is derived from NumPy's array. (An array in a
    file is taken for its elements.)
    """
    derived = issubclass(kind, np.ndarray) and kind is not np.ndarray
    return derived and not issubclass(kind, np.memmap)


_classes = (np.matrix, np.recarray)
_LATE = (("numpy.ma", "MaskedArray"), ("numpy._core.defchararray", "chararray"))


scipy_special: Any = Later("scipy.special")
array_api_compat: Any = Later("array_api_compat")


# By module: functions that look whether an argument is a `numpy.ndarray`, and then convert it.
# Others of these modules pass such an argument to C code that takes no other array.
ONLY_NUMPYS: dict[str, set[str]] = {
    "matplotlib.axes._axes": {"_upcast_err", "errorbar"},
    "matplotlib.axes._base": {"_validate_converted_limits"},
    "matplotlib.cbook": {"_reshape_2D", "delete_masked_points"},
    "matplotlib.collections": {"set_verts"},
    "matplotlib.colorbar": {"make_axes", "set_alpha"},
    "matplotlib.colorizer": {"_ensure_multivariate_data", "to_rgba"},
    "matplotlib.colors": {
        "_iterable_components_in_data", "_to_rgba_no_colorcycle", "to_rgba_array",
    },
    "matplotlib.figure": {"colorbar"},
    "matplotlib.legend": {"__init__"},
    "matplotlib.lines": {"_set_markercolor"},
    "matplotlib.markers": {"_set_marker"},
    "matplotlib.streamplot": {"interpgrid", "streamplot"},
    "mpl_toolkits.mplot3d.art3d": {"__init__", "_generate_normals", "_get_vector"},
    "mpl_toolkits.mplot3d.axes3d": {"plot_surface"},
    "numpy.testing._private.utils": {"assert_almost_equal", "assert_equal"},
    "pandas.core.algorithms": {"_ensure_arraylike", "factorize"},
    "pandas.core.common": {"is_bool_indexer"},
    "pandas.core.dtypes.common": {"is_array_like_deprecate_non_pandas"},
    "pandas.core.groupby.grouper": {"__init__", "_convert_grouper", "get_grouper"},
    "scipy.ndimage._filters": {"generic_gradient_magnitude"},
    "scipy.ndimage._interpolation": {"affine_transform", "geometric_transform"},
    "scipy.ndimage._measurements": {"label", "watershed_ift"},
    "scipy.ndimage._morphology": {
        "_binary_erosion", "_distance_tranform_arg_check", "binary_fill_holes",
        "binary_hit_or_miss", "binary_propagation", "black_tophat", "distance_transform_bf",
        "distance_transform_cdt", "distance_transform_edt", "morphological_gradient",
        "morphological_laplace", "white_tophat",
    },
    "scipy.optimize._root_scalar": {"root_scalar"},
    "scipy.signal._ltisys": {"__mul__", "_check_binop_other"},
    "scipy.signal._peak_finding": {"_unpack_condition_args"},
    "scipy.sparse._sputils": {"isdense"},
    "scipy.sparse.linalg._interface": {"aslinearoperator"},
    "sklearn.model_selection._search": {"__init__"},
    "xarray.core.dataset": {"_validate_interp_indexers"},
}  # fmt: skip
