"""Scripts for test_loops_with_state.py: loops that draw numbers, that hold blocks, or that change
objects.
"""

from __future__ import annotations

DRAWING = {
    "copies of what is drawn": """
rng = np.random.default_rng(0)
x, out = np.zeros(4), []
for i in range(60):
    if i == 2 or i == 3: look()
    x = x * 0.9 + rng.normal(size=4)
    out.append(x.copy())
last = rng.random(3)
""",
    "several draws of a round": """
def f(n):
    rng = np.random.default_rng(0)
    x, t, k, log = np.zeros(n), 0.0, 0, []
    data = np.arange(10.0)
    for i in range(60):
        if i == 2 or i == 3: look()
        a = rng.standard_normal(n)
        b = rng.random()
        j = rng.integers(10)
        x = x + a * b + data[j] + rng.choice(data, size=n) + rng.uniform(-1, 1, n)
        if b < 0.5:
            k += 1
        log.append(b)
        t += b
    return x, t, k, log, rng.random(3)
out = f(3)
""",
    "a few numbers at a time, in a branch": """
rng = np.random.default_rng(9)
s, t = np.zeros((8, 8)), []
for i in range(90):
    if i == 2 or i == 3: look()
    j, k = rng.integers(0, 8, 2)
    if j < 3 or rng.random() < 0.5:
        a = rng.normal(size=(2, 2))
        s[j, k] += a[1, 0] - rng.uniform(0.5, 1.5, 3).sum() + rng.integers(5, size=4)[2]
    if i % 30 == 7: t.append(s.mean())
last = rng.random(3)
""",
    "several halves of words in a branch": """
rng = np.random.default_rng(1)
x, k = np.zeros(3), 0
for n in range(60):
    if n == 2 or n == 3: look()
    k += rng.integers(5)
    if rng.random() < 0.5:
        x += rng.integers(0, 9, size=3)
""",
    "a walk by the global generator": """
np.random.seed(3)
x, kept, taken = 0.0, [], 0
for i in range(90):
    if i == 2 or i == 3: look()
    y = x + np.random.normal(0, 0.7)
    if np.log(np.random.rand()) < x * x - y * y:
        x, taken = y, taken + 1
        if taken % 3 == 0: x += np.random.randn(2)[1]
    kept.append(x)
last = np.random.randn(3)
""",
    "draws of several kinds, each alike": """
rng = np.random.default_rng(4)
x, n = 0.0, 0
for i in range(90):
    if i == 2 or i == 3: look()
    x += rng.normal(0, 2) * rng.random() + rng.standard_normal(3)[1]
    n += int(rng.integers(4)) + rng.integers(7, size=())
last = rng.random(3)
""",
    "the global generator": """
np.random.seed(4)
x = np.zeros(3)
for i in range(60):
    if i == 2 or i == 3: look()
    x = 0.5 * x + np.random.randn(3) * np.sqrt(0.1) + np.random.randn() + np.random.rand(3)
last = np.random.randn(3)
""",
    "a while loop": """
rng = np.random.default_rng(1)
x, n = 0.0, 0
while x < 40:
    if n == 2 or n == 3: look()
    x += rng.random()
    n += 1
last = rng.random(3)
""",
    "a break goes back": """
rng = np.random.default_rng(1)
x = np.zeros(3)
for n in range(1000):
    if n == 2 or n == 3: look()
    x += rng.exponential(0.5, size=3)
    if x.max() > 30: break
last = rng.random(3)
""",
    "parameters that the rounds compute": """
rng = np.random.default_rng(1)
x, s = np.zeros(3), np.ones(3)
for n in range(60):
    if n == 2 or n == 3: look()
    x = rng.normal(0.5 * x, 0.1 + s * s)
    s = rng.uniform(0, 1 / (1 + np.abs(x)))
    t = rng.normal(x[0], 2)
    e = rng.exponential(s)
last = rng.random(3)
""",
    "arrays change places": """
rng = np.random.default_rng(1)
u, v = np.zeros(5), np.zeros(5)
for n in range(60):
    if n == 2 or n == 3: look()
    v[1:-1] = 0.5 * (u[2:] + u[:-2]) + rng.normal(size=3)
    v[0] = rng.normal()
    u, v = v, u
last = rng.random(3)
""",
    "in a function": """
def step(x, rng):
    return x * 0.5 + rng.normal(0, 0.1, len(x))
def main():
    rng = np.random.default_rng(1)
    x = np.ones(5)
    for n in range(60):
        if n == 2 or n == 3: look()
        x = step(x, rng)
    return x, rng.random()
out = main()
""",
    "single precision and small ints": """
rng = np.random.default_rng(1)
x = np.ones(5, "f4")
for n in range(60):
    if n == 2 or n == 3: look()
    x = x * np.float32(0.5) + rng.random(5, dtype=np.float32)
    x += rng.standard_normal(5, dtype=np.float32)
    k = rng.integers(0, 200, size=3, dtype=np.uint8)
    x[:3] += k
last = rng.random()
""",
}
BLOCKS = {
    "errstate in the body": """
x, n = np.ones(4), 0
for i in range(60):
    if i == 2 or i == 3: look()
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.where(x > 2, 1 / (x - 2), 0.5)
    x = 0.5 * x + r
""",
    "with around the loop": """
def main(x):
    with np.errstate(all="ignore"):
        for k in range(2):
            with np.errstate(all="ignore"), np.errstate(divide="ignore"):
                for i in range(60):
                    if i == 2 or i == 3: look()
                    x = 0.5 * x + 1 / x
    return x, i
out = main(np.arange(4.0))
""",
    "suppress": """
from contextlib import suppress
def main(n):
    x, t = np.linspace(0, 1, 5), 0.0
    for i in range(n):
        if i == 2 or i == 3: look()
        with suppress(ZeroDivisionError):
            t = 1 / (i - 7) + float(x[0])
        x = x * 0.5 + 0.1
    return x, t, i
out = main(40)
""",
    "suppress an index error": """
def main(n):
    import contextlib as c
    x, t = np.linspace(0, 1, 15), 0.0
    for i in range(n):
        if i == 2 or i == 3: look()
        with c.suppress(IndexError, KeyError), np.errstate(all="ignore"):
            x[i] = x[i] * 0.5 + 1
            t += 1.0
    return x, t, i
out = main(40)
""",
    "try around a solver": """
def main(x):
    fails = 0
    for i in range(60):
        if i == 2 or i == 3: look()
        try:
            d = np.linalg.solve(np.diag(x + 1), x)
            fails += 1
        except np.linalg.LinAlgError:
            d = x * 0.1
        else:
            x = x + 1
        finally:
            x = x * 1
        x = x - d * 0.1
    return x, fails, d
out = main(np.arange(1.0, 4.0))
""",
    "a handler runs now and then": """
def main(x):
    bad, t = 0, 30.0
    for i in range(200):
        if i == 2 or i == 3: look()
        try:
            x = x * 0.9 + 1 / t
        except ZeroDivisionError:
            bad += 1
            x = x + 1
        t -= 1
    return x, bad, t
out = main(np.arange(1.0, 4.0))
""",
    "a raise in try": """
def main(x):
    bad, t = 0, 30.0
    for i in range(200):
        if i == 2 or i == 3: look()
        try:
            if i % 50 == 47:
                raise ValueError("no")
            x = x * 0.9 + t
        except ValueError:
            bad += 1
            continue
        t -= 1
    return x, bad, t
out = main(np.arange(1.0, 4.0))
""",
    "a singular matrix": """
def main(x):
    fails = 0
    for i in range(120):
        if i == 2 or i == 3: look()
        A = np.eye(3) * (1.0 if i != 77 else 0.0) + 0
        try:
            d = np.linalg.solve(A, x)
        except np.linalg.LinAlgError:
            fails += 1
            d = x * 0.5
        x = x * 0.99 + d * 0.01 + 0.1
    return x, fails
out = main(np.arange(1.0, 4.0))
""",
}
OBJECTS = {
    "an array of an object had another name": """
s = {"x": np.ones(3)}
kept = s["x"]
for n in range(40):
    if n == 2 or n == 3: look()
    s["x"][0] = n
    s["x"] = s["x"] * 0.5
""",
    "an array was in two objects": """
x = np.ones(3)
s, t = {"x": x}, {"x": x}
del x
for n in range(40):
    if n == 2 or n == 3: look()
    s["x"] = s["x"] * 0.5 + t["x"]
""",
    "an object": """
class Sim:
    def __init__(self):
        self.x, self.v, self.t, self.dt, self.n = np.ones(3), np.zeros(3), 0.0, 0.01, 2
        self.name = "s"
        self.log = []
    def force(self):
        return -self.x * self.n
    def step(self):
        self.v = self.v + self.dt * self.force()
        self.x += self.dt * self.v
        self.t += self.dt
sim = Sim()

for i in range(60):
    if i == 2 or i == 3: look()
    sim.step()
    if i % 50 == 7:
        sim.log.append(sim.x.sum())
v, t, log = sim.v, sim.t, sim.log
del sim, Sim
""",
    "a method with a generator": """
class Sim:
    def __init__(self):
        self.x, self.v, self.t, self.dt, self.k = np.ones(3), np.zeros(3), 0.0, 0.01, 0
        self.rng = np.random.default_rng(3)
    def step(self):
        self.v = self.v - self.dt * self.x + self.rng.normal(size=3)
        self.x = self.x + self.dt * self.v
        self.k += 1
    def run(self, n):
        out = []
        for i in range(n):
            if i == 2 or i == 3: look()
            self.step()
            out.append(self.v.sum())
        return out
sim = Sim()
out = sim.run(60)
x, v, k, last = sim.x, sim.v, sim.k, sim.rng.random()
del sim, Sim
""",
    "dicts": """
s = {"x": np.ones(3), "v": np.zeros(3), "t": 0.0, "k": 2}
p = {"dt": 0.01, "modes": [1.0, 2.0], "n": 3}
for i in range(60):
    if i == 2 or i == 3: look()
    for j in range(p["n"]):
        s["v"] = s["v"] - p["dt"] * s["x"] * p["modes"][0]
    s["x"] = s["x"] + p["dt"] * s["v"]
    s["t"] += p["dt"]
""",
    "a dict and a break": """
def main():
    s = {"x": np.array([50.0, 1.0]), "n": 0}
    for k in range(1000):
        if k == 2 or k == 3: look()
        s["x"] = s["x"] * 0.9
        s["n"] += 1
        if s["x"].max() < 1e-2:
            break
    return s
out = main()
kx = out["x"]; kn = out["n"]; del out
""",
}
STAYING = {
    "draws of several halves of words in a branch": """
rng = np.random.default_rng(1)
x, k = np.zeros(3), 0
for n in range(60):
    if n == 2 or n == 3: look()
    k += rng.integers(5)
    if rng.random() < 0.5:
        x += rng.integers(0, 9, size=33)[:3]
""",
    "a size that the rounds change": """
rng = np.random.default_rng(1)
x, k = 0.0, 1
for n in range(40):
    if n == 2 or n == 3: look()
    x = x * 0.5 + rng.random(k).sum()
    k = k % 5 + 1
""",
    "parameters of another distribution": """
rng = np.random.default_rng(1)
x = np.ones(3)
for n in range(40):
    if n == 2 or n == 3: look()
    x = 1.0 + rng.poisson(x)
""",
    "a seed": """
x = np.zeros(3)
for n in range(40):
    if n == 2 or n == 3: look()
    np.random.seed(n)
    x = x * 0.5 + np.random.rand(3)
""",
    "a look at the state": """
rng = np.random.default_rng(1)
x, s = np.zeros(3), 0
for n in range(40):
    if n == 2 or n == 3: look()
    x = x * 0.5 + rng.normal(size=3)
    s = rng.bit_generator.state["state"]["inc"] % 7
""",
    "a draw into an array": """
rng = np.random.default_rng(1)
x, z = np.zeros(3), np.zeros(3)
for n in range(40):
    if n == 2 or n == 3: look()
    rng.random(out=z)
    x = x * 0.5 + z
""",
    "a shuffle": """
rng = np.random.default_rng(1)
x = np.arange(5.0)
for n in range(40):
    if n == 2 or n == 3: look()
    rng.shuffle(x)
""",
    "numbers from an array that is written": """
rng = np.random.default_rng(1)
data = np.arange(5.0)
for n in range(40):
    if n == 2 or n == 3: look()
    data[n % 5] = rng.choice(data)
""",
    "errstate that raises": """
x = np.ones(3)
for n in range(40):
    if n == 2 or n == 3: look()
    with np.errstate(divide="raise"):
        x = 0.5 * x + 1 / x
""",
    "suppress of everything": """
from contextlib import suppress
x = np.zeros(3)
for n in range(40):
    if n == 2 or n == 3: look()
    with suppress(BaseException):
        x = x * 0.5 + n
""",
    "another suppress": """
from contextlib import nullcontext
def suppress(kind):
    return nullcontext()
x = np.zeros(3)
for n in range(40):
    if n == 2 or n == 3: look()
    with suppress(IndexError):
        x = x * 0.5 + n
""",
    "another with": """
class Block:
    def __init__(self): self.n = 0
    def __enter__(self): self.n += 1
    def __exit__(self, *_): pass
block, x = Block(), np.ones(3)
for n in range(40):
    if n == 2 or n == 3: look()
    with block:
        x = 0.5 * x + 1
count = block.n
del block, Block
""",
    "a handler for everything": """
x = np.ones(3)
for n in range(40):
    if n == 2 or n == 3: look()
    try:
        x = 0.5 * x + 1
    except:
        x = x * 2
""",
    "a finally with a jump": """
x, k = np.ones(3), 0
for n in range(40):
    if n == 2 or n == 3: look()
    try:
        if n == 30: break
        x = 0.5 * x + 1
    finally:
        k += 1
""",
    "an object gets an attribute": """
class State: pass
s = State(); s.x = np.ones(3)
for n in range(40):
    if n == 2 or n == 3: look()
    s.x = s.x * 0.5 + 1
    if n == 20:
        s.y = s.x * 2
x, y = s.x, s.y
del s, State
""",
    "an array of an object has another name": """
s = {"x": np.ones(3)}
kept = s["x"]
for n in range(40):
    if n == 2 or n == 3: look()
    s["x"][0] = n
    s["x"] *= 0.5
""",
    "an array is in two objects": """
x = np.ones(3)
s, t = {"x": x}, {"x": x}
del x
for n in range(40):
    if n == 2 or n == 3: look()
    s["x"] *= 0.5
    s["x"] += t["x"] * 0.25
""",
    "a function reads the object": """
s = {"x": np.ones(3)}
def f():
    return s["x"].sum()
for n in range(40):
    if n == 2 or n == 3: look()
    s["x"] = s["x"] * 0.5 + f()
""",
}
