"""The primitives, by family: every rule of each in one block."""
