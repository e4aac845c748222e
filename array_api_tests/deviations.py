"""Where the libraries that the suite is validated by deviate, with the standard's text.

Keys are test ids (`test_x.py::test_name[param]`), or their beginnings up to a `*`.
"""

from __future__ import annotations

NUMPY: dict[str, str] = {}
STRICT: dict[str, str] = {}

DEVIATIONS = {"numpy": NUMPY, "array_api_strict": STRICT}


def deviation_of(module: str, test: str) -> str | None:
    """Why this test is expected to fail with this module, or None."""
    for pattern, reason in DEVIATIONS.get(module, {}).items():
        if test == pattern or pattern.endswith("*") and test.startswith(pattern[:-1]):
            return reason
    return None
