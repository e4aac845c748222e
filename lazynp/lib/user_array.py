"""`numpy.lib.user_array`: the same class. It holds NumPy's arrays, copied from lazy ones."""

from numpy.lib.user_array import container as container
