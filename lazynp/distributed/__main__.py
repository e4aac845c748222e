"""`python -m lazynp.distributed`: a script in several processes on this machine.

    python -m lazynp.distributed -n 4 [--devices K] script.py [args...]
    python -m lazynp.distributed -n 4 [--devices K] -m module [args...]

Each process has K CPU devices (1) and is initialised. Its output comes in whole lines, with [k]
before each. The exit code is that of the first process that failed, 128 + n for signal n.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from lazynp.distributed._launcher import launch


def _usage(message: str) -> NoReturn:
    print(f"python -m lazynp.distributed: {message}\n{__doc__}", file=sys.stderr)
    sys.exit(2)


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        _usage(f"{name} wants a positive number, got {text!r}")
    return int(text)


def main(args: list[str]) -> int:
    count, devices = 0, 1
    while args and args[0].startswith("-") and args[0] not in ("-", "-m"):
        name, given, value = args.pop(0).partition("=")
        if name in ("-h", "--help"):
            print(__doc__)
            return 0
        if name not in ("-n", "--devices"):
            _usage(f"unknown option {name}")
        if not given:
            value = args.pop(0) if args else ""
        if name == "-n":
            count = _number(name, value)
        else:
            devices = _number(name, value)
    if not count:
        _usage("-n is wanted, the number of processes")
    if not args or args == ["-m"]:
        _usage("a script or -m module is wanted")
    return launch(count, devices, args)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
