"""`python -m lazynp`, `install`, the IPython extension: like plain Python except for numpy."""

from __future__ import annotations

import builtins
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp
from lazynp import _script

ROOT = Path(__file__).parent.parent
SCRIPT = """\
import sys
import numpy as np
import numpy.linalg as la
from numpy.lib.stride_tricks import sliding_window_view
from numpy import polynomial, emath
import scipy.linalg
import helper
if "names" in sys.argv:
    x = np.arange(2_000_000.0)  # large enough to be recorded
    print(np.__name__, la.__name__, helper.numpy.__name__, polynomial.__name__, emath.__name__)
    print(type(x).__module__, type(scipy.linalg.expm(np.eye(2))).__module__, float(x.sum()))
print(__name__, __file__, sys.argv, sys.path[0])
if "exit" in sys.argv:
    sys.exit(3)
if "raise" in sys.argv:
    raise ValueError("bad")
if "shapes" in sys.argv:
    import numpy
    try:
        numpy.ones(3) + numpy.ones(4)
    finally:
        numpy.zeros(2)[5]
if "module" in sys.argv:
    import no_such_module
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("import numpy\n")
    (tmp_path / "broken.py").write_text("x = (\n")
    return tmp_path


def _python(place: Path, *args: str) -> tuple[int, str, str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, *args], cwd=place, env=environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("script.py", "raise"), ("script.py", "exit"), ("broken.py",), ("missing.py",), (".",),
        ("script.py", "shapes"), ("script.py", "module"),
        ("-m", "script", "raise"), ("-m", "missing"),
        ("-c", "import sys; sys.exit(len(sys.argv))", "a"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_as_plain_python(place: Path, args: Any) -> None:
    assert _python(place, "-m", "lazynp", *args) == _python(place, *args)


def test_whose_numpy_it_is(place: Path) -> None:
    code, out, report = _python(
        place, "-m", "lazynp", "--report", "--execution=reference", "script.py", "names"
    )
    assert code == 0
    names = "lazynp lazynp.linalg lazynp lazynp.polynomial lazynp.emath"
    assert out.splitlines()[:2] == [names, "lazynp numpy 1999999000000.0"]
    assert "0 programs run compiled" in report and "script.py:11" in report


def test_hot_functions_are_reported(place: Path) -> None:
    (place / "hot.py").write_text(
        "import numpy as np\n"
        "def sweep(u):\n"
        "    for k in range(40):\n"
        "        for i in range(1, 99):\n"
        "            u[i] = 0.5 * (u[i - 1] + u[i + 1])\n"
        "u = np.arange(100.0)\n"
        "for _ in range(400):\n"
        "    sweep(u)\n"
        "print(u.sum())\n"
    )
    results = [
        _python(place, "-m", "lazynp", "--report", "--execution=adaptive", *option, "hot.py")
        for option in ((), ("--no-promotion",))
    ]
    assert [code for code, _, _ in results] == [0, 0]
    assert float(results[0][1]) == pytest.approx(float(results[1][1]), rel=1e-10)
    # a machine that is busy with something else may find the program slower
    told = r"sweep: (1 program$|0 programs\n  runs in Python: .*it takes [\d.]+ of Python's time)"
    assert [bool(re.search(told, r, re.M)) for _, _, r in results] == [True, False]


def test_wrong_options() -> None:
    code, _, error = _python(ROOT, "-m", "lazynp", "--execution", "fast", "script.py")
    assert code == 2 and "execution must be one of" in error
    code, _, error = _python(ROOT, "-m", "lazynp", "--frobnicate")
    assert code == 2 and "unknown option" in error


def test_install_and_uninstall() -> None:
    program = "import numpy as np\nfrom numpy.linalg import inv\nimport numpy.f2py"
    program += "\nfrom numpy.random.mtrand import RandomState\nimport numpy._core.umath"
    mine: dict[str, Any] = {"__name__": "__main__"}
    library: dict[str, Any] = {"__name__": "scipy.x", "__file__": numpy.__file__}
    lazynp.install()
    try:
        exec(program, mine)
        exec(program, library)
        # PyImport_Import calls this for C code, with the caller's globals
        builtins.__import__("numpy._core._multiarray_umath", mine, mine, [], 0)
    finally:
        lazynp.uninstall()
    assert mine["np"] is lazynp and mine["inv"] is lazynp.linalg.inv
    assert library["np"] is numpy and library["inv"] is numpy.linalg.inv
    exec(program, after := {"__name__": "__main__"})
    assert after["np"] is numpy


def test_the_extension_of_ipython() -> None:
    shell = types.SimpleNamespace(user_ns={"np": numpy, "x": 1})
    lazynp.load_ipython_extension(shell)
    try:
        assert shell.user_ns == {"np": lazynp, "x": 1}
    finally:
        lazynp.unload_ipython_extension(shell)
    assert shell.user_ns["np"] is numpy


def test_report() -> None:
    report = _script.Report().start()
    try:
        with lazynp.config(execution="compiled"):
            x = lazynp.arange(3.0) * 2.0
            float(x.sum())
            lazynp.array_repr(x)
    finally:
        report.stop()
    (line,) = {k for k in report.lines if "test_script" in k}
    assert report.hosted == {"array_repr": 1} and line.split(":")[0].endswith("test_script.py")
    assert "array_repr 1" in str(report)
