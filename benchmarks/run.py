"""Whole programs: NumPy, lazynp's first and later calls, and jax.jit where there is a version.

python benchmarks/run.py [--sizes S M L] [--only NAME...] [--execution POLICY] [--timeout S]
                         [--warm-cache] [--json FILE] [--markdown FILE]
python benchmarks/run.py --load FILE... [--markdown FILE]

Each program runs at each size in its own process (see worker.py). *first* is the first call there;
it includes compilation, but not the import and the conversion of inputs. *again* is the median of
the later calls, which alternate with NumPy's, whose median is *NumPy*. *settled* is the median of
the last fifth of all calls within --seconds: by then, what is to be compiled is compiled. Columns
with x are NumPy's time divided by the other time. *own x* is the time of NumPy's own first call, in
another process, divided by that of lazynp's: both then get their memory from the system. (A
process that is not measured comes before. A virtual machine may lend its memory page by page, and
whoever touches a page first waits for it.) *MB* is by how much the process grew during the first
call, for NumPy and for lazynp, whose growth includes the compiler.
Results are compared: WRONG, errors and processes that ended early are counted and left out of the
means. A program stopped by --timeout counts as if it had ended then.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from importlib import metadata, util
from pathlib import Path
from typing import Any

import harness
import numpy

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
Record = dict[str, Any]


# -- measuring -------------------------------------------------------------------------------------


def last_words(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else ""


def work(arguments: list[str], environment: dict[str, str], timeout: float) -> Record:
    """A worker's output, with `error` if it failed and `timeout` if it was stopped."""
    command = [sys.executable, str(harness.HERE / "worker.py"), *arguments]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    stopped = False
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        stopped = True
    facts: Record = {}
    for line in out.splitlines():
        if line.startswith("{") and line.endswith("}"):
            facts |= json.loads(line)
    if stopped:
        facts["timeout"] = timeout
    elif process.returncode and "error" not in facts:
        facts["error"] = f"ended with status {process.returncode}: {last_words(err)}"
    return facts


def measure(name: str, size: str, options: argparse.Namespace, with_jax: bool) -> Record:
    """Everything about one program at one size."""
    limits = ["--repeats", str(options.repeats), "--seconds", str(options.seconds)]
    work([name, size, "numpy", "--repeats", "0"], {}, options.timeout)  # see above
    with tempfile.TemporaryDirectory() as folder:
        environment = {"LAZYNP_CACHE": folder if options.warm_cache else "off"}
        if options.execution:
            environment["LAZYNP_EXECUTION"] = options.execution
        record = work([name, size, "lazynp", *limits], environment, options.timeout)
        if options.warm_cache:
            limits[-1] = str(min(options.seconds, 2.0))
            record["warm"] = work([name, size, "lazynp", *limits], environment, options.timeout)
    record |= {"name": name, "size": size, "category": harness.category(name)}
    again = "0" if "numpy" in record else "3"  # if lazynp failed or never returned
    alone = work([name, size, "numpy", "--repeats", again], {}, options.timeout)
    record["numpy_first"], record["numpy_peak"] = alone.get("numpy_first"), alone.get("numpy_peak")
    record.setdefault("numpy", alone.get("numpy", [math.nan]))
    if with_jax:
        found = work([name, size, "jax", *limits], {}, options.timeout)
        record["jax"] = {k: v for k, v in found.items() if k != "numpy"}
    return record


def jax_versions() -> set[str]:
    """Programs that have a jax version; none if jax is not installed."""
    if util.find_spec("jax") is None:
        return set()
    return set(harness.import_module("jax_versions").VERSIONS)


def machine() -> Record:
    """The machine and the versions, for the head of a table."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [s for s in info.read_text().splitlines() if s.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index]
    versions = {p: metadata.version(p) for p in ("jaxlib", "jax") if _installed(p)}
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "numpy": f"{numpy.__version__} ({blas['name']} {blas['version']}, threads: {threads})",
        **versions,
    }


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


# -- figures ---------------------------------------------------------------------------------------


def numpy_time(record: Record) -> float:
    return statistics.median(record["numpy"])


def first_time(record: Record) -> float | None:
    """Seconds of the first call; the time limit if it was stopped."""
    return record.get("first", record.get("timeout"))


def again_time(record: Record) -> float | None:
    times = record.get("repeated")
    return statistics.median(times) if times else record.get("timeout")


def settled_time(record: Record) -> float | None:
    times = [*record.get("repeated", []), *record.get("later", [])]
    return statistics.median(times[-max(3, len(times) // 5) :]) if times else again_time(record)


def own_speeds(records: list[Record]) -> list[float]:
    """The ratio of NumPy's own first call to lazynp's."""
    pairs = [(r.get("numpy_first"), first_time(r)) for r in records if counts(r)]
    return [a / b for a, b in pairs if a and b]


def counts(record: Record) -> bool:
    """Whether the means include the program's times."""
    failed = record.get("wrong") or "error" in record
    return not failed and not math.isnan(numpy_time(record))


def geometric_mean(ratios: Iterable[float]) -> float:
    logs = [math.log(r) for r in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def speeds(records: list[Record], time: Callable[[Record], float | None]) -> list[float]:
    """The ratio of NumPy's time to the other's, for all programs that have both and count."""
    pairs = [(numpy_time(r), time(r)) for r in records if counts(r)]
    return [a / b for a, b in pairs if b]


def note(record: Record) -> str:
    words = []
    if record.get("wrong"):
        words.append(f"WRONG: {record['wrong']}")
    if "error" in record:
        words.append(record["error"])
    if "timeout" in record:
        words.append(f"stopped after {record['timeout']:.0f} s")
    for other in ("warm", "jax"):
        found = record.get(other, {})
        words += [f"{other}: {found[k]}" for k in ("wrong", "error") if found.get(k)]
    return "; ".join(words).replace("|", "/")


# -- tables ----------------------------------------------------------------------------------------

HEAD = [
    "program", "kind", "NumPy ms", "first ms", "x", "own x", "again ms", "x", "settled ms", "x",
    "programs", "MB",
]  # fmt: skip


def cell(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.1f}"


def ratio(base: float, seconds: float | None) -> str:
    return "" if not seconds else f"{base / seconds:.2f}"


def ratios(record: Record, base: float) -> list[str]:
    """Of the first call and of later ones. base: NumPy's time, where the record has none."""
    base = numpy_time(record) if "numpy" in record else base
    return [ratio(base, first_time(record)), ratio(base, again_time(record))]


def megabytes(record: Record) -> str:
    """Growth in MB, for NumPy and for lazynp."""
    peaks = record.get("numpy_peak"), record.get("peak")
    return "" if None in peaks else " / ".join(f"{p / 1e6:.0f}" for p in peaks)


def row(record: Record, extra: list[str]) -> list[str]:
    base, first, again = numpy_time(record), first_time(record), again_time(record)
    cells = [record["name"], record["category"], cell(base), cell(first), ratio(base, first)]
    own = record.get("numpy_first")
    cells.append(ratio(own, first) if own else "")
    compiles = record.get("compiles", record.get("first_compiles", ""))
    settled = settled_time(record)
    cells += [cell(again), ratio(base, again), cell(settled), ratio(base, settled)]
    cells += [str(compiles), megabytes(record)]
    if "warm" in extra:
        cells += ratios(record.get("warm", {}), base)
    if "jax" in extra:
        cells += ratios(record.get("jax", {}), base)
    return [*cells, note(record)]


def summary(records: list[Record], title: str) -> str:
    """One line: the geometric means over a group of programs."""
    first, again = speeds(records, first_time), speeds(records, again_time)
    text = f"{title}: {len(records)} programs, first {geometric_mean(first):.2f} "
    text += f"({geometric_mean(own_speeds(records)):.2f} of NumPy's own first), "
    text += f"again {geometric_mean(again):.2f}, "
    settled = speeds(records, settled_time)
    text += f"settled {geometric_mean(settled):.2f}"
    second = [r["warm"] for r in records if r.get("warm", {}).get("numpy")]
    if second:
        first, again = speeds(second, first_time), speeds(second, again_time)
        text += f", in a second process first {geometric_mean(first):.2f} "
        text += f"and again {geometric_mean(again):.2f}"
    for limit in (0.5, 0.8):
        text += f", below {limit} in {sum(r < limit for r in settled)}"
    rewritten = [r for r in records if r.get("jax", {}).get("repeated")]
    if rewritten:
        theirs = geometric_mean(speeds(rewritten, lambda r: again_time(r["jax"])))
        ours = geometric_mean(speeds(rewritten, again_time))
        text += f"; the {len(rewritten)} with a jax version: again {ours:.2f}, jax {theirs:.2f}"
    lost = [f"{sum(bool(r.get(k)) for r in records)} {k}" for k in ("wrong", "error", "timeout")]
    return f"{text}; {', '.join(lost)}"


def summaries(records: list[Record], size: str) -> list[str]:
    loops = [r for r in records if r["category"] == harness.ELEMENT_LOOP]
    rest = [r for r in records if r["category"] != harness.ELEMENT_LOOP]
    named = ((f"{size}, all but element loops", rest), (f"{size}, element loops", loops))
    return [summary(group, title) for title, group in named if group]


def columns(records: list[Record]) -> tuple[list[str], list[str]]:
    """The head of a table, and its optional columns."""
    extra = [k for k in ("warm", "jax") if any(r.get(k) for r in records)]
    head = [*HEAD, *(["2nd first x", "2nd again x"] if "warm" in extra else [])]
    return [*head, *(["jax first x", "jax again x"] if "jax" in extra else []), "note"], extra


def markdown(results: Record) -> str:
    """The machine, the means and the tables, in the form of the document."""
    facts = "; ".join(f"{k} {v}" for k, v in results["machine"].items())
    parts = [f"Execution: {results['execution'] or 'default'}. Machine: {facts}.", ""]
    for size in dict.fromkeys(r["size"] for r in results["records"]):
        records = [r for r in results["records"] if r["size"] == size]
        head, extra = columns(records)
        lines = [head, ["---"] * len(head), *(row(r, extra) for r in records)]
        parts += [f"- {line}" for line in summaries(records, size)]
        parts += ["", *(f"| {' | '.join(cells)} |" for cells in lines), ""]
    return "\n".join(parts)


def put_into(path: Path, text: str, begin: str = BEGIN, end: str = END) -> None:
    """Replace the text between the two markers of a document."""
    before, _, rest = path.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{path}: no lines {begin} and {end}")
    path.write_text(f"{before}{begin}\n\n{text}\n{end}{after}")


WIDTHS = (24, 24, 9, 10, 7, 7, 10, 7, 11, 7, 9, 12)


def line_of(cells: list[str]) -> str:
    widths = (*WIDTHS, *[12] * (len(cells) - len(WIDTHS) - 1))
    left = [c.ljust(w) for c, w in zip(cells[:2], widths)]
    right = [c.rjust(w) for c, w in zip(cells[2:-1], widths[2:])]
    return "".join(left + right) + "  " + cells[-1]


# -- the command -----------------------------------------------------------------------------------


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", choices="TSML", default=["S", "M", "L"])
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=harness.names())
    parser.add_argument("--execution", choices=("compiled", "adaptive", "reference"))
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for each process")
    parser.add_argument("--repeats", type=int, default=15, help="at most this many calls again")
    parser.add_argument("--seconds", type=float, default=5.0, help="no more calls after this")
    parser.add_argument(
        "--warm-cache",
        action="store_true",
        help="with a cache, and a second process",
    )
    parser.add_argument("--no-jax", action="store_true", help="leave out the jax versions")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save what was measured")
    parser.add_argument("--load", type=Path, nargs="+", metavar="FILE", help="show what was saved")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="put the tables in a document"
    )
    return parser.parse_args()


def run_all(options: argparse.Namespace) -> Record:
    """Measure, and print each row when it is known."""
    results: Record = {"machine": machine(), "execution": options.execution, "records": []}
    print("; ".join(f"{k} {v}" for k, v in results["machine"].items()))
    versions = set() if options.no_jax else jax_versions()
    extra = [*(["warm"] if options.warm_cache else []), *(["jax"] if versions else [])]
    for size in options.sizes:
        head, _ = columns([dict.fromkeys(extra, True)])
        print(f"\nsize {size}\n{line_of(head)}")
        records = []
        for name in options.only or harness.names():
            records.append(measure(name, size, options, name in versions))
            print(line_of(row(records[-1], extra)), flush=True)
            results["records"].append(records[-1])
            if options.json:
                options.json.write_text(json.dumps(results))
        print("", *summaries(records, size), sep="\n")
    return results


def loaded(paths: list[Path]) -> Record:
    """Merge saved results; the machine is the first file's."""
    saved = [json.loads(path.read_text()) for path in paths]
    return saved[0] | {"records": [r for s in saved for r in s["records"]]}


def main() -> None:
    options = parse()
    results = loaded(options.load) if options.load else run_all(options)
    if options.load and not options.markdown:
        print(markdown(results))
    if options.markdown:
        put_into(options.markdown, markdown(results))
    if any(r.get("wrong") or "error" in r for r in results["records"]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
