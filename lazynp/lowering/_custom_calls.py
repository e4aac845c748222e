"""Custom calls of programs for the CPU: the compiler must know them before it meets one."""

from __future__ import annotations

from lazynp.lowering import _hold_call, _holds, _lapack, _split_solvers, _stacks


def register(text: str) -> None:
    """Make known the custom calls in a module's text. Call this before compiling or loading it."""
    split = _stacks.SOLVER in text
    if split or "@lapack_" in text or '"lapack_' in text:
        _lapack.register()
    if split:
        _split_solvers.register()
    if _stacks.FFT in text:
        _stacks.register()
    if _holds.TARGET in text or _holds.WRITTEN in text:
        _hold_call.register()


__all__ = ["register"]
