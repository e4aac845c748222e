"""Derivatives through other libraries: `lazynp.interop.scipy`.

These modules stand above the namespace and use its names. They load when `adopt`, `install` or
`python -m lazynp` asks for them, and never import the library itself.
"""
