"""Functions at sizes that a trace does not know: right at every size, or a TypeError, never wrong.

The tables say which are written for such sizes. A function that is written later moves up.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np

SIZES = (4, 1, 2, 7, 0)


def vector(n: int) -> Any:
    return numpy.linspace(0.5, 2.0, n)


def matrix(n: int) -> Any:
    return numpy.linspace(0.5, 2.0, n * 3).reshape(n, 3)


def square(n: int) -> Any:
    return numpy.linspace(0.5, 2.0, n * n).reshape(n, n) + 3 * numpy.eye(n)


OF_VECTORS = [
    "np.append(x,1.).item(0)",
    "np.cov(x)",
    "np.mgrid[0:x.shape[0],0:3]", "np.mgrid[1:x.shape[0]:2,x.shape[0]:0:-1]",
    "np.ogrid[:x.shape[0],:x.shape[0]+1][1]", "np.mgrid[0:(x>1).sum(),0:x.shape[0]]",
    "np.mgrid[0:1:3j,0:x.shape[0]:2]", "np.mgrid[0:(x>1).sum()]",
    "np.split(x,[(x>1).sum()])[0]", "np.split(x,[2,np.searchsorted(x,1.)])[1]",
    "np.array_split(np.outer(x,x),[(x>1).sum()],1)[1]", "np.split(x,np.array([1,2]))[2]",
    "x[np.int64(1):np.int32(-1)]",
    "np.take(x,np.arange(x.shape[0]+2),mode='wrap')", "np.take(x,[],mode='clip')",
    "np.median(x)", "np.insert(x,0,1.0)", "np.lexsort((x,))", "np.sort_complex(x)",
    "np.digitize(x,[1.])", "np.isin(x,[0.5])", "np.in1d(x,[.5])", "np.ediff1d(x)",
    "np.kron(x,[1.,2.])", "np.polyval([1.,2.],x)", "np.logspace(0,1,x.shape[0])",
    "np.tri(x.shape[0])", "np.triu(np.outer(x,x))", "np.diagonal(np.outer(x,x))",
    "np.diagflat(x)", "np.fliplr(np.outer(x,x))", "np.flipud(x)", "np.rot90(np.outer(x,x))",
    "np.rollaxis(np.outer(x,x),1)", "np.apply_along_axis(lambda", "r:r.sum(),0,x)",
    "np.nanmean(x)", "np.nanmax(x)", "np.nanstd(x)", "np.nancumsum(x)", "np.allclose(x,x)",
    "np.array_equal(x,x)", "np.isclose(x,x)", "np.copy(x)", "np.asarray(x)",
    "np.ascontiguousarray(x)", "np.array(x,ndmin=2)", "np.atleast_3d(x)", "np.dstack([x,x])",
    "np.block([x,x])", "np.broadcast_arrays(x,x[:,None])[0]", "np.select([x>1],[x],0.0)",
    "np.choose((x>1).astype(int),[x,-x])", "np.piecewise(x,[x>1],[1.0,2.0])",
    "np.take_along_axis(x,np.argsort(x),0)",
    "np.ravel_multi_index((np.arange(x.shape[0]),),(100,))",
    "np.unravel_index(np.arange(x.shape[0]),(10,10))[0]", "np.indices((x.shape[0],2))",
    "np.ix_(x,x)[0]", "np.meshgrid(x,x,indexing='ij')[1]", "np.fromfunction(lambda",
    "i:i*2.0,(x.shape[0],))", "np.trapezoid(x,x)", "np.cumulative_sum(x)", "np.unwrap(x)",
    "np.sinc(x)", "np.i0(x)", "np.nan_to_num(x)", "np.real_if_close(x)", "np.angle(x)",
    "np.corrcoef(np.stack([x,x*x]))", "np.average(x,axis=0)", "np.ptp(x)",
    "np.max(x,initial=0.0)", "np.sum(x,where=x>1)", "np.mean(x,where=x>1)", "np.add.reduce(x)",
    "np.add.accumulate(x)", "np.add.outer(x,x)", "np.maximum.accumulate(x)",
    "np.linalg.vector_norm(x)", "np.linalg.norm(x,1)", "np.linalg.norm(x,np.inf)",
    "np.einsum('i,i',x,x)", "np.einsum('i->',x)", "np.tensordot(x,x,1)", "np.vecdot(x,x)",
    "np.outer(x,x).sum()", "np.clip(x,None,1.)", "np.stack([x,x],axis=1)",
    "np.concatenate([x,[1.,2.]])", "np.repeat(x,3)", "np.repeat(x[:,None],2,axis=0)",
    "np.tile(x,(2,2))", "np.roll(x,-2)", "np.roll(np.outer(x,x),1,axis=1)",
    "np.pad(x,1,mode='linear_ramp')", "np.pad(x,(1,2),mode='edge')", "np.diff(x,n=2)",
    "np.diff(x,append=1.0)", "np.cumsum(x)[::-1]", "np.searchsorted(x,x)", "x.take([0])",
    "x.repeat(2)", "x.argmin()", "x.searchsorted(1.0)", "x.astype(int)", "x.T", "np.flip(x)[0]",
    "x.flags.c_contiguous", "x.dot(x)", "x.round(1)", "x.ndim", "len(x.shape)", "np.size(x)",
    "np.shape(x)", "np.ndim(x)", "np.iterable(x)", "x[::-2]", "x[-1::-1]", "x[5:1:-1]", "x[::3]",
    "x[1:-1:2]", "x[None,:,None]", "x[...]", "x[[0]]", "x[x.argsort()]", "x.reshape(-1,1,1)",
    "x.reshape(1,x.shape[0])", "x.reshape(2,-1)", "x.reshape((x.size,))",
    "x.reshape(x.shape[0]//2,2)", "np.reshape(x,(-1,))", "x.ravel('F')",
    "np.outer(x,x).ravel('F')", "np.outer(x,x).T.ravel()", "np.outer(x,x).T.copy()",
    "np.outer(x,x).flatten('F')", "np.asfortranarray(np.outer(x,x))", "np.spacing(x)",
    "np.frexp(x)[0]", "np.modf(x)[0]", "np.divmod(x,0.3)[0]", "np.float_power(x,2)",
    "np.logaddexp.reduce(x)",
    "np.heaviside(x-1,0.5)", "np.bitwise_and.reduce(np.arange(x.shape[0]))",
    "np.unique(x)", "np.nonzero(x>1)[0]", "np.flatnonzero(x>1)", "np.argwhere(x>1)",
    "np.where(x>1)[0]", "np.compress(x>1,x)", "np.extract(x>1,x)", "x[x>1]", "np.union1d(x,x)",
    "np.intersect1d(x,x)", "np.setdiff1d(x,[.5])", "x.compress(x>1)", "x.nonzero()[0]",
    "np.quantile(x,0.3)", "np.percentile(x,30)", "np.partition(x,0)", "np.argpartition(x,0)",
    "np.partition(x,x.shape[0]//2)[x.shape[0]//2]", "np.partition(x,x.shape[0])",
    "np.sort(np.partition(x,(0,x.shape[0]-1))[1:-1])", "np.partition(x,-x.shape[0])[0]",
    "x[np.arange(x.shape[0])]", "x[np.arange(x.shape[0])[::-1]]",
    "np.pad(x,2,mode='wrap')", "np.pad(x,(0,5),mode='wrap')", "np.pad(x,1,mode='reflect')",
    "np.pad(x,5,mode='reflect')", "np.pad(x,(4,1),mode='symmetric')", "np.pad(x,1,mode='mean')",
    "np.pad(x,2,mode='maximum')", "np.pad(x,2,mode='minimum',stat_length=2)",
    "np.pad(np.arange(x.shape[0]),2,mode='median')",
    "np.arange(0.0,x.shape[0])", "np.arange(0.5,x.shape[0])", "np.arange(x.shape[0],0.5,-1.0)",
    "np.arange(0.0,x.shape[0],0.25)", "np.arange(-1.5,x.shape[0],2.0)",
    "np.arange(x.shape[0],-2.5,-0.5)", "np.arange(0.1,x.shape[0])",
    "np.delete(x,0)", "np.delete(x,-1)", "np.delete(x,2)", "np.delete(x,slice(1,3))",
    "np.delete(x,slice(None,None,2))", "np.delete(x,[0,-1])", "np.delete(x,slice(None,None,-1))",
    "np.delete(x,slice(-2,None))", "np.delete(np.outer(x,x),0,axis=1)", "np.delete(x,[])",
    "np.isin(x,x[:1])", "np.isin(x,x[1:],invert=True)", "np.isin(3,np.arange(x.shape[0]))",
    "np.setdiff1d(x,x[1:])", "np.array([x.sum(),x.shape[0],1.0])", "np.array(x.shape)",
    "np.array([[1,x.shape[0]],[x.shape[0]+1,0]])", "np.array([x.shape[0]>2,True])",
    "np.array((x.shape[0],),dtype=np.float32)", "np.array(x.shape[0])", "np.prod(x.shape)",
    "np.concatenate([x,[x.shape[0]]])", "np.full(3,x.shape[0])", "np.full(x.shape,x.shape[0])",
    "np.linspace(0,x.shape[0],5)", "np.linspace(x.shape[0],0.5,3)", "np.roll(x,x.shape[0]//2)",
    "np.roll(np.outer(x,x),x.shape[0]-1,axis=1)", "np.digitize(x,x)", "np.digitize(x,x[::-1])",
    "x[[0,-1]]", "x[[2,0]]", "x[[-3,1]]", "np.append(x,x.shape[0])",
    "np.fill_diagonal(y:=np.outer(x,x[1:])*1.0,5.0) or y",
    "np.fill_diagonal(y:=np.outer(x,x)*1.0,[1.,2.]) or y",
    "np.put(y:=x*1.0,[0,-1],[9.0,8.0]) or y", "np.put(y:=x*1.0,[0,7],9.0,mode='wrap') or y",
    "np.putmask(y:=x*1.0,x>1,x*2) or y", "np.putmask(y:=x*1.0,x>1,[1.,2.,3.]) or y",
    "np.hanning(x.shape[0])", "np.hamming(x.shape[0])", "np.bartlett(x.shape[0])",
    "np.kaiser(x.shape[0],2.0)", "np.blackman(x.shape[0])", "np.histogram(x)[0]",
    "np.histogram(x,3)[1]", "np.histogram(x,[0,1,2])[0]", "np.histogram(x,4,(0,1))[0]",
    "np.nanmedian(np.where(x>1,x,np.nan))", "np.nanquantile(np.where(x>1,x,np.nan),0.3)",
    "np.nanpercentile(x[:,None]*x,30,axis=1)", "np.median(x[:,None]*x,axis=0)",
    "np.quantile(x[:,None]*x,[0.3,1],axis=0)", "np.insert(x,1,[8.0,9.0])", "np.insert(x,-2,1.0)",
    "np.gradient(x)+x*0", "np.gradient(x,2.0)", "np.gradient(x,x)", "np.gradient(x,edge_order=2)",
    "np.gradient(x,x*x,edge_order=2)", "np.gradient(np.outer(x,x))[1]", "np.interp(1.0,x,x*x)",
    "np.interp(x*1.1,x,x*x)", "np.interp(x,[0.,1.,2.],[0.,1.,4.])",
    "np.interp([.1,1.,3.,np.nan],x,x*x,left=-1)", "np.interp([.1,1.,3.],x,x*x,period=1.1)",
    "np.convolve(x,[1.,2.])", "np.convolve(x,[1.,2.,3.],'same')",
    "np.convolve(x,[1.,2.,3.],'valid')", "np.convolve(x,x)", "np.convolve(x,x,'same')",
    "np.convolve(x,x,'valid')", "np.correlate(x,[1.,2.])", "np.correlate(x,x,'full')",
    "np.correlate(x,[1.,2.,0.5],'full')", "np.bincount(np.arange(x.shape[0])%3)",
    "np.bincount((x*3).astype(int))", "np.bincount(np.arange(x.shape[0]),minlength=5)",
    "np.fft.fftfreq(x.shape[0])", "np.fft.rfftfreq(x.shape[0],0.1)", "np.fft.fftshift(x)",
    "np.fft.ifftshift(np.outer(x,x),axes=1)", "np.fft.fftshift(np.outer(x,x))",
    "np.geomspace(1,2,x.shape[0])", "np.geomspace(1,-2j,x.shape[0],endpoint=False)",
    "np.vander(x,3)", "np.ones(x.shape[0]+np.maximum(x.shape[0]-1,0))", "x[1:][:-2]+x[1:-2]",
    "x[:-1][::-1][1:]-x[1:-1]",
    "np.fft.fft(x)", "np.fft.fft(x,5)", "np.fft.fft(x,2*x.shape[0],norm='ortho')",
    "np.fft.ifft(np.fft.fft(x))", "np.fft.rfft(x)", "np.fft.irfft(x)", "np.fft.irfft(x,5)",
    "np.fft.irfft(np.fft.rfft(x),x.shape[0])", "np.fft.hfft(x)", "np.fft.ihfft(x)",
    "np.resize(x,5)", "np.resize(x,(2,x.shape[0]))", "np.vander(x)",
    "np.vander(x,x.shape[0]+1,increasing=True)", "np.polyfit(np.arange(x.shape[0])*1.,x,2)",
    "np.polyfit(x,x*x,1,w=x,full=True)[1]", "np.polyadd(x,[1.,2.])", "np.polysub(x,x[1:])",
    "np.polyder(x)", "np.polyint(x,2)", "np.polymul(x,x)", "np.polyval(x,[2.,3.])",
    "np.packbits(x>1)", "np.packbits(np.outer(x,x)>1,axis=0)", "np.trim_zeros(x*(x>1))",
    "np.trim_zeros(np.concatenate([[0.],x,[0.,0.]]),'f')", "np.trim_zeros(np.outer(x,x)*0)",
    "np.nanargmax(np.where(x>1,np.nan,x))", "np.nanargmin(np.outer(x,x),axis=1,keepdims=True)",
    "np.nanargmin((x*3).astype(int))", "np.nanmax(x)", "np.max(x,initial=x.shape[0])",
    "np.lib.stride_tricks.sliding_window_view(x,2)",
    "np.lib.stride_tricks.sliding_window_view(x,3).mean(-1)",
    "np.lib.stride_tricks.sliding_window_view(x[::-1],3)[::2]",
    "np.lib.stride_tricks.sliding_window_view(np.outer(x,x),(2,2))",
    "np.lib.stride_tricks.sliding_window_view(x,(2,1),axis=(0,0))",
    "np.lib.stride_tricks.sliding_window_view(x,0)",
    "np.lib.stride_tricks.sliding_window_view(x,x.shape[0])",
    "np.lib.stride_tricks.sliding_window_view(x,x.shape[0]//2+1).max(1)",
    "np.pad(x,2,mode='reflect',reflect_type='odd')",
    "np.pad((x*8).astype(np.uint8),(9,4),mode='reflect',reflect_type='odd')",
    "np.pad((x*8).astype(np.int32),(9,4),mode='symmetric',reflect_type='odd')",
    "np.pad(np.outer(x,x)+0j,((3,0),(2,7)),mode='symmetric',reflect_type='odd')",
    "np.pad(x/0.,1,mode='reflect',reflect_type='odd')",
    "np.pad(x,x.shape[0],mode='reflect')", "np.pad(x,(x.shape[0],0),mode='symmetric')",
    "np.hypot.reduce(-x)", "np.hypot.reduce(x,initial=x.shape[0])",
    "np.hypot.reduce(np.outer(x,x),axis=None,keepdims=True)", "np.hypot.reduce(x,where=x>1)",
    "np.hypot.reduce(x,dtype=np.float32)", "np.fmod.reduce(x,where=x>1,initial=9)",
    "np.fmod.reduce(x,where=x>1)", "np.subtract.reduce(np.outer(x,x),axis=(0,1))",
    "np.subtract.reduce(np.outer(x,x),axis=-1)", "np.subtract.reduce(x>1)",
    "np.lcm.reduce(np.arange(1,x.shape[0]+1))", "np.lcm.reduce(np.arange(x.shape[0]))",
    "np.gcd.reduce(np.arange(1,x.shape[0]+1))", "np.gcd.reduce(x)",
    "np.power.accumulate(x)", "np.gcd.accumulate((x*9).astype(np.int8))",
    "np.subtract.accumulate(np.outer(x,x),axis=1)", "np.hypot.accumulate(x,axis=1)",
    "np.multiply.reduceat(x,[0])", "np.add.reduceat(x,[0,2,1])", "np.maximum.reduceat(x,[1,0])",
    "np.add.reduceat(x,[0,-1])", "np.add.reduceat(np.outer(x,x),[0,1],axis=1)",
    "np.add.reduceat(x,np.arange(0,x.shape[0],2))", "np.add.reduceat(x,(-x).astype(int))",
    "np.maximum.reduceat(x,np.arange(x.shape[0])[::-1])", "np.add.reduceat(x,np.flatnonzero(x>1))",
    "np.logical_or.reduceat(x>1,np.arange(0,x.shape[0],3))",
    "np.fmax.reduceat(np.outer(x,x),np.arange(0,x.shape[0],2),axis=1)",
    "np.split(x,2)[0]+np.split(x,2)[1]", "np.split(x[:4],2)[0]", "np.split(x,3)[2]",
    "x[:x.shape[0]//2]+x[x.shape[0]//2:][:x.shape[0]//2]", "x[1::2]+np.ones(x.shape[0]//2)",
    "x[2::3]+np.ones(x.shape[0]//3)", "x[5::2]", "x[:x.shape[0]-x.shape[0]%2].reshape(-1,2)",
    "np.triu_indices(x.shape[0])[0]+np.ones(x.shape[0]*(x.shape[0]+1)//2)",
    "np.triu_indices(x.shape[0],2)[1]", "np.triu_indices(x.shape[0],-2)[0]",
    "np.tril_indices(x.shape[0],2)[1]", "np.tril_indices(x.shape[0],-1,3)[0]",
    "np.outer(x,x)[np.tril_indices_from(np.outer(x,x),k=-1)]", "np.zeros((x.shape[0],0)).sum()",
    "np.delete(x,np.flatnonzero(x>1))", "np.outer(x,x)[np.ix_(x>1,x<1)]",
    "np.polydiv(x,[1.,2.])[0]", "np.polydiv(x,[1.,2.])[1]", "np.polydiv([1.,2.,3.],x)[1]",
    "np.polydiv(x,x[1:])[0]", "np.poly(np.append(x,2.))", "np.sort_complex(np.roots(x))",
    "np.sort_complex(np.roots((x>1)*x))", "np.sort_complex(np.roots(x*0))",
    "np.sort_complex(np.roots(np.append(x,[0,0])))", "np.ones(2*(x.sum()>3)+1)",
]  # fmt: skip

NOT_WRITTEN_VECTORS = [
    "x.tolist()", "np.unstack(x)", "np.ma.masked_array(x)", "np.array_repr(x)",
    "np.pad(x>1,2,mode='reflect',reflect_type='odd')",
    "np.lib.stride_tricks.as_strided(x,(2,2),(8,8))", "np.hypot.reduceat(x,[0])",
]  # fmt: skip

OF_MATRICES = [
    "x.sum((0,1))", "x.mean(0)", "x.max(axis=0)", "x.argmax(1)", "x.argmax()", "x.min(axis=1)",
    "np.sort(x,axis=0)", "np.sort(x,axis=1)", "np.cumsum(x)", "np.cumsum(x,axis=1)",
    "np.median(x,axis=1)", "np.linalg.norm(x,axis=1)", "np.linalg.norm(x)", "x@x[0]", "x[0]@x.T",
    "x[:,0]@x", "np.matmul(x,x.T)", "x.T@x", "np.einsum('ij,ij->i',x,x)", "np.einsum('ij->ji',x)",
    "np.einsum('ij->j',x)", "np.trace(x)", "np.diagonal(x)", "x[0]", "x[-1,1]", "x[1:,::2]",
    "x[:,[0,2]]", "x[[0],:]", "x[:,-1:]", "x.reshape(-1,3,1)", "x.reshape(3,x.shape[0])",
    "x.T.reshape(-1)", "x.T.ravel('K')", "x.swapaxes(0,1).reshape(-1)",
    "np.concatenate([x,x],axis=1)", "np.concatenate([x,x],axis=0)", "np.vstack([x,x])",
    "np.hstack([x,x])", "np.stack([x,x],-1)", "np.split(x,3,axis=1)[1]",
    "np.unstack(x,axis=1)[0]", "np.roll(x,1)", "np.roll(x,1,axis=0)", "np.flip(x,0)",
    "np.rot90(x)", "np.pad(x,((1,1),(0,0)))", "np.repeat(x,2,axis=0)", "np.repeat(x,2)",
    "np.tile(x,2)", "np.broadcast_to(x,(2,x.shape[0],3))", "np.diff(x,axis=0)",
    "np.diff(x,axis=1)", "np.average(x,axis=0,weights=x[:,0])", "x.var(ddof=1)", "x.std(axis=1)",
    "np.percentile(x,50,axis=1)", "np.ptp(x,axis=1)", "np.count_nonzero(x>1,axis=0)",
    "np.any(x>1,axis=1)", "np.where(x>1,x,0.0)", "np.outer(x,x)", "np.kron(x,np.eye(2))",
    "np.tensordot(x,x.T,1)", "np.dot(x,x.T)", "np.inner(x,x)", "np.take(x,[0,1],axis=1)",
    "np.take(x,[0,0],axis=0)", "np.apply_over_axes(np.sum,x,[0])", "np.delete(x,0,axis=1)",
    "np.insert(x,0,1.0,axis=1)", "np.column_stack([x,x[:,0]])", "np.expand_dims(x,1)",
    "np.triu(x)", "np.tril(x,-1)", "np.argsort(x,axis=1)", "np.lexsort((x[:,0],))",
    "np.nanmean(x,axis=0)", "np.einsum('ij,kj,lj->ikl',x,x,x)", "x.sum(axis=1,keepdims=True)/3",
    "x.prod(1)", "x.cumprod(1)", "x/x.sum(1)[:,None]", "x[:,None,:]*x[None]",
    "((x[:,None,:]-x[None])**2).sum(-1)",
    "np.fft.fft(x,axis=0)", "np.fft.fft2(x)", "np.fft.rfftn(x)", "np.fft.irfft2(x)",
    "np.fft.ifftn(x,s=(4,4),axes=(0,1))", "np.linalg.svd(x)[1]", "abs(np.linalg.qr(x)[1])",
    "np.linalg.lstsq(x,x[:,0]*2,rcond=None)[2]", "np.linalg.pinv(x)",
    "np.linalg.multi_dot([x.T,x,x.T])", "np.linalg.cross(x,x[:,::-1])",
    "np.linalg.norm(x,'nuc')", "np.linalg.cond(x[:,:2])", "np.linalg.matrix_rank(x)",
    "np.cov(np.pad(x,((0,2),(0,0))))", "np.corrcoef(x,rowvar=False)", "np.cov(x,rowvar=False)",
    "np.corrcoef(np.concatenate([x,[[1,2.,0],[2,1,0]]]))[:1]",
    "np.apply_along_axis(lambda r:r.sum(),1,x)", "np.apply_along_axis(np.cumsum,1,x)",
    "np.apply_along_axis(lambda r:np.outer(r,r),1,x)",
]  # fmt: skip

NOT_WRITTEN_MATRICES = ["np.cov(x,x[:,0])"]

OF_SQUARES = [
    "np.linalg.solve(x,x[:,0])", "np.linalg.eigvalsh(x+x.T)",
    "np.linalg.cholesky(x@x.T+np.eye(x.shape[0]))", "np.linalg.slogdet(x)[1]",
    "np.linalg.matrix_power(x,2)", "np.linalg.matrix_rank(x)", "np.trace(x)", "np.diag(x)",
    "np.tril(x)", "x.T+x", "x@x", "np.linalg.eigvals(x).real.sum()", "np.linalg.norm(x,2)",
    "np.linalg.inv(x)", "np.linalg.det(x)", "np.linalg.det(x[None])", "np.linalg.cond(x)",
    "np.linalg.inv(np.stack([x,2*x]))", "np.linalg.multi_dot([x,x,x])", "np.linalg.pinv(x)",
    "np.linalg.tensorsolve(x,x[0])", "np.linalg.tensorinv(x,ind=1)",
]  # fmt: skip

CASES = [(f, vector, {0: "n"}) for f in OF_VECTORS]
CASES += [(f, matrix, {0: "n"}) for f in OF_MATRICES]
CASES += [(f, square, {0: "n", 1: "n"}) for f in OF_SQUARES]
REFUSED = [(f, vector, {0: "n"}) for f in NOT_WRITTEN_VECTORS]
REFUSED += [(f, matrix, {0: "n"}) for f in NOT_WRITTEN_MATRICES]


def evaluated(text: str, module: Any, x: Any) -> Any:
    return eval(text, {"np": module}, {"x": x})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "make", "axes"), CASES, ids=[c[0] for c in CASES])
def test_right_at_every_size(text: str, make: Any, axes: Any) -> None:
    f = np.jit(lambda x: evaluated(text, np, x), abstracted_axes=axes)
    for n in SIZES:
        try:
            want = numpy.asarray(evaluated(text, numpy, make(n)))
        except Exception as error:
            with pytest.raises(Exception) as raised:
                numpy.asarray(f(np.array(make(n))))
            assert isinstance(raised.value, TypeError) or type(raised.value) is type(error)
            continue
        got = numpy.asarray(f(np.array(make(n))))
        assert got.shape == want.shape and got.dtype == want.dtype
        numpy.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)
    assert f._cache_size() <= 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "make", "axes"), REFUSED, ids=[c[0] for c in REFUSED])
def test_a_type_error_says_that_it_is_not_written(text: str, make: Any, axes: Any) -> None:
    f = np.jit(lambda x: evaluated(text, np, x), abstracted_axes=axes)
    with pytest.raises(TypeError, match=r"not written for|traced"):
        f(np.array(make(4)))


TEXTS = {
    "np.convolve(x[:0],x)": "a cannot be empty", "np.correlate(x,x[:0])": "second array argument",
    "np.convolve(x[:,None],x)": "object too deep", "np.fft.fft(x[:0])": r"data points \(0\)",
    "x+x[1:]": r"shapes \(n,\) \(maximum\(n-1,0\),\)",
    "x@x[1:]": r"\(size maximum\(n - 1, 0\) is different from n\)",
    "np.einsum('i,i',x,x[1:])": r"\(n,\)->\(n,\)",
    "np.linalg.solve(np.outer(x,x),x[1:])": r"size maximum\(n - 1, 0\) is different from n",
    "np.lib.stride_tricks.sliding_window_view(x,-1)": "cannot contain negative values",
    "np.linspace(0,1,x.shape[0]-7)": "Number of samples, -3, must be non-negative",
    "np.broadcast_to(x.sum(),(x.shape[0]-7,))": "all elements of broadcast shape must be non-neg",
    "np.arange(3).reshape(x.shape[0],-1)": r"size 3 into shape \(4,newaxis\)",
    "np.nanmax(x[4:])": "zero-size array to reduction operation fmax which has no identity",
    "np.cov(np.outer(x,x)[:x.shape[0]-3])": "squeeze: .* but is 1 in this call",
    "np.poly(x[4:])": "poly of no zeros is a number",
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_numpys_errors_with_the_names_of_sizes(text: str) -> None:
    f = np.jit(lambda x: evaluated(text, np, x), abstracted_axes={0: "n"})
    with pytest.raises(ValueError, match=TEXTS[text]):
        f(np.array(vector(4)))


@pytest.mark.filterwarnings("ignore")
def test_empty_operands_of_transforms_are_errors_of_the_call() -> None:
    f = np.jit(np.fft.fft, abstracted_axes={0: "n"})
    g = np.jit(np.linalg.cond, abstracted_axes={0: "n"})
    for _ in range(2):
        with pytest.raises(ValueError, match=r"data points \(0\)"):
            f(np.zeros(0))
        with pytest.raises(numpy.linalg.LinAlgError, match="empty"):
            g(np.zeros((0, 3)))
        numpy.testing.assert_allclose(f(np.ones(3)), [3, 0, 0], atol=1e-12)
    assert f._cache_size() == g._cache_size() == 1


@pytest.mark.parametrize("text", [
    "(abs(np.fft.fft(x))**2).sum()", "(np.fft.irfft(np.fft.rfft(x),x.shape[0])**2).sum()",
    "np.fft.rfft(x).real.sum()", "np.polyval(x,0.5)", "np.resize(x,5).sum()",
    "np.linalg.det(np.outer(x,x)+np.eye(x.shape[0]))", "np.vander(x,3).sum()",
    "np.linalg.inv(np.outer(x,x)+np.eye(x.shape[0])).sum()",
    "(np.lib.stride_tricks.sliding_window_view(np.append(x,x),2).prod(-1)).sum()",
    "(np.pad(x,2,mode='reflect',reflect_type='odd')**3).sum()", "np.hypot.reduce(x)",
    "(np.add.reduceat(x,np.arange(0,x.shape[0],2))**2).sum()", "np.subtract.accumulate(x)[-1]",
    "np.poly(x).sum()", "(np.polydiv(np.append(x,[2.,1.]),[1.,2.])[0]**2).sum()",
])  # fmt: skip
def test_their_derivatives(text: str) -> None:
    """Inside, with one trace, and outside."""
    inside = np.jit(np.grad(lambda x: evaluated(text, np, x)), abstracted_axes={0: "n"})
    outside = np.grad(np.jit(lambda x: evaluated(text, np, x), abstracted_axes={0: "n"}))
    with np.config(execution="reference"):
        for n in (3, 4, 1):
            x, steps = vector(n), numpy.eye(n) * 1e-6
            want = [
                (evaluated(text, numpy, x + s) - evaluated(text, numpy, x - s)) / 2e-6
                for s in steps
            ]
            for f in (inside, outside):
                numpy.testing.assert_allclose(f(np.array(x)), want, rtol=1e-5, atol=1e-6)
    assert inside._cache_size() == 1


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32"])
def test_bits_of_arrays_of_unknown_size(dtype: str) -> None:
    jitted = np.jit(lambda x: x.view(dtype), abstracted_axes={0: "n"})
    for n in (4, 3, 1, 0):
        x = numpy.arange(float(n))
        got = numpy.asarray(jitted(np.array(x)))
        assert got.dtype == dtype and got.tobytes() == x.tobytes()
    assert jitted._cache_size() == 1
    with pytest.raises(TypeError, match=r"view: not written for complex128 of float64 .*\(n\)"):
        np.jit(lambda x: x.view("c16"), abstracted_axes={0: "n"})(np.ones(4))
