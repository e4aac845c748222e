"""The primitives, one module per family. Each primitive has all its rules in one block."""
