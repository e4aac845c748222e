# Discrete hidden Markov model: forward-backward, Baum-Welch, Viterbi, posterior decoding.
# Toy problem: CpG-island-like segmentation of a 4 letter sequence.
import lazynp as np


class HMM:
    def __init__(self, A, B, pi):
        self.A = np.array(A, dtype=float)     # transitions
        self.B = np.array(B, dtype=float)     # emissions (states x symbols)
        self.pi = np.array(pi, dtype=float)

    @property
    def n_states(self):
        return self.A.shape[0]

    def sample(self, T, rng):
        states = np.zeros(T, dtype=int)
        obs = np.zeros(T, dtype=int)
        cA = np.cumsum(self.A, axis=1)
        cB = np.cumsum(self.B, axis=1)
        s = int(np.searchsorted(np.cumsum(self.pi), rng.random()))
        for t in range(T):
            states[t] = s
            obs[t] = min(np.searchsorted(cB[s], rng.random()), self.B.shape[1] - 1)
            s = min(np.searchsorted(cA[s], rng.random()), self.n_states - 1)
        return states, obs

    def forward(self, obs):
        T = len(obs)
        alpha = np.zeros((T, self.n_states))
        scale = np.zeros(T)
        alpha[0] = self.pi * self.B[:, obs[0]]
        scale[0] = alpha[0].sum()
        alpha[0] /= scale[0]
        for t in range(1, T):
            alpha[t] = (alpha[t - 1] @ self.A) * self.B[:, obs[t]]
            scale[t] = alpha[t].sum()
            alpha[t] /= scale[t]
        return alpha, scale

    def backward(self, obs, scale):
        T = len(obs)
        beta = np.ones((T, self.n_states))
        for t in range(T - 2, -1, -1):
            beta[t] = self.A @ (self.B[:, obs[t + 1]] * beta[t + 1])
            beta[t] /= scale[t + 1]
        return beta

    def posterior(self, obs):
        alpha, scale = self.forward(obs)
        beta = self.backward(obs, scale)
        gamma = alpha * beta
        return gamma / gamma.sum(axis=1, keepdims=True)

    def viterbi(self, obs):
        T, N = len(obs), self.n_states
        logA = np.log(self.A)
        logB = np.log(self.B)
        delta = np.zeros((T, N))
        psi = np.zeros((T, N), dtype=int)
        delta[0] = np.log(self.pi) + logB[:, obs[0]]
        for t in range(1, T):
            for j in range(N):
                cand = delta[t - 1] + logA[:, j]
                k = np.argmax(cand)
                psi[t, j] = k
                delta[t, j] = cand[k] + logB[j, obs[t]]
        path = np.zeros(T, dtype=int)
        path[-1] = np.argmax(delta[-1])
        for t in range(T - 2, -1, -1):
            path[t] = psi[t + 1, path[t + 1]]
        return path, delta[-1].max()

    def baum_welch(self, seqs, n_iter=20, tol=1e-4):
        lls = []
        for it in range(n_iter):
            A_num = np.zeros_like(self.A)
            B_num = np.zeros_like(self.B)
            pi_num = np.zeros_like(self.pi)
            ll = 0.0
            for obs in seqs:
                alpha, scale = self.forward(obs)
                beta = self.backward(obs, scale)
                ll += np.log(scale).sum()
                gamma = alpha * beta
                gamma /= gamma.sum(axis=1)[:, None]
                for t in range(len(obs) - 1):
                    xi = np.outer(alpha[t], self.B[:, obs[t + 1]] * beta[t + 1]) * self.A
                    A_num += xi / xi.sum()
                for s in range(self.B.shape[1]):
                    B_num[:, s] += gamma[obs == s].sum(axis=0)
                pi_num += gamma[0]
            self.A = A_num / A_num.sum(axis=1, keepdims=True)
            self.B = B_num / B_num.sum(axis=1, keepdims=True)
            self.pi = pi_num / pi_num.sum()
            lls.append(ll)
            if it > 0 and abs(lls[-1] - lls[-2]) < tol * abs(lls[-2]):
                break
        return lls


def segments(path):
    """Run-length encode a state path."""
    change = np.flatnonzero(np.diff(path)) + 1
    starts = np.concatenate(([0], change))
    ends = np.concatenate((change, [len(path)]))
    return [(int(a), int(b), int(path[a])) for a, b in zip(starts, ends)]


def main():
    rng = np.random.default_rng(1234)
    true = HMM(A=[[0.98, 0.015, 0.005], [0.02, 0.97, 0.01], [0.02, 0.02, 0.96]],
               B=[[0.35, 0.15, 0.15, 0.35], [0.10, 0.40, 0.40, 0.10], [0.1, 0.1, 0.1, 0.7]],
               pi=[0.6, 0.3, 0.1])
    train = [true.sample(400, rng)[1] for _ in range(5)]
    model = HMM(A=[[0.90, 0.05, 0.05], [0.05, 0.90, 0.05], [0.05, 0.05, 0.90]],
                B=[[0.30, 0.20, 0.20, 0.30], [0.2, 0.3, 0.3, 0.2], [0.2, 0.2, 0.15, 0.45]],
                pi=[1 / 3, 1 / 3, 1 / 3])
    lls = model.baum_welch(train, n_iter=25)

    states, obs = true.sample(3000, rng)
    path, logp = model.viterbi(obs)
    post = model.posterior(obs)
    post_path = post.argmax(axis=1)
    ref_path, _ = true.viterbi(obs)

    print("iterations", len(lls), "ll first %.1f last %.1f" % (lls[0], lls[-1]))
    print("monotone", bool(np.all(np.diff(lls) > -1e-6)))
    print("A\n", np.round(model.A, 2))
    print("B\n", np.round(model.B, 2))
    print("viterbi acc %.3f  posterior acc %.3f  true-model viterbi acc %.3f"
          % (np.mean(path == states), np.mean(post_path == states), np.mean(ref_path == states)))
    segs = segments(path)
    lens = np.array([b - a for a, b, s in segs])
    print("segments", len(segs), "longest", lens.max(), "log p %.1f" % logp)


main()
