"""`print` and texts of traced values: the program prints what Python prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np


def containers(x):
    print("x =", x, [x[0], 1], {"a": x[1]}, (2, x[2]), sep="|", end="!\n")
    return x.sum()


def f_strings_in_a_loop(x):
    total = 0.0
    for i in range(12):
        total += x[i % 3]
        if i % 4 == 0:
            print(f"step {i:3d}: {total:.3f} {total!r:>12} {x[i % 3]:8.2e}")
    return total


def percent_in_a_while(x):
    k = 0
    while x[0] > 1:
        x = x / 2
        k += 1
        print("%d: %5.2f%%" % (k, x[0]))  # noqa: UP031
    print("done", k)
    return x


def in_a_branch(x):
    if x[0] > 1:
        print("large")
    else:
        print("small", x[0])
    return x


def joined(x):
    text = "value " + str(x[0]) + "!"
    print("<" + text + ">", f"[{text}]", ", ".join([text, "a"]))
    print("{}-{:.1f}".format(text, x[1]))  # noqa: UP032
    return x


def of_elements(x):
    for v in x:
        print(v, end=" ")
    print()
    return x


def _helper(v):
    print("helper", v, str(3), repr(4.0), format(v, ".2f"))
    return v * 2


def in_a_helper(x):
    total = 0.0
    for _ in range(10):
        total += _helper(x[0])
    return total


def of_numbers_of_python(x):
    text = f"{int(x[0])} of {len(x)}, {float(x[1])} {x[0] > 0} {bool(x[0] > 0)}"
    print(text)
    return x


def raised_later(x):
    text = f"bad {x[0]:.1f}"
    if x[0] > 0:
        raise ValueError(text)
    return x


def raised_in_another_text(x):
    text = "bad " + repr(x[1])
    if x[0] > 0:
        raise AssertionError(f"({text})", "%s" % text)  # noqa: UP031
    return x


def names_of_known_numbers(x):
    names = {f"w{i}": i for i in range(20)}
    total = x[0]
    for i in range(20):
        total = total + names[f"w{i}"] * len(str(i)) * x[1]
    return total


FUNCTIONS = [
    containers, f_strings_in_a_loop, percent_in_a_while, in_a_branch, joined, of_elements,
    in_a_helper, of_numbers_of_python, raised_later, raised_in_another_text, names_of_known_numbers,
]  # fmt: skip


@pytest.mark.parametrize("values", [[3.25, 1.0, 2.0], [-5, 1, 2]], ids=str)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_program_prints_and_raises_what_python_does(f: Any, values: Any, capsys: Any) -> None:
    def outcome(function: Any, x: Any) -> Any:
        try:
            result = numpy.asarray(function(x)).tolist()
        except Exception as error:
            result = type(error), str(error)
        return result, capsys.readouterr().out

    ours = np.jit(f)
    for scale in (1, 2):  # the second call traces nothing
        x = scale * numpy.array(values)
        assert outcome(ours, np.array(x)) == outcome(f, x)


def test_each_example_prints(capsys: Any) -> None:
    rows = numpy.array([[3.25, 1.0, 2.0], [1.0, 2.0, 3.0]])
    np.vmap(np.jit(of_numbers_of_python))(np.array(rows))
    assert capsys.readouterr().out == "3 of 3, 1.0 True True\n1 of 3, 2.0 True True\n"


def test_a_derivative_prints_primals(capsys: Any) -> None:
    x = numpy.array([3.25, 1.0, 2.0])
    assert np.grad(np.jit(f_strings_in_a_loop))(np.array(x)).tolist() == [4, 4, 4]
    printed = capsys.readouterr().out
    f_strings_in_a_loop(x)
    assert printed == capsys.readouterr().out


USES: dict[str, Callable[[Any], Any]] = {
    "compared": lambda text: 1 if text == "0.0" else 2,
    "looked up": lambda text: {"0.0": 1}.get(text, 2),
    "measured": len,
    "searched": lambda text: "." in text,
    "encoded": lambda text: text.encode(),
    "indexed": lambda text: text[0],
    "padded": lambda text: f"{text:>10}",
    "split": lambda text: text.split("."),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("make", [str, repr, lambda x: f"{x}", lambda x: "%s" % x])  # noqa: UP031
def test_no_text_stands_for_one_that_is_not_known(use: Any, make: Any) -> None:
    def f(x: Any) -> Any:
        use(make(x[0]))
        return x

    with pytest.raises(TypeError, match="the text of a traced value is used"):
        np.jit(f)(np.arange(3.0))
