"""Calls of NumPy's functions, as expressions; the names from VALUES in them are traced."""

from __future__ import annotations

from typing import Any

import numpy

import lazynp

_M = numpy.array([[4.0, 1.0, 0.5], [1.2, 5.0, 0.3], [0.1, 0.7, 6.0]])
VALUES: dict[str, Any] = {
    "v": numpy.array([0.3, 0.7, 0.93, 0.45]),
    "w": numpy.array([1.5, 2.5, 0.6, 3.25]),
    "up": numpy.array([0.0, 0.5, 0.95, 4.0]),
    "down": numpy.array([0.9, 0.5, 0.4]),
    "three": numpy.array([0.3, -0.7, 1.25]),
    "a": numpy.array(0.42),
    "b": numpy.array(2.5),
    "q": numpy.array([0.3, 0.6]),
    "m": _M,
    "s": _M @ _M.T,
    "r": numpy.arange(12.0).reshape(3, 4) ** 2 / 30 + 0.1,
    "tall": numpy.vander([0.3, 0.7, 1.23, 0.45], 2),
    "t": numpy.arange(24.0).reshape(2, 3, 4) / 10,
    "p": numpy.array([1.0, -6.0, 11.0, -6.0]),
    "i": numpy.array([3, 1, 2, 0]),
    "j": numpy.array([1, 1, 2, 3]),
    "two": numpy.array([0, 2]),
    "k": numpy.array(2),
    "z": numpy.array(-1),
    "c": numpy.array([True, False, True, True]),
    "u": numpy.array([[1, 0, 1, 1, 0, 0, 1, 0]], numpy.uint8),
}


def _each(names: str, form: str) -> list[str]:
    return [form.format(name) for name in names.split()]


# Every ufunc of numbers, on those of the first kind that it takes; here what this does not suit.
DOMAINS = {"arccosh": "v + 1", "acosh": "v + 1", "ldexp": "v, i"}
UFUNCS = [
    n for n in sorted(lazynp.__all__)
    if isinstance(getattr(lazynp, n), lazynp.ufunc) and getattr(lazynp, n).signature is None
    and n != "isnat"
]  # fmt: skip


def _ufunc(name: str) -> str:
    found = getattr(lazynp, name)
    real = any("d" in loop.split("->")[0] for loop in found.types)
    operands = ", ".join(("v", "w") if real else ("i", "j")) if found.nin == 2 else "vi"[not real]
    return f"np.{name}({DOMAINS.get(name, operands)})"


EXPRESSIONS = [
    *map(_ufunc, UFUNCS),
    *_each(
        """angle fix i0 imag isneginf isposinf iscomplex isreal real sinc nan_to_num
        real_if_close around round copy ravel squeeze sort argsort cumsum cumprod
        cumulative_sum cumulative_prod diff ediff1d flip gradient median ptp std var
        mean sum prod max min amax amin argmax argmin all any nancumprod nancumsum
        nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar count_nonzero
        unwrap trapezoid vander atleast_1d atleast_2d atleast_3d diag diagflat asarray
        array asanyarray ascontiguousarray asfortranarray ones_like zeros_like
        sort_complex asarray_chkfinite nanargmax nanargmin poly polyder polyint""",
        "np.{}(v)",
    ),
    *_each(
        """allclose isclose array_equal array_equiv append convolve correlate dot inner
        kron outer vdot vecdot polyadd polysub polymul polyval cov corrcoef
        linalg.vecdot linalg.outer""",
        "np.{}(v, w)",
    ),
    *_each("isin", "np.{}(i, j)"),
    *_each("concat concatenate stack hstack vstack dstack column_stack", "np.{}([v, w])"),
    *_each("fliplr flipud rot90 matrix_transpose permute_dims transpose tril triu", "np.{}(r)"),
    *_each("bartlett blackman hamming hanning", "np.{}(4) * v"),
    *_each("hsplit vsplit", "np.{}(t, 1)[0]"),
    *_each("fft ifft rfft irfft hfft ihfft fftshift ifftshift", "np.fft.{}(v)"),
    *_each("fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn", "np.fft.{}(r)"),
    *_each("fftfreq rfftfreq", "np.fft.{}(4, a)"),
    *_each(
        """det slogdet norm matrix_norm matrix_transpose trace diagonal inv pinv cond svdvals
        eigvalsh cholesky matrix_rank""",
        "np.linalg.{}(s)",
    ),
    *_each(
        """np.linalg.tensorinv(m,ind=1) abs(np.linalg.eigh(s)[1]) abs(np.linalg.svd(r,False)[0])
        np.linalg.qr(m)[1]**2 np.linalg.solve(m,three) np.linalg.tensorsolve(m,three)
        np.linalg.matrix_power(m,-2) np.linalg.multi_dot([m,s,m]) np.linalg.vector_norm(v,ord=3)
        np.linalg.norm(m,1) np.linalg.norm(m,2) np.linalg.norm(m,'nuc') np.linalg.cond(m,1)
        np.linalg.lstsq(tall,w) np.linalg.lstsq(r,three)[0] np.linalg.cross(three,m[0])
        np.linalg.tensordot(m,s,axes=1) np.linalg.matmul(m,s) np.sort(np.linalg.eigvals(s).real)
        abs(np.linalg.eig(s)[1]) np.poly(s)""",
        "{}",
    ),
    *_each(
        """np.apply_along_axis(lambda_x,1,r) np.apply_over_axes(np.sum,r,[0])
        np.sort(np.partition(v,2)[:2]) np.sort(v[np.argpartition(v,2)[:2]])
        np.array_split(v,3)[0] np.split(v,[1,3])[1] np.dsplit(t,2)[1] np.unstack(r)[1]
        np.astype(v,'c16') np.average(v,weights=w,returned=True) np.kaiser(4,b)
        np.block([[m,s],[s,m]]) np.broadcast_arrays(v,w[:,None]) np.broadcast_to(v,(2,4))
        np.choose(i%2,[v,w]) np.clip(v,a,b) np.compress([True,False,True,True],v)
        np.corrcoef(r) np.cov(r) np.cov(r,aweights=w) np.cov(r,fweights=j) np.cross(three,m[0])
        np.delete(v,1) np.delete(v,[0,2]) np.delete(v,k) np.delete(r,z,axis=1) np.diagonal(m,1)
        np.trace(m) np.digitize(v,up) np.digitize(v,down) np.digitize(w,down,right=True)
        np.searchsorted(up,v) np.searchsorted(up,v,'right')
        np.searchsorted(w,v,sorter=np.argsort(w))
        np.einsum('ij,kj->ik',m,s) np.expand_dims(v,0) np.fromfunction(lambda_ij,(2,4))*v
        np.full((2,2),a) np.full_like(v,b) np.empty_like(v)*0+v np.gradient(v,up) np.gradient(v,b)
        np.gradient(r) np.interp(v,up,w) np.interp(w,up,v,left=a,right=b)
        np.interp(v*9,up,w,period=5)
        r[np.ix_(i[2:],i[1:3])] np.insert(v,1,b) np.insert(v,k,b) np.insert(v,two,three[:2])
        np.insert(r,z,w[:3],axis=1) np.lexsort((v,j)) np.linspace(a,b,5) np.linspace(v,w,5)
        np.linspace(a,b,5,retstep=True) np.logspace(a,b,5) np.logspace(0.1,2,5,base=b)
        np.geomspace(a,b,5) np.matmul(m,s) np.matvec(r,v) np.vecmat(three,r) np.meshgrid(v,w)
        np.moveaxis(t,0,2) np.rollaxis(t,2) np.swapaxes(t,0,1) np.packbits(u) np.unpackbits(u)
        np.pad(v,2) np.pad(v,2,constant_values=a) np.polyfit(v,w,2) np.polyfit(v,w,1,w=w)
        np.polyfit(v,w,1,cov=True) np.ravel_multi_index((i,j),(4,4)) np.unravel_index(i,(2,2))
        np.repeat(v,2) np.repeat(v,[1,2,0,1]) np.require(v,'f8','C') np.reshape(v,(2,2))
        np.resize(v,(2,3)) np.roll(v,1) np.roll(v,k) np.roll(r,z,axis=1) np.roll(r,two+1,axis=(0,1))
        np.roll(v,[k,1],0) np.select([v>1,v>0.5],[v,w],0.0) np.take(v,i) np.take(v,i,mode='clip')
        np.take(v,i+3,mode='wrap') np.take(v,[k,0]) np.take_along_axis(v,i,0) v[[k,z]] r[k,[0,z]]
        np.tensordot(m,s,1) np.tile(v,2) np.trapezoid(v,w) np.where(c,v,w)
        np.extract([True,False],v)
        np.histogram(v,5) np.histogram(v,5,(a,b)) np.histogram(v,up) np.histogram(v,5,weights=w)
        np.histogram(w,5,(0,3.5),density=True) np.histogram_bin_edges(v,5) np.histogram2d(v,w,3)
        np.histogram2d(v,w,[up,up],density=True) np.histogram2d(v,w,3,[[0,a],[0,b]],weights=v)
        np.histogramdd(t[0].T,3)[0] np.indices((2,4))[0]*v r[:,np.triu_indices(3)[0]]
        m[np.tril_indices_from(m)] m[np.diag_indices_from(m)] np.array([[v[0],w[1]],[1.0,v[2]]])
        np.tri(4)*v np.eye(4)*v np.r_[v,w,1.0] np.c_[v,w] np.mgrid[0:2,0:4][1]*v np.nanargmax(r,1)
        np.median(r,1) np.nanmedian(r,1) np.sum(v,where=c,initial=b) np.mean(v,where=c)
        np.std(v,where=c) np.max(v,initial=b) np.std(v,mean=np.mean(v),correction=1) np.round(v,1)
        np.diff(v,prepend=a) np.ediff1d(v,to_end=b) np.unwrap(v*9,period=4) np.nan_to_num(v,nan=a)
        np.cumsum(r,1) np.cumulative_sum(v,include_initial=True) np.count_nonzero(r,0) np.sort(r,0)
        np.convolve(v,q,'same') np.correlate(v,w,'full') np.isin(v,v[:2])
        np.lib.stride_tricks.sliding_window_view(v,2) np.lib.stride_tricks.as_strided(v,(3,2),(8,8))
        np.piecewise(v,[v<0.5,v>=0.5],[np.cos,np.sin])
        np.polynomial.polynomial.polyvalfromroots(v,w)
        np.vstack([v,w]) np.linalg.matrix_rank(r,tol=a) np.linalg.pinv(r,rcond=a*0)""",
        "{}",
    ),
    *_each("edge linear_ramp maximum mean median minimum reflect symmetric wrap",
    "np.pad(v,2,'{}')"),
    *_each("quantile nanquantile", "np.{}(v, a)"),
    *_each("quantile nanquantile", "np.{}(r, q, axis=0, keepdims=True)"),
    *_each("percentile nanpercentile", "np.{}(v, q * 100)"),
    *_each("quantile nanquantile", "np.{}(v, q, weights=w, method='inverted_cdf')"),
    *_each(
        """lower higher nearest midpoint hazen inverted_cdf averaged_inverted_cdf
        closest_observation
        interpolated_inverted_cdf weibull median_unbiased normal_unbiased""",
        "np.quantile(v, a, method='{}')",
    ),
    *[
        f"np.polynomial.{room}.{form.format(short)}"
        for room, short in (
            ("polynomial", "poly"), ("chebyshev", "cheb"), ("legendre", "leg"),
            ("laguerre", "lag"), ("hermite", "herm"), ("hermite_e", "herme"),
        )
        for form in ("{}val(v, w)", "{}val2d(v, w, m)", "{}grid2d(v, three, m)")
    ],
]  # fmt: skip

# statements that change `x`, a separate array that starts as v
STATEMENTS = """np.copyto(x,w,where=w>1) np.fill_diagonal(x.reshape(2,2),a)
np.place(x,x>0.5,[1.0,2.0]) np.place(x,c,[1.0,2.0]) np.put(x,i,w) np.put_along_axis(x,i,w,0)
np.putmask(x,c,w)
np.add.at(x,j,w) x.sort() x.fill(a) x.partition(1)""".split()

# JAX's arguments where data would determine the shape; and NumPy's expression for the same value
SIZED = {
    "np.bincount(j, length=5)": "np.bincount(j, minlength=5)",
    "np.bincount(j, w, length=3)": "np.bincount(j, w)[:3]",
    "np.nonzero(c, size=4, fill_value=7)": "(np.array([0, 2, 3, 7]),)",
    "np.nonzero(m > 1, size=2)": "(np.array([0, 1]), np.array([0, 0]))",
    "np.flatnonzero(c, size=2)": "np.array([0, 2])",
    "np.argwhere(m > 1, size=5, fill_value=-1)":
        "np.array([[0, 0], [1, 0], [1, 1], [2, 2], [-1, -1]])",
    "np.where(c, size=3)": "np.where(c)",
    "np.unique(j, size=4, fill_value=9)": "np.array([1, 2, 3, 9])",
    "np.unique(j, True, True, True, size=4)":
        "(np.array([1, 2, 3, 1]), np.array([0, 2, 3, 0]), np.array([0, 0, 1, 2]), "
        "np.array([2, 1, 1, 0]))",
    "np.unique(v, size=2, return_counts=True)": "(np.sort(v)[:2], np.array([1, 1]))",
    "np.repeat(v, j, total_repeat_length=7)": "np.repeat(v, j)",
    "np.repeat(v, j, total_repeat_length=9)": "np.append(np.repeat(v, j), [v[3], v[3]])",
    "np.delete(v, two, assume_unique_indices=True)": "np.delete(v, two)",
    "np.sort(np.roots(p, strip_zeros=False).real)": "np.sort(np.roots(p).real)",
}  # fmt: skip

# calls without a shape (or dtype) until the data are known, and the remedy that the error names
REFUSED = {
    "np.nonzero(c)": "nonzero, whose shape it decides.*size=",
    "np.where(c)": "size=",
    "np.flatnonzero(c)": "flatnonzero.*size=",
    "np.argwhere(c)": "argwhere.*size=",
    "np.unique(v)": "unique.*size=",
    "np.unique_counts(v)": "unique.*size=",
    "np.unique_all(v)": "unique.*size=",
    "np.intersect1d(i, j)": "intersect1d.*isin",
    "np.setdiff1d(i, j)": "setdiff1d.*isin",
    "np.setxor1d(i, j)": "setxor1d.*isin",
    "np.union1d(i, j)": "union1d.*isin",
    "np.bincount(j)": "bincount, whose length it decides.*length=",
    "np.repeat(v, j)": "total_repeat_length=",
    "np.delete(v, two)": "assume_unique_indices=True",
    "np.roots(p)": "strip_zeros=False",
    "np.trim_zeros(v)": "trim_zeros",
    "np.extract(c, v)": "a mask read",
    "np.compress(c, v)": "a mask read",
    "v[c]": "a mask read",
    "np.histogram(v, 'auto')": "number of bins",
    "np.arange(k)": "a bound, a size",
    "np.emath.sqrt(v)": "emath.*np.sqrt",
}
