"""convolution: lowered against reference, the reference against loops, and its rules."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from lazynp._avals import DEVICE_DTYPES, aval_of
from lazynp.primitives.convolution import convolution
from tests.primitives.harness import elsewhere, run_lowered
from tests.primitives.rules import check_batch, check_jvp, check_transpose

# shape of x, of the kernel; strides, padding, dilation, kernel_dilation, groups
CASES: dict[str, tuple[Any, ...]] = {
    "line": ((1, 1, 9), (1, 1, 4), (1,), ((0, 0),), (1,), (1,), 1),
    "full line": ((1, 1, 5), (1, 1, 3), (1,), ((2, 2),), (1,), (1,), 1),
    "channels": ((2, 3, 6), (4, 3, 2), (1,), ((1, 0),), (1,), (1,), 1),
    "everything": ((2, 2, 5, 4), (3, 2, 2, 3), (2, 1), ((1, 2), (0, 3)), (1, 2), (2, 1), 1),
    "groups": ((2, 6, 7), (4, 3, 3), (2,), ((1, 1),), (1,), (1,), 2),
    "cut": ((1, 1, 9), (1, 1, 2), (1,), ((-2, -1),), (1,), (1,), 1),
    "volume": ((1, 2, 3, 4, 3), (2, 2, 2, 2, 2), (1, 1, 1), ((0, 1),) * 3, (1, 1, 1), (1, 1, 1), 1),
    "four dimensions": ((2, 1, 3, 2, 3, 2), (1, 1, 2, 1, 2, 2), (1, 2, 1, 1),
                        ((0, 1), (1, 0), (0, 0), (0, 0)), (1, 1, 2, 1), (1, 1, 1, 1), 1),
    "nothing left": ((1, 1, 2), (1, 1, 4), (1,), ((0, 0),), (1,), (1,), 1),
}  # fmt: skip
NAMES = ("strides", "padding", "dilation", "kernel_dilation", "groups")


def case(name: str, dtype: Any = "f8") -> tuple[Any, Any, dict[str, Any]]:
    x_shape, kernel_shape, *params = CASES[name]
    rng = np.random.default_rng(0)
    dtype = np.dtype(dtype)

    def draw(shape: Any) -> Any:
        if dtype.kind in "biu":
            return rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
        x = rng.normal(size=shape)
        return (x + 1j * rng.normal(size=shape) if dtype.kind == "c" else x).astype(dtype)

    return draw(x_shape), draw(kernel_shape), dict(zip(NAMES, params, strict=True))


def by_loops(x: Any, kernel: Any, **params: Any) -> Any:
    """The definition, term by term."""
    strides, padding, dilation, spread, groups = (params[n] for n in NAMES)
    shape = convolution.abstract(
        aval_of(x.shape, x.dtype), aval_of(kernel.shape, x.dtype), **params
    )
    out = np.zeros(shape.shape)
    ins, outs = kernel.shape[1], kernel.shape[0] // groups
    for b, o, *p in itertools.product(*map(range, out.shape)):
        for c, *k in itertools.product(*map(range, kernel.shape[1:])):
            places = [
                i * s + j * e - lo for i, j, s, e, (lo, _) in zip(p, k, strides, spread, padding)
            ]
            if any(q % d or not 0 <= q // d < n for q, d, n in zip(places, dilation, x.shape[2:])):
                continue
            at = tuple(q // d for q, d in zip(places, dilation))
            out[(b, o, *p)] += x[(b, o // outs * ins + c, *at)] * kernel[(o, c, *k)]
    return out


@pytest.mark.parametrize("name", CASES)
def test_reference_is_the_definition(name: str) -> None:
    x, kernel, params = case(name)
    np.testing.assert_allclose(
        convolution.reference(x, kernel, **params), by_loops(x, kernel, **params), atol=1e-12
    )


# cuDNN has neither integers nor complex numbers
OF_FLOATS = elsewhere(convolution, convolves="fd")


@pytest.mark.parametrize("primitive", [convolution, OF_FLOATS], ids=["host", "cuDNN"])
@pytest.mark.parametrize("name, dtype", [
    *((n, d) for n in CASES for d in ("f8", "i4")),
    *(("everything", d.str) for d in sorted(DEVICE_DTYPES, key=str)),
    ("four dimensions", "f4"), ("groups", "c8"),
])  # fmt: skip
def test_lowered(name: str, dtype: str, primitive: Any) -> None:
    x, kernel, params = case(name, dtype)
    (got,) = run_lowered(primitive, x, kernel, **params)
    want = convolution.reference(x, kernel, **params)
    assert got.dtype == want.dtype == x.dtype and got.shape == want.shape
    if x.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
    else:
        tolerance = 16 * float(np.finfo(x.dtype).eps)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [n for n in CASES if n != "nothing left"])
def test_rules(name: str) -> None:
    x, kernel, params = case(name)
    for moving in ([0], [1], [0, 1]):
        check_jvp(convolution, (x, kernel), moving, **params)
    for i in (0, 1):
        check_transpose(convolution, (x, kernel), [i], **params)
    many = np.stack([x, 2 * x - 1]), np.stack([kernel, 1 - kernel])
    for batched in ((True, False), (False, True), (True, True)):
        operands = [m if b else o for m, b, o in zip(many, batched, (x, kernel))]
        check_batch(convolution, operands, batched, **params)


def test_transpose_of_complex_numbers() -> None:
    x, kernel, params = case("everything", "c16")
    for i in (0, 1):
        check_transpose(convolution, (x, kernel), [i], **params)


def test_errors() -> None:
    x, kernel, params = case("channels")
    for wrong in (kernel[:, :2], kernel[0]):
        with pytest.raises(ValueError, match="convolution"):
            convolution(x, wrong, **params)
