"""Transformations: interpreters of the same primitives that the graph records."""
