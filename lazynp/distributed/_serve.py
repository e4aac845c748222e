"""The service of a group in a process of its own: `python -m lazynp.distributed._serve`.

    python -m lazynp.distributed._serve HOST PORT SECONDS

It ends when nobody is connected any more, or if nobody has come for so many seconds.
"""

from __future__ import annotations

import sys
import time

from lazynp import lowering
from lazynp.distributed._service import Service


def main(host: str, port: str, patience: str) -> None:
    try:
        service = Service(host, int(port), lowering.coordination_service)
    except OSError as error:
        sys.exit(f"{error}")
    met: list[bool] = []

    def is_over() -> bool:
        if not service.deserted:
            met.append(True)
            del met[1:]
            return False
        return bool(met) or time.monotonic() - service.began > float(patience)

    service.run(is_over)


if __name__ == "__main__":
    main(*sys.argv[1:])
