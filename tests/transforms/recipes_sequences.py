"""Dynamic programs, texts, integers, generators, exceptions, as people write them
(`test_recipes`).
"""

from __future__ import annotations

import math

import numpy as np


def viterbi(start, moves, emits, seen):
    T, S = len(seen), len(start)
    score = np.full((T, S), -np.inf)
    back = np.zeros((T, S), dtype=int)
    for s in range(S):
        score[0, s] = np.log(start[s]) + np.log(emits[s, seen[0]])
    for t in range(1, T):
        for s in range(S):
            for r in range(S):
                v = score[t - 1, r] + np.log(moves[r, s])
                if v > score[t, s]:
                    score[t, s] = v
                    back[t, s] = r
            score[t, s] += np.log(emits[s, seen[t]])
    path = np.zeros(T, dtype=int)
    path[-1] = np.argmax(score[-1])
    for t in range(T - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, score[-1].max()


def needleman_wunsch(a, b, match, mismatch, gap):
    n, m = len(a), len(b)
    F = np.zeros((n + 1, m + 1), dtype=int)
    F[:, 0] = np.arange(n + 1) * gap
    F[0, :] = np.arange(m + 1) * gap
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = match if a[i - 1] == b[j - 1] else mismatch
            F[i, j] = max(F[i - 1, j - 1] + s, F[i - 1, j] + gap, F[i, j - 1] + gap)
    one, two = np.full(n + m, -1), np.full(n + m, -1)
    i, j, k = n, m, n + m
    while i > 0 or j > 0:
        k -= 1
        if (
            i > 0
            and j > 0
            and F[i, j] == F[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
        ):
            one[k], two[k] = a[i - 1], b[j - 1]
            i -= 1
            j -= 1
        elif i > 0 and F[i, j] == F[i - 1, j] + gap:
            one[k] = a[i - 1]
            i -= 1
        else:
            two[k] = b[j - 1]
            j -= 1
    return F[n, m], one, two, k


def longest_increasing(x):
    n = len(x)
    best = np.ones(n, dtype=int)
    for i in range(n):
        for j in range(i):
            if x[j] < x[i] and best[j] + 1 > best[i]:
                best[i] = best[j] + 1
    return max(best)


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for w, v in zip(weights, values):
        for c in range(capacity, w - 1, -1):
            if best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
    return best[capacity]


def coin_change(coins, amount):
    ways = np.zeros(amount + 1, dtype=int)
    ways[0] = 1
    for c in coins:
        for a in range(c, amount + 1):
            ways[a] += ways[a - c]
    return ways[amount]


def dtw(a, b, window):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(max(1, i - window), min(m, i + window) + 1):
            cost = (a[i - 1] - b[j - 1]) ** 2
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return math.sqrt(D[n, m])


def caesar(text, shift):
    out = text.copy()
    for i, c in enumerate(text):
        if 65 <= c <= 90:
            out[i] = (c - 65 + shift) % 26 + 65
        elif 97 <= c <= 122:
            out[i] = (c - 97 + shift) % 26 + 97
    return out


def kmp(text, pattern):
    m = len(pattern)
    fail = np.zeros(m, dtype=int)
    k = 0
    for i in range(1, m):
        while k > 0 and pattern[i] != pattern[k]:
            k = fail[k - 1]
        if pattern[i] == pattern[k]:
            k += 1
        fail[i] = k
    count, j = 0, 0
    first = -1
    for i in range(len(text)):
        while j > 0 and text[i] != pattern[j]:
            j = fail[j - 1]
        if text[i] == pattern[j]:
            j += 1
        if j == m:
            count += 1
            if first < 0:
                first = i - m + 1
            j = fail[j - 1]
    return count, first


def crc(data):
    c = 0xFFFFFFFF
    for byte in data:
        c ^= byte
        for _ in range(8):
            if c & 1:
                c = (c >> 1) ^ 0xEDB88320
            else:
                c >>= 1
    return c ^ 0xFFFFFFFF


def pow_mod(bases, e, m):
    out = np.empty_like(bases)
    for i in range(len(bases)):
        result, b, k = 1, bases[i] % m, e
        while k > 0:
            if k % 2 == 1:
                result = result * b % m
            b = b * b % m
            k //= 2
        out[i] = result
    return out


def digits_sum(numbers):
    total = 0
    for n in numbers:
        while n > 0:
            total += n % 10
            n //= 10
    return total


def convex_hull_size(points):
    """Gift wrapping."""
    n = len(points)
    start = 0
    for i in range(1, n):
        if points[i, 0] < points[start, 0]:
            start = i
    p, count = start, 0
    while True:
        count += 1
        q = (p + 1) % n
        for r in range(n):
            cross = (points[q, 0] - points[p, 0]) * (points[r, 1] - points[p, 1]) - (
                points[q, 1] - points[p, 1]
            ) * (points[r, 0] - points[p, 0])
            if cross < 0:
                q = r
        p = q
        if p == start:
            break
    return count


def spiral(n):
    out = np.zeros((n, n), dtype=int)
    y = x = 0
    dy, dx = 0, 1
    for k in range(n * n):
        out[y, x] = k
        ny, nx = y + dy, x + dx
        if ny < 0 or ny >= n or nx < 0 or nx >= n or out[ny, nx] != 0:
            dy, dx = dx, -dy
            ny, nx = y + dy, x + dx
        y, x = ny, nx
    return out


def norm_generator(x, p):
    return sum(abs(v) ** p for v in x) ** (1 / p)


def any_close(x, tol):
    return any(abs(x[i] - x[j]) < tol for i in range(len(x)) for j in range(i + 1, len(x)))


def all_sorted(x):
    return all(x[i] <= x[i + 1] for i in range(len(x) - 1))


def largest_gap(x):
    least = min(abs(a - b) for a, b in zip(x, x[1:]))
    return max(x[i + 1] - x[i] for i in range(len(x) - 1)), least


def positive_mean(x):
    return sum(v for v in x if v > 0) / sum(1 for v in x if v > 0)


def max_positive(x):
    return max(v for v in x if v > 0)


def perceptron(X, y, epochs):
    w = np.zeros(X.shape[1])
    b = 0.0
    mistakes = 0
    for epoch in range(epochs):
        errors = 0
        for i in range(len(X)):
            activation = sum(w[j] * X[i, j] for j in range(len(w))) + b
            if y[i] * activation <= 0:
                w += y[i] * X[i]
                b += y[i]
                errors += 1
        mistakes += errors
        if errors == 0:
            break
    return w, b, mistakes


def day_of_week(y, m, d):
    t = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4]
    out = np.zeros(len(y), dtype=int)
    for k in range(len(y)):
        year = y[k] - 1 if m[k] < 3 else y[k]
        out[k] = (year + year // 4 - year // 100 + year // 400 + t[m[k] - 1] + d[k]) % 7
    return out


def langtons_ant(n, steps):
    grid = np.zeros((n, n), dtype=int)
    y = x = n // 2
    direction = 0
    moves = ((-1, 0), (0, 1), (1, 0), (0, -1))
    for _ in range(steps):
        if grid[y, x] == 0:
            direction = (direction + 1) % 4
        else:
            direction = (direction - 1) % 4
        grid[y, x] = 1 - grid[y, x]
        dy, dx = moves[direction]
        y, x = (y + dy) % n, (x + dx) % n
    return grid


def turtle(commands):
    dirs = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    x = y = heading = 0
    far = 0
    for c in commands:
        if c == 0:
            heading = (heading + 1) % 4
        elif c == 1:
            heading = (heading - 1) % 4
        else:
            x += dirs[heading][0]
            y += dirs[heading][1]
            far = max(far, abs(x) + abs(y))
    return x, y, far


def markov_text(P, start, u):
    state = start
    visits = np.zeros(len(P), dtype=int)
    for r in u:
        total = 0.0
        for nxt in range(len(P)):
            total += P[state, nxt]
            if r < total:
                break
        state = nxt
        visits[state] += 1
    return visits


def check_sizes(x):
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError(f"element {i} is negative")
    return x.sum()


def check_two(x, y):
    for i in range(len(x)):
        if y[i] == 0:
            raise ZeroDivisionError("division at {} of {}".format(i, len(x)))
        assert x[i] >= 0, f"bad {i}"
    return x / y


def check_growth(x):
    n = 0
    for i in range(len(x)):
        n += 2
        assert x[i] < 5, f"at {n} = {n}"
    return n


def fibonacci_words(n):
    a, b = 0, 1
    out = np.zeros(n, dtype=int)
    for i in range(n):
        out[i] = a
        a, b = b, a + b
    return out


def arguments(rng):
    """For each function."""
    return {
        viterbi: (
            np.array([0.6, 0.4]),
            np.array([[0.7, 0.3], [0.4, 0.6]]),
            np.array([[0.1, 0.4, 0.5], [0.6, 0.1, 0.3]]),
            rng.integers(0, 3, 10),
        ),
        needleman_wunsch: (rng.integers(0, 4, 9), rng.integers(0, 4, 7), 1, -1, -2),
        longest_increasing: (rng.integers(0, 100, 10),),
        knapsack: (rng.integers(1, 9, 9), rng.random(9), 12),
        coin_change: ([1, 2, 5, 10, 20], 30),
        dtw: (rng.random(9), rng.random(10), 3),
        caesar: (rng.integers(60, 125, 20), 3),
        kmp: (rng.integers(0, 2, 30), np.array([0, 1, 0])),
        crc: (rng.integers(0, 256, 10),),
        pow_mod: (rng.integers(2, 1000, 9), 77, 1009),
        digits_sum: (rng.integers(0, 10000, 9),),
        convex_hull_size: (rng.random((9, 2)),),
        spiral: (4,),
        norm_generator: (rng.normal(size=12), 3),
        any_close: (rng.normal(size=10), 1e-6),
        all_sorted: (np.arange(12.0),),
        largest_gap: (rng.normal(size=12),),
        positive_mean: (rng.normal(size=12),),
        max_positive: (rng.normal(size=12),),
        perceptron: (rng.normal(size=(10, 2)), np.sign(rng.normal(size=10)), 9),
        day_of_week: (rng.integers(1900, 2100, 9), rng.integers(1, 13, 9), rng.integers(1, 29, 9)),
        langtons_ant: (5, 30),
        turtle: (rng.integers(0, 5, 20),),
        markov_text: (np.array([[0.2, 0.8], [0.5, 0.5]]), 1, rng.random(9)),
        check_sizes: (np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, -1, 2]),),
        check_two: (np.ones(12), np.where(np.arange(12) == 10, 0.0, 2.0)),
        check_growth: (np.arange(12.0),),
        fibonacci_words: (20,),
    }
