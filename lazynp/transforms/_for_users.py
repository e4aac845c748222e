"""Transformations as users call them: their errors show the user's frames alone.

The code is in this package, because `control` knows transformations by the place of their code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from lazynp._tracebacks import show_users

F = TypeVar("F", bound=Callable[..., Any])


def for_users(function: F) -> F:
    """A function that users call, and whose errors show their frames alone."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            show_users(error)
            raise

    return call  # type: ignore[return-value]
