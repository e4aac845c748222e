"""Of both suites: the hypothesis profile `fresh`, whose seed prints itself and whose time is
limited; bytecode and garbage."""

from __future__ import annotations

import gc
import os
import random
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
