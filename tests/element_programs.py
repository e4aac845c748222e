"""Loops that read and change lists, dicts and objects of numbers, for `running`."""

from __future__ import annotations

READ = {
    "arrays": """
xs = [np.zeros(2), np.ones(2)]
for i in range(30):
    if i == 2 or i == 3: look()
    xs[0] = xs[0] + xs[1]
""",
    "changed at a known place, read at a traced one": """
def main(n):
    w = [1.0, 2.0, 3.0]
    x = np.zeros(n)
    p = 0.0
    for i in range(n):
        if i == 2 or i == 3: look()
        w[1] = w[1] * 0.9
        p = p * 0.5 + w[int(p * 7) % 3]
        x[i] = p
    return x, p, w
out = main(60)
""",
    "counts in a list": """
def main(n):
    c = [0, 0, 0, 0]
    rng = np.random.default_rng(3)
    x = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        c[rng.integers(4)] += 1
        x[i] = c[1]
    return x, c
out = main(60)
""",
    "negative": """
def main(n):
    w = [1, 2, 5]
    x = np.zeros(n)
    p = 0
    for i in range(n):
        if i == 2 or i == 3: look()
        p = (p + w[(p % 6) - 3]) % 50
        x[i] = p
    return x, p, w
out = main(60)
""",
    "bools": """
def main(n):
    w = [True, False, True]
    x = np.zeros(n)
    p, q = 0, True
    for i in range(n):
        if i == 2 or i == 3: look()
        q = w[(p % 3)]
        p = (p + i * 7) % 50
        if q: x[i] = p
    return x, p, w, q
out = main(60)
""",
    "lists of lists": """
def main(n):
    w = [[1, 2], [3, 4], [-1, 0]]
    x = np.zeros(n)
    p = 0
    for i in range(n):
        if i == 2 or i == 3: look()
        a, b = w[p % 3]
        p = (p + a * 7 + w[i % 3][p % 2]) % 50
        x[i] = p + b
    return x, p, w
out = main(60)
""",
    "NumPy numbers": """
def main(n):
    w = [np.float64(1), np.float64(2.5), np.float64(5)]
    x = np.zeros(n)
    p, q = 0, 0
    for i in range(n):
        if i == 2 or i == 3: look()
        q = w[(p % 3)]
        p = (p + i * 7) % 50
        x[i] = q
    return x, p, w, q
out = main(60)
""",
    "a list of pairs at a traced index": """
def main(n):
    moves = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    rng = np.random.default_rng(3)
    x = np.zeros((n, 2))
    a, b = 0, 0
    for i in range(n):
        if i == 2 or i == 3: look()
        da, db = moves[rng.integers(4)]
        a += da
        b += db
        x[i] = a, b
    return x, a, b, rng
out = main(60)
""",
    "a list of weights in an inner loop": """
def main(n):
    w = [0.1, 0.2, 0.7]
    x = np.linspace(0, 1, 8)
    for i in range(n):
        if i == 2 or i == 3: look()
        for j in range(8):
            x[j] = 0.5 * x[j] + w[(j + i) % 3]
    return x, i, j
out = main(40)
""",
    "an index error": """
def main(n):
    w = [1.0, 2.0, 3.0]
    x = np.zeros(n)
    p = 0.0
    try:
        for i in range(n):
            if i == 2 or i == 3: look()
            p = p * 0.5 + w[int(i / 15)]
            x[i] = p
    except IndexError as e:
        return x, p, str(e), i
    return x, p, w
out = main(60)
""",
}

LARGE = {  # Python's ints and errors
    "list element": """
def main(n):
    w = [1, 2]
    x = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        w[0] *= 3
        x[i] = i * 0.5
    return x, w
out = main(70)
""",
    "dict element": """
def main(n):
    w = {"a": 1}
    x = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        w["a"] *= 3
        x[i] = i * 0.5
    return x, w
out = main(70)
""",
    "dict element plus": """
def main(n):
    w = {"a": 2**62}
    x = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        w["a"] += 2**58
        x[i] = i * 0.5
    return x, w
out = main(70)
""",
    "list element, plain assignment": """
def main(n):
    w = [1, 2]
    x = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        w[0] = w[0] * 3
        x[i] = i * 0.5
    return x, w
out = main(70)
""",
    "division by zero in an element": """
def main(n):
    w = [1.0, 2]
    x = np.zeros(n)
    try:
        for i in range(n):
            if i == 2 or i == 3: look()
            w[0] /= (20 - i)
            x[i] = i * 0.5
    except ZeroDivisionError as e:
        return x, w, str(e)
    return x, w
out = main(70)
""",
    "division by zero in an attribute": """
class A: pass
def main(n):
    w = A()
    w.a = 1.0
    x = np.zeros(n)
    try:
        for i in range(n):
            if i == 2 or i == 3: look()
            w.a /= 40 - i
            x[i] = i * 0.5
    except ZeroDivisionError as e:
        return x, w.a, str(e)
out = main(70)
""",
}

LEFT = {
    "mixed": """
def main(n):
    w = [1, 2.5, 5]
    x = np.zeros(n)
    p, q = 0, 0
    for i in range(n):
        if i == 2 or i == 3: look()
        q = w[(p % 3)]
        p = (p + i * 7) % 50
        x[i] = q
    return x, p, w, q
out = main(60)
""",
    "a row of a list of lists is written": """
def main(n):
    w = [[1, 2], [3, 4], [-1, 0]]
    x = np.zeros(n)
    p = 0
    for i in range(n):
        if i == 2 or i == 3: look()
        row = w[p % 3]
        row[0] = i % 4
        p = (p + row[0] * 7) % 50
        x[i] = p
    return x, p, w
out = main(60)
""",
}

CONSTANTS = {
    "global list": """
W = [1, 2, 5]
def main(n):
    x = np.zeros(n)
    p = 0
    for i in range(n):
        if i == 2 or i == 3: look()
        p = (p + W[p % 3]) % 50
        x[i] = p
    return x, p
out = main(60)
""",
    "global dict": """
P = {"dt": 0.1, "k": [1.0, 2.0], "name": "a"}
def step(x): return x + P["dt"] * P["k"][0]
def main(n):
    x = np.zeros(3)
    for i in range(n):
        if i == 2 or i == 3: look()
        x = step(x) * 0.9
    return x
out = main(60)
""",
    "changed in between": """
W = [1, 2, 5]
def main(n):
    x = np.zeros(n)
    p = 0
    for i in range(n):
        if i == 2 or i == 3: look()
        p = (p + int(W[p % 3])) % 50
        x[i] = p
    return x, p
out = [main(60)]
W[1] = 7
out.append(main(60))
W.append(3)
out.append(main(60))
W[0] = 1.0
out.append(main(60))
W[0] = True
out.append(main(60))
""",
    "bound to a variable": """
W = [1, 2, 5]
def main(n):
    x, w = np.zeros(n), None
    for i in range(n):
        if i == 2 or i == 3: look()
        w = W
        x[i] = w[i % 3] + x[i - 1]
    w.append(3)
    return x
out = main(100), W
""",
    "a closure": """
def make():
    w = [0.1, 0.2, 0.7]
    def f(x, i): return x * 0.5 + w[i % 3]
    return f, w
def main(n, f, w):
    x = np.zeros(3)
    for i in range(n):
        if i == 2 or i == 3: look()
        x = f(x, i)
    return x
f, w = make()
out = [main(40, f, w)]
w[1] = 4
out.append(main(40, f, w))
del f
""",
    "a class": """
class Model:
    weights = [0.1, 0.2, 0.7]
    names = {"a": 1}
    def __init__(self): self.x = np.zeros(3)
    def step(self, i): self.x = self.x * 0.5 + self.weights[i % 3] + self.names["a"]
def main(n):
    m = Model()
    for i in range(n):
        if i == 2 or i == 3: look()
        m.step(i)
    return m.x
out = [main(40)]
Model.weights[1] = 4
out.append(main(40))
""",
}

CONSTANTS_LEFT = {
    "appended in the loop": """
W = [1, 2, 5]
def last(): return W[-1] + len(W)
def main(n):
    x = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        x[i] = last() + x[i - 1]
        W.append(i)
    return x
out = main(100)
""",
    "another name of it": """
W = [1, 2, 5]
def first(): return W[0]
def main(n, v):
    x = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        x[i] = first() + x[i - 1]
        v[0] += 1
    return x
out = main(100, W), W
""",
    "another name of it, appended": """
W = [1, 2, 5]
def first(): return len(W)
def main(n, v):
    x = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        x[i] = first() + x[i - 1]
        v.append(i)
    return x
out = main(100, W), W
""",
    "appended itself": """
W = [1, 2, 5]
def main(n):
    x, h = np.zeros(n), []
    for i in range(n):
        if i == 2 or i == 3: look()
        x[i] = W[i % 3] + x[i - 1]
        h.append(W)
    return x, h, h[3] is h[4], h[-1] is W
out = main(100)
""",
}
