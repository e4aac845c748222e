import lazynp as np
from lazynp.transforms import grad
from lazynp.transforms._jit import jit
from lazynp.transforms._stage import make_jaxpr
c=np.arange(3.)
def f(x):
    return (c*x).sum()
j=jit(f); j(.2)
print(jit(grad(j)).trace(.2))
t = list(jit(grad(j))._cache.values())
a=jit(grad(j)); a.trace(.2); t=list(a._cache.values())[0]; print(t)
