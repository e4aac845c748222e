"""The standard's tests. Programs compiled on this machine before are no matter to them."""

import os

os.environ["LAZYNP_CACHE"] = "off"
