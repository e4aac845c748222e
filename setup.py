"""The C extension, built if there is a compiler. pyproject.toml has everything else."""

from pathlib import Path

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "lazynp._fastpath",
            ["lazynp/_c/module.c", "lazynp/_c/frames.c"],
            depends=sorted(map(str, Path("lazynp/_c").glob("*.h"))),
            include_dirs=[numpy.get_include()],
            optional=True,  # without it, Python does the same more slowly
        )
    ]
)
