"""The C extension, built if there is a compiler. pyproject.toml has everything else.

LAZYNP_PURE_PYTHON=1 leaves it out: the wheel is then for every platform.
"""

import os
from pathlib import Path

import numpy
from setuptools import Extension, setup

fastpath = Extension(
    "lazynp._fastpath",
    ["lazynp/_c/module.c", "lazynp/_c/frames.c"],
    depends=sorted(map(str, Path("lazynp/_c").glob("*.h"))),
    include_dirs=[numpy.get_include()],
    optional=True,  # without it, Python does the same more slowly
)
pure = os.environ.get("LAZYNP_PURE_PYTHON", "0") not in ("", "0")
setup(ext_modules=[] if pure else [fastpath])
