"""Deviations of the libraries that validate the suite, with the standard's text.

Keys are test ids (`test_x.py::test_name[param]`), or prefixes that end with `*`.
"""

from __future__ import annotations

_FLOOR = (
    'floor_divide: "If x1_i is +infinity and x2_i is a positive finite number, the result is '
    '+infinity. (note: libraries may return NaN to match Python behavior.)", and its kin'
)
_EXPM1 = (
    'expm1: "If a is +infinity and b is +0, the result is +infinity + 0j.", "If a is NaN and b is '
    '+0, the result is NaN + 0j." and other rows: here NaN + NaN j'
)
_TANH = (
    'tanh: "If a is +infinity and b is a positive (i.e., greater than 0) finite number, the result '
    'is 1 + 0j.", tan "as if the operation is implemented as -1j * tanh(x*1j)": here the zero has '
    "the sign of sin(2b)"
)
_NAN = '__complex__: "If self is NaN, the result is NaN + NaN j.": here NaN + 0j'
_CORRECTION = (
    'var, std: "If M - correction is less than or equal to 0, the variance must be NaN.": here '
    "infinity, as the sum is divided by max(M - correction, 0)"
)
_DESCENDING = "sort(x, /, *, axis=-1, descending=False, stable=True): no descending here"
_FREQUENCIES = "fftfreq(n, /, *, d=1.0, dtype=None, device=None), 2024.12: no dtype here"
_INFO = 'finfo, iinfo: "type: Union[dtype, array]"; "eps: float"'
_EIG = (
    'eig, 2025.12: "eigenvalues must have a complex floating-point data type having the same '
    'precision as that of x"'
)

_SCALAR = (
    'indexing: "The specification does not support returning scalar (i.e., non-array) values from '
    'operations": here a scalar, which lacks __dlpack__'
)

NUMPY: dict[str, str] = {
    **{
        f"test_array_object.py::test_arrays_without_dimensions[{kind}]": _SCALAR
        for kind in ("element", "slice of nothing", "sum", "operator", "function")
    },
    "test_array_object.py::test_complex_of_nan[*": _NAN,
    "test_special_cases.py::test_binary[floor_divide-*": _FLOOR,
    "test_special_cases.py::test_complex_unary[expm1-*": _EXPM1,
    "test_special_cases.py::test_complex_unary[tanh-*": _TANH,
    "test_special_cases.py::test_complex_unary[tan-*": _TANH,
    "test_special_cases.py::test_complex_sign[*": (
        'sign: "If a is NaN or b is NaN, the result is NaN + NaN j.": here 0+1j of NaN + infinity j'
    ),
    "test_data_types.py::test_complex_to_real_is_refused[*": (
        'astype: "Casting a complex floating-point array to a real-valued data type should not be '
        'permitted.": here ComplexWarning'
    ),
    "test_data_types.py::test_finfo[*": _INFO,
    "test_data_types.py::test_iinfo[*": _INFO,
    "test_elementwise.py::test_clip_by_arrays": (
        "clip(x, /, min=None, max=None): clip(x, low) lacks an argument here"
    ),
    "test_indexing.py::test_take_needs_an_axis": (
        'take: "If x has more than one dimension, providing an axis must be required."'
    ),
    "test_inspection.py::test_devices_is_a_tuple": (
        'devices, 2025.12: "Changed the return value from a List to a Tuple."'
    ),
    "test_namespace.py::test_version": "NumPy 2.4 is of version 2024.12",
    "test_namespace.py::test_versions[2025.12]": "NumPy 2.4 is of version 2024.12",
    "test_sorting.py::test_sort": _DESCENDING,
    "test_sorting.py::test_stable_argsort": _DESCENDING,
    "test_sorting.py::test_unstable_argsort": _DESCENDING,
    "test_sorting.py::test_long_arrays_are_stable": _DESCENDING,
    "test_signatures.py::test_function[sort]": _DESCENDING,
    "test_signatures.py::test_function[argsort]": _DESCENDING,
    "test_statistical.py::test_too_few_elements[*": _CORRECTION,
    "test_utility.py::test_diff_with_ends": (
        "diff(x, /, *, axis=-1, n=1, prepend=None, append=None): None is taken for a value here"
    ),
    "test_fft.py::test_dtype_of_frequencies[*": _FREQUENCIES,
    "test_signatures.py::test_fft[fftfreq]": _FREQUENCIES,
    "test_signatures.py::test_fft[rfftfreq]": _FREQUENCIES,
    "test_linalg.py::test_eig": _EIG,
    "test_linalg.py::test_eigvals": _EIG,
    "test_linalg.py::test_default_tolerance_of_pinv[float32]": (
        'pinv: "If None, the default value is max(M, N) * eps": here 1e-15 unless it is named'
    ),
    "test_linalg.py::test_default_tolerance_of_pinv[complex64]": (
        'pinv: "If None, the default value is max(M, N) * eps": here 1e-15 unless it is named'
    ),
}
STRICT: dict[str, str] = {
    "test_array_object.py::test_complex_of_nan[*": _NAN,
    "test_special_cases.py::test_binary[floor_divide-*": _FLOOR,
    "test_special_cases.py::test_complex_unary[expm1-*": _EXPM1,
    "test_special_cases.py::test_complex_unary[tanh-*": _TANH,
    "test_special_cases.py::test_complex_unary[tan-*": _TANH,
    "test_statistical.py::test_too_few_elements[*": _CORRECTION,
    "test_indexing.py::test_stops_before_the_first[*": (
        'indexing: "For k < 0, -n - 1 <= j <= max(0, n - 1)": -n - 1 is refused here'
    ),
    "test_manipulation.py::test_reshape_refuses_to_copy": (
        'reshape: "If copy=False and a copy would be necessary, a ValueError should be raised.": '
        "here AttributeError"
    ),
    "test_set.py::test_isin": (
        'isin: "If True, the function must test whether each element in x1 is not in x2.": invert '
        "is not looked at by array_api_strict 2.6.1"
    ),
}

DEVIATIONS = {"numpy": NUMPY, "array_api_strict": STRICT}


def deviation_of(module: str, test: str) -> str | None:
    """Why this test must fail with this module, or None."""
    for pattern, reason in DEVIATIONS.get(module, {}).items():
        if test == pattern or pattern.endswith("*") and test.startswith(pattern[:-1]):
            return reason
    return None
