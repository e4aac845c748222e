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
