"""The part that is compiled, where there is a compiler. All else is in pyproject.toml."""

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "lazynp._fastpath",
            ["lazynp/_fastpath.c"],
            include_dirs=[numpy.get_include()],
            optional=True,  # without it Python does it all, slower
        )
    ]
)
