"""Scripts for test_loops_with_state.py: methods that append to lists of their objects."""

METHODS = {
    "numbers, copies and tuples": """
class Sim:
    def __init__(self):
        self.x, self.t, self.log, self.frames = np.ones(3), 0.0, [], [None]
    def step(self, dt):
        self.x = self.x + dt * np.sin(self.x)
        self.t += dt
        self.log.append((self.t, self.x[0], "step"))
        self.frames.append(self.x.copy())
        self.log.append(float(self.x.sum()))
def main(s):
    for i in range(60):
        if i == 2 or i == 3: look()
        s.step(0.1)
    s.frames[5][0] = 9
    return s.x, s.t, s.log, s.frames
out = main(Sim())
del Sim
""",
    "a part of a part, and a function": """
class Part:
    def __init__(self): self.hist = {"x": [1.0], "n": 3}
class Whole:
    def __init__(self): self.part, self.v = Part(), np.zeros(2)
def note(w, x):
    w.part.hist["x"].append(x)
def main(w):
    for i in range(60):
        if i == 2 or i == 3: look()
        w.v = w.v * 0.5 + i
        note(w, w.v.sum())
    return w.v, w.part.hist
out = main(Whole())
del Part, Whole
""",
    "until it converges": """
class Solver:
    def __init__(self): self.x, self.errors = np.ones(3), []
    def step(self):
        new = self.x * 0.9
        error = float(abs(new - self.x).max())
        self.errors.append(error)
        self.x = new
        return error
def main(s):
    n = 0
    while True:
        n += 1
        if n == 2 or n == 3: look()
        if s.step() < 1e-3:
            break
    return s.x, s.errors, n
out = main(Solver())
del Solver
""",
    "an error in a late round": """
class Sim:
    def __init__(self): self.v, self.n, self.log = np.zeros(50), 0, []
    def step(self):
        self.n += 1
        self.log.append(self.n)
        self.v[self.n] = 1 + self.v[self.n - 1]
def main(s):
    try:
        for i in range(60):
            if i == 2 or i == 3: look()
            s.step()
    except IndexError as error:
        return s.v, s.log, s.n, str(error), i
out = main(Sim())
del Sim
""",
}
METHODS_KEPT = {
    "in a branch": """
class Sim:
    def __init__(self): self.x, self.log = 0.3, []
    def step(self):
        self.x = 3.7 * self.x * (1 - self.x)
        if self.x > 0.5:
            self.log.append(self.x)
s = Sim()
for i in range(40):
    if i == 2 or i == 3: look()
    s.step()
out = s.x, s.log; del Sim, s
""",
    "the array of the object": """
class Sim:
    def __init__(self): self.x, self.log = np.ones(2), []
    def step(self, i):
        self.log.append(self.x)
        self.x[i % 2] += 1
        if i % 3 == 0: self.x = self.x * 0.5
s = Sim()
for i in range(40):
    if i == 2 or i == 3: look()
    s.step(i)
out = s.x, s.log, [a is b for a, b in zip(s.log, s.log[1:])]; del Sim, s
""",
    "it reads the list": """
class Sim:
    def __init__(self): self.x, self.log = np.ones(2), [0.5]
    def step(self):
        self.x = self.x + self.log[-1] + len(self.log)
        self.log.append(float(self.x[0]) * 0.1)
s = Sim()
for i in range(40):
    if i == 2 or i == 3: look()
    s.step()
out = s.x, s.log; del Sim, s
""",
    "a list with two names": """
class Sim:
    def __init__(self): self.x, self.log = np.ones(2), []
    def step(self):
        self.x = self.x + 1
        self.log.append(self.x[0])
        self.same.append(self.x[1])
s = Sim()
s.same = s.log
for i in range(40):
    if i == 2 or i == 3: look()
    s.step()
out = s.x, s.log; del Sim, s
""",
    "appended by the loop as well": """
class Sim:
    def __init__(self): self.x, self.log = np.ones(2), []
    def step(self):
        self.x = self.x + 1
        self.log.append(self.x[0])
s = Sim()
for i in range(40):
    if i == 2 or i == 3: look()
    s.log.append(i)
    s.step()
    s.log.append(-i)
out = s.x, s.log; del Sim, s
""",
}
SLOTS = {
    "a dict whose arrays have names": """
def main(st):
    for t in range(1, 60):
        if t == 2 or t == 3: look()
        x = st["x"]
        m = 0.9 * st["m"] + 0.1 * (x - t)
        x = x - 0.1 * m
        st["x"] = x
        st["m"] = m
    return st, x, m, x is st["x"]
out = main({"x": np.ones(3), "m": np.zeros(3)})
""",
    "the array from before has a name": """
class S:
    def __init__(self): self.x = np.ones(3)
    def step(self): self.x = self.x * 0.5 + 1
def main(s):
    for t in range(40):
        if t == 2 or t == 3: look()
        s.step()
        if t == 20:
            print(end="")
            kept = s.x
    kept[0] = 9
    return s.x, kept
out = main(S())
del S
""",
    "keys of a dict, in an inner loop": """
def main(P, G):
    for t in range(40):
        if t == 2 or t == 3: look()
        for k in P:
            G[k] = 0.9 * G[k] + P[k] * t
            P[k] = P[k] - 0.01 * G[k]
    return P, G, k
out = main({"a": np.ones(3), "b": np.zeros((2, 2))}, {"a": np.zeros(3), "b": np.ones((2, 2))})
""",
    "a full deque": """
from collections import deque
def main(q):
    for t in range(60):
        if t == 2 or t == 3: look()
        new = 0.5 * q[-1] + 0.3 * q[-2] + 0.1 * sum(p.sum() for p in reversed(q)) / len(q)
        q.append(new)
    return list(q), new, new is q[-1]
out = main(deque([np.full(3, 1.0 + k) for k in range(3)], maxlen=3))
del deque
""",
    "a deque of numbers, on the left": """
from collections import deque
def main(q, x):
    while x < 40:
        if x == 2 or x == 3: look()
        x += 1
        q.appendleft(sum(q) * 0.5 + x)
    return list(q), q.maxlen, x
out = main(deque([1.0, 2.0, 3.0], maxlen=3), 0)
del deque
""",
}
SLOTS_KEPT = {
    "a deque that is not full": """
from collections import deque
def main(q):
    for t in range(40):
        if t == 2 or t == 3: look()
        q.append(np.sin(t) + q[-1])
    return list(q)
out = main(deque([np.ones(2)], maxlen=30))
del deque
""",
    "a deque in a branch": """
from collections import deque
def main(q, x):
    for t in range(40):
        if t == 2 or t == 3: look()
        x = x * 0.9 + t % 3
        if x[0] > 1: q.append(x)
    return list(q), x, [a is x for a in q]
out = main(deque([np.ones(2)] * 2, maxlen=2), np.ones(2))
del deque
""",
    "a part of a deque has another name": """
from collections import deque
def main(q):
    kept = []
    for t in range(40):
        if t == 2 or t == 3: look()
        new = q[0] * 0.5 + t
        q.append(new)
        if t % 13 == 5:
            print(end="")
            kept.append(new)
    kept[-1][0] = 7
    q[0][1] = 8
    return list(q), kept
out = main(deque([np.ones(2) * k for k in range(4)], maxlen=4))
del deque
""",
    "a shared array is written": """
class S:
    def __init__(self): self.x = np.ones(3)
    def step(self, t):
        self.x[t % 3] += 1
        if t % 5 == 0: self.x = self.x * 0.5
def main(s):
    kept = s.x
    for t in range(40):
        if t == 2 or t == 3: look()
        s.step(t)
    return s.x, kept, s.x is kept
out = main(S())
del S
""",
}
