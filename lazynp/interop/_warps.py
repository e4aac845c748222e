"""scipy.ndimage: images that are moved, turned and enlarged, as `map_coordinates`.

They have derivatives by the image, and by what moves it. Other orders and modes than those of our
`map_coordinates` are linear in the image only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop._calls import inexact, is_traced, refuse
from lazynp.interop._filters import map_coordinates
from lazynp.interop._linear import of_whole

Function = Callable[..., Any]
_MODES = ("reflect", "grid-mirror", "constant", "nearest", "mirror", "grid-wrap", "wrap")


def _places(shape: Sequence[int]) -> list[Any]:
    return [numpy.arange(float(n)).reshape([-1] + [1] * (len(shape) - d - 1))
            for d, n in enumerate(shape)]  # fmt: skip


def _sampled(x: Any, coordinates: Sequence[Any], shape: Sequence[int], options: Any) -> Any:
    at = np.stack([np.broadcast_to(np.asarray(c), tuple(shape)) for c in coordinates])
    return map_coordinates(x, at, **options)


def _shift(x: Any, shift: Any, **options: Any) -> Any:
    moved = np.broadcast_to(inexact(shift)[0], (x.ndim,))
    return _sampled(x, [c - moved[d] for d, c in enumerate(_places(x.shape))], x.shape, options)


def _zoom(x: Any, zoom: Any, grid_mode: bool = False, **options: Any) -> Any:
    if is_traced(zoom) or grid_mode:
        return NotImplemented
    factors = numpy.broadcast_to(zoom, (x.ndim,))
    shape = [round(n * f) for n, f in zip(x.shape, factors.tolist(), strict=True)]
    ratios = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(x.shape, shape, strict=True)]
    return _sampled(x, [c * r for c, r in zip(_places(shape), ratios, strict=True)], shape, options)


def _affine(
    x: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, **options: Any
) -> Any:
    matrix, n = inexact(matrix)[0], x.ndim
    if matrix.ndim == 2 and matrix.shape[1] == n + 1 and matrix.shape[0] in (n, n + 1):
        matrix, offset = matrix[:n, :n], matrix[:n, n]  # homogeneous
    if matrix.ndim not in (1, 2) or matrix.shape[0] != n:
        raise RuntimeError("no proper affine matrix provided")
    offset = np.broadcast_to(inexact(offset)[0], (n,))
    shape = x.shape if output_shape is None else tuple(output_shape)
    places = _places(shape)
    if matrix.ndim == 1:
        moved = [(c + offset[d] / matrix[d]) * matrix[d] for d, c in enumerate(places)]
    else:
        moved = []
        for d in range(n):
            at = offset[d]
            for k, c in enumerate(places):
                at = at + c * matrix[d, k]
            moved.append(at)
    return _sampled(x, moved, shape, options)


def _bounds(turn: Any, sides: Any) -> tuple[int, ...]:
    """How many rows and columns the turned picture has."""
    height, width = sides
    corners = numpy.asarray([[0, 0, height, height], [0, width, 0, width]])
    ends = np.stop_gradient(turn) @ corners
    return tuple((np.ptp(ends, axis=1) + 0.5).astype(int).tolist())


def _rotate(x: Any, angle: Any, axes: Any = (1, 0), reshape: bool = True, **options: Any) -> Any:
    first, second = sorted(a % x.ndim for a in axes)
    if first == second:
        refuse("rotate", f"axes={axes}")
    c, s = (np.asarray(f(angle)) for f in (scipy.special.cosdg, scipy.special.sindg))
    turn = np.stack([np.stack([c, s]), np.stack([-s, c])])
    sides = (x.shape[first], x.shape[second])
    shape = _bounds(turn, sides) if reshape else sides
    center = turn @ ((numpy.asarray(shape) - 1) / 2)
    offset = (numpy.asarray(sides) - 1) / 2 - center
    planes = np.moveaxis(x, (first, second), (-2, -1))
    lead = planes.shape[:-2]
    found = [
        _affine(p, turn, offset, shape, **options) for p in planes.reshape(-1, *planes.shape[-2:])
    ]
    return np.moveaxis(np.stack(found).reshape(*lead, *shape), (-2, -1), (first, second))


_OURS: dict[str, Function] = {
    "shift": _shift, "zoom": _zoom, "rotate": _rotate, "affine_transform": _affine,
}  # fmt: skip


def warp(name: str) -> Callable[[Function], Function]:
    """What makes ours of SciPy's function of this name."""
    ours = _OURS[name]

    def made(original: Function) -> Function:
        linear = of_whole(original)
        signature = inspect.signature(original)

        def function(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = dict(bound.arguments)
            x, output = np.asarray(given.pop("input")), given.pop("output")
            usual = given["order"] in (0, 1, 3) and given["mode"] in _MODES
            found = NotImplemented
            if usual and output is None and x.dtype.kind == "f":
                found = ours(x, **given)
            return linear(*args, **kwargs) if found is NotImplemented else found

        return function

    return made
