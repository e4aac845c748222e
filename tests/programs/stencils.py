"""Grids and stencils: slice updates, borders, masks, buffers that alternate."""

import numpy as np


def heat_2d(u, steps):
    """Explicit heat equation, in place; the border is held."""
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.2 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return u.sum(), u.max()


def heat_with_source(n, steps):
    """A plate with a hot disc that is set again after each step."""
    u = np.zeros((n, n))
    y, x = np.ogrid[:n, :n]
    hot = (x - n // 2) ** 2 + (y - n // 3) ** 2 < (n / 6) ** 2
    u[hot] = 100.0
    total = []
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        new[hot] = 100.0
        u = new
        total.append(float(u.mean()))
    return u, total


def jacobi_1d(a, steps):
    """Polybench's two-array Jacobi iteration."""
    b = np.zeros_like(a)
    for _ in range(steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a, b


def gauss_seidel(u, sweeps):
    """Element by element; each new value is used immediately."""
    n, m = u.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def red_black(u, tolerance):
    """Red-black relaxation through strided slices until the update is small."""
    iterations = 0
    while True:
        before = u.copy()
        for first, second in ((1, 1), (2, 2), (1, 2), (2, 1)):
            rows, cols = slice(first, -1, 2), slice(second, -1, 2)
            up, down = slice(first - 1, -2, 2), slice(first + 1, None, 2)
            left, right = slice(second - 1, -2, 2), slice(second + 1, None, 2)
            u[rows, cols] = 0.25 * (u[up, cols] + u[down, cols] + u[rows, left] + u[rows, right])
        iterations += 1
        if np.abs(u - before).max() < tolerance:
            return u, iterations


def wave_leapfrog(n, steps, c=0.5):
    """1-D wave equation; three buffers rotate, none is copied."""
    x = np.linspace(0, 1, n)
    now = np.exp(-200 * (x - 0.3) ** 2)
    before, after = now.copy(), np.empty_like(now)
    for _ in range(steps):
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + c**2 * (now[2:] - 2 * now[1:-1] + now[:-2])
        after[0] = after[-1] = 0
        before, now, after = now, after, before
    energy = np.sum((now - before) ** 2) + c**2 * np.sum(np.diff(now) ** 2)
    return now, before, energy


def fdtd_2d(nx, ny, steps):
    """Polybench's finite-difference time domain: three staggered fields."""
    ex = np.fromfunction(lambda i, j: i * (j + 1) / nx, (nx, ny))
    ey = np.fromfunction(lambda i, j: i * (j + 2) / ny, (nx, ny))
    hz = np.fromfunction(lambda i, j: i * (j + 3) / nx, (nx, ny))
    for t in range(steps):
        ey[0, :] = t
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def lattice_boltzmann(nx, ny, steps):
    """D2Q9 flow around a block: streaming by roll, bounce-back through a mask."""
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weights = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    opposite = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
    solid = np.zeros((ny, nx), dtype=bool)
    solid[ny // 3 : 2 * ny // 3, nx // 4 : nx // 3] = True
    f = weights[:, None, None] * np.ones((9, ny, nx))
    f[1] *= 1.2
    for _ in range(steps):
        for k in range(9):
            f[k] = np.roll(np.roll(f[k], cx[k], axis=1), cy[k], axis=0)
        bounced = f[opposite][:, solid]
        rho = f.sum(axis=0)
        ux = (f * cx[:, None, None]).sum(axis=0) / rho
        uy = (f * cy[:, None, None]).sum(axis=0) / rho
        along = cx[:, None, None] * ux + cy[:, None, None] * uy
        square = 1.5 * (ux**2 + uy**2)
        equilibrium = weights[:, None, None] * rho * (1 + 3 * along + 4.5 * along**2 - square)
        f += (equilibrium - f) / 0.8
        f[:, solid] = bounced
        ux[solid] = 0
    return f, rho, ux


def sobel(image):
    """Edges of an integer image, clipped to 0..255."""
    p = np.pad(image.astype(np.int32), 1, mode="edge")
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    size = np.sqrt(gx.astype(float) ** 2 + gy**2)
    return np.clip(size, 0, 255).astype(np.uint8), np.abs(gx) > np.abs(gy)


def median_filter(image):
    """3 x 3 medians of the inside, by stacking the nine shifted views."""
    n, m = image.shape
    views = [image[i : n - 2 + i, j : m - 2 + j] for i in range(3) for j in range(3)]
    out = image.copy()
    out[1:-1, 1:-1] = np.median(np.stack(views), axis=0)
    return out


def conv2d(image, kernels):
    """Valid convolution of a batch of channels, looping over the window only."""
    n, h, w, c = image.shape
    k = kernels.shape[0]
    out = np.zeros((n, h - k + 1, w - k + 1, kernels.shape[3]), dtype=image.dtype)
    for i in range(k):
        for j in range(k):
            patch = image[:, i : h - k + 1 + i, j : w - k + 1 + j, :]
            out += np.tensordot(patch, kernels[i, j], axes=1)
    return np.maximum(out, 0)


def conv2d_windows(image, kernel):
    """The same for one channel, looping over the places instead."""
    k = kernel.shape[0]
    h, w = image.shape[0] - k + 1, image.shape[1] - k + 1
    out = np.empty((h, w), dtype=np.float32)
    for i in range(h):
        for j in range(w):
            out[i, j] = np.sum(image[i : i + k, j : j + k] * kernel)
    return out


def upwind_advection(u, speed, steps):
    """Periodic transport; the side to look at depends on the sign of the speed."""
    c = 0.4 * speed / np.abs(speed).max()
    for _ in range(steps):
        back = u - np.roll(u, 1)
        ahead = np.roll(u, -1) - u
        u = u - np.where(c > 0, c * back, c * ahead)
    return u, u.sum()


def lid_driven_cavity(n, steps):
    """Pressure by inner iterations, velocities after it, boundaries set each time."""
    u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    b = np.zeros((n, n))
    h, dt, nu = 2 / (n - 1), 0.001, 0.1
    for _ in range(steps):
        ux, vy = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * h), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * h)
        b[1:-1, 1:-1] = (ux + vy) / dt
        for _ in range(8):
            pn = p.copy()
            p[1:-1, 1:-1] = (
                pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1] - h * h * b[1:-1, 1:-1]
            ) / 4
            p[:, -1], p[0, :], p[:, 0], p[-1, :] = p[:, -2], p[1, :], p[:, 1], 0
        un, vn = u.copy(), v.copy()
        for new, old, grad in (
            (u, un, (p[1:-1, 2:] - p[1:-1, :-2])),
            (v, vn, (p[2:, 1:-1] - p[:-2, 1:-1])),
        ):
            here = old[1:-1, 1:-1]
            new[1:-1, 1:-1] = (
                here
                - un[1:-1, 1:-1] * dt / h * (here - old[1:-1, :-2])
                - vn[1:-1, 1:-1] * dt / h * (here - old[:-2, 1:-1])
                - dt / (2 * h) * grad
                + nu * dt / h**2 * (old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] - 4 * here)
                + nu * dt / h**2 * old[:-2, 1:-1]
            )
        u[0, :] = u[:, 0] = u[:, -1] = 0
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
        u[-1, :] = 1
    return u, v, p


def box_blur_integral(image, r):
    """Box sums from a summed-area table: two cumulative sums and four corners."""
    table = np.zeros((image.shape[0] + 1, image.shape[1] + 1), dtype=np.int64)
    table[1:, 1:] = image.cumsum(axis=0).cumsum(axis=1)
    size = 2 * r + 1
    total = table[size:, size:] - table[:-size, size:] - table[size:, :-size]
    total += table[:-size, :-size]
    return total, total / size**2
