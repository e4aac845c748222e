"""The document describes the suite: its table equals the one generated from the tests."""

from __future__ import annotations

import pytest

from array_api_tests import table
from array_api_tests.support import MODULE
from array_api_tests.test_namespace import ADDED, FFT, LINALG, METHODS

pytestmark = pytest.mark.skipif(MODULE != "lazynp.array_api", reason="the document is about ours")


@pytest.mark.skipif(not table.DOCUMENT.exists(), reason="source distributions come without docs/")
def test_the_table_is_true() -> None:
    assert table.parts(table.DOCUMENT.read_text())[1] == table.table()


def test_chapters_have_every_name() -> None:
    top = " ".join(ADDED.values()).split()
    named = {name for chapter in table.CHAPTERS for name in table.names_of(chapter)}
    assert named >= {*top, *METHODS.split(), *LINALG.split(), *FFT.split()}
    assert table.names_of("linalg") == sorted(LINALG.split())
    assert table.names_of("fft") == sorted(FFT.split())
