"""A signal while XLA compiles: the program that it reads stays, whatever becomes of who asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = [
    pytest.mark.own_policy,
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer"),
]

INTERRUPTED = """
    import signal, sys
    import lazynp as np, numpy

    class Rings(Exception):
        pass

    def ring(*args):
        raise Rings

    float((np.ones(3) * 2).sum())
    signal.signal(signal.SIGALRM, ring)
    for n in range(4):
        x = np.array(numpy.arange(50.0 + n))
        for k in range(40):
            x = np.sin(x * k) + np.roll(x, 1)
        signal.setitimer(signal.ITIMER_REAL, {after})
        try:
            x.tolist()
            signal.setitimer(signal.ITIMER_REAL, 0)  # a quick machine compiles before it rings
        except Rings:
            pass
"""


def run(program: str, **settings: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "LAZYNP_EXECUTION": "compiled", "LAZYNP_CACHE": "off", **settings},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("after", [0.02, 0.06, 0.1, 0.15])
def test_the_process_ends_as_usual(after: float) -> None:
    """While XLA's threads go on with what was given up."""
    run(INTERRUPTED.format(after=after))


def test_xla_is_not_left_in_the_middle() -> None:
    """The exception comes at once, while a thread of ours waits for XLA to end."""
    said = run("""
        import signal, sys, time
        import lazynp as np, numpy
        from lazynp.lowering import _background

        class Rings(Exception):
            pass

        def ring(*args):
            raise Rings

        def compiling():
            return [f for f in sys._current_frames().values() if f.f_code is inside]

        float((np.ones(3) * 2).sum())
        inside = _background._compile.__code__
        signal.signal(signal.SIGALRM, ring)
        x = np.array(numpy.arange(50.0))
        for k in range(150):
            x = np.sin(x * k) + np.roll(x, 1)
        begin = _background._compile
        began = []

        def interrupted(*args):
            began.append(time.monotonic())
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            return begin(*args)

        _background._compile = interrupted
        try:
            x.tolist()
        except Rings:
            soon = time.monotonic() - began[0]
        while_it_runs = len(compiling())
        _background._compile = begin
        while compiling():
            time.sleep(0.01)
        print(while_it_runs, soon < time.monotonic() - began[0], numpy.isfinite(x[3].item()))
    """)
    assert said.split() == ["1", "True", "True"]
