"""The namespace under the number of each version of the standard."""

from __future__ import annotations

import functools
from types import ModuleType

_OLDER = ("2021.12", "2022.12", "2023.12", "2024.12")


def _older(newest: ModuleType, version: str) -> ModuleType:
    """The newest namespace under an older version number. It keeps the newer names."""
    module = ModuleType(f"{newest.__name__}.v{version.replace('.', '_')}", newest.__doc__)
    module.__dict__.update({name: getattr(newest, name) for name in newest.__all__})
    module.__dict__.update(__array_api_version__=version, __all__=newest.__all__)
    return module


@functools.cache
def _namespaces(newest: ModuleType) -> dict[str, ModuleType]:
    older = {version: _older(newest, version) for version in _OLDER}
    return {**older, newest.__array_api_version__: newest}


def of_version(newest: ModuleType, api_version: str | None) -> ModuleType:
    """The namespace of a version of the standard, by default the newest."""
    namespaces = _namespaces(newest)
    version = newest.__array_api_version__ if api_version is None else api_version
    if version not in namespaces:
        raise ValueError(
            f"__array_namespace__: api_version must be one of {tuple(namespaces)}, got {version!r}"
        )
    return namespaces[version]
