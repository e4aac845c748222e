import lazynp as np
from lazynp.transforms import grad
from lazynp.transforms._jit import jit
from lazynp.transforms._scan import scan
import lazynp.transforms._linearize as L, lazynp.transforms._stage as S
orig=S._tangent_jaxpr
def dbg(jaxpr, program, kept, moving, moves):
    try: return orig(jaxpr, program, kept, moving, moves)
    except TypeError:
        print(jaxpr); print(moving, moves)
        ids={id(r._node) for r in kept}
        for e in program.tape: print(e.primitive, [("lin" if isinstance(a,L.LinearTracer) else (a._node[:3], id(a._node) in ids)) for a in e.operands])
        raise SystemExit
S._tangent_jaxpr=dbg
def k(x):
    y=np.zeros(4)
    def body(c,i):
        y[i]=c*x; return c+x, y[i]
    c,_=scan(body,x,np.arange(4)); return (y*y).sum()+c
grad(grad(jit(k)))(2.)
