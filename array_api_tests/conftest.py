"""Hypothesis profiles, and expected failures of reference libraries, quoted from the standard."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from array_api_tests.deviations import DEVIATIONS, deviation_of
from array_api_tests.support import MODULE

_common: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
if MODULE in DEVIATIONS:  # do not shrink expected failures
    _common["phases"] = [Phase.explicit, Phase.generate]
settings.register_profile("quick", max_examples=5, derandomize=True, **_common)
settings.register_profile("default", max_examples=15, derandomize=True, **_common)
settings.register_profile("full", max_examples=200, print_blob=True, **_common)
settings.register_profile(  # for tests that must fail: the first failure will do
    "faults", max_examples=10, derandomize=True, **{**_common, "phases": [Phase.generate]}
)
settings.register_profile("fresh", max_examples=20, **_common)  # ../conftest.py
settings.load_profile("default")  # --hypothesis-profile=... comes later, and wins


@pytest.fixture(autouse=True)
def recorded() -> None:
    """By default, NumPy runs small operations at once. One of the policies tests recorded ones."""
    found = sys.modules.get("lazynp._recorder")
    if found is not None and os.environ.get("LAZYNP_EXECUTION") == "reference":
        sys.modules["lazynp._policy"].INITIAL = found.Mode.RECORD  # type: ignore[attr-defined]
        found.local.recorder.reset_policy()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore"))  # NumPy warns of special values
        found = deviation_of(MODULE, item.nodeid.rpartition("/")[2])
        if found is not None:
            item.add_marker(pytest.mark.xfail(reason=found, strict=True))


def pytest_report_header() -> str:
    return f"array API tests of: {MODULE}"
