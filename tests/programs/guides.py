"""Programs like those in NumPy's guides: text, dates, records, files, chance, optics."""

import io

import numpy as np


def diffraction(n, cycles):
    """Far field of a grating by FFT; intensity, its main order, energy before and after."""
    x = np.linspace(-1, 1, n, endpoint=False)
    xx, yy = np.meshgrid(x, x, indexing="xy")
    aperture = np.where(np.hypot(xx, yy) < 0.6, 0.5 * (1 + np.cos(2 * np.pi * cycles * xx)), 0.0)
    field = aperture * np.exp(1j * np.pi * yy)
    far = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(field), norm="ortho"))
    intensity = np.abs(far) ** 2
    order = np.unravel_index(np.argmax(intensity), intensity.shape)
    energy = (np.sum(np.abs(field) ** 2), intensity.sum())
    return intensity.round(9), [int(i) for i in order], np.allclose(*energy)


def fresnel(n, distance):
    """Propagation by the transfer function, forth and back."""
    f = np.fft.fftfreq(n, d=1.0 / n)
    fx, fy = np.meshgrid(f, f)
    transfer = np.exp(-1j * np.pi * distance * (fx**2 + fy**2))
    u = np.zeros((n, n), dtype=complex)
    u[n // 4 : n // 2, n // 3 : n // 2] = 1
    there = np.fft.ifft2(np.fft.fft2(u) * transfer)
    back = np.fft.ifft2(np.fft.fft2(there) / transfer)
    return there, np.abs(back - u).max() < 1e-12


def char_rnn(text, hidden, steps):
    """A character RNN trained by Adagrad, its memory updated in place."""
    chars = np.unique(text)
    index = {int(c): i for i, c in enumerate(chars)}
    size = len(chars)
    rng = np.random.RandomState(0)
    shapes = [(hidden, size), (hidden, hidden), (size, hidden), (hidden, 1), (size, 1)]
    weights = [rng.randn(*shape) * 0.1 for shape in shapes]
    memory = [np.zeros_like(w) for w in weights]
    state, losses = np.zeros((hidden, 1)), []
    for step in range(steps):
        wxh, whh, why, bh, by = weights
        xs, hs, ps, loss = {}, {-1: np.copy(state)}, {}, 0.0
        ids = [index[int(c)] for c in text[step * 4 : step * 4 + 5]]
        for t in range(4):
            xs[t] = np.zeros((size, 1))
            xs[t][ids[t]] = 1
            hs[t] = np.tanh(np.dot(wxh, xs[t]) + np.dot(whh, hs[t - 1]) + bh)
            y = np.dot(why, hs[t]) + by
            ps[t] = np.exp(y) / np.sum(np.exp(y))
            loss += -np.log(ps[t][ids[t + 1], 0])
        grads = [np.zeros_like(w) for w in weights]
        later = np.zeros_like(hs[0])
        for t in reversed(range(4)):
            dy = np.copy(ps[t])
            dy[ids[t + 1]] -= 1
            grads[2] += np.dot(dy, hs[t].T)
            grads[4] += dy
            raw = (1 - hs[t] * hs[t]) * (np.dot(why.T, dy) + later)
            grads[3] += raw
            grads[0] += np.dot(raw, xs[t].T)
            grads[1] += np.dot(raw, hs[t - 1].T)
            later = np.dot(whh.T, raw)
        for w, g, m in zip(weights, grads, memory):
            np.clip(g, -5, 5, out=g)
            m += g * g
            w += -0.1 * g / np.sqrt(m + 1e-8)
        state = hs[3]
        losses.append(float(loss))
    return losses, weights[1]


def sales_records(units):
    """A structured table: computed columns, selection, order, totals by group."""
    table = np.zeros(6, dtype=[("city", "U8"), ("units", "i4"), ("price", "f8")])
    table["city"] = ["Oslo", "Rome", "Oslo", "Paris", "Rome", "Oslo"]
    table["units"] = units
    table["price"] = np.linspace(2, 3.25, 6)
    table[1]["price"] = 10.0
    income = table["units"] * table["price"]
    best = table[income > income.mean()]
    cities, groups = np.unique(table["city"], return_inverse=True)
    totals = np.zeros(len(cities))
    np.add.at(totals, groups, income)
    ordered = np.sort(table, order=["city", "units"])
    return income, best["city"].tolist(), totals, ordered["units"], table.dtype.names


def daily_temperatures(values):
    """Dates: weeks by reshaping, months by casting, weekdays, differences."""
    days = np.arange("2024-01-29", "2024-03-18", dtype="datetime64[D]")[: len(values)]
    months = days.astype("datetime64[M]")
    means = [values[months == m].mean() for m in np.unique(months)]
    weekday = (days.view("i8") - 4) % 7
    weekend = values[np.isin(weekday, [5, 6])]
    hottest = days[np.argmax(values)]
    span = (days[-1] - days[0]) / np.timedelta64(1, "W")
    return means, weekend, str(hottest), float(span), np.diff(days).astype(int)


def word_counts(line):
    """Text in arrays: splitting, folding case, counting, lengths, joining."""
    words = np.char.lower(np.array(line.split()))
    words = np.char.strip(words, ".,")
    kinds, counts = np.unique(words, return_counts=True)
    order = np.lexsort((kinds, -counts))
    lengths = np.strings.str_len(kinds)
    table = [f"{w}:{int(c)}" for w, c in zip(kinds[order], counts[order])]
    long = kinds[lengths > 4]
    return table, long.tolist(), lengths, "-".join(np.char.capitalize(long).tolist())


def masked_readings(values):
    """Masked arrays on the host: invalid readings left out, filled, smoothed."""
    readings = np.ma.masked_invalid(values)
    readings = np.ma.masked_outside(readings, -2, 2)
    centred = readings - readings.mean()
    filled = readings.filled(0.0)
    return (
        float(readings.mean()),
        int(readings.count()),
        centred.compressed().tolist(),
        filled.tolist(),
    )


def files(values):
    """Write and read again: text with columns, npy, npz."""
    text = io.StringIO()
    np.savetxt(text, values, fmt="%.17g", delimiter=",", header="a,b,c", comments="")
    text.seek(0)
    named = np.genfromtxt(text, delimiter=",", names=True)
    text.seek(0)
    plain = np.loadtxt(text, delimiter=",", skiprows=1, usecols=(0, 2), unpack=True)
    binary = io.BytesIO()
    np.savez(binary, first=values, second=plain)
    binary.seek(0)
    with np.load(binary) as archive:
        kept = {k: archive[k] for k in archive.files}
    return named["b"], plain, kept["first"], kept["second"].sum()


def monte_carlo_pi(seed, n):
    """Chance by the new generators: counts in rings, an interval by the bootstrap."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, size=(n, 2))
    inside = (points**2).sum(axis=1) <= 1
    estimate = 4 * inside.mean()
    draws = rng.choice(inside, size=(20, n))
    low, high = np.percentile(4 * draws.mean(axis=1), [5, 95])
    rings = np.histogram(np.hypot(*points.T), bins=[0, 0.5, 1, 1.5])[0]
    return estimate, low, high, rings, rng.permutation(5), rng.integers(0, 9, 3)


def guarded_division(a, b):
    """The idioms around floating-point errors."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = a / b
    ratio[~np.isfinite(ratio)] = 0
    safe = np.divide(a, b, out=np.zeros_like(a), where=b != 0)
    try:
        with np.errstate(all="raise"):
            a / b
    except FloatingPointError as e:
        message = str(e)
    before = np.seterr(over="raise")
    try:
        np.array([1e200]) * 1e200
    except FloatingPointError as e:
        message += "; " + str(e)
    finally:
        np.seterr(**before)
    return ratio, safe, message


def rolling_statistics(x, width):
    """Windows as views: means, extrema, z-scores; cumulative sums do the same."""
    windows = np.lib.stride_tricks.sliding_window_view(x, width)
    means = windows.mean(axis=-1)
    sums = np.cumsum(np.concatenate(([0.0], x)))
    again = (sums[width:] - sums[:-width]) / width
    spread = windows.max(axis=1) - windows.min(axis=1)
    scores = (x[width - 1 :] - means) / windows.std(axis=1)
    return means, again, spread, scores


def curve_fitting(x, y):
    """Polynomials old and new: fits, derivatives, roots, values."""
    old = np.polyfit(x, y, 3)
    new = np.polynomial.Polynomial.fit(x, y, 3).convert().coef
    slope = np.polyder(old)
    turning = np.roots(slope)
    area = np.polyval(np.polyint(old), x[-1]) - np.polyval(np.polyint(old), x[0])
    chebyshev = np.polynomial.chebyshev.chebval(x / 4, [0.5, 1, -0.25])
    return old, new, np.sort(turning.real), area, chebyshev, np.allclose(old[::-1], new)


def low_rank_image(image, k):
    """Compression by the singular value decomposition, channel by channel."""
    channels = np.transpose(image, (2, 0, 1))
    u, s, vt = np.linalg.svd(channels, full_matrices=False)
    approximation = (u[..., :k] * s[..., None, :k]) @ vt[..., :k, :]
    back = np.clip(np.transpose(approximation, (1, 2, 0)), 0, 1)
    error = np.linalg.norm(image - back) / np.linalg.norm(image)
    return back, error, s


def empirical_distribution(x, y):
    """Two samples compared: distribution functions, the largest gap, ranks."""
    grid = np.sort(np.concatenate([x, y]))
    f = np.searchsorted(np.sort(x), grid, side="right") / x.size
    g = np.searchsorted(np.sort(y), grid, side="right") / y.size
    ranks = np.empty(grid.size, dtype=int)
    ranks[np.argsort(np.concatenate([x, y]))] = np.arange(grid.size)
    return np.abs(f - g).max(), ranks[: x.size].sum(), np.interp(0.5, f, grid)


def ufunc_methods(a, b):
    """reduce, accumulate, outer, at, reduceat; functions made into ufuncs."""
    table = np.multiply.outer(np.arange(1, 5), np.arange(1, 4))
    hist = np.zeros(5, dtype=int)
    np.add.at(hist, a % 5, 1)
    running = np.maximum.accumulate(b)
    parts = np.add.reduceat(b, [0, 2, 5])
    clipped = np.vectorize(lambda x, top: x if x < top else top, otypes=[float])(b, 0.5)
    text = np.frompyfunc(lambda x, y: f"{int(x)}|{int(y)}", 2, 1)(a[:3], a[3:6])
    lowest = np.minimum.reduce(b.reshape(2, -1), axis=1, initial=0.2)
    return table, hist, running, parts, clipped, text.tolist(), lowest, np.add.identity
