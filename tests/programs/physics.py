"""Particles, fractals, prices, oscillators."""

import numpy as np


def n_body(position, velocity, mass, steps, dt=0.01):
    """Softened gravity; everything is updated in place."""
    for _ in range(steps):
        apart = position[None, :, :] - position[:, None, :]
        cube = ((apart**2).sum(axis=2) + 0.01) ** -1.5
        np.fill_diagonal(cube, 0)
        acceleration = (apart * (cube * mass[None, :])[:, :, None]).sum(axis=1)
        velocity += dt * acceleration
        position += dt * velocity
    kinetic = 0.5 * (mass * (velocity**2).sum(axis=1)).sum()
    return kinetic, (mass[:, None] * position).sum(axis=0)


def n_body_masked(position, mass):
    """The popular loop-free form that raises only the positive distances to a power."""
    x, y = position[:, 0:1], position[:, 1:2]
    dx, dy = x.T - x, y.T - y
    inverse = dx**2 + dy**2
    inverse[inverse > 0] = inverse[inverse > 0] ** (-1.5)
    return np.hstack(((dx * inverse) @ mass[:, None], (dy * inverse) @ mass[:, None]))


def bouncing(position, velocity, steps):
    """Particles in a box: masks put escaped ones back."""
    hits = 0
    for _ in range(steps):
        position += 0.1 * velocity
        low, high = position < 0, position > 1
        hits += np.count_nonzero(low | high)
        position[low] = -position[low]
        position[high] = 2 - position[high]
        velocity[low | high] *= -1
    return hits, position.min() >= 0, np.sqrt((velocity**2).sum(axis=1))


def mandelbrot_masks(n, steps):
    """Counts through boolean assignment on a grid of points that have not left."""
    x, y = np.linspace(-2, 0.6, n), np.linspace(-1.2, 1.2, n)
    c = x + y[:, None] * 1j
    z = np.zeros_like(c)
    counts = np.full(c.shape, steps)
    inside = np.ones(c.shape, dtype=bool)
    for i in range(steps):
        z[inside] = z[inside] ** 2 + c[inside]
        gone = inside & (np.abs(z) > 2)
        counts[gone] = i
        inside[gone] = False
    return counts, inside.sum()


def mandelbrot_where(n, steps):
    """The same set in real numbers, selecting with where."""
    cx = np.linspace(-2, 0.6, n)[None, :] * np.ones((n, 1))
    cy = np.linspace(-1.2, 1.2, n)[:, None] * np.ones((1, n))
    zx, zy, counts = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n), dtype=np.int32)
    for _ in range(steps):
        inside = zx * zx + zy * zy <= 4
        nx = zx * zx - zy * zy + cx
        ny = 2 * zx * zy + cy
        zx, zy = np.where(inside, nx, zx), np.where(inside, ny, zy)
        counts += inside
    return counts


def julia_smooth(n, steps):
    """Escape-time with compressed index arrays: the set of live points shrinks."""
    y, x = np.mgrid[-1.5 : 1.5 : n * 1j, -1.5 : 1.5 : n * 1j]
    z = (x + 1j * y).ravel()
    out = np.zeros(z.size)
    live = np.arange(z.size)
    for i in range(steps):
        z = z**2 + (-0.8 + 0.156j)
        far = np.abs(z) > 4
        out[live[far]] = i + 1 - np.log2(np.log(np.abs(z[far])))
        live, z = live[~far], z[~far]
        if live.size == 0:
            break
    return out.reshape(n, n), live


def black_scholes(spot, strike, years, rate, sigma):
    """Prices and delta; the normal distribution by Abramowitz & Stegun 26.2.17."""

    def cdf(x):
        k = 1 / (1 + 0.2316419 * np.abs(x))
        poly = k * (
            0.319381530
            + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        )
        tail = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * poly
        return np.where(x >= 0, 1 - tail, tail)

    d1 = (np.log(spot / strike) + (rate + sigma**2 / 2) * years) / (sigma * np.sqrt(years))
    d2 = d1 - sigma * np.sqrt(years)
    discounted = strike * np.exp(-rate * years)
    call = spot * cdf(d1) - discounted * cdf(d2)
    put = discounted * cdf(-d2) - spot * cdf(-d1)
    return call, put, cdf(d1), np.allclose(call - put, spot - discounted)


def monte_carlo_option(normals, spot, strike, sigma):
    """Asian option on given normal draws: cumulative products and a masked payoff."""
    steps = normals.shape[1]
    growth = np.exp(-(sigma**2) / 2 / steps + sigma / np.sqrt(steps) * normals)
    paths = spot * np.cumprod(growth, axis=1)
    payoff = paths.mean(axis=1) - strike
    payoff[payoff < 0] = 0
    return payoff.mean(), payoff.std() / np.sqrt(len(payoff)), (payoff > 0).sum()


def binomial_tree(spot, strike, steps):
    """American put: a vector that shrinks by one at each step back."""
    up = np.exp(0.3 * np.sqrt(1 / steps))
    prices = spot * up ** (2 * np.arange(steps + 1) - steps)
    value = np.maximum(strike - prices, 0)
    p = (np.exp(0.05 / steps) - 1 / up) / (up - 1 / up)
    for i in range(steps - 1, -1, -1):
        value = np.exp(-0.05 / steps) * (p * value[1:] + (1 - p) * value[:-1])
        prices = prices[1:] / up
        value = np.maximum(value, strike - prices)
    return value[0]


def pendulum_rk4(state, steps, dt):
    """Damped pendulum; a history array is filled row by row."""

    def slope(s):
        return np.array([s[1], -9.81 * np.sin(s[0]) - 0.3 * s[1]])

    history = np.empty((steps + 1, 2))
    history[0] = state
    for i in range(steps):
        s = history[i]
        k1 = slope(s)
        k2 = slope(s + dt / 2 * k1)
        k3 = slope(s + dt / 2 * k2)
        k4 = slope(s + dt * k3)
        history[i + 1] = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    crossings = np.flatnonzero(np.diff(np.sign(history[:, 0])))
    return history, crossings


def lotka_volterra(many, steps):
    """A thousandth of a step at a time for many starts at once, unpacked by rows."""
    prey, predators = many
    for _ in range(steps):
        eaten = 0.02 * prey * predators
        prey += 0.01 * (1.1 * prey - eaten)
        predators += 0.01 * (0.5 * eaten - 0.4 * predators)
    return many, prey / predators


def fourier_by_hand(signal):
    """A discrete Fourier transform as a product, its power and the strongest frequencies."""
    n = len(signal)
    k = np.arange(n)
    table = np.exp(-2j * np.pi * np.outer(k, k) / n)
    spectrum = table @ signal
    power = spectrum.real**2 + spectrum.imag**2
    strongest = np.argsort(power[: n // 2])[-3:]
    back = (table.conj() @ spectrum).real / n
    spectrum.imag[:] = 0
    return power, strongest, back, np.abs(spectrum), np.angle(table[1])


def spring_chain(x, v, steps):
    """Verlet with forces added at both ends of each spring through views."""
    for _ in range(steps):
        force = np.zeros_like(x)
        stretch = x[1:] - x[:-1] - 1.0
        force[:-1] += stretch
        force[1:] -= stretch
        v += 0.05 * force
        v *= 0.999
        v[0] = 0
        x += 0.05 * v
    return x, v


def ray_sphere(directions):
    """Shading of spheres hit by rays: nearest hit by masks, nothing divided by zero."""
    centres = np.array([[0.0, 0.0, 4.0], [1.0, 0.5, 3.0], [-1.0, -0.4, 5.0]])
    d = directions / np.sqrt((directions**2).sum(axis=1, keepdims=True))
    nearest = np.full(len(d), np.inf)
    owner = np.full(len(d), -1)
    for i, centre in enumerate(centres):
        b = d @ centre
        disc = b**2 - centre @ centre + 0.8
        hit = disc > 0
        t = np.full(len(d), np.inf)
        t[hit] = b[hit] - np.sqrt(disc[hit])
        closer = hit & (t > 0) & (t < nearest)
        nearest[closer] = t[closer]
        owner[closer] = i
    seen = owner >= 0
    colour = np.zeros((len(d), 3))
    normal = d[seen] * nearest[seen, None] - centres[owner[seen]]
    colour[seen] = np.clip(normal @ np.array([0.3, 0.8, -0.5]), 0.1, 1)[:, None]
    return owner, colour, nearest
