"""Of both suites: the hypothesis profile `fresh`, whose seed prints itself and whose time is
limited; bytecode and garbage; failed tests run alone."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import time

import pytest

FRESH = "fresh"
SECONDS = 20.0  # a session; tests whose turn has not come by then are skipped
_began = time.monotonic()


def _is_fresh(config: pytest.Config) -> bool:
    return config.getoption("--hypothesis-profile", None) == FRESH


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads its options
def pytest_configure(config: pytest.Config) -> None:
    if _is_fresh(config) and config.getoption("--hypothesis-seed") is None:
        drawn = str(random.SystemRandom().randrange(1 << 32))
        # in the environment, which the processes of pytest-xdist inherit
        config.option.hypothesis_seed = os.environ.setdefault("LAZYNP_TEST_SEED", drawn)


def pytest_sessionstart(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if _is_fresh(session.config) and reporter is not None:
        seed = session.config.getoption("--hypothesis-seed")
        again = f"--hypothesis-profile={FRESH} --hypothesis-seed={seed}"
        reporter.write_line(f"a fresh search; to repeat what fails, add {again} -k NAME")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In another order each time, so that the limit is not always at the cost of the same tests."""
    if _is_fresh(config):
        random.Random(config.getoption("--hypothesis-seed")).shuffle(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if _is_fresh(item.config) and time.monotonic() > _began + SECONDS:
        pytest.skip(f"{SECONDS:.0f} s of searching are over")


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """Tests themselves are kept as bytecode. A script that tests write is not: one of the same
    size, written within the same second, would be taken for the one before.
    """
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # for processes that tests start
    # The tests live to the end: millions of objects, and two seconds of each `gc.collect()`.
    gc.enable()
    gc.collect()
    gc.freeze()


# -- failed tests run alone ------------------------------------------------------------------------

# A test may depend on those before it, or on how busy the machine is. If one or two tests of a long
# run fail, each runs again, in a process of its own. A test that passes there does not fail the
# run: the run's last lines name it, for it is a defect of the test or of lazynp all the same. What
# always fails, a process that dies, and an error in a fixture fail the run.
AT_MOST = 2
_failed: dict[str, str] = {}  # of a run by several processes: test, what was printed
_alone: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed[report.nodeid] = report.longreprtext


def _passes_alone(nodeid: str, config: pytest.Config) -> bool:
    profile = config.getoption("--hypothesis-profile", None)
    options = [] if profile is None else [f"--hypothesis-profile={profile}"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *options, nodeid]
    return subprocess.run(command, cwd=config.rootpath, capture_output=True).returncode == 0


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if not getattr(config.option, "numprocesses", None) or _is_fresh(config):
        return  # a worker of such a run, or a run by one process
    crashed = any("crashed while running" in text for text in _failed.values())
    if 0 < len(_failed) <= AT_MOST and session.testsfailed == len(_failed) and not crashed:
        _alone.extend(test for test in _failed if _passes_alone(test, config))
        if len(_alone) == len(_failed):
            session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for test in _alone:
        terminalreporter.write_line(f"failed in the run, passed alone: {test}", yellow=True)
