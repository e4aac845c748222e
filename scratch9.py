import lazynp as np
f=np.checkpoint(lambda x: np.sin(np.sin(x)).sum())
print(np.grad(f)(np.ones(2)), np.grad(np.grad(lambda x:f(x*np.ones(2))))(1.), np.grad(np.jit(f))(np.ones(2)), np.vmap(np.grad(f))(np.ones((2,2))))
print(np.grad(lambda x: x*np.stop_gradient(x))(3.))
print(np.linear_transpose(lambda x: x[:2]*3, np.ones(3))(np.ones(2)))
import numpy
print(np.pure_callback(lambda x: numpy.asarray(x)*2, np.ShapeDtype((3,),float), np.ones(3)))
h=np.jit(lambda x: np.pure_callback(lambda x: numpy.asarray(x)*2, np.ShapeDtype((3,),float), x*2)+1)
print(h(np.ones(3)), np.vmap(h)(np.ones((2,3))))
def g(x):
    np.debug_print("x={}", x); return x*x
print(np.grad(g)(3.), np.jit(g)(2.), np.vmap(g)(np.ones(2)), np.jit(np.grad(g))(5.))
