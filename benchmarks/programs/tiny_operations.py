"""A spacecraft's attitude: quaternions and three-vectors, dozens of tiny operations a step."""

import numpy as np

CATEGORY = "small arrays"
RTOL = 1e-7
SIZES = {"T": (4,), "S": (120,), "M": (1200,), "L": (8000,)}


def inputs(size):
    return np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.1, -0.2, 0.3]), SIZES[size][0]


def kernel(q, omega, steps, dt=0.01):
    inertia = np.array([1.0, 2.0, 3.0])
    for _ in range(steps):
        torque = -np.cross(omega, inertia * omega) - 0.05 * omega
        omega = omega + dt * torque / inertia
        w, v = q[0], q[1:]
        change = np.empty(4)
        change[0] = -np.dot(omega, v)
        change[1:] = w * omega + np.cross(v, omega)
        q = q + 0.5 * dt * change
        q /= np.linalg.norm(q)
    return q, omega, 0.5 * np.sum(inertia * omega**2)
