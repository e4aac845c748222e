"""Scripts for test_histories.py: loops that add to lists otherwise than by `append` of a number or
an array.
"""

from __future__ import annotations

from tests.running import in_function


def program(round_: str, begin: str = "", head: str = "for k in range(60):") -> str:
    return in_function(round_, "xs = [0.5]", begin, head)


EXTENDED = {
    "read": program("xs += [x]\nx = x * 0.9 + 0.01 * xs[-1]"),
    "its length": program("xs += [x]\nn = len(xs)", "n = 0"),
    "+=": program("xs += [x]"),
    "+= of two": program("xs += [x, k]"),
    "+= of arrays": program("xs += [v * 2, x]"),
    "+= in a branch": program("if k % 3 == 0:\n    xs += [x]"),
    "+= in a branch on values": program("if x > 0.5:\n    xs += [x]"),
    "+= and append": program("xs += [x]\nxs.append(-x)"),
    "another name": program("xs += [x]", "ys = xs"),
    "extend": program("xs.extend([x, k])"),
    "extend by a tuple": program("xs.extend((x, k, True))"),
    "extend a part": program('h["x"].extend([x, k])', 'h = {"x": []}'),
    "at the top": """
xs, x = [], 0.3
for k in range(60):
    if k == 2 or k == 3: look()
    x = 3.2 * x * (1 - x)
    xs += [x, k]
""",
    "dicts": program('xs.append({"x": x, "k": k})'),
    "dicts of arrays": program('xs.append({"v": v * 2, "w": v.copy(), "n": k})'),
    "dicts of named tuples": program('xs.append({"xk": (x, k)})'),
    "dicts of text": program('xs.append({"kind": "step", "x": x, "none": None})'),
    "dict()": program("xs.append(dict(x=x, k=k))"),
    "dicts in a branch": program('if k % 5 == 0:\n    xs.append({"k": k, "v": v.copy()})'),
    "+= of dicts": program('xs += [{"x": x}]'),
}  # fmt: skip

NOT_EXTENDED = {
    "two in a branch": program("if k % 3 == 0:\n    xs += [x, v[0]]"),
    "extended in a branch": program("if k % 3 == 0:\n    xs.extend([x, 1])\nelse:\n    pass"),
    "dicts in tuples": program('xs.append((k, {"x": x, "more": {"y": -x}}))'),
    "dicts of tuples": program('xs.append({"xk": (x, k), "xs": [x, -x]})'),
    "an array": program("xs.extend(v)"),
    "read": program("xs += [x]\nx = x * 0.9 + 0.01 * xs[0]"),
    "the array of a dict is written": program('w = v * 2\nxs.append({"w": w})\nw[0] = 7.0'),
    "a dict that stays": program('d["x"] = x\nxs.append(d)', "d = {}"),
    "a dict of the array that stays": program('v[0] = x\nxs.append({"v": v})'),
    "keys of text that is made": program('xs.append({"x" + str(k): x})'),
    "a sum of lists": program("xs = xs + [x]"),
    "stars": program("xs += [*xs[:1], x]"),
    "no list": program("v += [x, 0.0, 1.0]\nxs += [x]\nxs = xs[-3:]"),
}  # fmt: skip
