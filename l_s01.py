"""
Collisionless N-body collapse of a cold Plummer-ish sphere.

Direct summation, softened gravity, kick-drift-kick leapfrog.
Units: G = M = 1.
"""
import lazynp as np

G = 1.0


def plummer_sphere(n, a=1.0, rng=None):
    """Positions and velocities drawn from a Plummer model (Aarseth, Henon & Wielen)."""
    m = np.ones(n) / n
    x1 = rng.uniform(0.01, 0.95, n)
    r = a / np.sqrt(x1 ** (-2.0 / 3.0) - 1.0)
    costh = rng.uniform(-1, 1, n)
    phi = rng.uniform(0, 2 * np.pi, n)
    sinth = np.sqrt(1 - costh ** 2)
    pos = np.empty((n, 3))
    pos[:, 0] = r * sinth * np.cos(phi)
    pos[:, 1] = r * sinth * np.sin(phi)
    pos[:, 2] = r * costh

    # velocities by rejection
    vel = np.zeros((n, 3))
    for i in range(n):
        while True:
            q = rng.random()
            g = 0.1 * rng.random()
            if g < q * q * (1 - q * q) ** 3.5:
                break
        v = q * np.sqrt(2.0) * (1 + r[i] ** 2 / a ** 2) ** -0.25
        u = rng.normal(size=3)
        u /= np.linalg.norm(u)
        vel[i] = v * u
    return m, pos, vel


class Cluster:
    def __init__(self, m, pos, vel, eps=0.05):
        self.m = m
        self.pos = pos - np.average(pos, axis=0, weights=m)
        self.vel = vel - np.average(vel, axis=0, weights=m)
        self.eps2 = eps ** 2
        self.t = 0.0
        self.acc = self.acceleration()

    def acceleration(self):
        x = self.pos[:, 0:1]
        y = self.pos[:, 1:2]
        z = self.pos[:, 2:3]
        dx = x.T - x
        dy = y.T - y
        dz = z.T - z
        inv_r3 = dx ** 2 + dy ** 2 + dz ** 2 + self.eps2
        inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
        ax = G * (dx * inv_r3) @ self.m
        ay = G * (dy * inv_r3) @ self.m
        az = G * (dz * inv_r3) @ self.m
        return np.stack((ax, ay, az), axis=1)

    def step(self, dt):
        self.vel += 0.5 * dt * self.acc
        self.pos += dt * self.vel
        self.acc = self.acceleration()
        self.vel += 0.5 * dt * self.acc
        self.t += dt

    def energies(self):
        kin = 0.5 * np.sum(self.m * np.sum(self.vel ** 2, axis=1))
        d = self.pos[:, None, :] - self.pos[None, :, :]
        r = np.sqrt((d ** 2).sum(-1) + self.eps2)
        iu = np.triu_indices(len(self.m), 1)
        pot = -G * np.sum(self.m[iu[0]] * self.m[iu[1]] / r[iu])
        return kin, pot

    def lagrange_radii(self, fracs=(0.1, 0.25, 0.5, 0.75)):
        r = np.sqrt(np.sum(self.pos ** 2, axis=1))
        order = np.argsort(r)
        cm = np.cumsum(self.m[order])
        out = []
        for f in fracs:
            k = np.searchsorted(cm, f)
            out.append(r[order[min(k, len(r) - 1)]])
        return np.array(out)

    def angular_momentum(self):
        return np.sum(self.m[:, None] * np.cross(self.pos, self.vel), axis=0)


def main():
    rng = np.random.default_rng(42)
    n = 250
    m, pos, vel = plummer_sphere(n, rng=rng)
    vel *= 0.5                       # cold start
    sys = Cluster(m, pos, vel)

    dt = 0.01
    t_end = 3.0
    k0, u0 = sys.energies()
    l0 = sys.angular_momentum()
    n_steps = int(round(t_end / dt))
    log = []
    for istep in range(n_steps):
        sys.step(dt)
        if istep % 20 == 0:
            k, u = sys.energies()
            log.append((sys.t, k, u, -k / u, *sys.lagrange_radii()))
    log = np.array(log)

    k1, u1 = sys.energies()
    print("t = %.2f  steps = %d" % (sys.t, n_steps))
    print("E0 = %.4f  E1 = %.4f  rel err < 1e-2: %s"
          % (k0 + u0, k1 + u1, abs((k1 + u1) / (k0 + u0) - 1) < 1e-2))
    print("|dL| < 1e-8:", bool(np.linalg.norm(sys.angular_momentum() - l0) < 1e-8))
    print("min half-mass radius %.3f at t=%.2f"
          % (log[:, 6].min(), log[np.argmin(log[:, 6]), 0]))
    print("virial ratio, first and mean of last 5: %.3f %.2f"
          % (log[0, 3], log[-5:, 3].mean()))


if __name__ == "__main__":
    main()
