"""Programs of loops over elements, as people write them with scalars and `if`: see `loops.py`.

Nothing here refers to lazynp. `np` is replaced for each library.
"""

from __future__ import annotations

import numpy as np


def gauss_seidel(u, sweeps):
    n, m = u.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def edit_distance(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1))
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0.0 if a[i - 1] == b[j - 1] else 1.0
            d[i, j] = min(d[i - 1, j] + 1.0, d[i, j - 1] + 1.0, d[i - 1, j - 1] + cost)
    return d


def smith_waterman(a, b):
    n, m = len(a), len(b)
    h = np.zeros((n + 1, m + 1))
    best = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            score = 3.0 if a[i - 1] == b[j - 1] else -3.0
            v = max(0.0, h[i - 1, j - 1] + score, h[i - 1, j] - 2.0, h[i, j - 1] - 2.0)
            h[i, j] = v
            if v > best:
                best = v
    return best


def tridiagonal(a, b, c, d):
    n = len(d)
    cp, dp, x = np.zeros(n), np.zeros(n), np.zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        w = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / w
        dp[i] = (d[i] - a[i] * dp[i - 1]) / w
    x[n - 1] = dp[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def lu(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def floyd_warshall(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def dithering(image):
    h, w = image.shape
    for y in range(h - 1):
        for x in range(1, w - 1):
            old = image[y, x]
            new = 1.0 if old > 0.5 else 0.0
            image[y, x] = new
            error = old - new
            image[y, x + 1] += error * 0.4375
            image[y + 1, x - 1] += error * 0.1875
            image[y + 1, x] += error * 0.3125
            image[y + 1, x + 1] += error * 0.0625
    return image


def logistic_map(x, r, n):
    for _ in range(n):
        x = r * x * (1.0 - x)
    return x


def mandelbrot(re, im):
    out = np.zeros((len(im), len(re)))
    for i in range(len(im)):
        for j in range(len(re)):
            a, b = 0.0, 0.0
            for n in range(100):
                if a * a + b * b > 4.0:
                    break
                a, b = a * a - b * b + re[j], 2.0 * a * b + im[i]
                out[i, j] = n
    return out


def sandpile(grid):
    n, m = grid.shape
    unstable = True
    while unstable:
        unstable = False
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                if grid[i, j] > 3:
                    grid[i, j] -= 4
                    grid[i - 1, j] += 1
                    grid[i + 1, j] += 1
                    grid[i, j - 1] += 1
                    grid[i, j + 1] += 1
                    unstable = True
    return grid


def prefix_sums(x):
    out = np.zeros(len(x))
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        out[i] = s
    return out


def run_lengths(x):
    values, lengths = np.zeros(len(x)), np.zeros(len(x))
    k = 0
    values[0] = x[0]
    lengths[0] = 1.0
    for i in range(1, len(x)):
        if x[i] == x[i - 1]:
            lengths[k] += 1.0
        else:
            k += 1
            values[k] = x[i]
            lengths[k] = 1.0
    return lengths


def collatz(starts):
    out = np.zeros(len(starts))
    for i in range(len(starts)):
        k = starts[i]
        steps = 0
        while k != 1:
            if k % 2 == 0:
                k = k // 2
            else:
                k = 3 * k + 1
            steps += 1
        out[i] = steps
    return out


def naive_dft(x):
    n = len(x)
    re, im = np.zeros(n), np.zeros(n)
    for k in range(n):
        s, t = 0.0, 0.0
        for i in range(n):
            angle = 6.283185307179586 * k * i / n
            s += x[i] * np.cos(angle)
            t -= x[i] * np.sin(angle)
        re[k] = s
        im[k] = t
    return re * re + im * im


def bilinear(image, ys, xs):
    out = np.zeros((len(ys), len(xs)))
    for i in range(len(ys)):
        for j in range(len(xs)):
            y, x = int(ys[i]), int(xs[j])
            p, q = ys[i] - y, xs[j] - x
            top = image[y, x] * (1.0 - q) + image[y, x + 1] * q
            low = image[y + 1, x] * (1.0 - q) + image[y + 1, x + 1] * q
            out[i, j] = top * (1.0 - p) + low * p
    return out


def forward_hmm(start, moves, emits, seen):
    states = len(start)
    alpha = np.zeros((len(seen), states))
    for s in range(states):
        alpha[0, s] = start[s] * emits[s, seen[0]]
    for t in range(1, len(seen)):
        for s in range(states):
            total = 0.0
            for r in range(states):
                total += alpha[t - 1, r] * moves[r, s]
            alpha[t, s] = total * emits[s, seen[t]]
    return alpha


def inputs():
    """Arguments for each program."""
    rng = np.random.default_rng(3)
    letters = lambda n: rng.integers(0, 4, n)  # noqa: E731
    grid = np.zeros((17, 17), int)
    grid[8, 8] = 300
    n = 2000
    return {
        gauss_seidel: (rng.random((60, 60)), 4),
        edit_distance: (letters(120), letters(100)),
        smith_waterman: (letters(120), letters(100)),
        tridiagonal: (rng.random(n), rng.random(n) + 3, rng.random(n), rng.random(n)),
        lu: (rng.random((40, 40)) + 40 * np.eye(40),),
        floyd_warshall: (rng.random((30, 30)),),
        dithering: (rng.random((60, 60)),),
        logistic_map: (0.3, 3.7, 10_000),
        mandelbrot: (np.linspace(-2, 0.5, 30), np.linspace(-1, 1, 20)),
        sandpile: (grid,),
        prefix_sums: (rng.random(10_000),),
        run_lengths: (letters(5000) * 1.0,),
        collatz: (np.arange(1, 400),),
        naive_dft: (rng.random(100),),
        bilinear: (rng.random((40, 40)), np.linspace(0, 38, 60), np.linspace(0, 38, 60)),
        forward_hmm: (rng.random(6), rng.random((6, 6)), rng.random((6, 8)), letters(200)),
    }
