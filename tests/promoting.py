"""What tests of hot functions share: each program counts as long and fast enough."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._promotion import Promoted, _budget, _case, _derived, _function, _trials, promote
from lazynp.transforms.control import front_of


@contextmanager
def promoting() -> Iterator[None]:
    """A block in which no program waits for its price. Its end restores the functions."""
    with pytest.MonkeyPatch.context() as patch, np.config(execution="adaptive", promotion=True):
        for module in (_function, _derived):
            patch.setattr(module, "_SHORT", 0.0)
            patch.setattr(module, "_COMPILING", 0.0)
        patch.setattr(_case, "RENT", 0.0)
        patch.setattr(_case, "SECONDS", 0.0)
        patch.setattr(_trials, "PART", numpy.inf)
        patch.setattr(_budget, "LOADING", 0.0)
        for module, names in (
            (_case, ("FASTER", "HOPELESS", "_SLOW")), (_trials, ("FASTER", "_SURE", "_SURE_LONG"))
        ):  # fmt: skip
            for name in names:
                patch.setattr(module, name, numpy.inf)
        _derived.derivatives.clear()
        yield
        _derived.derivatives.clear()
    for hot in _function.fronts():
        hot.restore()


def front(f: Any) -> Promoted:
    """Promote a function, or the function of a method."""
    f = getattr(f, "__func__", f)
    assert promote(f)
    found = front_of(f)
    assert isinstance(found, Promoted)
    return found
