"""A nonlinear Schroedinger equation by split steps: fft2, complex exponentials."""

import numpy as np

CATEGORY = "FFT"
SIZES = {"T": (8, 2), "S": (64, 26), "M": (128, 37), "L": (256, 64)}


def inputs(size):
    n, steps = SIZES[size]
    rng = np.random.default_rng(34)
    return rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)), steps


def kernel(psi, steps, dt=1e-3):
    k = 2 * np.pi * np.fft.fftfreq(psi.shape[0])
    linear = np.exp(-0.5j * dt * (k[:, None] ** 2 + k[None, :] ** 2))
    for _ in range(steps):
        psi *= np.exp(-1j * dt * (psi.real**2 + psi.imag**2))
        psi = np.fft.ifft2(linear * np.fft.fft2(psi))
    return psi, np.sum(np.abs(psi) ** 2)
