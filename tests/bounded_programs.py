"""Loops that draw integers between bounds which the rounds compute, for `running`."""

from __future__ import annotations

BOUNDED = {
    "a place in a branch that the rounds compute": """
rng = np.random.default_rng(1)
k = 3
for n in range(60):
    if n == 2 or n == 3: look()
    if rng.random() < 0.5:
        k = 1 + rng.integers(k + 2)
""",
    "integers with a running bound": """
def main(n):
    rng = np.random.default_rng(3)
    x = np.linspace(0, 1, n)
    for i in range(1, n):
        if i == 2 or i == 3: look()
        j = rng.integers(i + 1)
        x[i] = x[i] + 0.5 * x[j]
    return x, i, rng
out = main(60)
""",
    "shuffle by hand": """
def main(n):
    rng = np.random.default_rng(5)
    x = np.arange(n)
    for i in range(n - 1, 0, -1):
        if i == n - 3 or i == n - 4: look()
        j = rng.integers(0, i + 1)
        t = x[i]
        x[i] = x[j]
        x[j] = t
    return x, i, j, rng
out = main(60)
""",
    "reservoir sampling": """
def main(n, k):
    rng = np.random.default_rng(5)
    stream = np.arange(n) * 0.5
    kept = stream[:k].copy()
    for i in range(k, n):
        if i == k + 2 or i == k + 3: look()
        j = rng.integers(0, i + 1)
        if j < k:
            kept[j] = stream[i]
    return kept, rng
out = main(80, 10)
""",
    "integers with a bound of the data": """
def main(n):
    rng = np.random.default_rng(3)
    x, m = np.linspace(0, 1, 50), 7
    for i in range(n):
        if i == 2 or i == 3: look()
        j = int(rng.integers(m))
        x[j] = x[j] * 0.5 + i
        m = 5 + (j + i) % 11
    return x, i, j, m, rng
out = main(60)
""",
    "endpoint, in a branch, with others": """
def main(n):
    rng = np.random.default_rng(3)
    x, c = np.zeros(n), 0
    for i in range(n):
        if i == 2 or i == 3: look()
        if rng.random() < 0.5:
            c += rng.integers(1, i + 1, endpoint=True)
        else:
            x[i] = rng.normal() + rng.integers(high=i + 5, low=i)
        x[i] += rng.integers(3)
    return x, c, rng
out = main(80)
""",
    "one": """
def main(n):
    rng = np.random.default_rng(3)
    x = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        x[i] = rng.integers(1 + (i // 5) % 2)
        x[i] += rng.integers(10)
    return x, rng
out = main(80)
""",
    "empty": """
def main(n):
    rng = np.random.default_rng(3)
    x = np.zeros(n)
    try:
        for i in range(n):
            if i == 2 or i == 3: look()
            x[i] = rng.integers(50 - i)
    except ValueError as e:
        return x, rng, str(e), i
out = main(80)
""",
    "many": """
def main(n):
    rng = np.random.default_rng(3)
    x = np.zeros(n, int)
    for i in range(n):
        if i == 2 or i == 3: look()
        x[i] = rng.integers(3 * 10**9 - i)
    return x, rng
out = main(80)
""",
    "Mersenne twister": """
def main(n):
    rng = np.random.Generator(np.random.MT19937(4))
    x = np.zeros(n, int)
    for i in range(n):
        if i == 2 or i == 3: look()
        x[i] = rng.integers(100 + i) + int(4 * rng.random())
    return x, rng
out = main(80)
""",
    "an unsigned bound": """
def main(n):
    rng = np.random.default_rng(3)
    x, b = np.zeros(n, int), np.arange(n, dtype=np.uint8) + np.uint8(3)
    for i in range(n):
        if i == 2 or i == 3: look()
        j = rng.integers(b[i])
        x[i] = j
    return x, rng, j
out = main(80)
""",
}

BOUNDED_LEFT = {
    "very many": """
def main(n):
    rng = np.random.default_rng(3)
    x = np.zeros(n, int)
    for i in range(n):
        if i == 2 or i == 3: look()
        x[i] = rng.integers(3 * 10**10 - i)
    return x, rng
out = main(80)
""",
    "of another dtype": """
def main(n):
    rng = np.random.default_rng(3)
    x = np.zeros(n, int)
    for i in range(n):
        if i == 2 or i == 3: look()
        x[i] = rng.integers(100 + i, dtype=np.int32)
    return x, rng
out = main(80)
""",
    "randint": """
def main(n):
    rng = np.random.RandomState(3)
    x = np.zeros(n, int)
    for i in range(n):
        if i == 2 or i == 3: look()
        x[i] = rng.randint(100 + i)
    return x, rng.get_state()[1]
out = main(80)
""",
}
