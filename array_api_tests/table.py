"""The table of docs/array-api.md: chapters, their names, their tests, and which library fails
which.

`python -m array_api_tests.table` writes it into the document; test_table checks that it is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from array_api_tests.deviations import deviation_of
from array_api_tests.operators import BINARY, OPERATORS, REFLECTED, UNARY, UNARY_OPERATORS

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "array-api.md"
BEGIN, END = "<!-- table: python -m array_api_tests.table -->\n", "<!-- end of table -->\n"


class Chapter(NamedTuple):
    names: str
    exceptions: str = "none"


def _sorted(*names: object) -> str:
    return " ".join(sorted(map(str, names)))


_OPERATORS = (*OPERATORS, *UNARY_OPERATORS, "__matmul__")
_REFLECTED = [f"__r{n.strip('_')}__" for n in (*REFLECTED, "__matmul__")]
CHAPTERS = {
    "array_object": Chapter(
        f"dtype ndim shape size T mT device {_sorted(*_OPERATORS)} {_sorted(*_REFLECTED)} "
        "__array_namespace__ __bool__ __complex__ __float__ __index__ __int__",
        "`float`, `int` of a complex Scalar, `T` of other than two dimensions: conflicts, above",
    ),
    "constants": Chapter("e inf nan newaxis pi"),
    "creation": Chapter(
        "arange asarray empty empty_like eye full full_like linspace meshgrid ones ones_like tril "
        "triu zeros zeros_like"
    ),
    "data_types": Chapter(
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 "
        "complex128 astype can_cast finfo iinfo isdtype result_type broadcast_arrays broadcast_to"
    ),
    "dlpack": Chapter(
        "from_dlpack __dlpack__ __dlpack_device__ to_device", "streams: none on a host"
    ),
    "elementwise": Chapter(_sorted(*UNARY, *BINARY, "clip")),
    "indexing": Chapter("__getitem__ __setitem__ take take_along_axis"),
    "inspection": Chapter("__array_namespace_info__"),
    "linear_algebra": Chapter("matmul matrix_transpose tensordot vecdot"),
    "manipulation": Chapter(
        "concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile "
        "unstack"
    ),
    "searching": Chapter("argmax argmin count_nonzero nonzero searchsorted where"),
    "set": Chapter("isin unique_all unique_counts unique_inverse unique_values"),
    "sorting": Chapter("argsort sort"),
    "statistical": Chapter("cumulative_prod cumulative_sum max mean min prod std sum var"),
    "utility": Chapter("all any diff"),
    "fft": Chapter(
        "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn"
    ),
    "linalg": Chapter(
        "cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power "
        "matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace "
        "vecdot vector_norm"
    ),
    "broadcasting": Chapter("broadcast_shapes"),
    "type_promotion": Chapter(""),
    "special_cases": Chapter("", "subnormal numbers; `//` with infinities: conflicts, above"),
    "signatures": Chapter(""),
    "namespace": Chapter(""),
}


def names_of(chapter: str) -> list[str]:
    return CHAPTERS[chapter].names.split()


def _collected() -> list[str]:
    """The ids of all tests: `test_x.py::test_name[param]`."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider",
         str(ROOT / "array_api_tests")],
        env={**os.environ, "PYTHONPATH": path, "ARRAY_API_TESTS_MODULE": "lazynp.array_api"},
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.rpartition("/")[2] for line in ran.stdout.splitlines() if "::" in line]


def _failing(module: str, tests: list[str]) -> int:
    return sum(deviation_of(module, test) is not None for test in tests)


def _row(title: str, names: str, tests: list[str], exceptions: str) -> str:
    passed = len(tests) - _failing("lazynp.array_api", tests)
    others = [str(_failing(m, tests) or "") for m in ("numpy", "array_api_strict")]
    return f"| {' | '.join([title, names, str(len(tests)), str(passed), exceptions, *others])} |"


def table() -> str:
    """The table in Markdown."""
    tests = _collected()
    lines = [
        "| chapter | names | tests | passed | exceptions | NumPy fails | array_api_strict fails |",
        "|---|---|---|---|---|---|---|",
    ]
    mine: list[str] = []
    for name, chapter in CHAPTERS.items():
        own = [test for test in tests if test.startswith(f"test_{name}.py::")]
        mine += own
        words = names_of(name)
        names = f"{len(words)}: `{' '.join(words)}`" if words else "all"
        lines.append(_row(name.replace("_", " "), names, own, chapter.exceptions))
    lines.append(_row("all", "", mine, ""))
    return "\n".join(lines) + "\n"


def parts(text: str) -> tuple[str, str, str]:
    """The document before, in and after the table."""
    before, _, rest = text.partition(BEGIN)
    inside, _, after = rest.partition(END)
    return before + BEGIN, inside, END + after


if __name__ == "__main__":
    before, _, after = parts(DOCUMENT.read_text())
    DOCUMENT.write_text(before + table() + after)
