"""Roots, integrals, matrices, filters, queues, prices, points, as people write them
(`test_recipes`).
"""

from __future__ import annotations

import math

import numpy as np


def newton_roots(coefficients, guesses, tol):
    roots = np.zeros_like(guesses)
    steps = np.zeros(len(guesses), dtype=int)
    for k in range(len(guesses)):
        x = guesses[k]
        for it in range(60):
            p, dp = 0.0, 0.0
            for c in coefficients:
                dp = dp * x + p
                p = p * x + c
            if dp == 0:
                break
            dx = p / dp
            x -= dx
            if abs(dx) < tol:
                break
        roots[k] = x
        steps[k] = it
    return roots, steps


def secant(x0, x1):
    n = 0
    f0 = math.cos(x0) - x0
    f1 = math.cos(x1) - x1
    while abs(f1) > 1e-12 and n < 50:
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
        f0, f1 = f1, math.cos(x1) - x1
        n += 1
    return x1, n


def power_iteration(A, tol, most):
    v = np.ones(A.shape[0])
    lam = 0.0
    for it in range(most):
        w = A @ v
        new = np.linalg.norm(w)
        v = w / new
        if abs(new - lam) < tol * new:
            lam = new
            break
        lam = new
    else:
        raise RuntimeError("no convergence")
    return lam, v, it + 1


def lu_pivot(A):
    A = A.copy()
    n = A.shape[0]
    perm = np.arange(n)
    sign = 1
    for k in range(n):
        p = k
        best = abs(A[k, k])
        for i in range(k + 1, n):
            if abs(A[i, k]) > best:
                best = abs(A[i, k])
                p = i
        if best == 0.0:
            raise np.linalg.LinAlgError("singular")
        if p != k:
            for j in range(n):
                A[k, j], A[p, j] = A[p, j], A[k, j]
            perm[k], perm[p] = perm[p], perm[k]
            sign = -sign
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return A, perm, sign


def lu_pivot_rows(A, b):
    A, b = A.astype(float), b.astype(float)
    n = len(b)
    for k in range(n):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p]] = A[[p, k]]
            b[[k, p]] = b[[p, k]]
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            A[i, k:] -= m * A[k, k:]
            b[i] -= m * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - np.dot(A[i, i + 1 :], x[i + 1 :])) / A[i, i]
    return x


def cholesky(A):
    n = len(A)
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                if s <= 0:
                    raise ValueError(f"not positive definite at {i}")
                L[i, i] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return L


def simpson_adaptive(a, b, tol):
    """With an explicit stack in arrays."""

    def f(x):
        return np.exp(-x * x) * np.cos(3 * x)

    lo, hi = np.zeros(200), np.zeros(200)
    lo[0], hi[0] = a, b
    top, total, calls = 1, 0.0, 0
    while top > 0:
        top -= 1
        l, h = lo[top], hi[top]
        m = (l + h) / 2
        whole = (h - l) / 6 * (f(l) + 4 * f(m) + f(h))
        left = (m - l) / 6 * (f(l) + 4 * f((l + m) / 2) + f(m))
        right = (h - m) / 6 * (f(m) + 4 * f((m + h) / 2) + f(h))
        calls += 1
        if abs(left + right - whole) < 15 * tol or h - l < 1e-6:
            total += left + right
        else:
            lo[top], hi[top] = l, m
            lo[top + 1], hi[top + 1] = m, h
            top += 2
    return total, calls


def romberg(a, b, levels):
    R = np.zeros((levels, levels))
    h = b - a
    R[0, 0] = 0.5 * h * (math.sin(a) + math.sin(b))
    for i in range(1, levels):
        h *= 0.5
        s = 0.0
        for k in range(1, 2**i, 2):
            s += math.sin(a + k * h)
        R[i, 0] = 0.5 * R[i - 1, 0] + h * s
        for j in range(1, i + 1):
            R[i, j] = R[i, j - 1] + (R[i, j - 1] - R[i - 1, j - 1]) / (4**j - 1)
    return R[levels - 1, levels - 1]


def kalman_matrix(zs, q, r):
    x = np.zeros(2)
    P = np.eye(2)
    F = np.array([[1.0, 1.0], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = q * np.eye(2)
    out = np.zeros((len(zs), 2))
    for k, z in enumerate(zs):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + r
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (z - H @ x)
        P = (np.eye(2) - K @ H) @ P
        out[k] = x
    return out


def queue_mm1(arrivals, services):
    n = len(arrivals)
    start = np.zeros(n)
    finish = np.zeros(n)
    wait = 0.0
    longest = 0.0
    for i in range(n):
        if i == 0:
            start[i] = arrivals[i]
        else:
            start[i] = max(arrivals[i], finish[i - 1])
        finish[i] = start[i] + services[i]
        w = start[i] - arrivals[i]
        wait += w
        if w > longest:
            longest = w
    return wait / n, longest, finish[-1]


def binomial_american(s0, k, r, sigma, t, n):
    dt = t / n
    u = math.exp(sigma * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(r * dt) - d) / (u - d)
    disc = math.exp(-r * dt)
    values = np.zeros(n + 1)
    for j in range(n + 1):
        values[j] = max(k - s0 * u**j * d ** (n - j), 0.0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            hold = disc * (p * values[j + 1] + (1 - p) * values[j])
            exercise = k - s0 * u**j * d ** (i - j)
            values[j] = max(hold, exercise)
    return values[0]


def implied_volatility(price, s, k, t, r):
    def cdf(x):
        return 0.5 * (1 + math.erf(x / math.sqrt(2)))

    sigma = 0.3
    for i in range(50):
        d1 = (math.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * math.sqrt(t))
        d2 = d1 - sigma * math.sqrt(t)
        c = s * cdf(d1) - k * math.exp(-r * t) * cdf(d2)
        vega = s * math.sqrt(t) * math.exp(-d1 * d1 / 2) / math.sqrt(2 * math.pi)
        diff = c - price
        if abs(diff) < 1e-10:
            return sigma
        sigma -= diff / vega
    raise ArithmeticError("did not converge")


def amortization(principal, rate, payment):
    months, interest = 0, 0.0
    balance = principal
    while balance > 0:
        i = round(balance * rate / 12, 2)
        if i >= payment:
            raise ValueError("payment too small")
        interest += i
        balance = balance + i - payment
        months += 1
    return months, interest, balance


def n_body_collisions(pos, vel, radius, dt, steps):
    n = len(pos)
    hits = 0
    for s in range(steps):
        pos += vel * dt
        for i in range(n):
            for d in range(2):
                if pos[i, d] < 0:
                    pos[i, d] = -pos[i, d]
                    vel[i, d] *= -1
                elif pos[i, d] > 1:
                    pos[i, d] = 2 - pos[i, d]
                    vel[i, d] = -vel[i, d]
        for i in range(n):
            for j in range(i + 1, n):
                delta = pos[i] - pos[j]
                dist = np.sqrt(np.sum(delta**2))
                if 0 < dist < 2 * radius:
                    normal = delta / dist
                    rel = np.dot(vel[i] - vel[j], normal)
                    if rel < 0:
                        vel[i] -= rel * normal
                        vel[j] += rel * normal
                        hits += 1
    return hits


def welford(x):
    mean, m2, n = 0.0, 0.0, 0
    lo, hi = math.inf, -math.inf
    for v in x:
        n += 1
        delta = v - mean
        mean += delta / n
        m2 += delta * (v - mean)
        lo, hi = min(lo, v), max(hi, v)
    return mean, m2 / (n - 1), lo, hi


def garch(returns, omega, alpha, beta):
    n = len(returns)
    var = np.zeros(n)
    var[0] = np.var(returns)
    ll = 0.0
    for t in range(1, n):
        var[t] = omega + alpha * returns[t - 1] ** 2 + beta * var[t - 1]
        ll -= 0.5 * (np.log(2 * np.pi * var[t]) + returns[t] ** 2 / var[t])
    return ll


def max_drawdown(prices):
    peak, worst = prices[0], 0.0
    begin = end = top = 0
    for i, p in enumerate(prices):
        if p > peak:
            peak, top = p, i
        dd = (peak - p) / peak
        if dd > worst:
            worst, begin, end = dd, top, i
    return worst, begin, end


def crossings_strategy(prices, fast, slow):
    cash, shares, trades = 1000.0, 0.0, 0
    for t in range(slow, len(prices)):
        f = prices[t - fast : t].mean()
        s = prices[t - slow : t].mean()
        if f > s and shares == 0:
            shares = cash / prices[t]
            cash = 0.0
            trades += 1
        elif f < s and shares > 0:
            cash = shares * prices[t]
            shares = 0.0
            trades += 1
    return cash + shares * prices[-1], trades


def otsu(hist):
    total = hist.sum()
    mean_all = 0.0
    for i in range(len(hist)):
        mean_all += i * hist[i]
    w0 = s0 = 0.0
    best, threshold = -1.0, 0
    for t in range(len(hist)):
        w0 += hist[t]
        if w0 == 0:
            continue
        w1 = total - w0
        if w1 == 0:
            break
        s0 += t * hist[t]
        between = w0 * w1 * (s0 / w0 - (mean_all - s0) / w1) ** 2
        if between > best:
            best, threshold = between, t
    return threshold


def kmeans_points(x, k, iterations):
    centers = x[:k].copy()
    labels = np.zeros(len(x), dtype=int)
    for _ in range(iterations):
        changed = False
        for i in range(len(x)):
            best, where = np.inf, -1
            for c in range(k):
                d = 0.0
                for a in range(x.shape[1]):
                    d += (x[i, a] - centers[c, a]) ** 2
                if d < best:
                    best, where = d, c
            if labels[i] != where:
                labels[i] = where
                changed = True
        if not changed:
            break
        sums = np.zeros_like(centers)
        counts = np.zeros(k)
        for i in range(len(x)):
            sums[labels[i]] += x[i]
            counts[labels[i]] += 1
        for c in range(k):
            if counts[c] > 0:
                centers[c] = sums[c] / counts[c]
    return centers, labels


def polygon_area(points):
    area = 0.0
    n = len(points)
    for i in range(n):
        x1, y1 = points[i]
        x2, y2 = points[(i + 1) % n]
        area += x1 * y2 - x2 * y1
    return abs(area) / 2


def points_inside(polygon, points):
    inside = np.zeros(len(points), dtype=bool)
    for k, (px, py) in enumerate(points):
        j = len(polygon) - 1
        c = False
        for i in range(len(polygon)):
            xi, yi = polygon[i]
            xj, yj = polygon[j]
            if (yi > py) != (yj > py) and px < (xj - xi) * (py - yi) / (yj - yi) + xi:
                c = not c
            j = i
        inside[k] = c
    return inside


def arguments(rng):
    """For each function."""

    def positive(n):
        a = rng.random((n, n))
        return a @ a.T + n * np.eye(n)

    return {
        newton_roots: (np.array([1.0, -6.0, 11.0, -6.0]), np.linspace(-2.03, 5.01, 9), 1e-12),
        secant: (0.1, 1.0),
        power_iteration: (positive(6), 1e-8, 200),
        lu_pivot: (rng.random((6, 6)),),
        lu_pivot_rows: (rng.random((9, 9)), rng.random(9)),
        cholesky: (positive(9),),
        simpson_adaptive: (-2.0, 2.0, 1e-4),
        romberg: (0.0, 2.0, 5),
        kalman_matrix: (rng.normal(size=12).cumsum(), 0.01, 0.5),
        queue_mm1: (np.arange(12.0), rng.random(12) * 2),
        binomial_american: (100.0, 105.0, 0.03, 0.25, 1.0, 10),
        implied_volatility: (8.9, 100.0, 102.0, 0.75, 0.02),
        amortization: (900.0, 0.06, 80.0),
        n_body_collisions: (rng.random((4, 2)), rng.normal(size=(4, 2)), 0.2, 0.01, 9),
        welford: (rng.normal(size=12),),
        garch: (rng.normal(0, 0.01, 12), 1e-5, 0.1, 0.85),
        max_drawdown: (100 + rng.normal(size=12),),
        crossings_strategy: (100 + rng.normal(size=20), 2, 5),
        otsu: (np.array([1, 5, 9, 4, 0, 0, 3, 8, 6, 0]),),
        kmeans_points: (
            rng.permutation(np.concatenate([rng.normal(c, 0.3, (6, 2)) for c in (0, 3)])),
            2,
            9,
        ),
        polygon_area: (rng.random((9, 2)),),
        points_inside: (
            np.array([[0.0, 0.0], [3.0, 0.1], [3.0, 3.0], [1.0, 1.5]]),
            rng.random((9, 2)) * 3,
        ),
    }
