import lazynp as np
from lazynp.transforms._stage import make_jaxpr, eval_jaxpr, jvp_jaxpr, batch_jaxpr, linearize_jaxpr, transpose_jaxpr, eval_shape
c=np.arange(3.)
def f(x):
    y = np.zeros(3)
    y[0] = np.sin(x)
    y[1:] += x*2
    y *= c
    y[y>1] = 0.5
    return y.sum()
j=make_jaxpr(f)(2.0); print(j)
print(eval_jaxpr(j,2.0,c))
print(jvp_jaxpr(j,(True,False)))
print(batch_jaxpr(j,4,(True,False)))
p=linearize_jaxpr(j,(True,False)); print(p.primal,p.tangent)
print(transpose_jaxpr(p.tangent,tuple([False]*len(p.residuals)+[True])))
print(eval_shape(f,2.0))
try: make_jaxpr(lambda x: x if x>0 else -x)(1.)
except TypeError as e: print(e)
