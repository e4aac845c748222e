"""The version, for modules in layers that cannot import the namespace."""

__version__ = "0.1.0"
