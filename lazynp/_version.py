"""The version, for whoever is too deep to import the namespace."""

__version__ = "0.1.0"
