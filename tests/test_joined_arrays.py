"""Running loops that make arrays longer: `xs = np.append(xs, x)` and the like."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.running import MARKS, check, chunks, every_loop, in_function  # noqa: F401

pytestmark = MARKS


def program(round_: str, begin: str = "", head: str = "for k in range(60):") -> str:
    return in_function(round_, "xs = np.zeros(2)", begin, head)


TAKEN = {
    "append": program("xs = np.append(xs, x)"),
    "append an array": program("xs = np.append(xs, v * 2)"),
    "append a variable": program("xs = np.append(xs, v)"),
    "append a view": program("xs = np.append(xs, v[1:])"),
    "append a list": program("xs = np.append(xs, [x, 1.0, k])"),
    "append an int to floats": program("xs = np.append(xs, k)"),
    "append floats to ints": program("xs = np.append(xs, x)", "xs = np.arange(3)"),
    "append a bool": program("xs = np.append(xs, x > 0.5)"),
    "append to nothing": program("xs = np.append(xs, x)", "xs = np.array([])"),
    "single precision": program("xs = np.append(xs, np.float32(x))", "xs = np.zeros(2, 'f4')"),
    "single and Python's": program("xs = np.append(xs, x)", "xs = np.zeros(2, 'f4')"),
    "complex": program("xs = np.append(xs, x * 1j)", "xs = np.zeros(2, complex)"),
    "a matrix": program("xs = np.append(xs, np.outer(v, v))"),
    "concatenate": program("xs = np.concatenate((xs, v))"),
    "concatenate a list": program("xs = np.concatenate([xs, [x]])"),
    "hstack": program("xs = np.hstack((xs, v))"),
    "hstack a number": program("xs = np.hstack([xs, x])"),
    "vstack": program("rows = np.vstack([rows, v])", "rows = np.zeros((1, 3))"),
    "vstack to nothing": program("rows = np.vstack((rows, v))", "rows = np.zeros((0, 3))"),
    "vstack a list": program("rows = np.vstack((rows, [x, k, 1]))", "rows = np.zeros((0, 3))"),
    "two in a round": program("xs = np.append(xs, x)\nxs = np.append(xs, -x)"),
    "two of several": program("xs = np.append(xs, x)\nxs = np.append(xs, v)"),
    "rows twice": program(
        "rows = np.vstack([rows, v])\nrows = np.vstack([rows, -v])", "rows = np.zeros((1, 3))"
    ),
    "two arrays": program("xs = np.append(xs, x)\nys = np.append(ys, v)", "ys = np.ones(1)"),
    "in a branch": program("if k % 4 == 0:\n    xs = np.append(xs, x)"),
    "in a branch on values": program("if x > 0.5:\n    xs = np.append(xs, x)"),
    "and a list": program("xs = np.append(xs, x)\nys.append(x)", "ys = []"),
    "another name of the first": program("xs = np.append(xs, x)", "first = xs"),
    "a view at first": program("xs = np.append(xs, x)", "xs = np.arange(9.0)[::2]"),
    "two axes at first": program("xs = np.append(xs, x)", "xs = np.zeros((2, 2))"),
    "a row at first": program("rows = np.vstack([rows, v])", "rows = np.zeros(3)"),
    "append rows": program("m = np.append(m, v[None], axis=0)", "m = np.zeros((1, 3))"),
    "append lists of rows": program("m = np.append(m, [v, -v], axis=0)", "m = np.zeros((0, 3))"),
    "append along the one axis": program("xs = np.append(xs, v, axis=0)"),
    "concatenate rows": program("m = np.concatenate([m, [v]], axis=0)", "m = np.ones((2, 3))"),
    "concatenate matrices": program("m = np.concatenate([m, m0])",
                                    "m0 = np.arange(6.0).reshape(2, 3); m = m0 * 2"),
    "vstack matrices": program("m = np.vstack([m, np.outer(v, v)])", "m = np.ones((2, 3))"),
    "three axes": program("m = np.append(m, np.outer(v, v)[None], axis=0)",
                          "m = np.ones((1, 3, 3))"),
    "no columns": program("m = np.vstack([m, np.zeros(0)])", "m = np.zeros((2, 0))"),
    "r_": program("xs = np.r_[xs, x]"),
    "r_ of an array": program("xs = np.r_[xs, v]"),
    "while": program(
        "xs = np.append(xs, x)\nk += 1", "k = 0", head="while k < 60:"
    ),
    "break": program("xs = np.append(xs, x)\nif k == 45:\n    break"),
    "at the top": """
xs, x = np.zeros(1), 0.3
for k in range(60):
    look()
    x = 3.2 * x * (1 - x)
    xs = np.append(xs, x)
""",
    "a variable of a closure": """
def main():
    xs, x = np.zeros(1), 0.3

    def last():
        return xs[-1]

    for k in range(60):
        look()
        x = 3.2 * x * (1 - x)
        xs = np.append(xs, x)
    return xs, last()

result = main()
""",
}  # fmt: skip

LEFT = {
    "read elsewhere": program("xs = np.append(xs, x)\nx = x * 0.5 + xs[-1] * 0.1"),
    "its length": program("xs = np.append(xs, x)\nn = len(xs)", "n = 0"),
    "read by the test": program(
        "xs = np.append(xs, x)\nk = 0", "k = 0", head="while len(xs) < 60:"
    ),
    "bound elsewhere": program("xs = np.append(xs, x)\nif k == 7:\n    xs = xs[:3]"),
    "bound to another": program("xs = np.append(xs, x)\nys = xs", "ys = xs"),
    "its own elements": program("xs = np.append(xs, xs[-1] + x)"),
    "before the others": program("xs = np.append(x, xs)"),
    "another axis": program("m = np.append(m, v[:, None], axis=1)", "m = np.zeros((3, 1))"),
    "columns": program("m = np.hstack([m, v[:, None]])", "m = np.zeros((3, 1))"),
    "r_ of a slice": program("xs = np.r_[xs, 0:3]"),
    "a list of Python's": program("xs = np.append(xs, x)", "xs = [1.0]", "for k in range(2):"),
    "the user's own function": """
class mine:
    @staticmethod
    def append(xs, x):
        return np.append(xs, -x)

def main():
    xs, x = np.zeros(1), 0.3
    for k in range(60):
        look()
        x = 3.2 * x * (1 - x)
        xs = mine.append(xs, x)
    return xs, x

result = main()
""",
}  # fmt: skip


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("name", TAKEN)
def test_arrays_get_what_python_joins(name: str, tmp_path: Path) -> None:
    check(TAKEN[name], tmp_path)


@pytest.mark.parametrize("name", LEFT)
def test_what_the_rounds_read_is_left_to_python(name: str, tmp_path: Path) -> None:
    check(LEFT[name], tmp_path, taking=False)


def test_an_error_leaves_whole_rounds(tmp_path: Path) -> None:
    source = """
def main():
    xs, x, error = np.zeros(1), 0.3, ""
    try:
        for k in range(60):
            look()
            x = 3.2 * x * (1 - x)
            xs = np.append(xs, x + 1 // (50 - k))
    except ZeroDivisionError as e:
        error = str(e)
    return k, xs, x, error

result = main()
"""
    check(source, tmp_path)
