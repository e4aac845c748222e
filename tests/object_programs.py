"""Loops whose rounds make objects of dataclasses anew, for `running` and for `jit`."""

from __future__ import annotations

STATE = """from dataclasses import dataclass, replace, field
@dataclass
class State:
    x: object
    v: object
    t: float = 0.0
def step(s, dt):
    a = -s.x - 0.1 * s.v
    return State(s.x + dt * s.v, s.v + dt * a, s.t + dt)
"""

MADE: dict[str, str] = {
    "the first one": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); first = s
    for i in range(n):
        if i == 2 or i == 3: look()
        s = step(s, 0.01)
    first.x[0] = 7
    first.t = 9
    return s.x, s.v, s.t, s is first, first.x, first.t
out = main(60)
""",
    "prev": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); e = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        prev = s
        s = step(s, 0.01)
        e[i] = s.t - prev.t
    prev.x[1] = 4
    return s.x, s.v, s.t, prev.x, prev.t, e
out = main(60)
""",
    "array stays": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); x0 = s.x
    for i in range(n):
        if i == 2 or i == 3: look()
        s = State(s.x, s.v + s.x * 0.1, s.t + 1)
    x0[1] = 5
    return s.x, s.v, s.t, s.x is x0
out = main(60)
""",
    "alias of an array": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); u = s.x; e = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        e[i] = u[0]
        s = step(s, 0.01)
        u = s.x
    u[1] = 5
    return s.x, s.v, s.t, u, s.x is u, e
out = main(60)
""",
    "alias within": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); e = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        y = s.x * 0.9
        s = State(y, y, s.t)
    s.x[1] = 5
    return s.x, s.v, s.t, s.x is s.v
out = main(60)
""",
    "types": STATE
    + """def main(n):
    s = State(1, 2, 0)
    e = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        s = State(s.x * 3, s.v / 2, s.t + i)
        e[i] = s.v
    return s.x, s.v, s.t, e
out = main(60)
""",
    "slots, strings, None, init=False": """
from dataclasses import dataclass, field
@dataclass(frozen=True, slots=True)
class State:
    x: object
    name: str = "a"
    w: object = None
    k: int = field(default=3, init=False)
    flag: bool = True
def main(n):
    s = State(np.ones(3))
    for i in range(n):
        if i == 2 or i == 3: look()
        s = State(s.x * 0.5 + s.k, s.name, flag=s.flag)
    return s.x, s.name, s.w, s.k, s.flag
out = main(60)
""",
    "while": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3))
    i = 0
    while s.t < 0.6:
        if i == 2 or i == 3: look()
        s = step(s, 0.01)
        i += 1
    return s.x, s.v, s.t, i
out = main(60)
""",
    "break": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3))
    for i in range(n):
        if i == 2 or i == 3: look()
        s = step(s, 0.01)
        if s.x[0] < 0.9: break
    return s.x, s.v, s.t, i
out = main(60)
""",
    "an argument": STATE
    + """def main(s, n):
    for i in range(n):
        if i == 2 or i == 3: look()
        s = step(s, 0.01)
    return s
a = State(np.ones(3), np.zeros(3))
b = main(a, 60)
c = main(b, 60)
out = [(u.x, u.v, u.t) for u in (a, b, c)]
del a, b, c
""",
    "a method": """
from dataclasses import dataclass, replace
@dataclass(frozen=True)
class State:
    x: float
    v: float
    def step(self, dt): return replace(self, x=self.x + dt * self.v, v=self.v - dt * self.x)
    @property
    def e(self): return self.x ** 2 + self.v ** 2
def main(n):
    s = State(1.0, 0.0)
    e = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        s = s.step(0.01)
        e[i] = s.e
    return s.x, s.v, e
out = main(60)
""",
    "set after it was made": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3))
    for i in range(n):
        if i == 2 or i == 3: look()
        u = step(s, 0.01)
        u.t = u.t * 2
        s = u
    return s.x, s.v, s.t
out = main(60)
""",
    "module level": STATE
    + """s = State(np.ones(3), np.zeros(3))
for i in range(60):
    if i == 2 or i == 3: look()
    s = step(s, 0.01)
out = s.x, s.v, s.t
s = 0
""",
    "a dataclass made anew": """
from dataclasses import dataclass
@dataclass
class State:
    x: float
    v: float
def step(s, dt):
    a = -s.x - 0.1 * s.v
    return State(s.x + dt * s.v, s.v + dt * a)
def main(n):
    s = State(1.0, 0.0)
    e = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        s = step(s, 0.01)
        e[i] = s.x * s.x + s.v * s.v
    return e, s.x, s.v
out = main(60)
""",
    "a frozen dataclass replaced": """
from dataclasses import dataclass, replace
@dataclass(frozen=True)
class State:
    x: object
    t: float = 0.0
def main(n):
    s = State(np.ones(3))
    for i in range(n):
        if i == 2 or i == 3: look()
        s = replace(s, x=s.x * 0.9 + 0.1 * np.sin(s.t), t=s.t + 0.1)
    return s.x, s.t
out = main(60)
""",
    "a NamedTuple replaced": """
from typing import NamedTuple
class State(NamedTuple):
    x: object
    t: float = 0.0
def main(n):
    s = State(np.ones(3))
    for i in range(n):
        if i == 2 or i == 3: look()
        s = s._replace(x=s.x * 0.9 + 0.1 * np.sin(s.t), t=s.t + 0.1)
    return s.x, s.t
out = main(60)
""",
}

MADE_KEPT: dict[str, str] = {
    "conditional": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); first = s; kept = []
    for i in range(n):
        if i == 2 or i == 3: look()
        if s.t < 0.3: s = step(s, 0.01)
    return s.x, s.v, s.t, s is first, first.x
out = main(60)
""",
    "prev is carried": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); e = np.zeros(n); prev = s
    for i in range(n):
        if i == 2 or i == 3: look()
        e[i] = s.t - prev.t
        prev = s
        s = step(s, 0.01)
    prev.x[1] = 4
    return s.x, s.v, s.t, prev.x, prev.t, e
out = main(60)
""",
    "two names": STATE
    + """def main(n):
    s = t = State(np.ones(3), np.zeros(3)); e = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        e[i] = t.t + s.t
        s = t = step(s, 0.01)
    t.x[1] = 4
    return s.x, s.v, s.t, s is t, e
out = main(60)
""",
    "mutates": STATE
    + """def push(s):
    s.x = s.x * 0.9
    s.t += 1
    return s
def main(n):
    s = State(np.ones(3), np.zeros(3)); first = s
    for i in range(n):
        if i == 2 or i == 3: look()
        s = push(s)
    return s.x, s.t, first is s, first.x
out = main(60)
""",
    "every other": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); first = s; e = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        s = step(s, 0.01) if i % 2 else s
        e[i] = s.t
    return s.x, s.t, first is s, first.x, e
out = main(60)
""",
    "history": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); h = []
    for i in range(n):
        if i == 2 or i == 3: look()
        s = step(s, 0.01)
        h.append(s)
    return [(u.x, u.t) for u in h], h[-1] is s
out = main(60)
""",
    "best": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); best = s
    for i in range(n):
        if i == 2 or i == 3: look()
        s = step(s, 0.2)
        if s.x[0] < best.x[0]: best = s
    return s.x, s.t, best.x, best.t, best is s
out = main(60)
""",
    "nested": """
from dataclasses import dataclass
@dataclass
class P:
    k: float
@dataclass
class State:
    x: object
    p: object
def main(n):
    p = P(0.9)
    s = State(np.ones(3), p)
    for i in range(n):
        if i == 2 or i == 3: look()
        s = State(s.x * s.p.k, s.p)
    p.k = 7
    return s.x, s.p.k, s.p is p
out = main(60)
""",
    "written": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); x0 = s.x
    for i in range(n):
        if i == 2 or i == 3: look()
        s = step(s, 0.01)
        s.x[0] = i
    return s.x, s.v, s.t, x0
out = main(60)
""",
    "a function writes": STATE
    + """def push(s, i):
    s.x[0] = i
    return State(s.x, s.v + 1, s.t)
def main(n):
    s = State(np.ones(3), np.zeros(3)); x0 = s.x
    for i in range(n):
        if i == 2 or i == 3: look()
        s = push(s, i)
    return s.x, s.v, s.t, x0, s.x is x0
out = main(60)
""",
    "types change": STATE
    + """def main(n):
    s = State(1, np.float32(2), True)
    e = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        s = State(s.x + 1 if i < 30 else s.x + 0.5, s.v * np.float32(0.5), s.t)
        e[i] = s.v
    return s.x, s.v, s.t, e
out = main(60)
""",
    "a flag changes": """
from dataclasses import dataclass, field
@dataclass
class State:
    x: float
    up: bool = True
def main(n):
    s = State(0.0)
    e = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        s = State(s.x + (1 if s.up else -1), not s.up if i % 5 == 0 else s.up)
        e[i] = s.x
    return s.x, s.up, e
out = main(60)
""",
    "a list in it": """
from dataclasses import dataclass, field
@dataclass
class State:
    x: object
    h: list = field(default_factory=list)
def main(n):
    s = State(np.ones(3))
    for i in range(n):
        if i == 2 or i == 3: look()
        s = State(s.x * 0.5, s.h)
        s.h.append(i)
    return s.x, s.h
out = main(60)
""",
    "post init": """
from dataclasses import dataclass, field
@dataclass
class State:
    x: object
    def __post_init__(self): self.y = self.x * 2
def main(n):
    s = State(np.ones(3))
    for i in range(n):
        if i == 2 or i == 3: look()
        s = State(s.y * 0.4)
    return s.x, s.y
out = main(60)
""",
    "exchange": STATE
    + """def main(n):
    a, b = State(np.ones(3), np.zeros(3)), State(np.zeros(3), np.ones(3))
    for i in range(n):
        if i == 2 or i == 3: look()
        a, b = b, step(a, 0.1)
    return a.x, b.x, a.t, b.t
out = main(61)
""",
    "an inner loop": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3))
    for i in range(n):
        if i == 2 or i == 3: look()
        for j in range(i % 4):
            s = step(s, 0.01)
    return s.x, s.v, s.t
out = main(60)
""",
    "history of its array": STATE
    + """def main(n):
    s = State(np.ones(3), np.zeros(3)); h = []
    for i in range(n):
        if i == 2 or i == 3: look()
        s = step(s, 0.01)
        h.append(s.x)
    s.x[0] = 5
    return s.x, h, h[-1] is s.x
out = main(60)
""",
    "kept outside": STATE
    + """box = []
def step2(s):
    s = step(s, 0.01)
    box[:] = [s]
    return s
def main(n):
    s = State(np.ones(3), np.zeros(3))
    for i in range(n):
        if i == 2 or i == 3: look()
        s = step2(s)
    return s.x, s.v, s.t, box[0] is s
out = main(60)
box = 0
""",
    "a generator in it": """
from dataclasses import dataclass
@dataclass
class State:
    x: float
    rng: object
def main(n):
    s = State(0.0, np.random.default_rng(3))
    e = np.zeros(n)
    for i in range(n):
        if i == 2 or i == 3: look()
        s = State(s.x * 0.9 + s.rng.normal(), s.rng)
        e[i] = s.x
    return e, s.rng
out = main(60)
""",
    "a branch makes one": STATE
    + """def main(n):
    s = State(1.0, 0.0); bad = 0
    for i in range(n):
        if i == 2 or i == 3: look()
        s = step(s, 0.01)
        if s.x < 0.95:
            s = State(1.0, s.v)
            bad += 1
    return s.x, s.v, s.t, bad
out = main(100)
""",
}
