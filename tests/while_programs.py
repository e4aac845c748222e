"""Scripts for test_while_loops.py. `look()` asks whether the loop around it may be taken."""

TAKEN = {
    "a walrus": """
x, n = np.ones(3), 0
while (n := n + 1) < 30:
    if n == 2 or n == 3: look()
    x = x * 0.9
""",
    "the length of a list": """
x, n, todo = np.ones(3), 0, list(range(40))
while n < len(todo):
    x = x * 0.9 + todo[n]
    n += 1
    if n == 2 or n == 3: look()
""",
    "converges": """
u, error, steps = np.zeros((6, 7)), 1.0, 0
u[0] = 1.0
while error > 1e-3:
    if steps == 2 or steps == 3: look()
    old = u.copy()
    u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    error = np.abs(u - old).max()
    steps += 1
""",
    "a name for the result": """
def main(x, tolerance):
    n = 0
    while True:
        n += 1
        if n == 3 or n == 4: look()
        y = 0.5 * (x + 2.0 / x)
        y = x + 0.1 * (y - x)
        change = np.max(np.abs(y - x))
        x = y
        if change < tolerance:
            break
    return x, y, n, change
out = main(np.linspace(1, 3, 5), 1e-4)
""",
    "a break first": """
x, n = np.ones(4), 0
while True:
    if n >= 57: break
    if n == 2 or n == 3: look()
    x = x * 0.9 + 0.1 * n
    n += 1
""",
    "until a time": """
def main(t, end):
    x, steps = np.array([1.0, 0.0]), 0
    while t < end:
        dt = min(0.05, end - t)
        if steps == 2 or steps == 3: look()
        x = x + dt * np.array([x[1], -x[0]])
        t += dt
        steps += 1
    else:
        steps = -steps
    return x, t, steps, dt
out = main(0.0, 3.03)
""",
    "exchanged": """
u, v, n = np.linspace(0, 1, 9), np.zeros(9), 0
w = u
while u[4] > 0.05:
    if n == 2 or n == 3: look()
    v[1:-1] = 0.45 * (u[2:] + u[:-2])
    n += 1
    u, v = v, u
same = w is u
""",
    "three exchanged": """
a, b, c, n = np.ones(3), np.zeros(3), np.full(3, 2.0), 0
while n < 41:
    if n == 2 or n == 3: look()
    a[1:] += 0.1 * b[:-1]
    n += 1
    a, b, c = b, c, a
""",
    "effects": """
x, n, seen = np.array([50.0, 1.0]), 0, []
def tell(n, total):
    seen.append((n, total))
while x.sum() > 0.1:
    if n == 2 or n == 3: look()
    x = x * 0.95
    n += 1
    if n % 25 == 0:
        tell(n, float(x.sum()))
        print(n, end=" ")
""",
    "a history": """
x, t, ts, xs = np.ones(3), 0.0, [], []
while t < 5:
    if t == 0.25 or t == 0.5: look()
    x = x * 0.9
    t += 0.125
    ts.append(t)
    xs.append(x.copy())
""",
    "a history in a branch": """
x, n, energies = np.ones(3), 0, [1]
while n < 60:
    n += 1
    if n == 2 or n == 3: look()
    x = x * 0.9 + 0.01
    if n % 4 == 1:
        energies.append((n, float(x.sum())))
""",
    "return": """
def main(x):
    n = 0
    while n < 1000:
        n += 1
        if n == 2 or n == 3: look()
        x = x + 0.25
        if x.sum() > 70:
            return x, n
    return None
out = main(np.zeros(4))
""",
    "raise": """
def main(x):
    n = 0
    try:
        while True:
            n += 1
            if n == 2 or n == 3: look()
            x = x * 1.5
            if x[0] > 1e6:
                raise ValueError("diverges")
    except ValueError as e:
        return x, n, str(e)
out = main(np.ones(3))
""",
    "continue": """
x, n, odd = np.zeros(3), 0, 0
while n < 50:
    n += 1
    if n == 2 or n == 3: look()
    x[n % 3] += n
    if n % 2 == 0:
        continue
    odd += 1
    x *= 0.99
""",
    "a loop inside": """
x, n = np.linspace(0, 1, 6), 0
while x.max() < 40:
    if n == 2 or n == 3: look()
    for i in range(1, len(x)):
        x[i] = x[i] + 0.3 * x[i - 1]
        if x[i] > 39.5: break
    x[0] += 1.0
    k = 0
    while k < 3:
        x[k] *= 0.75
        k += 1
    n += 1
""",
    "inside a loop": """
def main():
    out = []
    for m in range(3):
        x, n = np.full(3, 9.0 + m), 0
        while x.sum() > 0.5:
            if n == 2 or n == 3: look()
            x = x * 0.9
            n += 1
        out.append((n, x))
    return out
out = main()
""",
    "methods": """
class Oscillator:
    k = 4.0
    def force(self, x):
        return -self.k * x
o = Oscillator()
def main():
    x, v, n = np.ones(3), np.zeros(3), 0
    while n < 43:
        if n == 2 or n == 3: look()
        v = v + 0.01 * o.force(x)
        x = x + 0.01 * v
        n += 1
    return x, v, n
out = main()
del o
""",
    "and": """
x, n = np.ones(4), 0
while n < 300 and np.abs(x).max() > 1e-3:
    if n == 2 or n == 3: look()
    x = x * 0.8
    n += 1
""",
    "an element": """
x, i = np.linspace(5, -5, 60), 0
while x[i] > 0:
    if i == 2 or i == 3: look()
    x[i] = x[i] * 2
    i += 1
""",
    "until all are in order": """
x, swapped, rounds = np.array([9.0, 2, 7, 1, 8, 3, 5, 0, 6, 4, -1, -2, 11, 10, 22, 1]), True, 0
while swapped:
    if rounds == 2 or rounds == 3: look()
    swapped = False
    for i in range(len(x) - 1):
        if x[i] > x[i + 1]:
            t = x[i]
            x[i] = x[i + 1]
            x[i + 1] = t
            swapped = True
    rounds += 1
""",
    "numbers": """
a, b, n = 252105, 15 * 252105 // 35 * 4 + 1, 0
x = np.zeros(2)
while n < 99:
    if n == 2 or n == 3: look()
    a, b = b % 1000 + n, a
    x = x + a
    n += 1
""",
    "integers": """
x, n = np.arange(5), 0
while x.sum() < 4000:
    if n == 2 or n == 3: look()
    x += np.arange(5) % 3
    n += 1
""",
    "views that are read": """
whole = np.arange(64.0).reshape(8, 8)
mask, rest, turned = (whole % 2 == 0)[1:-1, 1:-1], whole[::2, 1], whole.T
u, n = np.zeros((6, 6)), 0
while u.sum() < 900:
    n += 1
    if n == 2 or n == 3: look()
    u = np.where(mask, u + 1.0, u * 0.9) + 0.01 * rest[2] + 0.001 * turned[1:-1, 2:]
""",
    "a generator at once": """
x, n = np.linspace(0, 1, 9), 0
while n < 40:
    n += 1
    if n == 2 or n == 3: look()
    around = sum(np.roll(x, i) for i in (-1, 1))
    x = 0.4 * around + 0.2 * x + max(v * 0.01 for v in (1, 2))
""",
    "accepted or not": """
def main():
    x, t, h, kept = np.array([1.0, 0.0]), 0.0, 0.5, 0
    tries = 0
    while t < 3.0:
        tries += 1
        if tries == 3 or tries == 4: look()
        y = x + h * np.array([x[1], -x[0]])
        z = x + h * 0.5 * (np.array([x[1], -x[0]]) + np.array([y[1], -y[0]]))
        error = np.abs(z - y).max()
        if error < 1e-3:
            x = z
            t += h
            kept += 1
        h = 0.9 * h * min(2.0, max(0.3, (1e-3 / (error + 1e-30)) ** 0.5))
    return x, t, h, kept, tries, z
out = main()
""",
    "accepted steps": """
def main(n):
    x, t, h = np.array([1.0, 0.0]), 0.0, 0.5
    ts, xs, tries = [t], [x], 0
    while t < 3.0 and tries < n:
        tries += 1
        if tries == 3 or tries == 4: look()
        y = x + h * np.array([x[1], -x[0]])
        z = x + h * 0.5 * (np.array([x[1], -x[0]]) + np.array([y[1], -y[0]]))
        error = np.abs(z - y).max()
        if error < 1e-3:
            x = z
            t += h
            ts.append(t)
            xs.append(x)
        h = 0.9 * h * min(2.0, max(0.3, (1e-3 / (error + 1e-30)) ** 0.5))
        if tries % 4 == 3:
            h = h + 8.0
    x[0] = 7.0
    return x, t, h, ts, xs, tries, z
out = [main(n) for n in (1000, 30, 31, 32, 33, 34)]
""",
    "rarely accepted": """
x, n, xs = np.ones(3), 0, []
while n < 90:
    n += 1
    if n == 2 or n == 3: look()
    y = x * 0.9 + 0.01 * n
    if n % 29 == 8:
        x = y
        xs.append(x)
    else:
        y = y + 1.0
x[1] = 5.0
same = [a is x for a in xs]
""",
}

# loops that Python runs
REFUSED = {
    "several lines": """
x, n = np.ones(3), 0
while (n < 30 and
       x[0] > -1):
    if n == 2 or n == 3: look()
    x = x * 0.9
    n += 1
""",
    "one line": """
x, n = [np.ones(3)], [0]
def step():
    n[0] += 1
    if n[0] == 2 or n[0] == 3: look()
    x[0] = x[0] * 0.5
    return n[0] < 30
while step(): pass
x = x[0]
""",
    "a queue": """
x, queue, n = np.zeros(30), [0], 0
while queue:
    i = queue.pop()
    n += 1
    if n == 2 or n == 3: look()
    x[i] = n
    if i + 1 < 30: queue.append(i + 1)
""",
    "an alias is left behind": """
u, n = np.ones(3), 0
kept = [u]
while n < 30:
    if n == 2 or n == 3: look()
    u[0] = n
    u = u + 1
    n += 1
""",
    "a file": """
import io
x, n, file = np.ones(3), 0, io.StringIO()
while n < 30:
    if n == 2 or n == 3: look()
    x = x * 0.9
    file.write(str(n))
    n += 1
file = file.getvalue()
del io
""",
    "first a loop": """
x, n = np.ones(3), 0
while True:
    for i in range(3):
        x[i] *= 0.9
    n += 1
    if n == 2 or n == 3: look()
    if n > 30: break
""",
    "the last name stays": """
x, n = np.ones(3), 0
names = [x]
while n < 30:
    n += 1
    if n == 2 or n == 3: look()
    x = x * 0.5
    names.append(x)
    x[0] = 3.0
""",
    "a view that is written": """
whole = np.zeros((4, 4))
inner, n = whole[1:-1, 1:-1], 0
while n < 40:
    n += 1
    if n == 2 or n == 3: look()
    inner += 1.0
""",
    "a view that a function writes": """
whole = np.zeros((4, 4))
inner, n = whole[1:-1, 1:-1], 0
def add(x):
    x += 1.0
while n < 40:
    n += 1
    if n == 2 or n == 3: look()
    add(inner)
""",
    "a view and its owner": """
whole = np.zeros((4, 4))
inner, n = whole[1:-1, 1:-1], 0
while n < 40:
    n += 1
    if n == 2 or n == 3: look()
    whole[1] += inner[0, 0] + 1.0
""",
    "a view whose order is asked for": """
turned, n, x = np.arange(6.0).reshape(2, 3).T, 0, np.zeros(6)
while n < 40:
    n += 1
    if n == 2 or n == 3: look()
    x = x + turned.ravel(order="K")
""",
    "a branch gives a second name to what is written": """
x, best, n = np.ones(3), np.zeros(3), 0
while n < 40:
    n += 1
    if n == 2 or n == 3: look()
    y = x * 0.9
    if n % 3 == 0:
        best = y
    best[0] = n
    x = y + 0.01
""",
    "a generator for later": """
x, n = np.ones(3), 0
while n < 40:
    n += 1
    if n == 2 or n == 3: look()
    parts = (x * i for i in range(3))
    x = 0.5 * sum(parts)
del parts
""",
    "appended in a branch, and bound elsewhere": """
x, n, xs = np.ones(3), 0, []
while n < 40:
    n += 1
    if n == 2 or n == 3: look()
    y = x * 0.9 + 0.01 * n
    if n % 5 == 3:
        x = y
        xs.append(x)
    x = x + 1.0
""",
    "appended in a branch, and written": """
x, n, xs = np.ones(3), 0, []
while n < 40:
    n += 1
    if n == 2 or n == 3: look()
    y = x * 0.9 + 0.01 * n
    if n % 5 == 3:
        x = y
        xs.append(x)
    x[0] = n
""",
    "the clock": """
import time
x, n, end = np.ones(3), 0, time.perf_counter() + 0.02
while time.perf_counter() < end:
    x = x * 1.0
    n += 1
    if n == 2 or n == 3: look()
took, n = time.perf_counter() >= end, 0
del time, end
""",
    "random numbers": """
rng = np.random.default_rng(3)
x, n = np.ones(3), 0
while rng.random() < 0.97:
    x = x * 0.9
    n += 1
    if n == 2 or n == 3: look()
del rng
""",
    "a file to read": """
import io
x, n, lines = np.ones(3), 0, io.StringIO("1\\n" * 40)
while lines.readline():
    x = x * 0.9
    n += 1
    if n == 2 or n == 3: look()
del io, lines
""",
    "an object that counts": """
class Counter:
    left = 40
    def more(self):
        self.left -= 1
        return self.left > 0
x, n, counter = np.ones(3), 0, Counter()
while counter.more():
    x = x * 0.9
    n += 1
    if n == 2 or n == 3: look()
n = n, counter.left
del counter
""",
    "a dict": """
x, n, found = np.ones(3), 0, {}
while n < 40:
    x = x * 0.9
    n += 1
    if n == 2 or n == 3: look()
    found[n % 7] = float(x[0])
found = sorted(found.items())
""",
    "a generator": """
def counting():
    k = 0
    while k < 40:
        k += 1
        if k == 2 or k == 3: look()
        yield k * np.ones(2)
out = [float(a.sum()) for a in counting()]
""",
}
