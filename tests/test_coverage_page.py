"""docs/coverage.md is up to date: generate it again and compare."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy
import pytest

SCRIPT = Path(__file__).parent.parent / "docs" / "coverage.py"

pytestmark = pytest.mark.skipif(
    not numpy.__version__.startswith("2.4."), reason="the page lists the names of NumPy 2.4"
)


@pytest.fixture(scope="module")
def coverage() -> Any:
    spec = importlib.util.spec_from_file_location("coverage_page", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(coverage: Any) -> None:
    table = coverage.table()
    written = coverage.PAGE.read_text(encoding="utf-8")
    assert coverage.page(table) == written, "run `python docs/coverage.py`"
    assert [n for rows in table.values() for n in rows.get("missing", ())] == []
    native, total = coverage.share(table)
    assert native >= 0.92 * total


def test_it_tells_host_from_native(coverage: Any) -> None:
    assert coverage.run("f", lambda x, y: x + y) == "native"
    assert coverage.run("f", lambda x, y: x + float(y[0])) == "native, looks"
    assert coverage.run("f", lambda x: coverage.np.asarray(numpy.sin(numpy.asarray(x)))) == "host"
    assert coverage.run("f", lambda x: coverage.np.asarray([1.0, 2.0])) == "host"
