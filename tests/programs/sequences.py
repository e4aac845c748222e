"""Integers, strings as integers, sorting, sets, dynamic programming, bits."""

import numpy as np


def levenshtein(a, b):
    """Edit distance, cell by cell."""
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d, d[-1, -1]


def levenshtein_rows(a, b):
    """Edit distance, a row at a time; the running minimum makes the row vectorised."""
    row = np.arange(b.size + 1)
    steps = np.arange(b.size + 1)
    for i, symbol in enumerate(a):
        best = np.minimum(row[1:] + 1, row[:-1] + (b != symbol))
        row = np.r_[i + 1, best]
        row = np.minimum.accumulate(row - steps) + steps
    return row


def longest_common_subsequence(a, b):
    """Lengths by rows, and the way back by elements."""
    table = np.zeros((a.size + 1, b.size + 1), dtype=np.int32)
    for i in range(a.size):
        matched = np.where(b == a[i], table[i, :-1] + 1, table[i, 1:])
        table[i + 1, 1:] = np.maximum.accumulate(matched)
    out = []
    i, j = a.size, b.size
    while i and j:
        if table[i, j] == table[i - 1, j]:
            i -= 1
        elif table[i, j] == table[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            out.append(int(a[i]))
    return table, out[::-1]


def matrix_chain(dims):
    """Cheapest order of products; inner minimum over a slice of splits."""
    n = len(dims) - 1
    cost = np.zeros((n, n), dtype=np.int64)
    split = np.full((n, n), -1)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = (
                cost[i, i:j] + cost[i + 1 : j + 1, j] + dims[i] * dims[i + 1 : j + 1] * dims[j + 1]
            )
            best = options.argmin()
            cost[i, j], split[i, j] = options[best], i + best
    return cost, split


def knapsack(weights, values, room):
    """0/1 knapsack: each item shifts the table and takes the better."""
    best = np.zeros(room + 1, dtype=np.int64)
    taken = np.zeros((len(weights), room + 1), dtype=bool)
    for i, (w, v) in enumerate(zip(weights.tolist(), values.tolist())):
        with_item = best[: room + 1 - w] + v
        better = with_item > best[w:]
        taken[i, w:] = better
        best[w:] = np.where(better, with_item, best[w:])
    left, chosen = room, []
    for i in range(len(weights) - 1, -1, -1):
        if taken[i, left]:
            chosen.append(i)
            left -= weights[i]
    return best, chosen, left


def sieve(n):
    """Eratosthenes by strided stores; then gaps and twins."""
    prime = np.ones(n + 1, dtype=bool)
    prime[:2] = False
    prime[4::2] = False
    for i in range(3, int(n**0.5) + 1, 2):
        if prime[i]:
            prime[i * i :: 2 * i] = False
    primes = np.flatnonzero(prime)
    gaps = np.diff(primes)
    return primes, np.count_nonzero(gaps == 2), gaps.argmax(), np.cumsum(prime)[::100]


def run_lengths(a):
    """Run-length encoding and back."""
    borders = np.flatnonzero(a[1:] != a[:-1]) + 1
    starts = np.concatenate(([0], borders))
    lengths = np.diff(np.append(starts, a.size))
    values = a[starts]
    return values, lengths, np.array_equal(np.repeat(values, lengths), a)


def moving_averages(a, width):
    """By cumulative sums, by convolution, and exponentially."""
    total = np.cumsum(np.insert(a, 0, 0))
    mean = (total[width:] - total[:-width]) / width
    kernel = np.full(width, 1 / width)
    smooth = np.convolve(a, kernel, mode="valid")
    exponential = np.empty_like(a)
    exponential[0] = a[0]
    for i in range(1, len(a)):
        exponential[i] = 0.3 * a[i] + 0.7 * exponential[i - 1]
    return mean, smooth, np.allclose(mean, smooth), exponential


def histograms(a, edges):
    """Counts several ways, a cumulative distribution, an equalised copy."""
    counts, found = np.histogram(a, bins=edges)
    which = np.digitize(a, edges)
    density, _ = np.histogram(a, bins=10, range=(0, 10), density=True)
    levels = np.clip(a * 25, 0, 255).astype(np.uint8)
    cdf = np.bincount(levels, minlength=256).cumsum()
    table = ((cdf - cdf.min()) * 255 // (cdf[-1] - cdf.min())).astype(np.uint8)
    table_of_pairs, _, _ = np.histogram2d(a[:-1], a[1:], bins=4, range=[[0, 10], [0, 10]])
    return counts, found, np.bincount(which), density, table[levels], table_of_pairs


def permutation_cycles(p):
    """Cycle lengths, the inverse, a power and the sign of a permutation."""
    seen = np.zeros(len(p), dtype=bool)
    lengths = []
    for start in range(len(p)):
        if not seen[start]:
            here, length = start, 0
            while not seen[here]:
                seen[here] = True
                here = p[here]
                length += 1
            lengths.append(length)
    inverse = np.empty_like(p)
    inverse[p] = np.arange(len(p))
    power = np.arange(len(p))
    for _ in range(5):
        power = p[power]
    sign = (-1) ** (len(p) - len(lengths))
    return lengths, inverse, power, sign, p[inverse]


def sorting(a, keys):
    """Sorts in place and not, by several keys, ranks, merges and places."""
    ranks = np.empty(a.size, dtype=int)
    ranks[np.argsort(a, kind="stable")] = np.arange(a.size)
    by_both = np.lexsort((a, keys))
    grid = a[: a.size // 4 * 4].reshape(4, -1).copy()
    grid.sort(axis=0)
    rows = np.sort(grid, axis=1)[:, ::-1]
    ordered = np.sort(a)
    left, right = np.searchsorted(ordered, [0.25, 0.5], side="left"), ordered.searchsorted(a[:5])
    third = np.partition(a, 3)[3]
    a.sort()
    return ranks, by_both, grid, rows, left, right, third, np.all(a[:-1] <= a[1:])


def sets(a, b):
    """Unique with all its extras, and the algebra of sets."""
    values, first, inverse, counts = np.unique(
        a, return_index=True, return_inverse=True, return_counts=True
    )
    return (
        (values, first, inverse, counts, values[inverse]),
        (np.intersect1d(a, b), np.union1d(a, b), np.setdiff1d(a, b), np.setxor1d(a, b)),
        (np.isin(a, b), np.isin(b, a, invert=True)),
        values[counts == counts.max()],
    )


def collatz(n, limit):
    """Lengths of all the sequences at once; finished ones are masked out."""
    values = np.arange(1, n + 1)
    lengths = np.zeros(n, dtype=int)
    for _ in range(limit):
        going = values > 1
        if not going.any():
            break
        lengths[going] += 1
        odd = going & (values % 2 == 1)
        even = going & ~odd
        values[odd] = 3 * values[odd] + 1
        values[even] //= 2
    return lengths, lengths.argmax() + 1


def bit_tricks(a):
    """Gray code, population count, parity, byte order, hashing with wrap-around."""
    gray = a ^ (a >> 1)
    count = a.copy()
    count = count - ((count >> 1) & 0x55555555)
    count = (count & 0x33333333) + ((count >> 2) & 0x33333333)
    count = (count + (count >> 4)) & 0x0F0F0F0F
    ones = (count * np.uint32(0x01010101)) >> 24
    bits = (a[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    mixed = a.copy()
    mixed ^= mixed >> 16
    mixed *= np.uint32(0x85EBCA6B)
    mixed ^= mixed >> 13
    low = (a & 0xFF).astype(np.uint8)
    return gray, ones, bits.sum(axis=1), mixed, ~low, low.astype(np.int8), low << 1, low + low


def linear_congruential(seed, n):
    """A generator of pseudo-random numbers in uint64 arithmetic that wraps."""
    state = np.full(4, seed, dtype=np.uint64) + np.arange(4, dtype=np.uint64)
    out = np.empty((n, 4))
    for i in range(n):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        out[i] = (state >> np.uint64(11)) / np.float64(1 << 53)
    return out, out.mean(axis=0), state


def caesar(text, shift):
    """Letters moved round the alphabet, cases kept, as bytes."""
    out = text.copy()
    for base in (65, 97):
        letters = (text >= base) & (text < base + 26)
        out[letters] = (text[letters] - base + shift) % 26 + base
    counts = np.bincount(out, minlength=128)
    return out, counts, np.argmax(counts)


def two_sum_table(a, target):
    """Pairs by an outer comparison, and the closest pair."""
    sums = np.add.outer(a, a)
    i, j = np.nonzero(np.triu(sums == target, k=1))
    apart = np.abs(np.subtract.outer(a, a)) + np.eye(a.size, dtype=a.dtype) * 10_000
    closest = np.unravel_index(apart.argmin(), apart.shape)
    return list(zip(i.tolist(), j.tolist())), closest, sums.max()


def magic_square(n):
    """Siamese method: single stores with wrapped indices."""
    square = np.zeros((n, n), dtype=int)
    i, j = 0, n // 2
    for k in range(1, n * n + 1):
        square[i, j] = k
        down = square[(i - 1) % n, (j + 1) % n] != 0
        i, j = ((i + 1) % n, j) if down else ((i - 1) % n, (j + 1) % n)
    lines = np.concatenate([square.sum(0), square.sum(1), [np.trace(square)]])
    return square, lines, np.trace(np.fliplr(square))


def eight_queens(n):
    """Backtracking over three bool arrays that are set and cleared."""
    columns, rising, falling = np.zeros(n, bool), np.zeros(2 * n, bool), np.zeros(2 * n, bool)
    place = np.zeros(n, dtype=int)
    found = []

    def put(row):
        if row == n:
            found.append(place.copy())
            return
        for c in range(n):
            if not (columns[c] or rising[row + c] or falling[row - c + n]):
                columns[c] = rising[row + c] = falling[row - c + n] = True
                place[row] = c
                put(row + 1)
                columns[c] = rising[row + c] = falling[row - c + n] = False

    put(0)
    return np.array(found), len(found)


def interpolation(x, xp, fp):
    """Piecewise linear, nearest, polynomial, and the trapezoidal integral."""
    nearest = np.abs(x[:, None] - xp).argmin(axis=1)
    vander = np.vander(xp / 10, 4)
    return (
        np.interp(x, xp, fp),
        fp[nearest],
        np.polyval(np.array([1.0, -2.0, 0.5]), x),
        vander.sum(axis=0),
        np.trapezoid(fp, xp),
        np.gradient(fp, xp),
        np.diff(fp, n=2),
    )
