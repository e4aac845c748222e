"""An elementwise function is added by the lines that ARCHITECTURE names, and by no others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from lazynp._cost import MEMORY_BOUND
from lazynp.primitives import elementwise
from lazynp.primitives.elementwise_factory import ROWS, row

ROOT = Path(__file__).parent.parent

# What somebody adds who adds `expit`; NumPy is given it, for it has no ufunc that is missing here.
LINES = {
    "lazynp/primitives/elementwise_transcendental.py": """
expit = _function(
    "expit", op("stablehlo.logistic"),
    lambda g, ans, x: multiply(g, multiply(ans, subtract(1.0, ans))), cost=(3.8, 1.2),
)
""",
    "lazynp/functions/ufuncs.py": '''
expit = _unary(e.expit)
"""1 / (1 + exp(-x))."""
''',
    "lazynp/__init__.py": """
from lazynp.functions.ufuncs import expit as expit
""",
    "tests/transforms/every_function.py": """
DOMAINS["expit"] = "v - 0.5"
""",
}
WHERE = {  # above which line of the file; elsewhere at its end
    "lazynp/functions/ufuncs.py": "# NumPy's other names",
    "lazynp/__init__.py": "from lazynp.transforms import",
    "tests/transforms/every_function.py": "UFUNCS = [",
}
PROGRAM = """
import importlib.util, sys
import numpy
import scipy.special

numpy.expit = scipy.special.expit
numpy.__all__ = [*numpy.__all__, "expit"]

import lazynp as np
from lazynp import _cost
from lazynp._avals import aval_of
from lazynp.primitives import elementwise
from tests.transforms import every_function

assert np.__file__.startswith({root!r}), np.__file__
values = numpy.linspace(-3.0, 3.0, 12).reshape(3, 4)
want = scipy.special.expit(values)
for execution in ("compiled", "reference", "adaptive"):
    with np.config(execution=execution):
        x = np.array(values)
        numpy.testing.assert_allclose(numpy.asarray(np.expit(x)), want, rtol=1e-12)
        numpy.testing.assert_allclose(
            numpy.asarray(np.grad(lambda x: np.expit(x).sum())(x)), want * (1 - want), rtol=1e-12
        )
        numpy.testing.assert_allclose(numpy.asarray(np.vmap(np.expit)(x)), want, rtol=1e-12)
        numpy.testing.assert_allclose(numpy.asarray(np.jit(np.expit)(x)), want, rtol=1e-12)
        np.check_grads(np.expit, (x,), order=2)
        assert np.expit(np.array(values, "f4")).dtype == "f4"
assert isinstance(np.expit, np.ufunc)
assert "expit" in np.__all__ and elementwise.expit is elementwise.ROWS["expit"].primitive
assert "expit" in elementwise.__all__
aval = aval_of((1000,), numpy.dtype("f8"))
more = _cost.cost(elementwise.expit, {{}}, [aval], [aval])
less = _cost.cost(elementwise.negative, {{}}, [aval], [aval])
assert more[0] == less[0] + 3.8 and more[1] == less[1] + 1.2
assert "np.expit(v - 0.5)" in every_function.EXPRESSIONS

spec = importlib.util.spec_from_file_location("coverage_page", {root!r} + "/docs/coverage.py")
coverage = importlib.util.module_from_spec(spec)
spec.loader.exec_module(coverage)
assert coverage.kind("numpy", "expit", np.expit) == "native"
assert "expit" in coverage.names("numpy")
print("found")
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory: Any) -> Path:
    """The library, in a folder of its own, with these lines."""
    root = tmp_path_factory.mktemp("copied")
    leave = shutil.ignore_patterns("__pycache__", "_c")
    for folder in ("lazynp", "docs"):
        shutil.copytree(ROOT / folder, root / folder, ignore=leave)
    for name in ("__init__.py", "transforms/__init__.py", "transforms/every_function.py"):
        (root / "tests" / name).parent.mkdir(exist_ok=True)
        if (ROOT / "tests" / name).exists():
            shutil.copy(ROOT / "tests" / name, root / "tests" / name)
    for name, lines in LINES.items():
        path = root / name
        before, above, after = path.read_text().partition(WHERE.get(name, "\0"))
        path.write_text(before + lines + above + after)
    return root


def test_four_lines_are_enough(copied: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(copied), "LAZYNP_CACHE": "off"}
    env.pop("LAZYNP_EXECUTION", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(root=str(copied))],
        capture_output=True, text=True, env=env, cwd=copied,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "found\n"), done.stderr


def test_both_documents_name_these_files() -> None:
    """And say it in the same words."""
    sentences = []
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        text = " ".join((ROOT / name).read_text().split())
        found = re.search(r"four lines of four files: [^|]*?every_function\.py`\.", text)
        assert found, name
        sentences.append(found[0])
    assert sentences[0] == sentences[1]
    assert re.findall(r"`([\w/*]+\.py)`", sentences[0]) == [
        "primitives/elementwise_*.py", "functions/ufuncs.py", "lazynp/__init__.py",
        "tests/transforms/every_function.py",
    ]  # fmt: skip


def test_no_row_without_a_cost() -> None:
    with pytest.raises(TypeError, match=r"cost=\(nanoseconds"):
        row("fabs", lambda b, x: x, ufunc=numpy.fabs)
    assert ROWS["fabs"].primitive is elementwise.fabs
    assert [n for n, r in ROWS.items() if r.primitive.cost is None] == []
    dear = [n for n, r in ROWS.items() if r.primitive.cost != MEMORY_BOUND]
    assert {"exp", "arctanh", "erf", "gamma", "zeta", "power"} <= set(dear)
    assert not {"add", "less", "negative"} & set(dear)


def test_every_row_is_in_the_room() -> None:
    assert set(elementwise.__all__) == {*ROWS, "ROWS", "Row"}
    assert [n for n, r in ROWS.items() if getattr(elementwise, n) is not r.primitive] == []
