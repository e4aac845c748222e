"""Tests written from the standard's text. Programs compiled earlier on this machine do not affect
them.
"""

import os

os.environ["LAZYNP_CACHE"] = "off"
