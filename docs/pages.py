"""The pages of the documentation site that are not in docs/: a hook of mkdocs (mkdocs.yml).

The documents of the repository's root become pages, and so does each chapter of the namespace, made
from the docstrings. A chapter is the module that a name is imported from.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import lazynp as np

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "how-it-works.md",
    "JAXLIB.md": "jaxlib.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": None,
}
_LINK = re.compile(r"\]\((?:\.\./)?(docs/)?([^)#:\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    for source, page in PAGES.items():
        if page is not None:
            files.append(File.generated(config, page, content=linked((ROOT / source).read_text())))
    for name, text in reference().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links that hold in the repository, as links between pages; no directives of doctest."""
    text = markdown if page.file.generated_by else linked(markdown)
    return re.sub(r"\s*# doctest: .*", "", text)


def linked(text: str) -> str:
    """A document with the links of the site."""

    def link(match: re.Match[str]) -> str:
        _, target, anchor = match.groups(default="")
        if target not in PAGES:
            return f"]({target}{anchor})" if (ROOT / "docs" / target).exists() else "]()"
        return f"]({PAGES[target] or 'index.md'}{anchor})"

    return _LINK.sub(link, text)


# -- the reference ---------------------------------------------------------------------------------

_TITLES = {
    "array": "Arrays", "ufuncs": "Elementwise functions", "transforms": "Transformations",
    "creation": "Creation", "manipulation": "Manipulation", "indexing": "Indexing",
    "linear_algebra": "Linear algebra", "order_statistics": "Order statistics",
    "nan_reductions": "Reductions that leave out NaN", "datatypes": "Data types",
    "functional": "Functions of functions", "io": "Input and output",
    "settings": "Settings and tools",
}  # fmt: skip


def chapters() -> dict[str, list[str]]:
    """The public names by chapter, as the namespace imports them."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in ("__init__.py", "_routines.py"):
        for node in ast.parse((ROOT / "lazynp" / file).read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [a.name for a in node.names if a.asname == a.name and a.name != "Any"]
                found[_chapter(node.module)] += [n for n in names if callable(getattr(np, n, None))]
    return {chapter: sorted(set(names)) for chapter, names in found.items() if names}


def _chapter(module: str) -> str:
    parent, last = ("", *module.split("."))[-2:]
    if parent == "transforms" or last == "transforms":
        return "transforms"
    if parent == "functions" and not last.startswith("_"):
        return last
    return "array" if last in ("_array", "_methods", "_ufunc", "_flat") else "settings"


def reference() -> dict[str, str]:
    """A page for each chapter, and a table of all names."""
    pages, rows = {}, []
    for chapter, names in sorted(chapters().items()):
        title = _TITLES.get(chapter, chapter.replace("_", " ").capitalize())
        pages[chapter] = "\n".join([f"# {title}", "", *map(_entry, names)])
        listed = ", ".join(f"[`{n}`]({chapter}.md#{n.lower()})" for n in names)
        rows.append(f"| [{title}]({chapter}.md) | {listed} |")
    head = ["# Reference", "", "What a docstring leaves out is as in NumPy, or as in JAX.", ""]
    return {"index": "\n".join([*head, "| | |", "|---|---|", *rows, ""]), **pages}


def _entry(name: str) -> str:
    """A name with its signature and its docstring."""
    value = getattr(np, name)
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        called = f"{name}(...)"
    else:
        called = name + re.sub(r"'([^']*)'", r"\1", str(signature))
        if len(called) > _WIDE:
            inner = ",\n    ".join(re.sub(r"'([^']*)'", r"\1", str(p)) for p in _shown(signature))
            called = f"{name}(\n    {inner},\n)"
    return f"## {name}\n\n```python\n{called}\n```\n\n{_prose(inspect.getdoc(value) or '')}\n"


_WIDE = 72


def _shown(signature: inspect.Signature) -> list[Any]:
    """The parameters, with the marks of those that are passed by position or by name only."""
    shown: list[Any] = []
    before = None
    for p in signature.parameters.values():
        if before is p.POSITIONAL_ONLY and p.kind is not before:
            shown.append("/")
        if p.kind is p.KEYWORD_ONLY and before not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            shown.append("*")
        shown.append(p)
        before = p.kind
    return shown


def _prose(text: str) -> str:
    """Paragraphs are Markdown already; what is indented or typed in stays as it is."""
    parts = text.split("\n\n")
    plain = [not re.search(r"^(\s+|>>>|\.\.\.)", part, re.M) for part in parts]
    return "\n\n".join(
        part if as_text else f"```text\n{part}\n```"
        for part, as_text in zip(parts, plain, strict=True)
    )
