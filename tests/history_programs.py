"""Scripts for test_histories.py: loops that append to lists, or set their elements."""

from __future__ import annotations

import random
import textwrap

TAKEN = {
    "the length of a list in a dict": """
hist = {"x": [0.0]}
t = 0.0
for n in range(60):
    if n == 2 or n == 3: look()
    t += len(hist["x"])
    hist["x"].append(t)
""",
    "a list is read": """
x, xs = np.ones(2), [0.0]
for k in range(40):
    if k == 2 or k == 3: look()
    x = x + xs[-1] * 0.1
    xs.append(float(x[0]))
""",
    "floats": """
v, energies = np.linspace(0, 1, 5), []
for k in range(60):
    if k == 2 or k == 3: look()
    v = v * 0.9 + 0.1
    energies.append(float((v ** 2).sum()))
""",
    "copies": """
u, frames = np.zeros(6), [None]
for k in range(60):
    if k == 2 or k == 3: look()
    u[1:-1] += 0.1 * k
    frames.append(u.copy())
""",
    "copies now and then": """
def main(u, every):
    frames, n = [], 0
    for k in range(90):
        if k == 2 or k == 3: look()
        u[1:] = u[:-1] * 0.5 + k
        n += 1
        if k % every == 0:
            frames.append(u.copy())
    return u, frames, n
out = main(np.arange(5.0), 7)
""",
    "arrays that are bound anew": """
def main():
    x, y, xs, ys = np.ones(3), np.zeros((2, 2)), [], []
    for k in range(50):
        if k == 2 or k == 3: look()
        xs.append(x)
        x = x * 0.9 + k
        y = y + x[0]
        ys.append(y)
    return x, xs, y, ys, ys[-1] is y, xs[-1] is x
out = main()
""",
    "they are shown by nothing else": """
x, xs = np.ones(3), []
for k in range(50):
    if k == 2 or k == 3: look()
    x = x * 0.9 + k
    xs.append(x)
x[0] = 100.0
for z in xs[:-1]:
    z += 1
""",
    "an old value": """
x, xs = np.ones(3), []
for k in range(50):
    if k == 2 or k == 3: look()
    old = x
    x = x * 0.9 + k
    xs.append(x - old)
""",
    "scalars of numpy": """
x, a, b, c, d = np.ones(3, "f4"), [], [], [], []
for k in range(50):
    if k == 2 or k == 3: look()
    x = x * np.float32(0.9) + k
    a.append(x[0])
    b.append(x.sum() > 3)
    c.append(x.argmax())
    d.append(x[1] * 1j)
""",
    "numbers of pythons": """
x, t, a, b, c, d, e = np.ones(3), 0.0, [], [], [], [], []
for k in range(50):
    if k == 2 or k == 3: look()
    x = x + t
    t += 0.1
    a.append(k)
    b.append(t)
    c.append(k * 2 + 1)
    d.append(1)
    e.append(float(x[0]) > 3.0)
""",
    "tuples": """
x, t, log, rows = np.ones(3), 0.0, [], []
for k in range(50):
    if k == 2 or k == 3: look()
    x = x * 0.5 + k
    t += 0.1
    log.append((k, t, float(x.sum()), "step", None, (x.copy(), x[0])))
    rows.append([t, x * 2])
""",
    "the same list twice": """
x, xs = np.ones(3), []
for k in range(50):
    if k == 2 or k == 3: look()
    xs.append(float(x[0]))
    x = x * 0.5 + k
    xs.append(x.sum())
""",
    "elements of a list": """
n = 60
x, h, g = np.ones(3), [0.0] * n, [None] * (n + 2)
for k in range(n):
    if k == 2 or k == 3: look()
    x = x * 0.5 + k
    h[k] = float(x.sum())
    g[k - n] = x * 1.0
    g[3] = float(k)
""",
    "a list in a branch on data": """
x, s, late = np.ones(3), 0.3, []
for k in range(80):
    if k == 2 or k == 3: look()
    x = x + 1
    s = s * 3.7 * (1 - s)
    if s > 0.6:
        late.append(k)
    elif s < 0.2:
        x = x * 0.5
""",
    "continue": """
x, xs, n = np.ones(3), [], 0
for k in range(80):
    if k == 2 or k == 3: look()
    x = x + k
    if k % 3 == 1:
        continue
    xs.append(float(x[0]))
    n += 1
""",
    "break": """
def f(x):
    errors = []
    for k in range(1000):
        if k == 2 or k == 3: look()
        new = x * 0.9
        error = float(abs(new - x).max())
        errors.append(error)
        x = new
        if error < 1e-3:
            break
    return x, errors, k
out = f(np.ones(4))
""",
    "exchanges": """
def main(u, v):
    frames, es = [], []
    for k in range(60):
        if k == 2 or k == 3: look()
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        u, v = v, u
        es.append(float(u.sum()))
        if k % 5 == 0:
            frames.append(u.copy())
    return u, v, frames, es
out = main(np.arange(6.0), np.zeros(6))
""",
    "effects, too": """
x, xs, seen = np.ones(3), [], []
for k in range(90):
    if k == 2 or k == 3: look()
    x = x + k
    xs.append(float(x[0]))
    if k % 20 == 5:
        seen.append(len(xs))
        print(end="")
""",
    "an error in a late round": """
def f(x, xs):
    for i in range(40):
        if i == 2 or i == 3: look()
        xs.append(float(x[i]))
        x[0] += x[i]
x, xs = np.arange(20.0), []
try:
    f(x, xs)
except IndexError as e:
    error = str(e)
""",
    "an empty array, and one without axes": """
e, z, xs, zs = np.zeros((0, 3)), np.array(1.0), [], []
for k in range(40):
    if k == 2 or k == 3: look()
    e = e * 2
    xs.append(e + k)
    zs.append(np.asarray(float(k)) * z)
""",
    "dtypes": """
a, b, c, d, e = [], [], [], [], []
x = np.arange(4)
for k in range(40):
    if k == 2 or k == 3: look()
    x = x + k
    a.append(x.astype("u1"))
    b.append(x > 30)
    c.append(x * 1j)
    d.append(x.astype("f4") * np.float32(0.5))
    e.append(x.astype("i2")[1])
""",
    "a history that is printed": """
x, xs = np.ones(2), []
for k in range(200):
    if k == 2 or k == 3: look()
    x = x * 0.9 + 0.1 * k
    xs.append(x[1])
    if k % 50 == 0:
        print(end=f"{xs[-1]:.0f}"[:0])
""",
    "lists in a dict": """
hist = {"x": [], "e": [], "n": 0}
x, t = np.ones(3), 0.0
for n in range(60):
    if n == 2 or n == 3: look()
    x = x * 0.9
    t += 0.1
    hist["x"].append(float(x[0]))
    if x[1] > 0.01:
        hist["e"].append(t)
""",
    "lists of an object": """
class Sim:
    def __init__(self):
        self.u, self.path, self.log, self.k = np.ones(4), [], {"m": []}, 0.5
    def run(self, n):
        for i in range(n):
            if i == 2 or i == 3: look()
            self.u = self.u * self.k + i

            self.path.append(self.u.copy())
            self.log["m"].append(self.u.max())
s = Sim()
s.run(60)
out = s.u, s.path, s.log, s.k
del s
""",
    "elements of a list of an object": """
class S: pass
s = S(); s.path = [0.0] * 60
t = 0.0
for n in range(60):
    if n == 2 or n == 3: look()
    t += 0.5
    s.path[n] = t
p = s.path; del s
""",
}
REFUSED = {
    "an array that is written in place": """
x, xs = np.ones(2), []
for k in range(40):
    if k == 2 or k == 3: look()
    x[0] = k
    xs.append(x)
""",
    "it is written after": """
x, xs = np.ones(2), []
for k in range(40):
    if k == 2 or k == 3: look()
    x = x + 1
    xs.append(x)
    x *= 0.5
""",
    "it is written in a function after": """
def change(a):
    a *= 0.5
x, xs = np.ones(2), []
for k in range(40):
    if k == 2 or k == 3: look()
    x = x + 1
    xs.append(x)
    change(x)
""",
    "it is written in the next round": """
x, xs = np.ones(2), []
for k in range(40):
    if k == 2 or k == 3: look()
    x[0] += 1
    x = x + 1
    xs.append(x)
""",
    "a name of another array": """
u, xs = np.ones(2), []
for k in range(40):
    if k == 2 or k == 3: look()
    x = u
    xs.append(x)
    u += 1
""",
    "a name of another array that was written before": """
u, xs = np.ones(2), []
for k in range(40):
    if k == 2 or k == 3: look()
    u += 1
    x = u
    xs.append(x)
""",
    "bound to itself": """
x, xs = np.ones(2), []
for k in range(40):
    if k == 2 or k == 3: look()
    xs.append(x)
    x = x
xs[0][0] = 7
""",
    "not bound in each round": """
x, s, xs = np.ones(2), 0.3, []
for k in range(40):
    if k == 2 or k == 3: look()
    xs.append(x)
    s = s * 3.7 * (1 - s)
    if s > 0.5:
        x = x + 1
xs[0][0] = 7
""",
    "a view of what changes": """
x, xs = np.ones((2, 2)), []
for k in range(40):
    if k == 2 or k == 3: look()
    x += 1
    xs.append(x.T)
""",
    "a list with two names": """
x, xs = np.ones(2), []
ys = xs
for k in range(40):
    if k == 2 or k == 3: look()
    x = x + 1
    xs.append(float(x[0]))
    ys.append(k)
""",
    "a list of another class": """
class Log(list):
    def append(self, x):
        super().append(x * 2)
x, xs = np.ones(2), Log()
for k in range(40):
    if k == 2 or k == 3: look()
    x = x + 1
    xs.append(float(x[0]))
xs = list(xs)
del Log
""",
    "a function reads it": """
def last():
    return xs[-1]
x, xs = np.ones(2), [0.0]
for k in range(40):
    if k == 2 or k == 3: look()
    x = x + last()
    xs.append(float(x[0]) * 0.1)
""",
    "a list in it": """
x, xs, row = np.ones(2), [], [0.0]
for k in range(40):
    if k == 2 or k == 3: look()
    x = x + 1
    xs.append((row, float(x[0])))
row[0] = 5.0
""",
    "the same list in each round": """
x, xs = np.ones(2), []
for k in range(40):
    if k == 2 or k == 3: look()
    x = x + 1
    row = [float(x[0])]
    xs.append(row)
    row.append(k)
""",
    "out of bounds": """
def main(x, h):
    try:
        for k in range(40):
            if k == 2 or k == 3: look()
            x = x + 1
            h[k] = float(x[0])
    except IndexError as error:
        return k, h, x, str(error)
out = main(np.ones(2), [0.0] * 2)
""",
    "a list in a dict with another name": """
hist = {"x": []}
xs, t = hist["x"], 0.0
xs.append(1.0)
for n in range(60):
    if n == 2 or n == 3: look()
    t += xs[-1] * 0.01
    hist["x"].append(t)
""",
    "a list in a dict is replaced": """
hist = {"x": []}
t, old = 0.0, []
for n in range(60):
    if n == 2 or n == 3: look()
    t += 0.5
    if n % 20 == 0:
        old.append(hist["x"])
        hist["x"] = []
    hist["x"].append(t)
""",
    "a list that a property gives": """
class S:
    def __init__(self): self.n = 0; self._p = []
    @property
    def path(self):
        self.n += 1
        return self._p
s = S()
t = 0.0
for n in range(60):
    if n == 2 or n == 3: look()
    t += 0.5
    s.path.append(t)
p = s._p, s.n; del s
""",
    "a part of what the loop binds": """
hists = [{"x": []}, {"x": []}]
t, hist = 0.0, hists[0]
for n in range(60):
    if n == 2 or n == 3: look()
    t += 0.5
    hist["x"].append(t)
    hist = hists[n % 2]
""",
}
FAILING = {
    "out of bounds later": """
def main(x, h):
    try:
        for k in range(400):
            if k == 2 or k == 3: look()
            x = x + 1
            h[k] = float(x[0])
    except IndexError as error:
        return k, h, x, str(error)
out = main(np.ones(2), [0.0] * 300)
""",
    "a function of math fails": """
from math import log
def main(x, t):
    hs = []
    try:
        for k in range(400):
            if k == 2 or k == 3: look()
            x = x + 1
            t -= 0.25
            hs.append(log(t))
    except ValueError as error:
        return k, hs, x, t, str(error)
out = main(np.ones(2), 40.0)
""",
}

STATEMENTS = """
a = a * 0.5 + b
b[i % 5] = s
a, b = b, a
s = s * 0.5 + float(a[i % 5])
n = n * 3 % 7 - i % 3
if s > 0.5: s = s - 0.5
if i % 5 == 2: continue
old = a
b += 0.1
p.append(float(a.sum()))
p.append(n)
q.append(a.copy())
q.append(a * s)
r.append(a)
r.append(b)
if i % 4 == 1: p.append((i, s))
if s > 0.3: q.append(b - a)
if n > 2: r.append(n)
r.append((s, a[1], i))
h[i % 9] = s
h[i % 9] = a + 0
"""


def program(seed: int) -> str:
    """A script with a random loop."""
    rng = random.Random(seed)
    lines = [x for x in STATEMENTS.splitlines() if x]
    changes, others = lines[9:], lines[:9]
    body = [rng.choice(others) for _ in range(rng.randint(1, 4))]
    body += [rng.choice(changes) for _ in range(rng.randint(1, 3))]
    rng.shuffle(body)
    first, step, count = rng.randint(0, 9), rng.choice([1, 1, 2, 3]), rng.randint(12, 60)
    third, fourth = first + 2 * step, first + 3 * step
    head = """
    a, b, s, n, old = np.linspace(0, 1, 5), np.ones(5), 0.25, 1, None
    p, q, r, h = [], [], [], [0.0] * 9
    """
    loop = [f"for i in range({first}, {first + step * count}, {step}):",
            f"    if i == {third} or i == {fourth}: look()",
            *("    " + x for x in body)]  # fmt: skip
    after = """
    for x in (a, b, *q, *r):
        if isinstance(x, np.ndarray):
            x[0] += 1
    """
    everything = "a, b, s, n, p, q, r, h, i, old"
    text = textwrap.dedent(head) + "\n".join(loop) + textwrap.dedent(after)
    if rng.random() < 0.5:
        inside = textwrap.indent(text, "    ")
        return f"def main():\n{inside}\n    return {everything}\nout = main()\n"
    return f"{text}\nout = {everything}\ndel x\n"
