"""Packages from PyPI that are written on NumPy: their own tests, with NumPy and with lazynp.

    make neighbours [ONLY="emcee vg"] [JOBS=2]
    python -m tests.neighbours [--jobs N] [--write] [package ...]

Each package's source comes with `pip download`, what it needs goes into .venv-neighbours. Its tests
run twice, unedited, in fresh processes: `python -m pytest` and `python -m lazynp -m pytest`. Every
test must end in the same way, except those that `PACKAGES` lists with a reason; and one that is
listed must still end in another way. `--write` writes the table of docs/neighbours.md.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import math
import os
import signal
import subprocess
import sys
import tarfile
import threading
import xml.etree.ElementTree
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "build" / "neighbours"
RESULTS = PLACE / "results.json"
PAGE = ROOT / "docs" / "neighbours.md"
VENV = ROOT / ".venv-neighbours"
PYTHON = VENV / "bin" / "python"
PIP = (str(PYTHON), "-m", "pip", "--disable-pip-version-check")
LONGEST = 600.0  # seconds of one run of a package's tests, before it counts as hanging


@dataclass(frozen=True)
class Package:
    """A package, and how its tests are run in the folder that its sdist unpacks to."""

    name: str
    version: str
    about: str
    tests: str = "tests"  # files and folders, or `--pyargs` and modules
    needs: str = ""  # other packages
    source: str = ""  # where its modules are, if not at the top
    without: str = ""  # tests that are not run, and options for pytest
    differs: Mapping[str, str] = field(default_factory=dict[str, str])  # reasons by test


# reasons for differences
_ARRAY = "NumPy's own number compared with an object whose `__array__` returns a lazy array"
_TIMEDELTA = "`timedelta(days=s)` wants a float: `float(s)`"
_TYPE = "`type(s)` of an element is `Scalar`, which is no dtype (it becomes `object`): `s.dtype`"
_DERIVED = "`dx` of a class with units: its own product is not asked"

PACKAGES = (
    Package("ahrs", "0.4.0", "attitude estimation"),
    Package(
        "colour-science",
        "0.4.7",
        "colour",
        "colour/algebra",
        needs="scipy imageio typing-extensions",
    ),
    Package(
        "control",
        "0.10.2",
        "control systems",
        "control/tests/statesp_test.py control/tests/xferfcn_test.py control/tests/mateqn_test.py",
        needs="scipy matplotlib",
    ),
    Package(
        "emcee", "3.1.6", "Markov chains", "src/emcee/tests/unit", needs="scipy h5py", source="src"
    ),
    Package("filterpy", "2.0.0", "Kalman filters", "filterpy"),
    Package(
        "lmfit",
        "1.3.4",
        "curve fitting",
        "tests/test_model.py tests/test_parameters.py tests/test_lineshapes.py",
        needs="asteval uncertainties dill pandas",
        differs={
            **dict.fromkeys(
                [
                    "tests.test_parameters::test_pickle_parameters",
                    "tests.test_parameters::test_dumps_loads_parameters_usersyms",
                ],
                _ARRAY,
            ),
        },
    ),
    Package(
        "meshio",
        "5.3.5",
        "meshes",
        source="src",
        needs="rich h5py lxml",
        differs={"tests.test_gmsh::test_reference_file_with_entities": _TYPE},
    ),
    Package("npx", "0.1.8", "extensions of NumPy", source="src"),
    Package(
        "opt_einsum",
        "3.4.0",
        "contractions",
        "opt_einsum/tests/test_contract.py opt_einsum/tests/test_input.py",
    ),
    Package(
        "patsy",
        "1.0.3",
        "statistical formulas",
        "patsy/test_build.py patsy/test_highlevel.py",
        without="--deselect patsy/test_build.py::test_redundancy_thoroughly",
    ),
    Package("periodictable", "1.7.1", "chemistry", "test", needs="pyparsing"),
    Package(
        "pint",
        "0.25.3",
        "units",
        "pint/testsuite/test_numpy.py pint/testsuite/test_numpy_func.py",
        needs="flexcache flexparser platformdirs typing-extensions",
    ),
    Package(
        "pvlib",
        "0.16.1",
        "solar power",
        "tests/test_irradiance.py tests/test_solarposition.py",
        needs="pandas pytz requests h5py",
        differs=dict.fromkeys(
            [
                "tests.test_irradiance::test_get_extra_radiation",
                "tests.test_irradiance::test_get_extra_radiation_epoch_year",
            ],
            _TIMEDELTA,
        ),
    ),
    Package("pyabel", "0.9.1", "inverse Abel transform", "abel/tests", needs="scipy six"),
    Package("pycollada", "0.9.3", "3-D models", "collada/tests", needs="python-dateutil"),
    Package(
        "pytransform3d",
        "3.17.0",
        "transformations",
        "pytransform3d",
        needs="lxml scipy matplotlib",
    ),
    Package(
        "quantities",
        "0.16.4",
        "units",
        "quantities/tests",
        differs={"quantities.tests.test_umath.TestUmath::test_trapezoid": _DERIVED},
    ),
    Package(
        "spatialmath-python",
        "1.1.18",
        "poses",
        needs="ansitable scipy matplotlib typing_extensions",
    ),
    Package("svgpathtools", "1.8.0", "curves", "test", needs="svgwrite scipy"),
    Package("tensorly", "0.10.0", "tensors", "tensorly/tenalg tensorly/tests", needs="scipy"),
    Package("transforms3d", "0.4.2", "rotations", "transforms3d"),
    Package("uncertainties", "3.2.3", "propagation of errors"),
)


# -- fetching --------------------------------------------------------------------------------------


class Unavailable(Exception):
    """A package, or what it needs, could not be had."""


def _pip(*args: str) -> None:
    done = subprocess.run([*PIP, *args], capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise Unavailable((said or [done.stderr.strip() or "pip failed"])[-1])


def environment() -> None:
    """Make the virtual environment that the tests run in."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        _pip("install", "-qq", "--editable", str(ROOT), "pytest", "hypothesis")
    compiled = [str(PYTHON), "-m", "compileall", "-q", str(ROOT / "lazynp")]  # as when installed
    subprocess.run(compiled, check=True)


def _unpack(archive: Path, into: Path) -> None:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as z:
            z.extractall(into)
    else:
        with tarfile.open(archive) as t:
            t.extractall(into, filter="data")


_installing = threading.Lock()


def fetch(package: Package) -> Path:
    """Install what `package` needs and unpack its source. Returns the source's folder."""
    place = PLACE / f"{package.name}-{package.version}"
    done = place / ".needs"
    if not done.exists() or done.read_text() != package.needs:
        place.mkdir(parents=True, exist_ok=True)
        if not list(place.glob("*.tar.gz")) + list(place.glob("*.zip")):
            wanted = f"{package.name}=={package.version}"
            _pip("download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(place), wanted)
        (archive,) = [*place.glob("*.tar.gz"), *place.glob("*.zip")]
        _unpack(archive, place)
        if package.needs:
            with _installing:
                _pip("install", "-qq", "numpy>=2.3", *package.needs.split())
        folders = [str(p) for p in place.iterdir() if p.is_dir()]
        subprocess.run([str(PYTHON), "-m", "compileall", "-qq", *folders], check=False)
        (place / "pytest.ini").touch()  # not the settings of lazynp, where the package has none
        done.write_text(package.needs)
    (folder,) = [p for p in place.iterdir() if p.is_dir()]
    return folder


# -- running ---------------------------------------------------------------------------------------


_PROCESS = "the process"


@dataclass
class Run:
    """The outcomes of one run, by test, and what it cost."""

    outcomes: dict[str, str]
    seconds: float  # of CPU time
    tail: str = ""  # the end of what pytest printed


def outcomes(report: str) -> dict[str, str]:
    """How each test ended, from pytest's XML. Of tests with one name, the worst counts."""
    found: dict[str, str] = {}
    order = ["skipped", "passed", "failed", "error"]
    for case in xml.etree.ElementTree.fromstring(report).iter("testcase"):
        name = "::".join(x for x in (case.get("classname"), case.get("name")) if x)
        tags = {child.tag.replace("failure", "failed") for child in case}
        ended = max(tags & set(order) or {"passed"}, key=order.index)
        found[name] = max(ended, found.get(name, "skipped"), key=order.index)
    return found


def _environ(package: Package, folder: Path) -> dict[str, str]:
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return os.environ | threads | {
        "LAZYNP_CACHE": "off",
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",  # neither run leaves anything for the other
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(folder / package.source),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # fmt: skip


def run(package: Package, folder: Path, lazily: bool) -> Run:
    """Run the tests in a fresh process, with NumPy or with lazynp."""
    report = folder.parent / f"{'lazynp' if lazily else 'numpy'}.xml"
    report.unlink(missing_ok=True)
    command = [str(PYTHON), *(["-m", "lazynp"] if lazily else []), "-m", "pytest", "-q"]
    command += ["-p", "no:cacheprovider", "-o", "addopts=", f"--junitxml={report}"]
    command += [f"--rootdir={folder}", f"--confcutdir={folder}"]
    command += [*package.without.split(), *package.tests.split()]
    log = report.with_suffix(".log")
    with log.open("w") as out:
        child = subprocess.Popen(
            command, cwd=folder, env=_environ(package, folder), stdin=subprocess.DEVNULL,
            stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        timer = threading.Timer(LONGEST, os.killpg, (child.pid, signal.SIGKILL))
        timer.start()
        _, status, used = os.wait4(child.pid, 0)  # the resources of this child, not of its siblings
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-4:])
    found = outcomes(report.read_text()) if report.exists() else {}
    if child.returncode not in (0, 1):
        found[_PROCESS] = f"ended with {child.returncode}"
    return Run(found, used.ru_utime + used.ru_stime, tail)


# -- comparing -------------------------------------------------------------------------------------


def _covers(listed: str, test: str) -> bool:
    """Whether the listed name is this test's, its class's, or its without parameters."""
    return test == listed or (test.startswith(listed) and test[len(listed)] in "[:.")


def compare(
    plain: Mapping[str, str], lazy: Mapping[str, str], listed: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Tests that end differently, with how, and what is wrong: of these, those that `listed` does
    not name, and the names there that no longer belong there.
    """
    differ: dict[str, str] = {}
    for test in plain | lazy:
        before, after = plain.get(test, "missing"), lazy.get(test, "missing")
        if before != after:
            differ[test] = f"{before} with NumPy, {after} with lazynp"
    wrong = [
        f"{test}: {how}"
        for test, how in differ.items()
        if not any(_covers(name, test) for name in listed)
    ]
    for name in listed:
        if not any(_covers(name, test) for test in differ):
            wrong.append(f"{name}: listed as different, and is not")
    return differ, wrong


@dataclass
class Result:
    """What came of a package."""

    name: str
    version: str
    tests: int = 0
    failing: int = 0  # with both
    differences: int = 0
    numpy: float = 0.0
    lazynp: float = 0.0
    wrong: list[str] = field(default_factory=list[str])

    @property
    def ratio(self) -> float:
        return self.lazynp / self.numpy if self.numpy else math.nan


def examine(package: Package) -> Result:
    """Run a package's tests both ways and compare."""
    result = Result(package.name, package.version)
    try:
        folder = fetch(package)
    except Unavailable as e:
        result.wrong = [f"not to be had: {e}"]
        return result
    plain, lazy = run(package, folder, False), run(package, folder, True)
    differ, result.wrong = compare(plain.outcomes, lazy.outcomes, package.differs)
    ran = {t: o for t, o in plain.outcomes.items() if o != "skipped"}
    result.tests, result.differences = len(ran), len(differ)
    result.failing = sum(o != "passed" and t not in differ for t, o in ran.items())
    result.numpy, result.lazynp = plain.seconds, lazy.seconds
    if not ran or _PROCESS in plain.outcomes:
        result.wrong.append(f"pytest failed with NumPy:\n{plain.tail}")
    return result


# -- reporting -------------------------------------------------------------------------------------

_BEGIN, _END = "<!-- packages: begin -->", "<!-- packages: end -->"
_HEAD = """\
Written by `python -m tests.neighbours --write` (`make neighbours` runs it): packages from PyPI,
their own tests, unedited, with `python -m pytest` and with `python -m lazynp -m pytest`. Seconds
are CPU time of the whole run, imports and compilation included; of some packages a part of the
tests runs. What fails with both, often wants files that the source on PyPI lacks.

| package | | tests | failing with both | different | NumPy | lazynp | ratio |
|---|---|---|---|---|---|---|---|
"""


def line(r: Result, about: str) -> str:
    """A package's line of the table."""
    return (
        f"| {r.name} {r.version} | {about} | {r.tests} | {r.failing or ''} | {r.differences or ''} "
        f"| {r.numpy:.1f} | {r.lazynp:.1f} | {r.ratio:.2f} |"
    )


def shown(wrong: Sequence[str]) -> list[str]:
    """The first of these, one a line."""
    more = len(wrong) - 12
    return [*wrong[:12], f"... and {more} more"] if more > 0 else list(wrong)


def table(results: Sequence[Result]) -> str:
    """The table, the mean, and the reasons of what is different."""
    kinds = {p.name: p for p in PACKAGES}
    ran = [r for r in results if r.tests]
    text = _HEAD + "".join(line(r, kinds[r.name].about) + "\n" for r in ran)
    if ran:
        mean = math.exp(sum(math.log(r.ratio) for r in ran) / len(ran))
        tests, differ = sum(r.tests for r in ran), sum(r.differences for r in ran)
        text += (
            f"\n{len(ran)} packages, {tests} tests, {differ} end differently; "
            f"geometric mean of the ratios {mean:.2f}.\n"
        )
    reasons: dict[tuple[str, str], list[str]] = {}
    for r in ran:
        for test, why in kinds[r.name].differs.items():
            reasons.setdefault((r.name, why), []).append(f"`{test.split('::')[-1]}`")
    if reasons:
        text += "\n| different | reason |\n|---|---|\n"
        for (name, why), tests in reasons.items():
            text += f"| {name}: {', '.join(dict.fromkeys(tests))} | {why} |\n"
    return text


def write(text: str) -> None:
    """Put the table into docs/neighbours.md."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    PAGE.write_text(f"{before}{_BEGIN}\n{text}{_END}{after}", encoding="utf-8")


def remembered(new: Sequence[Result]) -> list[Result]:
    """These results, and those of earlier runs for the other packages, in the table's order."""
    kept: dict[str, Result] = {}
    if RESULTS.exists():
        kept = {r["name"]: Result(**r) for r in json.loads(RESULTS.read_text())}
    kept |= {r.name: r for r in new}
    known = [kept[p.name] for p in PACKAGES if p.name in kept]
    known = [r for r, p in ((r, q) for r in known for q in PACKAGES if q.name == r.name)
             if r.version == p.version]  # fmt: skip
    RESULTS.write_text(json.dumps([asdict(r) for r in known], indent=1))
    return known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="package", help="of the table; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="packages that run side by side")
    parser.add_argument("--write", action="store_true", help="write docs/neighbours.md")
    args = parser.parse_args()
    unknown = set(args.names) - {p.name for p in PACKAGES}
    if unknown:
        parser.error(f"not in the table: {' '.join(sorted(unknown))}")
    environment()
    PLACE.mkdir(parents=True, exist_ok=True)
    chosen = [p for p in PACKAGES if p.name in args.names or not args.names]
    results: list[Result] = []
    with concurrent.futures.ThreadPoolExecutor(max(args.jobs, 1)) as pool:
        for package, result in zip(chosen, pool.map(examine, chosen), strict=True):
            results.append(result)
            print(line(result, package.about), *shown(result.wrong), sep="\n    ", flush=True)
    known = remembered(results)
    if args.write:
        write(table(known))
    print(table(known).removeprefix(_HEAD))
    if any(r.wrong for r in results):
        sys.exit("neighbours: " + ", ".join(r.name for r in results if r.wrong))


if __name__ == "__main__":
    main()
