import lazynp as np
from lazynp.transforms._grad import *
def f(x):
    s = np.sin(x); print(type(x), type(s), type(np), np.__name__)
    y = np.zeros(3)
    y[0] = s
    return y.sum()
grad(f)(0.2)
