"""Loops whose rounds append views to lists, for `running`."""

from __future__ import annotations

VIEWS = {
    "of a module's variable": """
x, xs = np.ones((2, 2)), []
for k in range(40):
    if k == 2 or k == 3: look()
    x = x + 1
    xs.append(x[0])
""",
    "views of what is bound": """
def main(n):
    x, history = np.linspace(0, 1, 6), []
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.5 + 0.1
        history.append(x[1:])
    x[2] = 7
    found = [(h.base is None, h.flags.owndata, h.base.shape) for h in history]
    return x, history, found
out = main(30)
""",
    "rows and columns": """
def main(n):
    x, rows, columns, turned = np.linspace(0, 1, 6).reshape(2, 3), [], [], []
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.5 + 0.1
        y = x * 2
        z = y + 1
        rows.append(x[0])
        columns.append(y[:, 1])
        turned.append(z.T)
    turned[-1][0, 0] = 4
    found = [c.strides for c in columns], [c.strides for c in turned]
    return x, y, z, rows, columns, turned, found
out = main(30)
""",
    "of something that no name has": """
def main(n):
    x, h = np.linspace(0, 1, 6), []
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.5 + 0.1
        h.append((x * 2)[1:4])
    h[3][0] = 8
    return x, h
out = main(30)
""",
    "an earlier name": """
def main(n):
    x, h = np.linspace(0, 1, 6), []
    prev = x
    for i in range(n):
        if i == 2 or i == 3: look()
        prev = x
        x = x * 0.5 + 0.1 + prev[0]
        h.append(x[1:])
    prev[1] = 6
    prev[2] = 7
    return x, h, prev
out = main(30)
""",
    "two names before": """
def main(n):
    x, h = np.linspace(0, 1, 6), []
    prev = before = x
    for i in range(n):
        if i == 2 or i == 3: look()
        before = prev
        prev = x
        x = x * 0.5 + 0.1 + prev[0] + before[0]
        h.append(x[1:])
    before[1] = 6
    prev[2] = 7
    return x, h, prev, before
out = main(30)
""",
    "in a tuple, of no name": """
def main(n):
    x, h = np.linspace(0, 1, 6), []
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.5 + 0.1
        h.append((i, (x * 3)[1:]))
    x[2] = 6
    h[3][1][0] = 7
    return x, h
out = main(30)
""",
}

VIEWS_LEFT = {
    "two views of one array": """
def main(n):
    x, h, g = np.linspace(0, 1, 6), [], []
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.5 + 0.1
        h.append(x[1:])
        g.append(x[:-1])
    h[4][1] = 6
    return x, h, g
out = main(30)
""",
    "in a tuple": """
def main(n):
    x, h = np.linspace(0, 1, 6), []
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.5 + 0.1
        h.append((i, x[1:]))
    x[2] = 6
    return x, h
out = main(30)
""",
    "in a branch": """
def main(n):
    x, h = np.linspace(0, 1, 6), []
    for i in range(n):
        if i == 2 or i == 3: look()
        if i % 3:
            x = x * 0.5 + 0.1
            h.append(x[1:])
    x[2] = 6
    return x, h
out = main(30)
""",
    "of the array from before": """
def main(n):
    x, h = np.linspace(0, 1, 6), []
    first = x
    for i in range(n):
        if i == 2 or i == 3: look()
        h.append(x[1:])
        x = x * 0.5 + 0.1
    first[2] = 6
    return x, h, first
out = main(30)
""",
    "a function writes it later": """
def push(x):
    x[3] = 4
def main(n):
    x, h = np.linspace(0, 1, 6), []
    for i in range(n):
        if i == 2 or i == 3: look()
        push(x)
        x = x * 0.5 + 0.1
        h.append(x[1:])
    return x, h
out = main(30)
""",
    "exchanged": """
def main(n):
    x, y, h = np.linspace(0, 1, 6), np.zeros(6), []
    for i in range(n):
        if i == 2 or i == 3: look()
        y = x * 0.5 + 0.1
        x, y = y, x
        h.append(x[1:])
    x[2] = 3
    y[3] = 4
    return x, y, h
out = main(30)
""",
    "an attribute": """
class Sim:
    def __init__(self):
        self.x, self.h = np.linspace(0, 1, 6), []
def main(n):
    s = Sim()
    for i in range(n):
        if i == 2 or i == 3: look()
        s.x = s.x * 0.5 + 0.1
        s.h.append(s.x[1:])
    s.x[3] = 4
    return s.x, s.h
out = main(30)
""",
    "a part at a traced place": """
def main(n):
    x, h, k = np.linspace(0, 1, 6), [], 0
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.5 + 0.1
        h.append(x[k:k + 2])
        k = (k + i) % 4
    return x, h
out = main(30)
""",
    "a reshape": """
def main(n):
    x, h = np.linspace(0, 1, 6), []
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.5 + 0.1
        h.append(x.reshape(2, 3))
    h[-1][1, 1] = 4
    return x, h
out = main(30)
""",
    "a dict in the round": """
def main(n):
    x, h = np.linspace(0, 1, 6), []
    w = x
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.5 + 0.1 + w[0]
        h.append(x[1:])
        w = x[::2]
    w[1] = 8
    return x, h, w
out = main(30)
""",
    "views of an array that is written": """
def main(n):
    x, history = np.linspace(0, 1, 6), []
    for i in range(n):
        if i == 2 or i == 3: look()
        x[:] = x * 0.5 + 0.1
        history.append(x[1:])
    x[0] = 9
    return x, history
out = main(30)
""",
    "written after it was appended": """
def main(n):
    x, history = np.linspace(0, 1, 6), []
    for i in range(n):
        if i == 2 or i == 3: look()
        x = x * 0.5 + 0.1
        history.append(x[1:])
        x[2] = i
    return x, history
out = main(30)
""",
}
