"""Hypothesis profiles, the module under test, and the count of compiled programs."""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Set before lazynp is imported, also for processes that tests start, so that counts of compiled
# programs do not depend on earlier runs on this machine.
os.environ["LAZYNP_CACHE"] = "off"
os.environ["LAZYNP_BACKGROUND"] = "0"  # when a program is there must not depend on the machine

MODULE_NAME = os.environ.get("LAZYNP_TEST_MODULE", "lazynp")  # numpy, to test the tests

# No deadlines: the first run of an example may compile. No example database: a run repeats.
_common: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
_EXAMPLES = 10 if os.environ.get("LAZYNP_EXECUTION") == "compiled" else 20  # each compiles there
settings.register_profile("quick", max_examples=5, derandomize=True, **_common)
settings.register_profile("default", max_examples=_EXAMPLES, derandomize=True, **_common)
settings.register_profile("full", max_examples=500, print_blob=True, **_common)
settings.register_profile("fresh", max_examples=40, **_common)  # ../conftest.py
settings.load_profile("default")  # --hypothesis-profile=... comes later, and wins


def compile_count() -> int | None:
    """The number of programs compiled so far in this process; None if nothing counts them."""
    stats = getattr(sys.modules.get("lazynp._plan"), "STATS", None)
    return None if stats is None else stats.compiles


@pytest.fixture(scope="session")
def xnp() -> Any:
    """The module under test: lazynp, or the one in LAZYNP_TEST_MODULE."""
    return importlib.import_module(MODULE_NAME)


@pytest.fixture(autouse=True)  # one: each costs a tenth of a millisecond of thirty thousand tests
def lazy() -> None:
    """Each test begins as if it were the first."""
    let_compilers_end()
    forget_loops()
    look_for_programs()
    make_room_in_tables()
    show_every_frame()


def let_compilers_end() -> None:
    """A program that an earlier test has begun to compile in the background would count in this
    one.
    """
    background = sys.modules.get("lazynp.lowering._background")
    for work in list(background._works.values()) if background is not None else ():
        with suppress(Exception):
            work.wait()


def forget_loops() -> None:
    """The recorder must not remember the loops of earlier tests. It begins by recording operations
    however small their operands are: a test of what is recorded needs no large arrays.
    """
    found = sys.modules.get("lazynp._recorder")
    if found is not None:
        policy = sys.modules["lazynp._policy"]
        policy.INITIAL = found.Mode.FIRST if FIRST else found.Mode.RECORD  # type: ignore
        found.local.recorder.reset_policy()


def look_for_programs() -> None:
    """Whether a function or a loop is traced must not depend on the time that other tests took."""
    budget = sys.modules.get("lazynp._promotion._budget")
    if budget is not None:
        budget.Budget.first = math.inf
    sampling = sys.modules.get("lazynp._promotion._sampling")
    if sampling is not None:
        sampling.looking.each = math.inf


def make_room_in_tables() -> None:
    """A full table is emptied. In the middle of a test, that would change what is made anew,
    and how full tables are depends on the tests before.
    """
    memo = sys.modules.get("lazynp._memo")
    if memo is None:
        return
    if any(len(interned.table) > 0.7 * interned.bound for interned in memo._interned):
        memo.sweep()
    for table in list(memo._memos):
        if len(table) > 0.7 * table.bound:
            table.clear()


def show_every_frame() -> None:
    """Who looks at a failed test needs lazynp's frames."""
    found = sys.modules.get("lazynp._tracebacks")
    if found is not None:
        found.everything = True  # type: ignore


# What these files test does not depend on who runs what is recorded: rules and lowered text, which
# are compared directly; kernels, processes, libraries and other devices; functions and loops that
# are staged; scripts, pages, and what sets a policy itself.
# `make test` runs them once, like tests with a policy of their own; `make test-full` always.
_ONCE = (
    "distributed/", "interop/", "lowering/", "pallas/", "primitives/",
    "functions/test_json.py", "functions/test_moving.py", "functions/test_parts.py",
    "functions/test_series.py", "test_adding_a_function.py", "test_benchmarks.py",
    "test_clock.py", "test_collector.py", "test_coverage_page.py", "test_devices.py",
    "test_in_place_programs.py", "test_index.py", "test_large_programs.py", "test_loading.py",
    "test_loops_with_state.py", "test_neighbour_packages.py",
    "test_on_devices.py", "test_placed.py", "test_rooms.py", "test_scale_figures.py",
    "test_script.py", "test_temporaries.py", "transforms/test_aliases.py",
    "transforms/test_bounded_loops.py",
    "transforms/test_buckets.py", "transforms/test_control.py",
    "transforms/test_decided_sizes.py", "transforms/test_divided.py",
    "transforms/test_elements.py", "transforms/test_exchanged.py",
    "transforms/test_existing_code.py", "transforms/test_functions_of_sizes.py",
    "transforms/test_given_functions.py", "transforms/test_growing.py",
    "transforms/test_in_place_loops.py", "transforms/test_padded_loops.py",
    "transforms/test_picked_arrays.py",
    "transforms/test_python_loops", "transforms/test_recipes.py",
    "transforms/test_rule_checks.py", "transforms/test_shard_map.py",
    "transforms/test_sized_contexts.py", "transforms/test_sized_loops.py",
    "transforms/test_sized_transforms.py", "transforms/test_sizes_met_once.py",
    "transforms/test_staged_builtins.py",
    "transforms/test_trees.py",
)  # fmt: skip
_HERE = os.path.dirname(__file__) + os.sep


def _sets_the_policy(item: pytest.Item) -> bool:
    """Whether a parameter of the test, or of its fixtures, is a policy."""
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    named = [v for n, v in parameters.items() if n.endswith(("policy", "execution"))]
    return any(v in ("adaptive", "compiled", "reference") for v in named)


def _once(path: Path) -> bool:
    name = str(path).removeprefix(_HERE).replace(os.sep, "/")
    return name.startswith(_ONCE) or f"{name}/" in _ONCE


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files whose tests are all deselected are not read."""
    without = config.getoption("markexpr") == "not own_policy"
    return True if without and _once(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _once(item.path) or _sets_the_policy(item):
            item.add_marker(pytest.mark.own_policy)


# Run every test as if inside a long loop of small operations, or as if at the beginning of a
# program: small operations are eager.
EAGER = os.environ.get("LAZYNP_TEST_EAGER", "") in ("1", "loop")
FIRST = os.environ.get("LAZYNP_TEST_EAGER", "") == "first"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """After the fixtures: a change of settings makes the recorder forget."""
    found = sys.modules.get("lazynp._recorder")
    if EAGER and found is not None:
        found.local.recorder.policy.mode = found.Mode.EAGER
        found.local.recorder.choose()
    yield


class Compiles:
    """For tests of compilation: `compiles.since` is the number of compilations since the test
    began.
    """

    def __init__(self) -> None:
        self.start = compile_count()

    @property
    def since(self) -> int:
        now = compile_count()
        if now is None or self.start is None:
            pytest.skip("compilations are not counted here")
        return now - self.start

    def restart(self) -> None:
        self.start = compile_count()


@pytest.fixture
def compiles(xnp: Any) -> Compiles:
    """Counts the programs compiled during this test."""
    return Compiles()


# -- the count of a whole run, also over the processes of pytest-xdist -----------------------------

_of_workers: list[int] = []


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["compiles"] = compile_count() or 0


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    _of_workers.append(getattr(node, "workeroutput", {}).get("compiles", 0))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    total = (compile_count() or 0) + sum(_of_workers)
    if total:
        terminalreporter.write_line(f"lazynp compiled {total} programs")
