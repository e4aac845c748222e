import lazynp as np
from lazynp.transforms import grad, vmap, jvp, hessian, jacfwd, jacrev
from lazynp.transforms._jit import jit, STATS
c=np.arange(3.)
def f(x):
    y = np.zeros(3)
    y[0] = np.sin(x)
    y[1:] += x*2
    y *= c
    y[y>1] = 0.5
    return y.sum()
jf=jit(f)
print(jf(.2),f(.2),jf(.3),f(.3)); c[1]=2.
print(jf(.2),f(.2), STATS)
print(grad(jf)(.2),grad(f)(.2), vmap(jf)(np.arange(3.)), vmap(f)(np.arange(3.)), jvp(jf,(.2,),(1.,)))
print(jit(grad(jit(f)))(.2), grad(jit(grad(jit(np.sin))))(.2), -np.sin(.2))
print(vmap(jit(grad(jf)))(np.array([.1,.2])))
@jit
def step(u, v):
    u[1:-1] += 0.1*(u[2:]-2*u[1:-1]+u[:-2]); v[0] = 7.; c[0] += 1; return v[1:]
u=np.arange(5.)**2; 
r=step(u,u[1:3]); print(u, c, r, r._base is u); 
step(u,u[1:3]); print(u,c,r)
print(STATS.traces)
w = jit(lambda x,s: x*s)(np.ones(2,np.float32),2.0); print(w.dtype)
print(jit(lambda x,n: x*n, static_argnums=1)(np.ones(2),3))
print(jit(f).lower(.2).compile()(.2))
g2 = lambda x: jit(lambda y: y*x)(3.)
print(grad(g2)(2.), grad(grad(lambda x: g2(x)**2))(2.))
def bad(x):
    x[0]=1.; raise KeyError
try: jit(bad)(u)
except KeyError: print(u)
print(jit(lambda x,i: x[i])(u,2), jit(lambda x,i: x[i]+x[-i])(u,np.array([1,2])))
import time
h=jit(lambda x: np.sin(x)*2+1)
x=np.ones(3); h(x)
t=time.time()
for _ in range(1000): h(x)
print((time.time()-t)*1e3,"us per call recorded"); 
t=time.time()
for _ in range(1000): h(x).tolist()
print((time.time()-t)*1e3,"us per call")
