"""SciPy's functions with lazynp's derivatives, for tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lazynp.interop import scipy as hooks


@pytest.fixture
def hooked() -> Iterator[None]:
    hooks.hook()
    yield
    hooks.unhook()
