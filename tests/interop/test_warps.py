"""scipy.ndimage: shift, zoom, rotate, affine_transform by the image and by what moves it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import scipy.ndimage

import lazynp as np

pytestmark = pytest.mark.usefixtures("hooked")

ndi: Any = scipy.ndimage
IMAGE = numpy.random.default_rng(0).normal(size=(6, 7))
CUBE = numpy.random.default_rng(1).normal(size=(3, 4, 5))
MODES = ["reflect", "grid-mirror", "constant", "nearest", "mirror", "grid-wrap", "wrap"]
MATRIX = numpy.array([[0.9317, 0.1273], [-0.2131, 1.1219]])
PLACE = numpy.array([0.3719, -1.4327])
# of the image and of what moves it, with the options order and mode
CALLS: dict[str, tuple[Callable[..., Any], Any]] = {
    "shift": (lambda x, p, **o: ndi.shift(x, p, **o), PLACE),
    "shift of both axes": (lambda x, p, **o: ndi.shift(x, p[0], cval=0.3, **o), PLACE),
    "rotate": (lambda x, p, **o: ndi.rotate(x, p, reshape=False, **o), numpy.array(17.3)),
    "rotate in a larger picture": (lambda x, p, **o: ndi.rotate(x, p, **o), numpy.array(17.3)),
    "affine": (lambda x, p, **o: ndi.affine_transform(x, p, [0.2913, -0.2171], **o), MATRIX),
    "affine, offset": (lambda x, p, **o: ndi.affine_transform(x, MATRIX, p, **o), PLACE),
    "affine, homogeneous": (
        lambda x, p, **o: ndi.affine_transform(x, p, output_shape=(5, 9), **o),
        numpy.concatenate([MATRIX, PLACE[:, None]], axis=1),
    ),
    "affine, diagonal": (
        lambda x, p, **o: ndi.affine_transform(x, p, [0.2337, -0.3151], **o),
        numpy.array([0.9031, 1.1317]),
    ),
    "zoom": (lambda x, p, **o: ndi.zoom(x * p, (1.7, 0.6), **o), numpy.array(1.2)),
}  # fmt: skip


# Under `compiled`, each operation is a program: one of the modes suffices.
_EVERY = 7 if os.environ.get("LAZYNP_EXECUTION") == "compiled" else 1


@pytest.mark.parametrize("mode", MODES[::_EVERY])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_derivatives(name: str, mode: str) -> None:
    call, p = CALLS[name]
    for order in (0, 1, 3):
        options = {"order": order, "mode": mode}
        value, pull = np.vjp(lambda x, p, o=options: call(x, p, **o), IMAGE, p)
        numpy.testing.assert_allclose(value, call(IMAGE, p, **options), rtol=1e-10, atol=1e-11)
        weights = numpy.cos(numpy.arange(value.size)).reshape(value.shape)
        by_image, by_place = pull(np.asarray(weights))

        def along(t: float, o: Any = options, w: Any = weights) -> tuple[float, float]:
            first = call(IMAGE + t * numpy.cos(IMAGE), p, **o)
            second = call(IMAGE, p + t * numpy.cos(p), **o)
            return (first * w).sum(), (second * w).sum()

        slopes = (numpy.array(along(1e-5)) - numpy.array(along(-1e-5))) / 2e-5
        found = [(by_image * numpy.cos(IMAGE)).sum(), (by_place * numpy.cos(p)).sum()]
        numpy.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", [n for n in CALLS if "larger" not in n])
def test_under_jit_and_vmap(name: str) -> None:
    call, p = CALLS[name]
    gradient = np.grad(lambda p: (call(IMAGE, p, order=3, mode="mirror") ** 2).sum())
    p = np.asarray(p)
    expected = gradient(p)
    numpy.testing.assert_allclose(np.jit(gradient)(p), expected, rtol=1e-9)
    numpy.testing.assert_allclose(np.vmap(gradient)(np.stack([p * 2, p]))[1], expected, rtol=1e-9)


@pytest.mark.parametrize("axes", [(0, 2), (2, 1), (-1, 0)])
def test_rotations_of_more_axes(axes: tuple[int, int]) -> None:
    def turned(x: Any, angle: Any) -> Any:
        return ndi.rotate(x, angle, axes, order=1)

    value, moved = np.jvp(lambda a: turned(CUBE, a), (25.0,), (1.0,))
    numpy.testing.assert_allclose(value, turned(CUBE, 25.0), rtol=1e-11, atol=1e-12)
    slope = (turned(CUBE, 25.0 + 1e-5) - turned(CUBE, 25.0 - 1e-5)) / 2e-5
    numpy.testing.assert_allclose(moved, slope, rtol=1e-6, atol=1e-8)


def test_what_is_only_linear_in_the_image() -> None:
    """Orders and modes that `map_coordinates` has not here."""
    for options in ({"order": 2}, {"order": 4}, {"mode": "grid-constant"}):
        value, moved = np.jvp(lambda x, o=options: ndi.shift(x, 0.3, **o), (IMAGE,), (IMAGE,))
        numpy.testing.assert_allclose(value, ndi.shift(IMAGE, 0.3, **options), atol=1e-12)
        numpy.testing.assert_allclose(moved, value, atol=1e-12)
    with pytest.raises(TypeError, match="shift: no derivative is implemented for arguments other"):
        np.grad(lambda p: ndi.shift(IMAGE, p, order=2).sum())(0.3)
    enlarged = ndi.zoom(IMAGE, 2, grid_mode=True, mode="nearest")
    value = np.jvp(lambda x: ndi.zoom(x, 2, grid_mode=True, mode="nearest"), (IMAGE,), (IMAGE,))[0]
    numpy.testing.assert_allclose(value, enlarged, atol=1e-12)
    with pytest.raises(RuntimeError, match="no proper affine matrix provided"):
        np.grad(lambda p: ndi.affine_transform(IMAGE, p).sum())(np.ones(3))
