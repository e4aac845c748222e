"""A convolution as loops over the pixels of the output, a window and a sum at each."""

import numpy as np

CATEGORY = "networks"
SIZES = {"T": (1, 5, 2, 3, 2), "S": (3, 26, 4, 3, 9), "M": (4, 40, 8, 5, 16)}
SIZES["L"] = (8, 80, 16, 5, 16)


def inputs(size):
    batch, n, channels, width, filters = SIZES[size]
    rng = np.random.default_rng(49)
    image = rng.random((batch, n, n, channels)).astype(np.float32)
    return image, rng.standard_normal((width, width, channels, filters)).astype(np.float32)


def kernel(image, weights):
    width, filters = weights.shape[0], weights.shape[3]
    batch, rows, columns, _ = image.shape
    out = np.empty((batch, rows - width + 1, columns - width + 1, filters), dtype=image.dtype)
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            window = image[:, i : i + width, j : j + width, :, None]
            out[:, i, j, :] = np.sum(window * weights, axis=(1, 2, 3))
    return out
