"""The namespace: its version, and whether it has every name of the standard."""

from __future__ import annotations

import pytest

from array_api_tests.support import MODULE, make, xp

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
# the names that each version added to the main namespace
ADDED = {
    "2021.12": """
        e inf nan newaxis pi bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64
        arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones
        ones_like tril triu zeros zeros_like astype broadcast_arrays broadcast_to can_cast finfo
        iinfo result_type abs acos acosh add asin asinh atan atan2 atanh bitwise_and
        bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil cos cosh
        divide equal exp expm1 floor floor_divide greater greater_equal isfinite isinf isnan less
        less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor
        multiply negative not_equal positive pow remainder round sign sin sinh square sqrt subtract
        tan tanh trunc matmul matrix_transpose tensordot vecdot concat expand_dims flip
        permute_dims reshape roll squeeze stack argmax argmin nonzero where unique_all
        unique_counts unique_inverse unique_values argsort sort max mean min prod std sum var all
        any""",
    "2022.12": "complex64 complex128 conj imag real isdtype take",
    "2023.12": """__array_namespace_info__ clip copysign hypot maximum minimum signbit
        cumulative_sum moveaxis repeat tile unstack searchsorted""",
    "2024.12": "count_nonzero cumulative_prod diff nextafter reciprocal take_along_axis",
    "2025.12": "broadcast_shapes isin",
}
LINALG = """cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm
    matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot
    trace vecdot vector_norm"""
FFT = """fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift
    ifftshift"""
METHODS = """__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__
    __dlpack_device__ __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ __index__ __int__
    __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__
    __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device dtype device mT ndim shape
    size T __radd__ __rand__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__
    __rpow__ __rrshift__ __rsub__ __rtruediv__ __rxor__"""


@pytest.mark.parametrize("name", " ".join(ADDED.values()).split())
def test_name(name: str) -> None:
    assert hasattr(xp, name)


@pytest.mark.parametrize("name", LINALG.split())
def test_linalg_name(name: str) -> None:
    assert callable(getattr(xp.linalg, name))


@pytest.mark.parametrize("name", FFT.split())
def test_fft_name(name: str) -> None:
    assert callable(getattr(xp.fft, name))


@pytest.mark.parametrize("name", METHODS.split())
def test_method(name: str) -> None:
    assert hasattr(make([[1, 2], [3, 4]]), name)


def test_version() -> None:
    assert xp.__array_api_version__ == "2025.12"


@pytest.mark.parametrize("version", VERSIONS)
def test_versions(version: str) -> None:
    """ "the namespace corresponding to" the version; it has that version's names."""
    space = make([1.0]).__array_namespace__(api_version=version)
    # in array_api_strict, a request sets the version for all
    getattr(xp, "reset_array_api_strict_flags", int)()
    if MODULE == "lazynp.array_api":
        assert space.__array_api_version__ == version
    for one in VERSIONS[: VERSIONS.index(version) + 1]:
        for name in ADDED[one].split():
            assert hasattr(space, name), name


def test_latest_version() -> None:
    """ "If it is None, the namespace corresponding to latest version." """
    x = make([1.0])
    assert x.__array_namespace__() is x.__array_namespace__(api_version=None)
    assert x.__array_namespace__() == (x + x).__array_namespace__()


@pytest.mark.parametrize("version", ["2020.10", "1066.10", "3000.01", "", "2025"])
def test_unknown_versions(version: str) -> None:
    """ "If the given version is invalid or not implemented, an error should be raised." """
    with pytest.raises(ValueError):
        make([1.0]).__array_namespace__(api_version=version)
