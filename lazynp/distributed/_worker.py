"""One process of the launcher's: `python -m lazynp.distributed._worker script.py args...`.

Errors, tracebacks and exit codes are those of plain Python. If a thread is still in gloo at the
end, the process ends without waiting for it.
"""

from __future__ import annotations

import atexit
import os
import runpy
import sys
import threading
import traceback
from typing import Any

from lazynp._processes import group
from lazynp.distributed._group import Several, leave_process
from lazynp.distributed._session import initialize, shutdown


def _run(target: list[str]) -> None:
    if target[0] == "-m":
        sys.argv, sys.path[0] = target[1:], os.getcwd()
        runpy.run_module(target[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = target
        sys.path[0] = os.path.dirname(os.path.realpath(target[0]))
        runpy.run_path(target[0], run_name="__main__")


def _shown(error: BaseException) -> None:
    """The traceback, without the frames that run the script."""
    trace: Any = error.__traceback__
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    traceback.print_exception(error.with_traceback(trace or error.__traceback__))


def _is_ours(file: str) -> bool:
    return file == "<frozen runpy>" or file == __file__ or file == runpy.__file__


def _exit_code(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def main(target: list[str]) -> None:
    initialize()
    code, how = 0, "has ended"
    try:
        _run(target)
    except SystemExit as error:
        code = _exit_code(error)
        how = f"has ended with the exit code {code}" if code else how
    except KeyboardInterrupt as error:
        _shown(error)
        code, how = 130, "was interrupted"
    except BaseException as error:
        _shown(error)
        code, how = 1, f"has ended with {type(error).__name__}: {error}"
    shutdown(how)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    here = group()
    if isinstance(here, Several) and here.is_stuck:
        atexit._run_exitfuncs()
        leave_process(code)
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
