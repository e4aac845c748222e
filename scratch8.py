import lazynp as np
from lazynp.transforms import grad, vmap, jvp, hessian, jacfwd, jacrev
from lazynp.transforms._jit import jit, STATS
from lazynp.transforms._cond import cond, switch
from lazynp.transforms._scan import scan, map_
from lazynp.transforms._custom import custom_jvp, custom_vjp
@custom_jvp
def f(x, y): return np.sin(x)*y
@f.defjvp
def _(p, t):
    (x,y),(dx,dy)=p,t
    if bool(np.all(np.asarray(1)>0)): pass
    return f(x,y), 10*np.cos(x)*dx*y + np.sin(x)*dy
print(f(1.,y=2.), grad(f)(1.,2.), 20*np.cos(1.), vmap(grad(f))(np.array([1.,2.]),np.ones(2)*2), jit(grad(f))(1.,2.), grad(jit(f))(1.,2.), vmap(jit(grad(jit(f))))(np.array([1.,2.]),np.ones(2)*2), grad(vmap(f,(0,None)).__call__ if 0 else lambda x: vmap(f,(0,None))(x,2.).sum())(np.ones(2)))
print(grad(grad(f))(1.,2.), grad(grad(jit(f)))(1.,2.), jvp(f,(1.,2.),(1.,0.)))
@custom_vjp
def g(x, y): return x*y
g.defvjp(lambda x,y:(x*y,(x,y)), lambda r,ct:(ct*r[1]*3, ct*r[0]))
print(grad(g)(2.,5.), vmap(grad(g))(np.ones(2),np.arange(2.)), jit(grad(g))(2.,5.), grad(jit(g))(2.,5.), grad(grad(g),1)(2.,5.), vmap(jit(grad(jit(g))))(np.ones(2),np.arange(2.)))
print(grad(lambda x: scan(lambda c,_: (g(c,x),None), x, None, length=3)[0])(2.))
print(vmap(grad(lambda x: scan(lambda c,_: (g(c,x),None), x, None, length=3)[0]))(np.array([2.,3.])))
print(grad(lambda y: vmap(g,(0,None))(np.arange(3.),y).sum())(2.))
print(grad(lambda x: cond(x>0,lambda v:g(v,v),lambda v:v,x))(2.))
def c(x):
    k=x*2
    @custom_vjp
    def h(z): return z*k
    h.defvjp(lambda z:(z*k,k), lambda r,ct:(ct*r,))
    return h(x)
try: grad(c)(3.)
except TypeError as e: print(e)
print(jit(c)(3.), grad(lambda x: jit(c)(4.)*x)(3.))
try: jvp(g,(1.,2.),(1.,1.))
except TypeError as e: print(e)
