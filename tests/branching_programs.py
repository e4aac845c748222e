"""Scripts for test_loops_with_state.py: loops that draw numbers in branches and inner loops."""

from __future__ import annotations

BRANCHING = {
    "metropolis": """
rng = np.random.default_rng(1)
x, lp, acc = 0.0, 0.0, 0
chain = np.zeros(80)
for n in range(80):
    if n == 2 or n == 3: look()
    new = x + rng.normal(0, 0.8)
    lpn = -0.5 * new * new
    if lpn >= lp or rng.random() < np.exp(lpn - lp):
        x, lp = new, lpn
        acc += 1
    chain[n] = x
""",
    "normal numbers come in pairs": """
np.random.seed(4)
x = np.zeros(8)
first = np.random.randn()
for n in range(60):
    if n == 2 or n == 3: look()
    i = np.random.randint(0, 8)
    if np.random.rand() < 0.6:
        x[i] += np.random.normal(0.1, 0.2)
    else:
        x[i] *= np.random.uniform(0.5, 1.0)
    if x[i] > 0.1:
        x[i] -= np.random.normal(x[i], 0.1)
last = np.random.randn(3)
""",
    "halves of words": """
rng = np.random.default_rng(1)
first = rng.integers(5)
x = np.zeros(8)
for n in range(60):
    if n == 2 or n == 3: look()
    i = rng.integers(8)
    if rng.random() < 0.5:
        x[i] += rng.exponential(2.0)
        j = rng.integers(0, 5)
        x[j] -= rng.choice(x_of)
""".replace("x = np.zeros(8)\n", "x, x_of = np.zeros(8), np.arange(3.0)\n"),
    "an inner loop": """
rng = np.random.default_rng(1)
pop = rng.random(12)
births, hist = 0, []
for n in range(60):
    if n == 2 or n == 3: look()
    for i in range(12):
        if pop[i] > 0.8 and rng.random() < 0.3:
            pop[i] *= 0.5
            births += 1
        else:
            pop[i] = min(1.0, pop[i] + rng.normal(0.01, 0.02))
    hist.append(births)
""",
    "until it is accepted": """
rng = np.random.default_rng(3)
out = np.zeros(60)
for n in range(60):
    if n == 2 or n == 3: look()
    done = False
    x = 0.0
    while not done:
        x = rng.uniform(-1, 1)
        y = rng.random()
        done = y < 1 - x * x
    out[n] = x
""",
    "other distributions": """
rng = np.random.default_rng(3)
x, t, k = np.zeros(5), 0.0, rng.integers(2**40)
for n in range(60):
    if n == 2 or n == 3: look()
    if rng.random() < 0.7:
        t += rng.gamma(2.0) + rng.poisson(3.0) - rng.standard_cauchy() * 1e-3
        x += rng.standard_normal(5)
    if t > 20:
        t = rng.beta(2.0, 3.0) + rng.binomial(10, 0.3)
        k = rng.integers(2**40)
        x[0] = x[0] + k % 7
""",
    "a distribution of RandomState": """
rs = np.random.RandomState(5)
x, n = 0.0, 0
while n < 70:
    if n == 2 or n == 3: look()
    if rs.rand() < 0.5:
        x += rs.poisson(4.0) - rs.geometric(0.3) + rs.normal(x * 0.1, 0.5)
    else:
        x = 0.5 * x + rs.choice(6) + rs.exponential()
    n += 1
last = rs.normal(), rs.normal()
del rs
""",
    "two generators": """
a, b = np.random.default_rng(1), np.random.default_rng(2)
x = np.zeros(4)
for n in range(60):
    if n == 2 or n == 3: look()
    if a.random() < 0.5:
        x[a.integers(4)] += b.random()
    x[n % 4] -= b.integers(0, 3)
""",
}
for _kind in ("SFC64", "Philox", "PCG64DXSM", "MT19937"):
    BRANCHING[f"words of {_kind}"] = f"""
rng = np.random.Generator(np.random.{_kind}(7))
x = np.zeros(8)
for n in range(60):
    if n == 2 or n == 3: look()
    if rng.random() < 0.5:
        x[rng.integers(8)] += rng.normal(0.5, 0.1)
    else:
        x[rng.integers(0, 2**40) % 8] += rng.integers(4)
"""
