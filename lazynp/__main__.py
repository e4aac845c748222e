"""`python -m lazynp [options] script.py args...`: a script that imports numpy, run on lazynp.

    python -m lazynp [--report] [--execution POLICY] [--checks] [--no-promotion]
                     script.py [args...]
    python -m lazynp [...] -m module [args...]
    python -m lazynp [...] -c code [args...]

Errors, tracebacks and exit codes are those of plain Python.
"""

from __future__ import annotations

import atexit
import io
import os
import runpy
import signal
import sys
import traceback
import types
from typing import Any, NoReturn

from lazynp._config import config
from lazynp._script import Report, install
from lazynp._tracebacks import remove_ours


def _usage(message: str) -> NoReturn:
    print(f"python -m lazynp: {message}\n{__doc__}", file=sys.stderr)
    sys.exit(2)


def _options(args: list[str]) -> tuple[str, list[str]]:
    """Remove lazynp's own options. Returns what to run ("-m", "-c" or "") and its arguments."""
    while args and args[0].startswith("-") and args[0] != "-":
        option = args.pop(0)
        name, given, value = option.partition("=")
        if option in ("-m", "-c"):
            return option, args or _usage(f"{option} wants an argument")
        if option in ("-h", "--help"):
            print(__doc__)
            sys.exit(0)
        if option == "--report":
            atexit.register(Report().start().print)
        elif option == "--checks":
            config(checks=True)
        elif option == "--no-promotion":
            config(promotion=False)
        elif name == "--execution":
            try:
                config(execution=value if given else args.pop(0) if args else "")
            except ValueError as e:
                _usage(str(e))
        else:
            _usage(f"unknown option {option}")
    return "", args or _usage("a script, -m or -c is wanted")


def _main_module(file: str | None) -> dict[str, Any]:
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=sys.modules["builtins"], __spec__=None, __loader__=None)
    if file is not None:
        main.__dict__.update(__file__=file, __cached__=None)
    return main.__dict__


def _source(path: str) -> bytes:
    try:
        if path == "-":
            return sys.stdin.buffer.read()
        with io.open_code(os.path.abspath(path)) as file:
            return file.read()
    except OSError as e:
        where = os.path.abspath(path)
        print(
            f"{sys.executable}: can't open file {where!r}: [Errno {e.errno}] {e.strerror}",
            file=sys.stderr,
        )
        sys.exit(2)


def _run(how: str, args: list[str]) -> None:
    target = args[0]
    if how == "-m":
        sys.argv, sys.path[0] = args, os.getcwd()
        _main_module(None)
        runpy._run_module_as_main(target)  # type: ignore[attr-defined]
    elif how == "-c":
        sys.argv, sys.path[0] = ["-c", *args[1:]], ""
        exec(compile(target, "<string>", "exec"), _main_module(None))
    elif os.path.isdir(target):
        sys.argv, sys.path[0] = args, os.path.abspath(target)
        _main_module(None)
        runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
    else:
        code = _source(target)
        sys.argv = args
        sys.path[0] = "" if target == "-" else os.path.dirname(os.path.realpath(target))
        file = None if target == "-" else os.path.abspath(target)
        exec(compile(code, file or "<stdin>", "exec"), _main_module(file))


def _show(error: BaseException) -> None:
    """Print an uncaught exception as plain Python does."""
    if not config.debug:
        remove_ours(error)
    try:
        sys.stdout.flush()
        sys.excepthook(type(error), error, error.__traceback__)
    except Exception:
        traceback.print_exc()


def main() -> None:
    how, args = _options(sys.argv[1:])
    install()
    try:
        _run(how, args)
    except SystemExit:
        raise
    except KeyboardInterrupt as e:
        _show(e)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as e:
        _show(e)
        sys.exit(1)


if __name__ == "__main__":
    main()
