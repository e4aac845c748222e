"""scipy.spatial.transform: rotations whose quaternion is traced.

The quaternion's last component is the scalar. A rotation by 0 has the derivative of the limit.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy
import scipy

import lazynp as np
from lazynp.interop._calls import inexact, is_traced, refuse

# -- quaternions -----------------------------------------------------------------------------------


def _times(p: Any, q: Any) -> Any:
    """The composition: first q, then p."""
    (a, b, c, d), (e, f, g, h) = (np.moveaxis(v, -1, 0) for v in np.broadcast_arrays(p, q))
    return np.stack([
        d * e + a * h + b * g - c * f,
        d * f + b * h + c * e - a * g,
        d * g + c * h + a * f - b * e,
        d * h - a * e - b * f - c * g,
    ], axis=-1)  # fmt: skip


def _unit(q: Any) -> Any:
    return q / np.sqrt((q * q).sum(axis=-1, keepdims=True))


def _over_angle(square: Any, near: Any, far: Any) -> Any:
    """near(square) for small angles, else far(angle): both are smooth functions of the square."""
    small = square < 1e-3
    angle = np.sqrt(np.where(small, 1.0, square))
    return np.where(small, near(np.where(small, square, 0.0)), far(angle))


def _of_vector(v: Any) -> Any:
    """exp(v / 2)."""
    square = (v * v).sum(axis=-1, keepdims=True)
    share = _over_angle(
        square,
        lambda s: 0.5 - s / 48 + s * s / 3840 - s**3 / 645120 + s**4 / 185794560,
        lambda angle: np.sin(angle / 2) / angle,
    )
    scalar = _over_angle(
        square,
        lambda s: 1 - s / 8 + s * s / 384 - s**3 / 46080 + s**4 / 10321920,
        lambda angle: np.cos(angle / 2),
    )
    return np.concatenate([v * share, scalar], axis=-1)


def _to_vector(q: Any) -> Any:
    """The axis times the angle, which is pi at most."""
    q = q * np.where(np.stop_gradient(q[..., 3:]) < 0, -1.0, 1.0)
    axis, scalar = q[..., :3], q[..., 3:]
    square = (axis * axis).sum(axis=-1, keepdims=True)
    small = square < 1e-6
    size = np.sqrt(np.where(small, 1.0, square))
    # 2 arctan(sqrt(s) / scalar) / sqrt(s), by powers of s / scalar^2
    ratio = np.where(small, square, 0.0) / np.where(small, scalar, 1.0) ** 2
    series = 2 / np.where(small, scalar, 1.0) * (1 - ratio / 3 + ratio**2 / 5 - ratio**3 / 7)
    return axis * np.where(small, series, 2 * np.arctan2(size, scalar) / size)


def _matrix(q: Any) -> Any:
    x, y, z, w = np.moveaxis(q, -1, 0)
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _of_matrix(m: Any) -> Any:
    """Of the four ways to find a quaternion, that which divides by its largest component."""
    diagonal = [m[..., i, i] for i in range(3)]
    trace = sum(diagonal[1:], diagonal[0])
    choice = np.argmax(np.stop_gradient(np.stack([*diagonal, trace], axis=-1)), axis=-1)
    skew = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
    ways = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts: list[Any] = [None] * 4
        parts[i] = 1 - trace + 2 * diagonal[i]
        parts[j], parts[k] = m[..., j, i] + m[..., i, j], m[..., k, i] + m[..., i, k]
        parts[3] = skew[i]
        ways.append(np.stack(parts, axis=-1))
    ways.append(np.stack([*skew, 1 + trace], axis=-1))
    chosen = np.take_along_axis(np.stack(ways, axis=-2), choice[..., None, None], axis=-2)
    return _unit(chosen[..., 0, :])


def _about(letter: str, angle: Any) -> Any:
    zero = np.zeros_like(angle)
    parts = [zero, zero, zero, np.cos(angle / 2)]
    parts["xyz".index(letter)] = np.sin(angle / 2)
    return np.stack(parts, axis=-1)


# -- the class -------------------------------------------------------------------------------------


def _quaternion(rotation: Any) -> Any:
    if isinstance(rotation, _class()):
        return rotation._traced
    return np.asarray(rotation.as_quat())


@functools.cache
def _class() -> Any:
    """A kind of SciPy's Rotation that holds a traced quaternion."""
    base = scipy.spatial.transform.Rotation
    left_out = {n for n in vars(base) if not n.startswith("__")} - set(vars(_Methods))

    def missing(name: str) -> Any:
        def method(self: Any, *args: Any, **options: Any) -> Any:
            return refuse(f"Rotation.{name}", "traced rotations")

        return method

    methods = {k: v for k, v in vars(_Methods).items() if k not in ("__dict__", "__weakref__")}
    return type("Rotation", (base,), {n: missing(n) for n in left_out} | methods)


class _Methods:
    _traced: Any = None

    def __init__(self, quat: Any, normalize: bool = True, *args: Any, **options: Any) -> None:
        self._traced = _unit(quat) if normalize else quat

    single = property(lambda self: self._traced.ndim == 1)
    shape = property(lambda self: self._traced.shape[:-1])

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        q = self._traced
        if canonical:
            q = q * _canonical_sign(q)
        return np.roll(q, 1, axis=-1) if scalar_first else q

    def as_matrix(self) -> Any:
        return _matrix(self._traced)

    def as_rotvec(self, degrees: bool = False) -> Any:
        found = _to_vector(self._traced)
        return found * (180 / math.pi) if degrees else found

    def as_mrp(self) -> Any:
        q = self._traced * np.where(np.stop_gradient(self._traced[..., 3:]) < 0, -1.0, 1.0)
        return q[..., :3] / (1 + q[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False, **options: Any) -> Any:
        found = _to_angles(self._traced, seq)
        return found * (180 / math.pi) if degrees else found

    def magnitude(self) -> Any:
        q = self._traced
        square = (q[..., :3] ** 2).sum(axis=-1)
        return 2 * np.arctan2(np.sqrt(square), abs(q[..., 3]))

    def inv(self) -> Any:
        return type(self)(self._traced * numpy.array([-1.0, -1.0, -1.0, 1.0]), False)

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        m = _matrix(self._traced)
        return applied(m.mT if inverse else m, vectors)

    def __mul__(self, other: Any) -> Any:
        return type(self)(_times(self._traced, _quaternion(other)))

    def __rmul__(self, other: Any) -> Any:
        return type(self)(_times(_quaternion(other), self._traced))

    def __pow__(self, n: float, modulus: None = None) -> Any:
        return type(self)(_of_vector(n * _to_vector(self._traced)), False)

    def __getitem__(self, index: Any) -> Any:
        if self._traced.ndim == 1:
            raise TypeError("Single rotation is not subscriptable.")
        return type(self)(self._traced[index], False)

    def __len__(self) -> int:
        if self._traced.ndim == 1:
            raise TypeError("Single rotation has no len().")
        return self._traced.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Rotation({self._traced!r})"


def _canonical_sign(q: Any) -> Any:
    """The first component that is not 0, from the scalar on, is positive."""
    sign: Any = 1.0
    for k in (2, 1, 0, 3):
        part = np.stop_gradient(q[..., k : k + 1])
        sign = np.where(part == 0, sign, np.where(part < 0, -1.0, 1.0))
    return sign


def applied(matrix: Any, vectors: Any) -> Any:
    (vectors,) = inexact(vectors)
    if vectors.shape[-1] != 3:
        raise ValueError(f"Expected input of shape (..., 3), got {vectors.shape}.")
    if vectors.ndim == 1:
        return matrix @ vectors
    return (matrix @ vectors[..., None])[..., 0]


# -- Euler's angles --------------------------------------------------------------------------------


def _axes(seq: str) -> tuple[str, bool]:
    intrinsic, extrinsic = seq.isupper(), seq.islower()
    if not (intrinsic or extrinsic) or not 1 <= len(seq) <= 3 or set(seq.lower()) - set("xyz"):
        raise ValueError(
            "Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got " + seq
        )
    return seq.lower(), intrinsic


def _to_angles(q: Any, seq: str) -> Any:
    """Bernardes and Viollet's formula (2022); no derivative in gimbal lock."""
    letters, intrinsic = _axes(seq)
    if len(letters) != 3:
        raise ValueError(f"Expected 3 axes, got {seq}.")
    letters = letters[::-1] if intrinsic else letters
    i, j, k = ("xyz".index(c) for c in letters)
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
    if not symmetric:
        a, b, c, d = a - c, b + d, c + a, d - b
    second = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    first, third = half_sum - half_difference, half_sum + half_difference
    if intrinsic:
        first, third = third, first
    if not symmetric:
        if intrinsic:
            first = first * sign
        else:
            third = third * sign
        second = second - math.pi / 2
    angles = np.stack([first, second, third], axis=-1)
    turn = np.stop_gradient(angles)
    return angles + np.where(turn < -math.pi, 2 * math.pi, 0) - np.where(
        turn > math.pi, 2 * math.pi, 0
    )  # fmt: skip


# -- constructors ----------------------------------------------------------------------------------


def from_quat(quat: Any, *, scalar_first: bool = False) -> Any:
    (q,) = inexact(quat)
    return _class()(np.roll(q, -1, axis=-1) if scalar_first else q)


def from_matrix(matrix: Any, *, assume_valid: bool = False) -> Any:
    """Of an orthogonal matrix. What is not one, SciPy makes orthogonal: no derivative here."""
    (m,) = inexact(matrix)
    return _class()(_of_matrix(m), False)


def from_rotvec(rotvec: Any, degrees: bool = False) -> Any:
    (v,) = inexact(rotvec)
    return _class()(_of_vector(v * (math.pi / 180) if degrees else v), False)


def from_mrp(mrp: Any) -> Any:
    (v,) = inexact(mrp)
    square = (v * v).sum(axis=-1, keepdims=True)
    return _class()(np.concatenate([2 * v, 1 - square], axis=-1) / (1 + square), False)


def from_euler(seq: str, angles: Any, degrees: bool = False) -> Any:
    letters, intrinsic = _axes(seq)
    (angles,) = inexact(angles)
    angles = angles * (math.pi / 180) if degrees else angles
    if len(letters) == 1 and angles.ndim == 0:
        angles = angles[None]
    if angles.ndim == 0 or angles.shape[-1] != len(letters):
        raise ValueError(f"Expected last dimension of `angles` to match number of axes in {seq}")
    found: Any = None
    for i, letter in enumerate(letters):
        turn = _about(letter, angles[..., i])
        if found is None:
            found = turn
        else:
            found = _times(found, turn) if intrinsic else _times(turn, found)
    return _class()(found, False)


def concatenate(rotations: Any) -> Any:
    parts = [_quaternion(r) for r in rotations]
    return _class()(np.concatenate([p if p.ndim > 1 else p[None] for p in parts]), False)


def applies(self: Any, vectors: Any, inverse: bool = False) -> Any:
    """`Rotation.apply` of a constant rotation to traced vectors."""
    if isinstance(self, _class()) or not is_traced(vectors):
        return NotImplemented
    m = np.asarray(self.as_matrix())
    return applied(m.mT if inverse else m, vectors)
