"""Scripts for test_loop_statements.py: loops with `match`, `:=`, `del`, functions that rounds make,
and statements that only Python runs.
"""

from __future__ import annotations

TAKEN = {
    "match of a sequence": """
x, n = np.ones(3), 0
for i in range(30):
    if i == 2 or i == 3: look()
    match [i % 2, i % 3]:
        case [0, k]: n += k
        case [1, *_]: n += 1
    x = x * 0.5
""",
    "match": """
x, names = np.zeros(5), 0
for i in range(60):
    if i == 2 or i == 3: look()
    match i % 5:
        case 0: x[0] += 0.5
        case 1 | 2: x[1] += x[0] * 0.25
        case k if k == 3 and x[1] > 1:
            x[k] += 1
            names += k
        case _: x[2:] *= 0.9
""",
    "match of what is computed": """
def main(x):
    n = 0
    for i in range(60):
        if i == 2 or i == 3: look()
        match int(x.sum()):
            case 0 if i > 20: n += 1
            case 4: x = x + 0.3
            case rest: x = 0.9 * x + 0.01 * rest
    return x, n
out = main(np.ones(4))
""",
    "an assignment in a condition": """
def main(x):
    total = best = b = t = np.float64(0)
    for i in range(60):
        if i == 2 or i == 3: look()
        if (s := x.sum()) > 1 and s < 6:
            total += (t := s * 0.5)
        elif s > best:
            best = (b := s + i) * 0.5
        x = x * 0.95 + (d := 0.01) * i
    return x, total, best, s, t, d, b
out = main(np.ones(3))
""",
    "a condition that measures": """
def main(u):
    n = 0
    while (err := np.abs(u[1:] - u[:-1]).max()) > 1e-3 and n < 200:
        if n == 2 or n == 3: look()
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        u[0] *= 0.9
        n += 1
    return u, err, n
out = main(np.linspace(0, 1, 9))
""",
    "a condition that measures, and jumps": """
x, n, left = np.ones(4), 0, 0.0
while (left := 50.0 - x.sum()) > 0:
    n += 1
    if n == 3 or n == 4: look()
    if n % 3 == 0:
        x = x + 1
        continue
    x = x * 1.01
    if n > 500: break
""",
    "names that are deleted": """
def main(x):
    for i in range(60):
        if i == 2 or i == 3: look()
        t = np.sin(x) * 0.1
        a, b = t + 1, t * 2
        x = x - a * 0.01 + b
        del t, a
        del b
    return x, sorted(locals())
out = main(np.ones(4))
""",
    "functions that rounds make": """
def main(y):
    t, dt = 0.0, 0.01
    for i in range(60):
        if i == 2 or i == 3: look()
        f = lambda z: -2.0 * z + np.sin(t)
        def g(z, k=2):
            if k > 1:
                z = z * k
            return z - t
        y = y + dt * f(y + dt * g(y))
        t += dt
    return y, t, f(1.0), g(2.0)
out = main(np.array([1.0, 0.5]))
""",
    "functions of a script": """
y, t, dt = np.array([1.0, 0.5]), 0.0, 0.01
for i in range(60):
    if i == 2 or i == 3: look()
    def f(z):
        return -2.0 * z + t
    y = y + dt * f(y + (lambda z: z * dt)(y))
    t += dt
last = f(1.0)
del f
""",
    "what only Python runs": """
import os, pathlib, tempfile
def main(x, folder):
    for i in range(60):
        if i == 2 or i == 3: look()
        x[1:-1] = x[1:-1] + 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2])
        if i % 20 == 7:
            path = os.path.join(folder, f"at{i}")
            with open(path, "w") as f:
                f.write(f"{float(x[3]):.6f}")
            import json
            try:
                json.loads("{")
            except json.JSONDecodeError as error:
                del error
            x += (lambda a: a + 1e-3)(0.0)
            global seen
            seen = i
    return x, {p.name: p.read_text() for p in sorted(pathlib.Path(folder).iterdir())}
folder = tempfile.mkdtemp()
out = main(np.linspace(0, 1, 9), folder)
del folder, os, pathlib, tempfile
""",
    "a report before the end": """
def main(x):
    log = []
    for i in range(400):
        if i == 2 or i == 3: look()
        x = x - 0.1 * (x * x - 2)
        if abs(x - 2 ** 0.5) < 1e-12:
            with np.printoptions(precision=3):
                log.append(str(x)[:5])
            break
    return x, log
out = main(1.7)
""",
}
STAYING = {
    "an assignment that some rounds skip": """
x, n = np.ones(3), 0
for i in range(30):
    if i == 2 or i == 3: look()
    if i > 20 and (k := i * 2) < 50:
        n += k
    x = x * 0.5
""",
    "names that some rounds delete": """
x, t = np.ones(3), 0.0
for i in range(30):
    if i == 2 or i == 3: look()
    if i % 2:
        del t
    else:
        t = 1.0
    x = x * 0.5
""",
    "an element is deleted": """
x, d = np.ones(3), dict.fromkeys(range(40), 1)
for i in range(30):
    if i == 2 or i == 3: look()
    del d[i]
    x = x * 0.5
""",
    "a function that does more": """
x, log = np.ones(3), []
for i in range(30):
    if i == 2 or i == 3: look()
    def f(z):
        log.append(1)
        return z * 0.5
    x = f(x)
del f
""",
    "a function that is kept": """
x, f = np.ones(3), None
for i in range(30):
    if i == 2 or i == 3: look()
    if i % 7 == 0:
        f = lambda z, i=i: z * 0.9 + i
    x = f(x)
last = f(2.0)
del f
""",
    "functions in a list": """
x, made = np.ones(3), []
for i in range(30):
    if i == 2 or i == 3: look()
    made.append(lambda z, i=i: z + i)
    x = x * 0.5
found = [f(1) for f in made]
del made
""",
    "match of a mapping": """
x, n = np.ones(3), 0
for i in range(30):
    if i == 2 or i == 3: look()
    match {0: i % 2, 1: i % 3}:
        case {0: 0, 1: k}: n += k
        case {0: 1}: n += 1
    x = x * 0.5
""",
}
