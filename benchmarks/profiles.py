"""Where the time goes in the programs that are slower than they should be.

python benchmarks/profiles.py FILE... [--below X] [--sizes S M L] [--markdown FILE]

FILE: what `run.py --json` saved. Programs whose later calls run below X (0.5) of NumPy's speed run
again, each in its own process, under `lazynp.profile`. For the fastest of five calls, the table
gives the milliseconds in compiled programs; in flushes that NumPy ran; and elsewhere: recording,
finding programs, eager operations (including NumPy's own time for these), reading and writing
elements. *More* is the time beyond NumPy's for the call.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import run

BEGIN, END = "<!-- profiles: begin -->", "<!-- profiles: end -->"
HEAD = ["program", "size", "NumPy", "call", "more", "compiled", "by NumPy", "elsewhere", "runs"]


def slow(paths: list[Path], below: float, sizes: list[str]) -> list[run.Record]:
    found = []
    for record in run.loaded(paths)["records"]:
        again = run.again_time(record)
        if record["size"] in sizes and run.counts(record) and again:
            if run.numpy_time(record) / again < below:
                found.append(record)
    return found


def row(record: run.Record) -> list[str]:
    name, size = record["name"], record["size"]
    environment = {"LAZYNP_CACHE": "off", "LAZYNP_EXECUTION": "adaptive"}
    facts = run.work([name, size, "profile", "--repeats", "5"], environment, 120.0)
    if "parts" not in facts:
        return [name, size, *[""] * 6, str(facts.get("error", "stopped"))]
    parts = facts["parts"]
    by_numpy = parts["reference"] + parts["host"]
    elsewhere = facts["seconds"] - by_numpy - parts["compiled"] - parts["compiling"]
    seconds = [facts["numpy"], facts["seconds"], facts["seconds"] - facts["numpy"]]
    seconds += [parts["compiled"], by_numpy, elsewhere]
    return [name, size, *map(run.cell, seconds), str(facts["runs"])]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--below", type=float, default=0.5)
    parser.add_argument("--sizes", nargs="+", choices="TSML", default=["M", "L"])
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    options = parser.parse_args()
    lines = [HEAD, ["---"] * len(HEAD)]
    for record in slow(options.files, options.below, options.sizes):
        lines.append(row(record))
        print(" ".join(c.rjust(10) for c in lines[-1]), flush=True)
    if options.markdown:
        text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        run.put_into(options.markdown, text + "\n", BEGIN, END)


if __name__ == "__main__":
    main()
