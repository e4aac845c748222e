"""Write tests/INDEX.md: which tests are about which module. `python -m tests.index`.

Tests are about a module if their file has its name: `test_plan.py` for `_plan.py`, in the folder of
the same name or at the top. For other modules the index names the tests that import them.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parent
LIBRARY = TESTS.parent / "lazynp"
PAGE = TESTS / "INDEX.md"
MOST = 5  # files that are named for one module

# Engine rooms whose tests have another name.
ELSEWHERE = {
    "_avals": ("test_memo.py", "identity and interning; shapes and dtypes are in tests/primitives"),
    "_conversions": ("test_array.py", "a chapter of the methods of arrays"),
    "_declarations": ("test_editors.py", "for editors and type checkers only"),
    "_dimensions": ("transforms/test_dimensions.py", "sizes in functions that are traced"),
    "_entries": ("test_node.py", "names of the entries of a node"),
    "_extents": ("test_sizes.py", "shapes and slices of sizes"),
    "_fronts": ("test_fastpath.py", "stands before each function that has a fast path"),
    "_later": ("test_loading.py", "other packages: their modules, loaded at their first use"),
    "_methods": ("test_array.py", "methods of arrays"),
    "_observers": ("test_profile.py", "a list: who looks is `np.profile`"),
    "_operators": ("test_array.py", "a chapter of the methods of arrays"),
    "_primitive": ("primitives/test_harness.py", "what all primitives have in common"),
    "_protocols": ("test_overrides.py", "NumPy's protocols, from both sides"),
    "_routines": ("test_namespace.py", "the names of the namespace"),
    "_signature": ("transforms/test_dimensions.py", "types of jaxprs with sizes"),
    "_supported": ("test_namespace.py", "what it refuses cannot import lazynp"),
    "_unchanged": ("test_namespace.py", "NumPy's own names, passed on"),
    "_version": ("test_namespace.py", "a number"),
}

HEAD = """\
# Which tests are about what

Written by `python -m tests.index`; `tests/test_index.py` keeps it current. A file of tests has the
name of its module. *Used by* names tests that import a module with no such file. All other modules
are tested through the functions that use them.
"""


def modules() -> list[Path]:
    """The modules of the library, relative to it."""
    found = [p.relative_to(LIBRARY) for p in LIBRARY.rglob("*.py") if p.name != "__init__.py"]
    return sorted(found, key=lambda p: (len(p.parts) > 1, p.parent, p))


def test_files() -> list[Path]:
    return sorted(p.relative_to(TESTS) for p in TESTS.rglob("test_*.py"))


def named_after(module: Path) -> list[Path]:
    """The tests that have the module's name."""
    name = f"test_{module.stem.lstrip('_')}.py"
    found = [p for p in dict.fromkeys((module.parent / name, Path(name))) if (TESTS / p).exists()]
    if not found and len(module.parts) == 1 and module.stem in ELSEWHERE:
        found = [Path(ELSEWHERE[module.stem][0])]
    return found


def imported() -> dict[str, list[Path]]:
    """Which tests import a module, by its dotted name."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in test_files():
        tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
        names: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names.update(a.name for a in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
                names.update(f"{node.module}.{a.name}" for a in node.names)
        for name in names:
            found[name].append(path)
    return found


def page() -> str:
    users = imported()
    folders: dict[Path, list[str]] = defaultdict(list)
    for module in modules():
        tests, note = named_after(module), ""
        if not tests:
            tests = users.get(".".join(("lazynp", *module.with_suffix("").parts)), [])
            note = "used by "
        if tests:
            more = f" and {len(tests) - MOST} more" if len(tests) > MOST else ""
            listed = ", ".join(f"`{p.as_posix()}`" for p in tests[:MOST])
            folders[module.parent].append(f"| `{module.as_posix()}` | {note}{listed}{more} |")
    parts = [HEAD]
    for folder, rows in folders.items():
        title = "lazynp" if folder == Path() else f"lazynp/{folder.as_posix()}"
        parts.append("\n".join((f"## {title}", "", "| module | tests |", "|---|---|", *rows, "")))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
