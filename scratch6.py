import lazynp as np
from lazynp.transforms import grad, vmap, jvp, hessian, jacfwd, jacrev
from lazynp.transforms._jit import jit, STATS
from lazynp.transforms._cond import cond, switch
from lazynp.transforms._loops import while_loop, fori_loop
from lazynp.transforms._scan import scan, map_
f=lambda x: cond(x>0.5, lambda y: np.sin(y), lambda y: y**2, x)
print(f(.6), f(.2), grad(f)(.6), grad(f)(.2), vmap(f)(np.array([.2,.6])), vmap(grad(f))(np.array([.2,.6])), grad(grad(f))(.6), jit(grad(f))(.2))
a=np.zeros(3)
def g(x):
    def t(): a[0]=x; return x
    def e(): a[1:]=2*x; return 3*x
    return cond(x>1,t,e)
print(g(2.),a,g(.5),a, jit(g)(3.), a)
print(switch(1,[lambda x:x,lambda x:2*x,lambda x:3*x],5.), vmap(lambda i: switch(i,[lambda x:x,lambda x:2*x,lambda x:3*x],5.))(np.array([0,1,2])))
print(scan(lambda c,x:(c*x,c+x),1.0,np.arange(1.,4.)))
h=lambda c0,xs: scan(lambda c,x:(np.sin(c*x),c+x),c0,xs)[0]
print(grad(h,(0,1))(.3,np.arange(1.,4.)))
def h2(c0,xs):
    for i in range(3): c0=np.sin(c0*xs[i])
    return c0
print(grad(h2,(0,1))(.3,np.arange(1.,4.)))
print(hessian(h,1)(.3,np.arange(1.,4.))-hessian(h2,1)(.3,np.arange(1.,4.)))
print(vmap(grad(h),(0,None))(np.array([.1,.3]),np.arange(1.,4.)))
print(jvp(lambda x: while_loop(lambda c: c[0]<5, lambda c:(c[0]+1,c[1]*x),(0,1.0))[1],(2.,),(1.,)))
print(vmap(lambda n: while_loop(lambda c: c[0]<n, lambda c:(c[0]+1,c[1]*2),(0,1.0))[1])(np.array([1,3,5])))
print(grad(lambda x: fori_loop(0,3,lambda i,c:c*x,1.0))(2.))
buf=np.zeros(4)
def body(i,c): buf[i]=c; return c*2
print(fori_loop(0,4,body,1.0),buf)
def k(x):
    y=np.zeros(4)
    def body(c,i):
        y[i]=c*x; return c+x, y[i]
    c,_=scan(body,x,np.arange(4)); return (y*y).sum()+c
def k2(x):
    y=np.zeros(4); c=x
    for i in range(4):
        y[i]=c*x; c=c+x
    return (y*y).sum()+c
print(k(2.),k2(2.),grad(k)(2.),grad(k2)(2.),jit(grad(k))(2.),grad(grad(jit(k)))(2.),grad(grad(k2))(2.))
print(map_(lambda x:x*2,np.arange(3)))
try: cond(True,lambda:1.,lambda:(1.,))
except TypeError as e: print(e)
try: grad(lambda x: while_loop(lambda c:c<5,lambda c:c*x,x))(2.)
except TypeError as e: print(e)
