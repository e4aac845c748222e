"""Heavy rain on a piece of land: a NumPy program over an elevation model.

The program fills depressions. Rain runs off through virtual pipes between the cells (Mei, Decaudin
& Hu 2007), the water erodes and deposits soil, and slopes steeper than the angle of repose slump.
The picture before and after is a hillshade.
"""

import numpy as np

GRAVITY = 9.81
RAIN = 2.0e-5  # metres of water a second while it rains
EVAPORATION = 4.0e-6
CAPACITY = 0.25  # sediment that one cubic metre of water at 1 m/s carries on a slope of 1
DISSOLVING = 0.012
DEPOSITION = 0.010
REPOSE = np.tan(np.radians(34.0))


def gradient(z, dx, dy):
    """The slope to the east and to the south by Horn's third-order differences; edges are
    copied.
    """
    east, south = np.zeros_like(z), np.zeros_like(z)
    nw, n, ne = z[:-2, :-2], z[:-2, 1:-1], z[:-2, 2:]
    w, e = z[1:-1, :-2], z[1:-1, 2:]
    sw, s, se = z[2:, :-2], z[2:, 1:-1], z[2:, 2:]
    east[1:-1, 1:-1] = ((ne + 2 * e + se) - (nw + 2 * w + sw)) / (8 * dx)
    south[1:-1, 1:-1] = ((sw + 2 * s + se) - (nw + 2 * n + ne)) / (8 * dy)
    for g in (east, south):
        g[0], g[-1] = g[1], g[-2]
        g[:, 0], g[:, -1] = g[:, 1], g[:, -2]
    return east, south


def hillshade(z, dx, dy, azimuth=315.0, altitude=40.0, exaggeration=2.5):
    """The brightness, 0 to 255, of the land lit from the given direction."""
    east, south = gradient(z * exaggeration, dx, dy)
    sun, height = np.radians(azimuth), np.radians(altitude)
    slope = np.arctan(np.hypot(east, south))
    facing = -east * np.sin(sun) + south * np.cos(sun)
    shade = np.sin(height) * np.cos(slope) + np.cos(height) * np.cos(slope) * facing
    return (255 * np.clip(shade, 0, 1)).astype(np.uint8)


def fill_depressions(z, step=1e-3):
    """Raise every pit until it drains to the edge (Planchon & Darboux 2001)."""
    water = np.full_like(z, z.max() + 1.0)
    water[0], water[-1], water[:, 0], water[:, -1] = z[0], z[-1], z[:, 0], z[:, -1]
    land = z[1:-1, 1:-1]
    inner = water[1:-1, 1:-1]
    sweeps = 0
    while True:
        lowest = np.minimum(
            np.minimum(water[:-2, 1:-1], water[2:, 1:-1]),
            np.minimum(water[1:-1, :-2], water[1:-1, 2:]),
        )
        level = np.maximum(land, lowest + step)
        falls = level < inner
        if not falls.any():
            return water, sweeps
        inner[falls] = level[falls]
        sweeps += 1


def slump(z, dx, dy, rate=0.15):
    """Let soil slide down, in place, where the slope is above the angle of repose."""
    for lower, upper, size in (
        (z[:, :-1], z[:, 1:], dx),
        (z[:-1], z[1:], dy),
    ):
        drop = upper - lower
        excess = np.abs(drop) - REPOSE * size
        moved = np.where(excess > 0, rate * np.sign(drop) * excess, 0.0)
        lower += moved
        upper -= moved


def rain_and_erode(z, dx, dy, steps, dt=1.2):
    """Run the water; `z` is changed in place. Returns the depth and the soil in the water."""
    depth, soil = np.zeros_like(z), np.zeros_like(z)
    east, west, south, north = (np.zeros_like(z) for _ in range(4))
    area = dx * dy
    for step in range(steps):
        if step % 200 < 150:  # it rains three quarters of the time
            depth += RAIN * dt * 60
        surface = z + depth

        # the pipes: flow speeds up with the difference in height, and never runs backwards
        falls = surface[:, :-1] - surface[:, 1:]
        east[:, :-1] += dt * GRAVITY * dx * falls
        west[:, 1:] -= dt * GRAVITY * dx * falls
        falls = surface[:-1] - surface[1:]
        south[:-1] += dt * GRAVITY * dy * falls
        north[1:] -= dt * GRAVITY * dy * falls
        for pipe in (east, west, south, north):
            pipe[pipe < 0] = 0.0

        # no cell gives away more than it has
        out = east + west + south + north
        limit = np.minimum(1.0, depth * area / (out * dt + 1e-12))
        for pipe in (east, west, south, north):
            pipe *= limit
        gain = -(out * limit)
        gain[:, 1:] += east[:, :-1]
        gain[:, :-1] += west[:, 1:]
        gain[1:] += south[:-1]
        gain[:-1] += north[1:]
        before = depth.copy()
        depth += dt * gain / area
        np.maximum(depth, 0.0, out=depth)

        # how fast the water runs through the cell
        mean = np.maximum(0.5 * (before + depth), 1e-3)
        u, v = np.zeros_like(z), np.zeros_like(z)
        u[:, 1:-1] = (east[:, :-2] - west[:, 1:-1] + east[:, 1:-1] - west[:, 2:]) / 2
        v[1:-1] = (south[:-2] - north[1:-1] + south[1:-1] - north[2:]) / 2
        speed = np.clip(np.hypot(u / dy, v / dx) / mean, 0.0, 8.0)

        # it picks up soil where it can carry more, and deposits some where it carries too much
        slope = np.hypot(*gradient(z, dx, dy))
        capacity = CAPACITY * np.maximum(slope, 0.01) * speed * np.minimum(depth, 0.5)
        excess = capacity - soil
        digs = excess > 0
        change = np.where(digs, DISSOLVING, DEPOSITION) * excess * dt
        change[depth < 1e-4] = 0.0
        z -= change
        soil += change

        # the soil goes with the water
        share = np.minimum(1.0, dt * speed / np.hypot(dx, dy))
        total = np.maximum(out, 1e-9)
        moving = soil * share
        soil -= moving
        soil[:, 1:] += (moving * east / total)[:, :-1]
        soil[:, :-1] += (moving * west / total)[:, 1:]
        soil[1:] += (moving * south / total)[:-1]
        soil[:-1] += (moving * north / total)[1:]

        depth *= 1 - EVAPORATION * dt * 60
        if step % 10 == 9:
            slump(z, dx, dy)
    return depth, soil


def describe(z, dx, dy):
    """Numbers about the land: quantiles, the hypsometric curve, slope by height, aspects."""
    east, south = gradient(z, dx, dy)
    slope = np.degrees(np.arctan(np.hypot(east, south)))
    aspect = np.degrees(np.arctan2(east, -south)) % 360
    counts, edges = np.histogram(z, bins=24)
    band = np.digitize(z, edges[1:-1]).ravel()
    sloping = np.bincount(band, weights=slope.ravel(), minlength=24) / np.maximum(counts, 1)
    facing = ((aspect + 22.5) // 45).astype(int) % 8
    return {
        "height_quantiles": np.percentile(z, [0, 5, 25, 50, 75, 95, 100]),
        "hypsometric_integral": (z.mean() - z.min()) / (z.max() - z.min()),
        "hypsometric_curve": np.cumsum(counts[::-1])[::-1] / z.size,
        "mean_slope_by_height": sloping,
        "steepest": slope.max(),
        "share_by_aspect": np.bincount(facing.ravel(), minlength=8) / z.size,
    }


def analyse(elevation, dx, dy, steps):
    """Run the whole study. Returns a dict of arrays and numbers."""
    z = np.array(elevation, dtype=np.float64)
    results = {"shade_before": hillshade(z, dx, dy)}
    results.update({f"before_{k}": v for k, v in describe(z, dx, dy).items()})

    filled, sweeps = fill_depressions(z)
    pits = filled - z > 0.01
    results["sweeps"] = sweeps
    results["pit_cells"] = np.count_nonzero(pits)
    results["pit_volume"] = (filled - z)[pits].sum() * dx * dy

    start = z.copy()
    depth, soil = rain_and_erode(z, dx, dy, steps)
    change = z - start
    wettest = np.argsort(depth, axis=None)[::-1][:10]
    rows, columns = np.unravel_index(wettest, depth.shape)
    results.update(
        shade_after=hillshade(z, dx, dy),
        height=z,
        change=change,
        depth=depth,
        soil=soil,
        wettest=np.stack([rows, columns], axis=1),
        wettest_depth=depth[rows, columns],
        washed_away=-change[change < 0].sum() * dx * dy,
        dropped=change[change > 0].sum() * dx * dy,
        flooded=(depth > 0.5).mean(),
    )
    results.update({f"after_{k}": v for k, v in describe(z, dx, dy).items()})
    return results
