"""Signatures: functions accept every way of passing arguments that the standard allows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from array_api_tests.support import make, xp

TOP = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing="xy")
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
broadcast_arrays(*arrays)
broadcast_shapes(*shapes)
broadcast_to(x, /, shape)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
clip(x, /, min=None, max=None)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
concat(arrays, /, *, axis=0)
expand_dims(x, /, axis)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side="left", sorter=None)
where(condition, x1, x2, /)
isin(x1, x2, /, *, invert=False)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
__array_namespace_info__()
"""
LINALG = """
cholesky(x, /, *, upper=False)
cross(x1, x2, /, *, axis=-1)
det(x, /)
diagonal(x, /, *, offset=0)
eig(x, /)
eigh(x, /)
eigvals(x, /)
eigvalsh(x, /)
inv(x, /)
matmul(x1, x2, /)
matrix_norm(x, /, *, keepdims=False, ord="fro")
matrix_power(x, n, /)
matrix_rank(x, /, *, rtol=None)
matrix_transpose(x, /)
outer(x1, x2, /)
pinv(x, /, *, rtol=None)
qr(x, /, *, mode="reduced")
slogdet(x, /)
solve(x1, x2, /)
svd(x, /, *, full_matrices=True)
svdvals(x, /)
tensordot(x1, x2, /, *, axes=2)
trace(x, /, *, offset=0, dtype=None)
vecdot(x1, x2, /, *, axis=-1)
vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
"""
FFT = """
fft(x, /, *, n=None, axis=-1, norm="backward")
ifft(x, /, *, n=None, axis=-1, norm="backward")
fftn(x, /, *, s=None, axes=None, norm="backward")
ifftn(x, /, *, s=None, axes=None, norm="backward")
rfft(x, /, *, n=None, axis=-1, norm="backward")
irfft(x, /, *, n=None, axis=-1, norm="backward")
rfftn(x, /, *, s=None, axes=None, norm="backward")
irfftn(x, /, *, s=None, axes=None, norm="backward")
hfft(x, /, *, n=None, axis=-1, norm="backward")
ihfft(x, /, *, n=None, axis=-1, norm="backward")
fftfreq(n, /, *, d=1.0, dtype=None, device=None)
rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fftshift(x, /, *, axes=None)
ifftshift(x, /, *, axes=None)
"""
METHODS = """
__array_namespace__(*, api_version=None)
__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
__dlpack_device__()
to_device(device, /, *, stream=None)
"""
INFO = """
capabilities()
default_device()
default_dtypes(*, device=None)
devices()
dtypes(*, device=None, kind=None)
"""


def _rows(text: str) -> list[str]:
    return text.strip().splitlines()


def _signature(row: str) -> inspect.Signature:
    space: dict[str, Any] = {}
    exec(f"def {row}: ...", space)
    return inspect.signature(space[row.partition("(")[0]])


def _name(row: str) -> str:
    return row.partition("(")[0]


def _forms(wanted: inspect.Signature) -> list[tuple[list[Any], dict[str, Any]]]:
    """Calls that must work: with the required arguments, and with all, by position and by name."""
    p = inspect.Parameter
    parameters = list(wanted.parameters.values())
    several = [0, 0] if any(q.kind is p.VAR_POSITIONAL for q in parameters) else []
    only = [q for q in parameters if q.kind is p.POSITIONAL_ONLY]
    either = [q for q in parameters if q.kind is p.POSITIONAL_OR_KEYWORD]
    named = [q for q in parameters if q.kind is p.KEYWORD_ONLY]
    required = [q for q in only + either if q.default is p.empty]
    keywords = {q.name: q.default for q in named}
    by_name = {q.name: 0 for q in either}
    return [
        ([0] * len(required) + several, {}),
        ([0] * len(only + either) + several, keywords),
        ([0] * len(only) + several, {**by_name, **keywords}),
        *[([0] * len(required) + several, {k: v}) for k, v in keywords.items()],
    ]


def _takes(function: Callable[..., Any], row: str) -> None:
    try:
        found = inspect.signature(function)
    except ValueError:  # written in C, without a signature: other tests call it
        assert callable(function)
        return
    for args, kwargs in _forms(_signature(row)):
        try:
            found.bind(*args, **kwargs)
        except TypeError as e:
            raise AssertionError(f"{row}: {len(args)} arguments and {sorted(kwargs)}: {e}") from e


@pytest.mark.parametrize("row", _rows(TOP), ids=_name)
def test_function(row: str) -> None:
    _takes(getattr(xp, _name(row)), row)


@pytest.mark.parametrize("row", _rows(LINALG), ids=_name)
def test_linalg(row: str) -> None:
    _takes(getattr(xp.linalg, _name(row)), row)


@pytest.mark.parametrize("row", _rows(FFT), ids=_name)
def test_fft(row: str) -> None:
    _takes(getattr(xp.fft, _name(row)), row)


@pytest.mark.parametrize("row", _rows(METHODS), ids=_name)
def test_method(row: str) -> None:
    _takes(getattr(make([1.0]), _name(row)), row)


@pytest.mark.parametrize("row", _rows(INFO), ids=_name)
def test_info(row: str) -> None:
    _takes(getattr(xp.__array_namespace_info__(), _name(row)), row)
