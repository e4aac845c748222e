"""Scripts for test_tails.py: rounds that read what they have appended to lists."""

from __future__ import annotations

TAKEN = {
    "until two are alike": """
def main(x):
    hist = []
    for i in range(500):
        if i == 2 or i == 3: look()
        x = x - 0.1 * (x * x - 2)
        hist.append(float(x * x))
        if i > 10 and abs(hist[-1] - hist[-2]) < 1e-9:
            break
    return x, hist, i
out = main(np.float64(1.7))
""",
    "the length, and elements before the append": """
def main(x):
    errs, steps = [1.0, 2.0], []
    for i in range(60):
        if i == 2 or i == 3: look()
        x = 0.9 * x + 0.1 * errs[-1] - 0.01 * errs[-2]
        if len(errs) % 3 == 0:
            steps.append(len(errs))
        errs.append(x.sum())
        errs.append(errs[-1] * 0.5 + errs[-3])
        if len(steps) > 12 and errs[-1] < -5: break
    return x, errs, steps
out = main(np.ones(3))
""",
    "a condition on the length": """
rng = np.random.default_rng(2)
xs, tried = [], 0
while len(xs) < 70:
    tried += 1
    if tried == 3 or tried == 4: look()
    x = rng.normal()
    if x > 0.3 and (len(xs) < 2 or x != xs[-1]):
        xs.append(x)
last = rng.random()
""",
    "a condition on elements": """
def main(x):
    h = {"x": [x, x + 1.0], "n": 0}
    while abs(h["x"][-1] - h["x"][-2]) > 1e-6:
        h["n"] += 1
        if h["n"] == 3 or h["n"] == 4: look()
        h["x"].append(0.8 * h["x"][-1] + 0.3)
    return h
out = main(0.25)
""",
    "lists of an object": """
class Sim:
    def __init__(self):
        self.x, self.log = np.linspace(0, 1, 5), [0.0]
    def run(self):
        for i in range(60):
            if i == 2 or i == 3: look()
            self.x = self.x * 0.9 + 0.01 * self.log[-1]
            self.log.append(float(self.x.sum()))
            if len(self.log) > 40: self.x[0] += 0.25
        return self.log
sim = Sim()
out, x = sim.run(), sim.x
del sim, Sim
""",
}
KEPT = {
    "arrays of a list": """
def main(x):
    xs = [x, x]
    for i in range(40):
        if i == 2 or i == 3: look()
        x = x * 0.5 + xs[-2]
        xs.append(x)
        xs[-1][0] += 1
    return xs
out = main(np.ones(3))
""",
    "an element that others see": """
xs = [1.0]
for i in range(40):
    if i == 2 or i == 3: look()
    xs.append(xs[-1] * 0.5 + xs[i // 2])
""",
    "a sum of the list": """
def main(x):
    xs = [1.0]
    for i in range(40):
        if i == 2 or i == 3: look()
        xs.append(x * len(xs) - xs[-1])
        x = 0.9 * x + 1e-3 * sum(xs)
    return xs, x
out = main(np.float64(2.0))
""",
    "a list that gets shorter": """
xs, n = [1.0, 2.0, 3.0], 0
for i in range(40):
    if i == 2 or i == 3: look()
    xs.append(xs[-1] * 0.5 + len(xs))
    if len(xs) > 6: xs.pop(0)
""",
    "another kind of number": """
xs = [1, 2]
for i in range(40):
    if i == 2 or i == 3: look()
    xs.append(xs[-1] * 0.5 if i > 20 else i)
""",
}
