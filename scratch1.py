import lazynp as np
from lazynp.transforms._jvp import jvp
from lazynp.transforms._grad import grad, jacfwd, jacrev, hessian, hvp, vjp, linearize
from lazynp.transforms._vmap import vmap
def f(x):
    y = np.zeros(3)
    y[0] = np.sin(x)
    y[1:] += x*2
    if x > 0: y *= x
    y[y>1] = 0.5
    return y.sum()
print(grad(f)(0.2), jvp(f,(0.2,),(1.0,)), grad(grad(f))(.2))
print(vmap(lambda x: np.sin(x)*2)(np.arange(3.)))
def g(x, i):
    y = np.zeros(4); y[i] = x; y[1:] *= 2; y[y>3]=0; return y
print(vmap(g,(0,None))(np.arange(3.),1))
print(vmap(g)(np.arange(3.),np.array([0,1,-1])))
w = np.ones((3,2))
try: vmap(lambda x: w.__setitem__(0, x))(np.ones(2))
except ValueError as e: print(e)
print(vmap(lambda a: a.__setitem__(0, 7.))(w), w)
print(hessian(lambda x: (x**3).sum())(np.arange(3.)))
print(jacfwd(lambda x: x[::-1]*x)(np.arange(3.)))
print(jacrev(lambda x: x[::-1]*x)(np.arange(3.)))
def f(x):
    y = np.zeros(3)
    y[0] = np.sin(x)
    y[1:] += x*2
    y *= x
    y[y>1] = 0.5
    return y.sum()
print(vmap(grad(f))(np.array([.1,.2,.3])))
print(grad(lambda x: vmap(lambda a: f(a)*a)(x).sum())(np.array([.1,.2,.3])))
print(hvp(lambda x: (x**3).sum(),(np.arange(3.),),(np.ones(3),)))
import time
def loop(x):
    y = x
    for i in range(1000): y = np.sin(y)*1.01
    return y.sum()
for _ in range(3):
    t=time.time(); r=grad(loop)(np.ones(3)); r.tolist(); print(time.time()-t)
