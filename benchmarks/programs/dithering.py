"""Two levels of grey; the error diffuses to the neighbours, pixel by pixel."""

import numpy as np

CATEGORY = "element loop"
SIZES = {"T": (5, 5), "S": (70, 75), "M": (220, 230), "L": (690, 710)}


def inputs(size):
    return (np.random.default_rng(76).random(SIZES[size]),)


def kernel(picture):
    rows, columns = picture.shape
    for i in range(rows - 1):
        for j in range(1, columns - 1):
            old = picture[i, j]
            new = 1.0 if old > 0.5 else 0.0
            error = old - new
            picture[i, j] = new
            picture[i, j + 1] += 0.4375 * error
            picture[i + 1, j - 1] += 0.1875 * error
            picture[i + 1, j] += 0.3125 * error
            picture[i + 1, j + 1] += 0.0625 * error
