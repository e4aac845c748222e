"""Cellular automata and grid worlds: integers, bools, masks, neighbours."""

import numpy as np


def life_roll(world, steps):
    """Game of Life on a torus; neighbours by rolling."""
    for _ in range(steps):
        near = sum(np.roll(world, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        world = ((near == 3) | ((world == 1) & (near == 2))).astype(np.uint8)
    return world, world.sum()


def life_slices(z, steps):
    """Nicolas Rougier's Game of Life: in place, masks over the inner view."""
    inner = z[1:-1, 1:-1]
    for _ in range(steps):
        near = (
            z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2]
            + z[1:-1, 2:] + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:]
        )  # fmt: skip
        birth = (near == 3) & (inner == 0)
        survive = ((near == 2) | (near == 3)) & (inner == 1)
        z[...] = 0
        inner[birth | survive] = 1
    return np.count_nonzero(z)


def life_argwhere(z, steps):
    """The variant that collects the places by nonzero and stores through them."""
    for _ in range(steps):
        n = np.zeros(z.shape, dtype=int)
        n[1:-1, 1:-1] += (
            z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2]
            + z[1:-1, 2:] + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:]
        )  # fmt: skip
        flat = z.ravel()
        counts = n.ravel()
        dies = np.argwhere((flat == 1) & ((counts < 2) | (counts > 3)))
        born = np.argwhere((flat == 0) & (counts == 3))
        flat[dies] = 0
        flat[born] = 1
        z[0, :] = z[-1, :] = z[:, 0] = z[:, -1] = 0
    return np.argwhere(z)


def elementary_rule(number, width, steps):
    """Wolfram's elementary automaton: each row looked up from the one above."""
    rule = np.array([number >> i & 1 for i in range(8)], dtype=np.int8)
    rows = np.zeros((steps + 1, width), dtype=np.int8)
    rows[0, width // 2] = 1
    for i in range(steps):
        row = rows[i]
        rows[i + 1] = rule[4 * np.roll(row, 1) + 2 * row + np.roll(row, -1)]
    return rows, rows.sum(axis=1)


def sandpile(grid):
    """Topple until stable. The number of sweeps depends on the data."""
    sweeps = 0
    while (grid[1:-1, 1:-1] >= 4).any():
        over = grid // 4
        over[0, :] = over[-1, :] = over[:, 0] = over[:, -1] = 0
        grid -= 4 * over
        grid[1:, :] += over[:-1, :]
        grid[:-1, :] += over[1:, :]
        grid[:, 1:] += over[:, :-1]
        grid[:, :-1] += over[:, 1:]
        sweeps += 1
    return grid, sweeps


def langton_ant(n, steps):
    """One cell at a time: reads and stores of single elements."""
    world = np.zeros((n, n), dtype=bool)
    moves = np.array([[-1, 0], [0, 1], [1, 0], [0, -1]])
    place, heading = np.array([n // 2, n // 2]), 0
    for _ in range(steps):
        i, j = place
        heading = (heading + (3 if world[i, j] else 1)) % 4
        world[i, j] = ~world[i, j]
        place += moves[heading]
        place %= n
    return world, place, heading


def forest_fire(trees, lightning, growth):
    """0 empty, 1 tree, 2 burning; the random draws are given."""
    burnt = 0
    for strikes, grows in zip(lightning, growth):
        burning = trees == 2
        near = np.zeros_like(burning)
        near[1:] |= burning[:-1]
        near[:-1] |= burning[1:]
        near[:, 1:] |= burning[:, :-1]
        near[:, :-1] |= burning[:, 1:]
        was_tree, was_empty = trees == 1, trees == 0
        trees[was_tree & (near | (strikes < 0.02))] = 2
        trees[burning] = 0
        trees[was_empty & (grows < 0.1)] = 1
        burnt += burning.sum()
    return burnt, np.bincount(trees.ravel(), minlength=3)


def flood_labels(solid):
    """Connected components by spreading the smallest label until nothing moves."""
    labels = np.where(solid, np.arange(1, solid.size + 1).reshape(solid.shape), 0)
    far = solid.size + 1
    while True:
        grown = np.pad(np.where(solid, labels, far), 1, constant_values=far)
        best = grown[1:-1, 1:-1]
        for view in (grown[:-2, 1:-1], grown[2:, 1:-1], grown[1:-1, :-2], grown[1:-1, 2:]):
            best = np.minimum(best, view)
        new = np.where(solid, best, 0)
        if np.array_equal(new, labels):
            break
        labels = new
    names, sizes = np.unique(labels[solid], return_counts=True)
    return labels, names, sizes


def distance_map(walls, start):
    """Breadth-first search as repeated dilation of the front."""
    distance = np.full(walls.shape, -1)
    front = np.zeros(walls.shape, dtype=bool)
    front[start] = True
    steps = 0
    while front.any():
        distance[front] = steps
        grown = front.copy()
        grown[1:] |= front[:-1]
        grown[:-1] |= front[1:]
        grown[:, 1:] |= front[:, :-1]
        grown[:, :-1] |= front[:, 1:]
        front = grown & ~walls & (distance < 0)
        steps += 1
    return distance, distance.max()


def ising(spins, uniforms, beta):
    """Checkerboard Metropolis sweeps with given uniform numbers."""
    n, m = spins.shape
    odd = (np.add.outer(np.arange(n), np.arange(m)) % 2).astype(bool)
    energies = []
    for draws in uniforms:
        for parity in (odd, ~odd):
            near = (
                np.roll(spins, 1, 0) + np.roll(spins, -1, 0)
                + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            )  # fmt: skip
            flip = parity & (draws < np.exp(-2.0 * beta * spins * near))
            spins[flip] *= -1
        energies.append(-(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1))).sum())
    return np.array(energies), spins.mean()
