"""The benchmark suite stays runnable and its programs correct, on inputs that take no time."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import harness, small
from tests.conftest import MODULE_NAME

BENCHMARKS = Path(harness.__file__).parent
FEW = ("heat_2d", "poisson_multigrid", "dithering")


@pytest.mark.parametrize("name", harness.names())
def test_programs_are_right(name: str, xnp: Any) -> None:
    """Same results, and same arguments afterwards, as on NumPy."""
    base, program = harness.load(name), harness.load(name, MODULE_NAME)
    policy = xnp.config(execution="reference") if MODULE_NAME == "lazynp" else nullcontext()
    seen = []
    with policy, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # lazynp gives no warnings here
        for kernel, array in ((base.kernel, np.array), (program.kernel, xnp.array)):
            arguments = harness.converted(base.inputs("T"), array)
            seen.append(harness.outcome(kernel(*arguments), arguments))
    assert seen[0], "nothing to compare"
    assert harness.difference(seen[0], seen[1], getattr(base, "RTOL", None)) is None


@pytest.mark.parametrize("form", small.FORMS)
def test_small_forms_are_right(form: str) -> None:
    """They give what NumPy gives, up to rounding, also the second time."""
    theirs, ours = small.namespaces()
    if "=" in form.replace("==", "").replace("axis=", "") or "random" in form or "rng" in form:
        exec(form, theirs)
        exec(form, ours)
        return
    want: Any = eval(form, theirs)
    for _ in range(2):
        got = eval(form, ours)
        if got is None:  # it writes, or compares
            got, want = ours["x"], theirs["x"]
        for a, b in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
            same(a, b)


def same(got: Any, want: Any) -> None:
    if isinstance(want, (str, np.dtype, range)):
        assert got == want
    elif isinstance(want, np.ndarray) and want.dtype.kind == "U":
        assert got.tolist() == want.tolist()
    else:
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-12)
        assert np.asarray(got).dtype == np.asarray(want).dtype


@pytest.mark.parametrize("name", harness.names())
def test_programs_are_complete(name: str) -> None:
    """Every program has a kind and four sizes, and draws the same inputs each time."""
    program = harness.load(name)
    assert list(program.SIZES) == ["T", "S", "M", "L"]
    assert program.CATEGORY and program.__doc__
    first, again = program.inputs("T"), program.inputs("T")
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def test_wrong_results_are_noticed() -> None:
    want = [np.arange(5.0), np.arange(5)]
    assert harness.difference(want, [a.copy() for a in want], None) is None
    assert harness.difference(want, [want[0] + 1e-12, want[1]], None) is None
    for got in (
        [want[0] + 1e-3, want[1]],
        [want[0], want[1] + (want[1] == 2)],
        [want[0], want[1].astype(np.int32)],
        [want[0][:-1], want[1]],
        [want[0] * np.nan, want[1]],
        want[:1],
    ):
        assert harness.difference(want, got, None) is not None


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, BENCHMARKS / "run.py", *arguments]
    return subprocess.run([str(a) for a in command], capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(MODULE_NAME != "lazynp", reason="the runner times lazynp")
def test_runner(tmp_path: Path) -> None:
    """A run from end to end: a row for each program, means, saved figures, a document."""
    saved, document = tmp_path / "saved.json", tmp_path / "document.md"
    document.write_text("before\n<!-- table: begin -->\nold\n<!-- table: end -->\nafter\n")
    names = ["--only", *FEW, "--sizes", "T", "--execution", "reference", "--no-jax"]
    done = run(*names, "--repeats", 3, "--seconds", 0, "--json", saved, "--markdown", document)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "T, all but element loops: 2 programs" in done.stdout
    assert "T, element loops: 1 programs" in done.stdout
    results = json.loads(saved.read_text())
    assert [r["name"] for r in results["records"]] == list(FEW)
    for record in results["records"]:
        assert record["wrong"] is None and record["first"] > 0 and record["compiles"] == 0
        assert len(record["repeated"]) == len(record["numpy"]) == 3
        assert record["later"] == []
    text = document.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert all(f"| {name} |" in text for name in FEW)

    done = run(*names, "--repeats", 3, "--seconds", 0.3, "--json", tmp_path / "longer.json")
    for record in json.loads((tmp_path / "longer.json").read_text())["records"]:
        assert len(record["numpy"]) == 3 + len(record["later"]) // 4

    results["records"][0]["wrong"] = "result 0: off by 1"
    saved.write_text(json.dumps(results))
    shown = run("--load", saved)
    assert shown.returncode == 1, "a wrong result is a failure"
    assert "WRONG: result 0: off by 1" in shown.stdout and "; 1 wrong, 0 error" in shown.stdout
