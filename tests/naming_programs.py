"""Scripts for test_running_loops.py: loops that share variables with inner
functions, and loops that give arrays a second name."""

SHARING = {
    "a comprehension that shares variables": """
def main(x):
    for i in range(30):
        if i == 2 or i == 3: look()
        x = np.array([x[k] + 1 for k in range(3)])
    return x, i
out = main(np.zeros(3))
""",
    "inner functions share variables that stay": """
def main(n):
    a, dt, x = np.linspace(0, 1, n), 0.1, np.ones(n)
    def f(y):
        return a * np.sin(y) - dt
    for i in range(40):
        if i == 2 or i == 3: look()
        x = x + dt * f(x) - 0.01 * a
    return x, a, dt, i
out = main(5)
""",
    "inner functions see what the rounds have bound": """
def main(x):
    t, last = 0.0, None
    def seen():
        return x, t, i
    for i in range(40):
        if i == 2 or i == 3: look()
        last = x
        x = sum(x[k] * 0.5 for k in range(3)) + last * 0.1 + t
        t += 0.5
        if i == 39:
            print(end="")
            last = seen()
    return x, t, last, seen()
out = main(np.arange(3.0))
""",
    "variables of a function around it": """
def outer(x):
    n = 0
    def run():
        nonlocal x, n
        for i in range(40):
            if i == 2 or i == 3: look()
            x = x * 0.9 + i
            n += i % 3
        return n
    return run() + 1, x, n
out = outer(np.ones(3))
""",
}
STAYING = {
    "a closure writes what the rounds bind": """
def outer():
    x, n = np.zeros(2), 0
    def count():
        nonlocal n
        n += 1
        return n
    for i in range(30):
        if i == 2 or i == 3: look()
        x = x + count()
    return x, n
out = outer()
""",
    "a closure reads a number that changes": """
def outer():
    x, t = np.ones(2), 0.0
    def f(y):
        return y * t
    for i in range(30):
        if i == 2 or i == 3: look()
        x = x + f(x) * 0.01
        t += 0.1
    return x, t
out = outer()
""",
    "a closure reads an array that is written": """
def outer():
    x, u = np.ones(2), np.zeros(2)
    def f():
        return u.sum()
    for i in range(30):
        if i == 2 or i == 3: look()
        u[i % 2] += 1
        x = x + f()
    return x, u
out = outer()
""",
}
SECOND = {
    "a branch gives a second name": """
u, best = np.ones(3), np.zeros(3)
for i in range(30):
    if i == 2 or i == 3: look()
    u = u * 0.9
    if u[0] > 0.5:
        best = u
best[0] = 7
""",
    "a proposal that is written is accepted": """
def main(x, cost):
    best, n = x, 0
    for i in range(60):
        if i == 2 or i == 3: look()
        new = x.copy()
        new[i % 4] -= 0.5
        new[1:] *= 0.99
        c = float((new * new).sum()) + (i % 3)
        if c < cost:
            x = new
            cost = c
            n += 1
            if i % 2 == 0: best = new
    return x, best, cost, n, new is x
out = main(np.ones(4), 10.0)
""",
    "the best so far": """
def main(x):
    best, least = None, 1e9
    best = x
    for i in range(50):
        if i == 2 or i == 3: look()
        x = x * 0.9 + np.sin(i)
        f = float((x * x).sum())
        if f < least:
            least, best = f, x
    x[0] = 7
    return x, best, least
out = main(np.ones(3))
""",
    "it was the last round": """
def main(x):
    best = x
    for i in range(50):
        if i == 2 or i == 3: look()
        x = x * 0.9
        if x[0] < 2: best = x
    best[0] = 7
    return x, best, best is x
out = main(np.ones(3))
""",
}
KEPT = {
    "it may end before the name is bound anew": """
def main(x):
    best = np.zeros(3)
    for i in range(50):
        if i == 2 or i == 3: look()
        if x[0] < 1e-2: break
        x = x * 0.9
        if x[0] < 2: best = x
    best[0] = 7
    return x, best, best is x
out = main(np.ones(3))
""",
    "written after it was given": """
def main(x):
    best = np.zeros(4)
    for i in range(50):
        if i == 2 or i == 3: look()
        new = x * 0.9
        if i % 3: best = new
        new[0] = i
        x = new + 0.01
    return x, best
out = main(np.ones(4))
""",
    "bound to the same array": """
def same(x):
    return x
def main(x):
    best = np.zeros(3)
    for i in range(50):
        if i == 2 or i == 3: look()
        x = same(x)
        if i == 11 or i == 12: best = x
    best[0] = 7
    return x, best, best is x
out = main(np.ones(3))
""",
}
PICKED = {
    "accepted or not": """
def main(x):
    chain, n = [x], 0
    for i in range(60):
        if i == 2 or i == 3: look()
        new = x * 0.9 + np.sin(i)
        if new[0] > 0.2:
            x = new
            n += 1
        chain.append(x)
    same = [a is b for a, b in zip(chain, chain[1:])]
    chain[0][0] = chain[-1][1] = 7
    return chain, x, n, same, x is chain[-1]
out = main(np.ones(3))
""",
    "never accepted for long": """
def main(x):
    chain = []
    for i in range(60):
        if i == 2 or i == 3: look()
        new = x + i
        if i % 40 == 39:
            x = new
        chain.append(x)
    return chain, x, [a is b for a, b in zip(chain, chain[1:])], x is chain[-1]
out = main(np.ones(3))
""",
    "back to a copy": """
def main(x):
    chain = []
    for i in range(60):
        if i == 2 or i == 3: look()
        old = x.copy()
        x = x * 0.9
        x = x + np.sin(i)
        if x[0] < 0.2:
            x = old
        chain.append(x)
    return chain, x, [a is b for a, b in zip(chain, chain[1:])], x is chain[-1]
out = main(np.ones(3))
""",
    "in the other branch": """
def main(x):
    chain = []
    for i in range(60):
        if i == 2 or i == 3: look()
        new = x * 0.9 + np.sin(i)
        if new[0] < 0.2:
            pass
        else:
            x = new
        chain.append(x)
    return chain, x, [a is b for a, b in zip(chain, chain[1:])], x is chain[-1]
out = main(np.ones(3))
""",
}
PICKED_KEPT = {
    "in a branch of a branch": """
def main(x):
    chain = []
    for i in range(60):
        if i == 2 or i == 3: look()
        new = x * 0.9 + np.sin(i)
        if new[0] > 0.2:
            if new[1] < 1.5:
                x = new
        chain.append(x)
    return chain, x, [a is b for a, b in zip(chain, chain[1:])]
out = main(np.ones(3))
""",
    "before it is picked": """
def main(x):
    chain = []
    for i in range(60):
        if i == 2 or i == 3: look()
        new = x * 0.9 + np.sin(i)
        chain.append(x)
        if new[0] > 0.2:
            x = new
    return chain, x, [a is b for a, b in zip(chain, chain[1:])]
out = main(np.ones(3))
""",
    "another variable's": """
def main(x, y):
    chain = []
    for i in range(60):
        if i == 2 or i == 3: look()
        y = y * 0.9 + i
        if np.sin(i) > 0.2:
            x = y
        chain.append(x)
        y = y + x
    return chain, x, y, [a is b for a, b in zip(chain, chain[1:])]
out = main(np.ones(3), np.ones(3))
""",
}
TUPLES = {
    "a state": """
def step(s, h):
    x, v = s
    return x + h * v, v - h * np.sin(x)
def main(s, h):
    for i in range(60):
        if i == 2 or i == 3: look()
        s = step(s, h)
    return s
out = main((np.ones(3), np.zeros(3)), 0.1)
""",
    "sums of tuples": """
def f(s, t):
    x, v, n = s
    return v, -x * t, 1.0
def main(s, h):
    for i in range(60):
        if i == 2 or i == 3: look()
        k = f(s, i * h)
        k2 = f(tuple(a + 0.5 * h * b for a, b in zip(s, k)), (i + 0.5) * h)
        s = tuple(y + h * d for y, d in zip(s, k2))
    return s
out = main((np.ones(3), np.zeros(3), 0.0), 0.01)
""",
    "named, nested, and parts that stay": """
from collections import namedtuple
State = namedtuple("State", "x rest")
def step(s, i):
    a, n = s.rest
    return State(s.x * 0.5 + a, (a, n + i % 3))
def main(x, a):
    s = State(x, (a, 1))
    for i in range(60):
        if i == 2 or i == 3: look()
        s = step(s, i)
    return s.x, s.rest, type(s).__name__, s.rest[0] is a
out = main(np.ones(3), np.arange(3.0))
del State
""",
    "numbers of numpy's in a tuple, while it goes on": """
def main(s):
    n = 0
    while s[0] < 50:
        n += 1
        if n == 2 or n == 3: look()
        s = (s[0] + np.exp(0.1), s[1] * 0.5 + s[0])
    return s, n
out = main((np.float64(1.0), np.ones(2)))
""",
    "at the module": """
x, v = np.ones(3), np.zeros(3)
s = (x, v)
for i in range(60):
    if i == 2 or i == 3: look()
    a, b = s
    s = (a + 0.1 * b, b - 0.1 * a)
    x = s[0] * 1
""",
}
TUPLES_KEPT = {
    "a branch gives it another name": """
def main(s):
    best = s
    for i in range(40):
        if i == 2 or i == 3: look()
        s = (s[0] * 0.9 + i, s[1] + 1)
        if i % 7 == 3: best = s
    best[0][0] = 7
    return s, best, best is s
out = main((np.ones(3), 0))
""",
    "a part is written": """
def main(s):
    kept = s[0]
    for i in range(40):
        if i == 2 or i == 3: look()
        s[0][0] = i
        s = (s[0] * 0.9 + i, s[1] + 1)
    return s, kept
out = main((np.ones(3), 0))
""",
    "a function writes a part": """
def step(s, i):
    s[0][i % 3] = i
    return s[0] + 1, s[1] + 1
def main(s):
    kept = s[0]
    for i in range(40):
        if i == 2 or i == 3: look()
        s = step(s, i)
    return s, kept
out = main((np.ones(3), 0))
""",
    "it grows": """
def main(s):
    for i in range(40):
        if i == 2 or i == 3: look()
        s = s[-3:] + (s[0] * 0.5 + i,)
        s = s if len(s) < 5 else s[1:]
    return s
out = main((np.ones(3),))
""",
}

COMPREHENSIONS = {  # from Python 3.12 on, their variables lie in the frame of the function
    "own name is the function's, bound before": """
def main(n):
    x, v = np.linspace(0, 1, 5), 3.0
    for i in range(n):
        if i == 2 or i == 3: look()
        x = np.array([v * 0.5 + 0.1 for v in x])
    return x, v, i
out = main(40)
""",
    "own name is the function's, bound in the loop": """
def main(n):
    x, v = np.linspace(0, 1, 5), 3.0
    for i in range(n):
        if i == 2 or i == 3: look()
        x = np.array([v * 0.5 + 0.1 for v in x])
        v = v * 0.9 + x[0]
    return x, v, i
out = main(40)
""",
    "own name is an array": """
def main(n):
    x = np.linspace(0, 1, 5)
    for i in range(n):
        if i == 2 or i == 3: look()
        x = np.array([x * 0.5 + 0.1 for x in x])
    return x, i
out = main(40)
""",
    "own name is the loop's": """
def main(n):
    x, s = np.linspace(0, 1, 5), 0
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.9 + sum([x[i] for i in range(3)])
        s += i
    return x, i, s
out = main(40)
""",
    "nested and conditions": """
def main(n):
    x, w = np.linspace(0, 1, 4), [1, 2, 3]
    for i in range(n):
        if i == 2 or i == 3: look()
        rows = [sum([a * b for b in w]) * 0.01 for a in range(5) if a != 3]
        x = x * 0.9 + np.array(rows)
    return x, i
out = main(40)
""",
    "a generator": """
def main(n):
    x, w = np.linspace(0, 1, 4), (0.1, 0.2, 0.3)
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.9 + sum(a * x[0] for a in w)
        m = max(x[j] for j in range(4))
    return x, i, m
out = main(40)
""",
    "while": """
def main(n):
    x, i = np.linspace(0, 1, 5), 0
    while i < n:
        if i == 2 or i == 3: look()
        x = np.array([v * 0.5 + 0.1 for v in x])
        i += 1
    return x, i
out = main(40)
""",
    "history": """
def main(n):
    x, rows = np.linspace(0, 1, 5), []
    for i in range(n):
        if i == 2 or i == 3: look()
        x = np.array([v * 0.5 + 0.1 for v in x])
        rows.append([float(v) for v in x])
    return x, rows
out = main(40)
""",
    "dict and set": """
def main(n):
    x = np.linspace(0, 1, 4)
    for i in range(n):
        if i == 2 or i == 3: look()
        d = {k: x * k for k in range(3)}
        x = 0.1 * d[1] + 0.2 * d[2] + len({j % 2 for j in range(5)})
    return x, i
out = main(40)
""",
    "module level, own name bound": """
x, n, v = np.linspace(0, 1, 5), 30, 2
for i in range(n):
    if i == 2 or i == 3: look()
    x = np.array([v * 0.5 + 0.1 for v in x]) + v
    v += 1
out = x, i, v
""",
    "a comprehension in the outer loop": """
def main(n):
    x = np.linspace(0, 1, 4)
    for i in range(n):
        w = np.array([float(k) for k in range(4)])
        for j in range(30):
            if j == 2 or j == 3: look()
            x[j % 4] = 0.5 * x[j % 4] + w[j % 4]
    return x, i, j, w
out = main(3)
""",
}
