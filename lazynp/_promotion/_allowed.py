"""Where programs may stand for Python."""

from __future__ import annotations

import sys

from lazynp._config import config
from lazynp._recorder import local
from lazynp._values import watched
from lazynp.transforms._stack import DISABLED


def may_run() -> bool:
    """Whether a program may stand for Python here: nothing watches what Python does."""
    return not (
        local.recorder.staging or local.level or DISABLED or watched() or config.debug_nans
        or config.checks or not config.promotion or config.execution != "adaptive"
        or sys.gettrace() is not None
    )  # fmt: skip
