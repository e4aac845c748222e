"""Statistics and learning from scratch."""

import numpy as np


def kmeans(points, k, steps):
    """Lloyd's algorithm; each centre is the mean of a masked selection."""
    centres = points[:k].copy()
    for _ in range(steps):
        apart = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
        label = apart.argmin(axis=1)
        for c in range(k):
            mine = points[label == c]
            if len(mine):
                centres[c] = mine.mean(axis=0)
    inertia = apart[np.arange(len(points)), label].sum()
    return centres, label, inertia, np.bincount(label, minlength=k)


def logistic_regression(x, y, steps, rate):
    """Gradient descent with a stable sigmoid."""
    w, b = np.zeros(x.shape[1]), 0.0
    losses = np.empty(steps)
    for i in range(steps):
        z = x @ w + b
        p = np.where(z >= 0, 1 / (1 + np.exp(-np.abs(z))), 1 - 1 / (1 + np.exp(-np.abs(z))))
        losses[i] = np.mean(np.logaddexp(0, z) - y * z)
        error = p - y
        w -= rate * x.T @ error / len(y)
        b -= rate * error.mean()
    return w, b, losses, ((p > 0.5) == y).mean()


def two_layers(x, target, w1, w2, steps):
    """A small network in float32, trained in place by hand-written gradients."""
    rate = np.float32(0.05)
    for _ in range(steps):
        hidden = x @ w1
        active = np.maximum(hidden, 0)
        error = active @ w2 - target
        g2 = active.T @ error / len(x)
        back = error @ w2.T
        back[hidden <= 0] = 0
        g1 = x.T @ back / len(x)
        w1 -= rate * g1
        w2 -= rate * g2
    return (error**2).mean(), w1, w2


def adam(a, b, steps):
    """Least squares by Adam: state carried and updated in place."""
    x = np.zeros(a.shape[1])
    m, v = np.zeros_like(x), np.zeros_like(x)
    for t in range(1, steps + 1):
        g = 2 * a.T @ (a @ x - b) / len(b)
        m *= 0.9
        m += 0.1 * g
        v *= 0.999
        v += 0.001 * g * g
        x -= 0.05 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return x, ((a @ x - b) ** 2).mean()


def softmax_cross_entropy(logits, labels):
    """Shifted softmax, a loss read by index pairs, and its gradient by a store through them."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    logp = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(labels))
    loss = -logp[rows, labels].mean()
    gradient = np.exp(logp)
    gradient[rows, labels] -= 1
    return loss, gradient / len(labels), (logp.argmax(axis=1) == labels).sum()


def nearest_neighbours(train, labels, query, k):
    """k-NN through a distance table, argpartition-free, ties by order."""
    table = (query**2).sum(1)[:, None] - 2 * query @ train.T + (train**2).sum(1)
    nearest = np.argsort(table, axis=1, kind="stable")[:, :k]
    votes = np.zeros((len(query), labels.max() + 1), dtype=int)
    np.add.at(votes, (np.arange(len(query))[:, None], labels[nearest]), 1)
    return nearest, votes, votes.argmax(axis=1)


def naive_bayes(words, labels):
    """Counts by class, smoothed, and the log odds of each document."""
    classes = np.unique(labels)
    counts = np.array([words[labels == c].sum(axis=0) for c in classes])
    logp = np.log((counts + 1) / (counts + 1).sum(axis=1, keepdims=True))
    prior = np.log(np.array([(labels == c).mean() for c in classes]))
    score = words @ logp.T + prior
    return score, classes[score.argmax(axis=1)]


def kalman(measured, q, r):
    """A scalar filter, number by number."""
    x, p = 0.0, 1.0
    estimates, gains = np.zeros(len(measured)), np.zeros(len(measured))
    for i, z in enumerate(measured):
        p = p + q
        k = p / (p + r)
        x = x + k * (z - x)
        p = (1 - k) * p
        estimates[i], gains[i] = x, k
    return estimates, gains


def kalman_2d(measured, dt):
    """Position and velocity, with matrices."""
    f = np.array([[1, dt], [0, 1]])
    h = np.array([[1.0, 0.0]])
    x, p = np.zeros((2, 1)), np.eye(2) * 10
    track = []
    for z in measured:
        x = f @ x
        p = f @ p @ f.T + 0.01 * np.eye(2)
        s = (h @ p @ h.T)[0, 0] + 0.5
        k = p @ h.T / s
        x = x + k * (z - (h @ x)[0, 0])
        p = (np.eye(2) - k @ h) @ p
        track.append(x.ravel())
    return np.array(track), p


def linear_fit_report(x, y):
    """Ordinary least squares with the usual table of numbers."""
    design = np.column_stack([np.ones_like(x), x, x**2])
    gram = design.T @ design
    coefficients = np.linalg.solve(gram, design.T @ y)
    residual = y - design @ coefficients
    sigma2 = (residual**2).sum() / (len(y) - 3)
    errors = np.sqrt(sigma2 * np.diag(np.linalg.inv(gram)))
    r2 = 1 - residual.var() / y.var()
    return coefficients, errors, r2, np.corrcoef(x, y)[0, 1]


def bootstrap(sample, picks):
    """Percentile interval of the median from given resampling indices."""
    medians = np.median(sample[picks], axis=1)
    return np.percentile(medians, [2.5, 97.5]), medians.std(ddof=1), np.quantile(sample, 0.9)


def random_walks(steps):
    """Statistics of walks whose +-1 steps are given."""
    walks = np.cumsum(steps, axis=1)
    crossed = np.abs(walks) >= 10
    ever = crossed.any(axis=1)
    first = crossed[ever].argmax(axis=1)
    return {
        "end": (walks[:, -1].mean(), walks[:, -1].std()),
        "range": np.ptp(walks, axis=1),
        "ever": ever.sum(),
        "first": first,
        "highest": np.maximum.accumulate(walks, axis=1)[:, -1],
        "zeros": (walks == 0).sum(axis=1),
    }


def group_statistics(keys, values):
    """Sums, means and extremes by key, with bincount and with reduceat."""
    n = keys.max() + 1
    counts = np.bincount(keys, minlength=n)
    sums = np.bincount(keys, weights=values, minlength=n)
    means = np.divide(sums, counts, out=np.zeros(n), where=counts > 0)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(keys[order]) > 0])
    largest = np.maximum.reduceat(values[order], starts)
    smallest = np.full(n, np.inf)
    np.minimum.at(smallest, keys, values)
    return counts, sums, means, largest, smallest
