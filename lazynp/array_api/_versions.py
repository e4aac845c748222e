"""`Array.__array_namespace__`: the namespace under the number of each version."""

from __future__ import annotations

from types import ModuleType

from lazynp._array import Array

_OLDER = ("2021.12", "2022.12", "2023.12", "2024.12")


def _older(newest: ModuleType, version: str) -> ModuleType:
    """The newest namespace under an older version number. It keeps the newer names."""
    module = ModuleType(f"{newest.__name__}.v{version.replace('.', '_')}", newest.__doc__)
    module.__dict__.update({name: getattr(newest, name) for name in newest.__all__})
    module.__dict__.update(__array_api_version__=version, __all__=newest.__all__)
    return module


def attach(newest: ModuleType) -> None:
    """Give `Array` its `__array_namespace__`."""
    namespaces = {version: _older(newest, version) for version in _OLDER}
    namespaces[newest.__array_api_version__] = newest

    def array_namespace(self: Array, /, *, api_version: str | None = None) -> ModuleType:
        """The namespace of a version of the standard, by default the newest."""
        version = newest.__array_api_version__ if api_version is None else api_version
        if version not in namespaces:
            raise ValueError(
                f"__array_namespace__: api_version must be one of {tuple(namespaces)}, "
                f"got {version!r}"
            )
        return namespaces[version]

    Array.__array_namespace__ = array_namespace  # type: ignore[attr-defined]
