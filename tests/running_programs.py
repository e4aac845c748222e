"""Scripts for test_running_loops.py. `look()` asks whether the loop around it may be taken."""

from __future__ import annotations

import random
import textwrap

HEAT = """
u = np.zeros((6, 7))
u[0] = 1.0
t, seen = 0.0, []
for step in range(60):
    if step == 2 or step == 3: look()
    u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    t += 0.5
    if step % 20 == 0:
        seen.append((step, float(u.sum()), t))
"""
TAKEN = {
    "heat": HEAT,
    "function": """
def main():
    u, v = np.linspace(0, 1, 9), np.zeros(9)
    k, total = 0.1, 0
    for i in range(3, 50, 2):
        if i == 5 or i == 7: look()
        v[1:-1] = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
        v[0], v[-1] = u[0], u[-1]
        u, v = v, u
        total += i
    return u, v, i, total
out = main()
""",
    "elements by number": """
x, y, s = np.zeros((4, 5)), np.zeros((5, 4)), 0.0
for i in range(60):
    if i == 3 or i == 5: look()
    s = s * 0.5 + x.flat[i % 7]
    x.flat[i % x.size] = i + s
    y.T.flat[i % 3:] = s
""",
    "arrays by another name": """
u, v, w = np.linspace(0.0, 1.0, 6), np.arange(6.0), np.zeros(6)
for step in range(60):
    if step == 3 or step == 5: look()
    for a in (u, v):
        a[a > 0.9] = 0.5
        a *= 0.99
        top = a.max()
    for low, high in [(u[:-1], u[1:]), (v[:-1], v[1:])]:
        d = high - low
        low += 0.1 * d
        high -= 0.1 * d
    w = u + v
out = a is v, low.base is v, d
""",
    "another name in another loop": """
def slump(z, k):
    for low, high in ((z[:, :-1], z[:, 1:]), (z[:-1], z[1:])):
        d = high - low
        low += k * d
        high -= k * d

def main(z, s):
    total = 0.0
    for step in range(60):
        if step == 3 or step == 5: look()
        for x in (z, s):
            for i in range(2):
                x[i] *= 0.9
            total += x[0, 1]
        z += 0.1 * s
        if step % 10 == 9:
            slump(z, 0.1)
    return z, s, total, x is s, i
out = main(np.add.outer(np.arange(3.0), np.arange(4.0)), np.ones((3, 4)))
""",
    "backwards": """
x = np.arange(40.0)
for i in range(38, -1, -1):
    if i == 36 or i == 35: look()
    x[i] = x[i] + 0.5 * x[i + 1]
""",
    "letters of two words": """
def distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0], d[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        if i == 3 or i == 4: look()
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                d[i, j] = d[i - 1, j - 1]
            else:
                d[i, j] = 1 + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d
d = distance("a language of arrays", "another alphabet")
""",
    "an element or a number": """
x, y = np.linspace(-2, 3, 40), np.zeros(40)
for i in range(40):
    if i == 2 or i == 3: look()
    v = x[i] if x[i] > 1 else 1.0
    y[i] = v * 0.5
""",
    "break": """
x, rounds = np.array([50.0, 1.0]), 0
for i in range(1000):
    if i == 2 or i == 3: look()
    x = x * 0.9
    rounds += 1
    if x.sum() < 1e-2:
        break
else:
    rounds = -1
""",
    "break by the variable": """
x = np.ones(3)
for i in range(1000):
    if i == 2 or i == 3: look()
    x = x + i
    if i == 77:
        break
""",
    "return": """
def f():
    x = np.array([50.0, 1.0])
    for i in range(1000):
        if i == 2 or i == 3: look()
        x = x * 0.9
        if x[0] < 1e-2:
            return x, i
out = f()
""",
    "continue": """
x = np.zeros(4)
for i in range(40):
    if i == 2 or i == 3: look()
    if i % 3 == 0:
        continue
    x = x + i
""",
    "nested": """
a = np.ones((8, 5))
for i in range(20):
    if i == 2 or i == 3: look()
    for j in range(1, 5):
        a[i % 8, j] = 0.5 * a[i % 8, j - 1] + 0.25 * a[(i + 1) % 8, j]
    total = a.sum()
""",
    "inner": """
out = []
for k in range(3):
    x = np.ones(3) * k
    for i in range(30):
        if i == 2 or i == 3: look()
        x = x * 0.5 + i
    out.append((x, i, k))
""",
    "views as temporaries": """
def main(a):
    for i in range(30):
        if i == 2 or i == 3: look()
        row = a[i % 4]
        row[1:] += 0.5
        other = a.T[0]
        a[:, 0] = other * 0.5
    return a, row, other, i
out = main(np.ones((4, 3)))
""",
    "written while others refer to it": """
u = np.ones(5)
alias, view, kept = u, u[1:3], [u]
for i in range(30):
    if i == 2 or i == 3: look()
    u += 0.5 * i
    u[0] = i
""",
    "reads what effects change": """
x, dt = np.zeros(3), 0.5
for i in range(60):
    if i == 2 or i == 3: look()
    x = x + dt
    if i % 16 == 5:
        dt = dt * 0.5
        print(end="")
""",
    "best": """
best, where, x = 1e9, 0, np.linspace(-2, 1, 60)
for i in range(60):
    if i == 2 or i == 3: look()
    y = float(x[i] ** 2)
    if y < best:
        best, where = y, i
""",
    "an error in a late round": """
def f(x):
    for i in range(40):
        if i == 2 or i == 3: look()
        old = float(x[0])
        x[0] += x[i]
x = np.arange(20.0)
try:
    f(x)
except IndexError as e:
    error = str(e)
    last = e.__traceback__.tb_next.tb_frame.f_locals["old"]
""",
    "exchanges of three": """
a, b, c = np.arange(3.0), np.ones(3), np.zeros(3)
for i in range(60):
    if i == 2 or i == 3: look()
    c = a * 0.5 + b * 0.25 + i
    a, b = b, c
""",
    "functions": """
SCALE = 0.5
def step(u, w):
    if w > 1:
        return u * SCALE + w
    return u
u = np.ones(4)
for i in range(50):
    if i == 2 or i == 3: look()
    u = step(u, i % 3)
""",
    "dtypes": """
a, b, c = np.ones(3, "f4"), np.ones(2, "c16"), np.arange(3, dtype="u1")
d, e = np.array([True, False]), np.zeros((0, 2))
for i in range(30):
    if i == 2 or i == 3: look()
    a = a * np.float32(0.5) + i
    b *= 0.5j
    c += 100
    d = ~d
    e = e + 1
""",
    "comprehensions": """
x, w = np.arange(6.0), [0.0]
for i in range(40):
    if i == 2 or i == 3: look()
    parts = [x[k] * 0.5 + k for k in range(3)]
    x = x * 0.9 + np.array([p + q for p in parts for q in [0, i]])
    row = [float(v) for v in x]
""",
    "a comprehension with the loop's names": """
u, v, i = np.arange(6.0), np.ones(6), 7
for k in range(40):
    if k == 2 or k == 3: look()
    w = [u[i] for i in range(3)]
    v[0:3] = np.array(w)
    u, v = v, u
""",
    "a number counts": """
n, z, x = 0, 1j, np.ones(2)
for i in range(40):
    if i == 2 or i == 3: look()
    n = n * 3 % 1000 + i
    z = z * 0.5 + 1
    x = x + n
""",
}
FAILING = {
    "division by zero": """
def main(t, x):
    try:
        for i in range(40):
            if i == 2 or i == 3: look()
            x = x + 1 / t
            t -= 1.0
    except ZeroDivisionError as error:
        return x, t, i, str(error)
out = main(20.0, np.zeros(2))
""",
    "a remainder": """
def main(n, x, t):
    try:
        for i in range(40):
            if i == 2 or i == 3: look()
            x = x + 17 % n - 5 // n
            n -= 1
            t /= n - 3.5
    except ZeroDivisionError as error:
        return x, t, i, str(error)
out = main(20, np.zeros(2), 0.5)
""",
    "a root becomes complex": """
t, z, x = 20.0, 0.5, np.zeros(2)
for i in range(40):
    if i == 2 or i == 3: look()
    z = z + (t ** 0.5).real
    t -= 1.0
    x = x + z
""",
    "a power is too large": """
def main(t, x):
    try:
        for i in range(40):
            if i == 2 or i == 3: look()
            t = t ** 2
            x = x + i
    except OverflowError as error:
        return i, t, x, str(error)
out = main(1.0001, np.zeros(2))
""",
    "an index is out of bounds": """
def main(x):
    try:
        for i in range(40):
            if i == 2 or i == 3: look()
            x[0] += x[i]
    except IndexError as error:
        return i, x, str(error)
out = main(np.arange(20.0))
""",
}
REFUSED = {
    "an effect in each round": """
out, x = set(), np.ones(2)
for i in range(30):
    if i == 2 or i == 3: look()
    x = x * 0.5
    out.add(float(x[0]))
out = sorted(out)
""",
    "an alias is left behind": """
u = np.ones(3)
kept = [u]
for i in range(30):
    if i == 2 or i == 3: look()
    u[0] = i
    u = u + 1
""",
    "a function reads what changes": """
def f():
    return t * 2.0
t, x = 0.0, np.zeros(2)
for i in range(30):
    if i == 2 or i == 3: look()
    x = x + f()
    t += 1.0
""",
    "a closure": """
def outer():
    x = np.zeros(2)
    def f():
        return x
    for i in range(30):
        if i == 2 or i == 3: look()
        x = f() + 1
    return x
out = outer()
""",
    "binds its variable": """
x = np.zeros(2)
for i in range(30):
    if i == 2 or i == 3: look()
    x = x + i
    i = i * 2
""",
    "a big int": """
n, x = 1, np.zeros(2)
for i in range(90):
    if i == 2 or i == 3: look()
    n = n * 7
    x = x + 1
""",
    "a comprehension that binds": """
x = np.zeros(3)
for i in range(30):
    if i == 2 or i == 3: look()
    x = np.array([(y := x[k] + 1) for k in range(3)])
""",
    "a list that is carried": """
x = [0.0, 1.0, 2.0]
for i in range(30):
    if i == 2 or i == 3: look()
    x = [v * 0.5 + np.sqrt(i) for v in x]
""",
    "in try": """
x = np.zeros(2)
for i in range(30):
    if i == 2 or i == 3: look()
    try:
        x = x + 1
    except:
        x = x * 1
""",
}


STATEMENTS = """
a = a * 0.5 + b
b[i % 5] = s
c[1:] += 0.1 * a[:-1]
c -= 0.1 * c
a, b = b, a
a, b, c = b, c, a
s = s * 0.5 + float(a[i % 5])
n += i
n = n % 7 - 3
t = a[i % 5]
row = c[1:3]; row[:] = 0.25 * i
b = np.where(b > 2, 1.0, b)
m[i % 3] = m[(i + 1) % 3] * 0.5 + a[:4]
for j in range(3): m[j, 0] = 0.5 * m[j, 1] + j
for j in range(n % 3): c[j] = 0.5 * c[j] + 1
if s > 0.5: s = s - 0.5
if i % 4 == 1: a = a + 1
if n > 2: b[0] = 0.0
if i % 7 == 5: log.append((i, n, float(a.sum())))
if i % 5 == 2: continue
if i == 31: break
if abs(s) > 1.5: break
c = a.copy()
k = k + 1 if i > 20 else k
old = a
w = np.minimum(a, b); a = w * 0.75
t = b.sum(); b = b / (1 + t * t)
n, s = i, float(n)
"""


BLOCKS = [
    "match n % 3:\n    case 0: a = a * 0.9\n    case 1 | 2 if s > 0: b[1] += 1\n    case k: c[0]=k",
    "f = lambda z: z * 0.5 + s\na = f(a)",
    "def g(z, by=0.5):\n    if i % 2: return z * by\n    return z + n\nc = g(c)",
    "d = a * 2\nb = d + 1\ndel d",
    "if (q := a.sum()) > 1.5: b = b * 0.9\nelif q < 0: s = s + 0.1",
    "x = rng.normal(0, 0.1)\nif x > 0 or rng.random() < 0.3: s = s + x",
    "p, q = rng.integers(0, 5, 2)\na[p] += 0.1 * b[q]",
    "s = s * 0.5 + rng.random() * rng.normal(size=2).sum()",
    "errs.append(s)\nif len(errs) > 3 and abs(errs[-1] - errs[-2]) < 1e-3: s = s + 1",
    "errs += [0.5 * s, 0.3]\nb = b + 0.1 * errs[-2]",
    "if s > errs[-1]: errs.append(s)",
]


def program(seed: int, conditional: bool = False) -> str:
    """A script with a random loop; a `while` loop, if conditional."""
    rng = random.Random(seed)
    lines = [*(x for x in STATEMENTS.splitlines() if x), *BLOCKS]
    body = [rng.choice(lines) for _ in range(rng.randint(1, 6))]
    first, step, count = rng.randint(-3, 9), rng.choice([1, 1, 2, -1, -3]), rng.randint(12, 60)
    third, fourth = first + 2 * step, first + 3 * step
    head = """
    a, b, c = np.linspace(0, 1, 5), np.ones(5), np.arange(5.0)
    m = np.arange(12.0).reshape(3, 4).copy()
    s, n, k, t, w, row, old, log = 0.25, 1, 0, a[0], None, None, None, []
    rng, errs = np.random.default_rng(5), [0.5, 0.25]
    """
    end = first + step * count
    loop = [f"for i in range({first}, {end}, {step}):"]
    if conditional:
        tests = [
            f"i != {end}",
            f"{end} > i" if step > 0 else f"i > {end}",
            f"i != {end} and s < 9.0",
        ]
        test = rng.choice(["True", *tests])
        loop = [f"i = {first}", f"while {test}:", f"    i += {step}"]
        ends = [f"if c[1] > 9 or i == {end}: break"] if test == "True" else []
        body = [*ends, *body]  # no `continue` may skip it
    loop += [
        f"    if i == {third} or i == {fourth}: look()",
        *(textwrap.indent(x, "    ") for x in body),
    ]
    seen, kept = rng.choice([("", "0"), ("view = c[1:]\n", "view"), ("view = a\n", "view")])
    everything = f"a, b, c, m, s, n, k, t, i, log, row, old, errs, rng.random(), {kept}"
    text = textwrap.dedent(head) + seen + "\n".join(loop)
    if rng.random() < 0.5:
        inside = textwrap.indent(text, "    ")
        return f"def main():\n{inside}\n    return {everything}\nout = main()\n"
    return f"{text}\nout = {everything}\n"
