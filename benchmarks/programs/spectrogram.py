"""Overlapping windows of a signal, tapered, transformed, in decibels."""

import numpy as np

CATEGORY = "FFT"
SIZES = {"T": (100, 16), "S": (160000, 256), "M": (1000000, 512), "L": (4500000, 1024)}


def inputs(size):
    n, width = SIZES[size]
    t = np.arange(n) / 8000
    noise = np.random.default_rng(36).standard_normal(n)
    return np.sin(2 * np.pi * (200 + 50 * t) * t) + 0.1 * noise, width


def kernel(signal, width):
    starts = np.arange(0, len(signal) - width + 1, width // 2)
    frames = signal[starts[:, None] + np.arange(width)] * np.hanning(width)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2 / width
    decibels = 10 * np.log10(power + 1e-12)
    return np.maximum(decibels, decibels.max() - 80), power.mean(axis=0)
