"""Data analysis, statistics and bioinformatics, as they are written with NumPy."""

import numpy as np


def needleman_wunsch(a, b, match, mismatch, gap):
    """The score of a global alignment."""
    n, m = len(a), len(b)
    F = np.zeros((n + 1, m + 1), dtype=int)
    F[:, 0] = gap * np.arange(n + 1)
    F[0, :] = gap * np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = match if a[i - 1] == b[j - 1] else mismatch
            F[i, j] = max(F[i - 1, j - 1] + s, F[i - 1, j] + gap, F[i, j - 1] + gap)
    return F[n, m], F


def smith_waterman(a, b, match=3, mismatch=-3, gap=-2):
    """A local alignment's score and its length, traced back."""
    H = np.zeros((len(a) + 1, len(b) + 1))
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            diag = H[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
            H[i, j] = max(0, diag, H[i - 1, j] + gap, H[i, j - 1] + gap)
    i, j = np.unravel_index(H.argmax(), H.shape)
    length = 0
    while H[i, j] > 0:
        if H[i, j] == H[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch):
            i, j = i - 1, j - 1
        elif H[i, j] == H[i - 1, j] + gap:
            i -= 1
        else:
            j -= 1
        length += 1
    return H.max(), length


def bootstrap_interval(x, indices, level=0.95):
    """A confidence interval of the mean from given resamples."""
    means = np.array([x[idx].mean() for idx in indices])
    tail = (1 - level) / 2 * 100
    return np.percentile(means, [tail, 100 - tail])


def bootstrap_seeded(x, n_boot, seed):
    """The same, drawing its resamples."""
    rng = np.random.default_rng(seed)
    stats = np.empty(n_boot)
    for i in range(n_boot):
        stats[i] = np.median(rng.choice(x, size=len(x), replace=True))
    return stats.std()


def permutation_test(x, y, orders):
    """How often a permuted difference of means is as large."""
    pooled = np.concatenate([x, y])
    observed = abs(x.mean() - y.mean())
    count = 0
    for order in orders:
        shuffled = pooled[order]
        if abs(shuffled[: len(x)].mean() - shuffled[len(x) :].mean()) >= observed:
            count += 1
    return (count + 1) / (len(orders) + 1)


def linear_regression(X, y):
    """Ordinary least squares with its statistics, in a dict."""
    X1 = np.column_stack([np.ones(len(X)), X])
    beta, *_ = np.linalg.lstsq(X1, y, rcond=None)
    resid = y - X1 @ beta
    dof = len(y) - X1.shape[1]
    s2 = resid @ resid / dof
    se = np.sqrt(np.diag(s2 * np.linalg.inv(X1.T @ X1)))
    r2 = 1 - (resid**2).sum() / ((y - y.mean()) ** 2).sum()
    return {"beta": beta, "se": se, "t": beta / se, "r2": r2}


def group_means(keys, values):
    """Means by key, the keys found by np.unique."""
    groups, inverse = np.unique(keys, return_inverse=True)
    sums = np.bincount(inverse, weights=values)
    counts = np.bincount(inverse)
    return groups, sums / counts


def rolling_nanmean(x, w):
    """A centred window that ignores what is missing."""
    half = w // 2
    out = np.full_like(x, np.nan)
    for i in range(len(x)):
        window = x[max(0, i - half) : i + half + 1]
        good = ~np.isnan(window)
        if good.any():
            out[i] = window[good].mean()
    return out


def fill_forward(x):
    """The last value known stands where one is missing."""
    idx = np.where(~np.isnan(x), np.arange(len(x)), 0)
    np.maximum.accumulate(idx, out=idx)
    return x[idx]


def standardise(X):
    """Columns of zero mean and unit variance; constant ones stay."""
    mu = X.mean(axis=0)
    sd = X.std(axis=0)
    sd[sd == 0] = 1
    X -= mu
    X /= sd
    return mu, sd


def correlation_matrix(X):
    """Pearson's coefficients by loops over pairs of columns."""
    p = X.shape[1]
    C = np.eye(p)
    for i in range(p):
        for j in range(i):
            a = X[:, i] - X[:, i].mean()
            b = X[:, j] - X[:, j].mean()
            C[i, j] = C[j, i] = (a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum())
    return C


def kaplan_meier(times, events):
    """The survival curve at the times of events."""
    surv = 1.0
    out_t, out_s = [], []
    for t in np.unique(times[events == 1]):
        at_risk = np.sum(times >= t)
        deaths = np.sum((times == t) & (events == 1))
        surv *= 1 - deaths / at_risk
        out_t.append(t)
        out_s.append(surv)
    return np.array(out_t), np.array(out_s)


def gc_windows(seq, size, step):
    """The share of G and C (bytes) in sliding windows."""
    gc = (seq == ord("G")) | (seq == ord("C"))
    return np.array([gc[i : i + size].mean() for i in range(0, len(seq) - size + 1, step)])


def kmer_counts(seq, k):
    """Counts of all words of length k over four letters."""
    counts = np.zeros(4**k, dtype=np.int64)
    for i in range(len(seq) - k + 1):
        code = 0
        for j in range(k):
            code = code * 4 + seq[i + j]
        counts[code] += 1
    return counts


def kmer_dict(seq, k):
    """The same of a string, in a dict."""
    counts = {}
    for i in range(len(seq) - k + 1):
        word = seq[i : i + k]
        counts[word] = counts.get(word, 0) + 1
    return counts


def viterbi(obs, pi, A, B):
    """The likeliest states, in logarithms, traced back."""
    T, N = len(obs), len(pi)
    delta = np.zeros((T, N))
    psi = np.zeros((T, N), dtype=int)
    delta[0] = np.log(pi) + np.log(B[:, obs[0]])
    for t in range(1, T):
        for j in range(N):
            scores = delta[t - 1] + np.log(A[:, j])
            psi[t, j] = np.argmax(scores)
            delta[t, j] = scores[psi[t, j]] + np.log(B[j, obs[t]])
    path = [int(np.argmax(delta[-1]))]
    for t in range(T - 1, 0, -1):
        path.append(int(psi[t, path[-1]]))
    return path[::-1]


def hmm_forward(obs, pi, A, B):
    """Scaled forward probabilities and the log likelihood."""
    alpha = pi * B[:, obs[0]]
    ll = 0.0
    for o in obs[1:]:
        s = alpha.sum()
        ll += np.log(s)
        alpha = (alpha / s) @ A * B[:, o]
    return ll + np.log(alpha.sum())


def outliers(x, window, limit):
    """Indices that are far from the median of their window, in deviations."""
    flags = np.zeros(len(x), dtype=bool)
    for i in range(window, len(x) - window):
        near = x[i - window : i + window + 1]
        med = np.median(near)
        mad = np.median(np.abs(near - med))
        flags[i] = abs(x[i] - med) > limit * 1.4826 * mad
    return np.flatnonzero(flags)


def ecdf(x, points):
    """The empirical distribution, and the statistic of Kolmogorov and Smirnov."""
    s = np.sort(x)
    F = np.searchsorted(s, points, side="right") / len(s)
    n = np.arange(1, len(s) + 1)
    cdf = 1 / (1 + np.exp(-1.702 * s))
    return F, max((n / len(s) - cdf).max(), (cdf - (n - 1) / len(s)).max())


def anova(groups):
    """One-way analysis of variance of a list of samples."""
    all_values = np.concatenate(groups)
    grand = all_values.mean()
    ss_between = sum(len(g) * (g.mean() - grand) ** 2 for g in groups)
    ss_within = sum(((g - g.mean()) ** 2).sum() for g in groups)
    df1, df2 = len(groups) - 1, len(all_values) - len(groups)
    return (ss_between / df1) / (ss_within / df2)


def rank_average(x):
    """Ranks, ties at their mean."""
    order = np.argsort(x, kind="mergesort")
    ranks = np.empty(len(x))
    i = 0
    while i < len(x):
        j = i
        while j + 1 < len(x) and x[order[j + 1]] == x[order[i]]:
            j += 1
        ranks[order[i : j + 1]] = (i + j) / 2 + 1
        i = j + 1
    return ranks


def mann_whitney(x, y):
    """The U statistic by ranks."""
    r = rank_average(np.concatenate((x, y)))
    n1, n2 = len(x), len(y)
    u1 = r[:n1].sum() - n1 * (n1 + 1) / 2
    z = (u1 - n1 * n2 / 2) / np.sqrt(n1 * n2 * (n1 + n2 + 1) / 12)
    return min(u1, n1 * n2 - u1), z


def upgma(D):
    """Clusters merged by average distance; the order and heights of merging."""
    D = D.copy().astype(float)
    n = len(D)
    np.fill_diagonal(D, np.inf)
    sizes = np.ones(n)
    merges = np.zeros((n - 1, 3))
    for step in range(n - 1):
        i, j = np.unravel_index(np.argmin(D), D.shape)
        if i > j:
            i, j = j, i
        merges[step] = i, j, D[i, j]
        new = (D[i] * sizes[i] + D[j] * sizes[j]) / (sizes[i] + sizes[j])
        D[i] = new
        D[:, i] = new
        D[i, i] = np.inf
        D[j, :] = np.inf
        D[:, j] = np.inf
        sizes[i] += sizes[j]
    return merges


def page_rank(links, d=0.85, eps=1e-8):
    """Ranks by powers, dangling nodes spread."""
    n = links.shape[0]
    out = links.sum(axis=0)
    M = np.where(out > 0, links / np.where(out == 0, 1, out), 1 / n)
    rank = np.ones(n) / n
    last = np.ones(n) * np.inf
    while np.abs(rank - last).sum() > eps:
        last = rank
        rank = d * M @ last + (1 - d) / n
    return rank


def levenshtein(a, b):
    """Two rows, swapped."""
    prev = np.arange(len(b) + 1)
    for i in range(len(a)):
        cur = np.zeros(len(b) + 1, dtype=int)
        cur[0] = i + 1
        for j in range(len(b)):
            cost = int(a[i] != b[j])
            cur[j + 1] = min(prev[j + 1] + 1, cur[j] + 1, prev[j] + cost)
        prev = cur
    return prev[-1]


def metropolis(steps, uniforms, start):
    """A chain for a mixture of two normals, its samples and acceptance."""

    def log_p(x):
        return np.log(0.3 * np.exp(-0.5 * (x + 2) ** 2) + 0.7 * np.exp(-0.5 * (x - 2) ** 2))

    samples = np.empty(len(steps))
    x, accepted = start, 0
    for i in range(len(steps)):
        proposal = x + steps[i]
        if np.log(uniforms[i]) < log_p(proposal) - log_p(x):
            x = proposal
            accepted += 1
        samples[i] = x
    return samples, accepted / len(steps)


def gibbs(z, rho, n, burn):
    """Two correlated normals; the samples behind the burn-in."""
    x, y = 0.0, 0.0
    out = []
    for i in range(n):
        x = rho * y + np.sqrt(1 - rho**2) * z[i, 0]
        y = rho * x + np.sqrt(1 - rho**2) * z[i, 1]
        if i >= burn:
            out.append((x, y))
    return np.array(out)


def kernel_density(data, grid, bandwidth=None):
    """Gaussian kernels with Silverman's width."""
    if bandwidth is None:
        bandwidth = 1.06 * data.std() * len(data) ** (-1 / 5)
    density = np.zeros_like(grid)
    for xi in data:
        density += np.exp(-0.5 * ((grid - xi) / bandwidth) ** 2)
    return density / (len(data) * bandwidth * np.sqrt(2 * np.pi))


def lowess(x, y, f=0.5):
    """Locally weighted lines."""
    n = len(x)
    r = int(np.ceil(f * n))
    h = [np.sort(np.abs(x - x[i]))[r] for i in range(n)]
    w = np.clip(np.abs((x[:, None] - x[None, :]) / h), 0.0, 1.0)
    w = (1 - w**3) ** 3
    fit = np.zeros(n)
    for i in range(n):
        weights = w[:, i]
        b = np.array([np.sum(weights * y), np.sum(weights * y * x)])
        A = np.array([[np.sum(weights), np.sum(weights * x)], [np.sum(weights * x), np.sum(weights * x * x)]])
        beta = np.linalg.solve(A, b)
        fit[i] = beta[0] + beta[1] * x[i]
    return fit


def pivot_table(rows, cols, values):
    """Sums by two keys."""
    r, ri = np.unique(rows, return_inverse=True)
    c, ci = np.unique(cols, return_inverse=True)
    table = np.zeros((len(r), len(c)))
    np.add.at(table, (ri, ci), values)
    return r, c, table


def chi_square(observed):
    """The statistic of a contingency table, and its degrees of freedom."""
    total = observed.sum()
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / total
    return ((observed - expected) ** 2 / expected).sum(), (observed.shape[0] - 1) * (observed.shape[1] - 1)


def dtw(a, b, window=None):
    """Dynamic time warping, perhaps in a band."""
    n, m = len(a), len(b)
    if window is None:
        window = max(n, m)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(max(1, i - window), min(m, i + window) + 1):
            cost = abs(a[i - 1] - b[j - 1])
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


def floyd_warshall(W):
    """All shortest paths, in place."""
    n = len(W)
    for k in range(n):
        W[:] = np.minimum(W, W[:, k : k + 1] + W[k : k + 1, :])
    return W


def dijkstra(W, source):
    """Shortest paths from a node over a dense matrix."""
    n = W.shape[0]
    dist = np.full(n, np.inf)
    dist[source] = 0
    done = np.zeros(n, dtype=bool)
    for _ in range(n):
        u = np.argmin(np.where(done, np.inf, dist))
        if dist[u] == np.inf:
            break
        done[u] = True
        dist = np.minimum(dist, dist[u] + W[u])
    return dist


def hardy_weinberg(genotypes):
    """Allele frequencies and a chi square for each locus."""
    results = []
    for g in genotypes.T:
        n = len(g)
        counts = [np.sum(g == k) for k in range(3)]
        p = (2 * counts[0] + counts[1]) / (2 * n)
        expected = np.array([p**2, 2 * p * (1 - p), (1 - p) ** 2]) * n
        chi2 = np.sum((np.array(counts) - expected) ** 2 / np.maximum(expected, 1e-12))
        results.append([p, chi2])
    return np.array(results)


def histogram_mode(x, bins=10):
    """The middle of the fullest bin, and a histogram by hand."""
    counts, edges = np.histogram(x, bins=bins)
    k = counts.argmax()
    width = (x.max() - x.min()) / bins
    by_hand = np.zeros(bins, dtype=int)
    for value in x:
        by_hand[min(int((value - x.min()) / width), bins - 1)] += 1
    return 0.5 * (edges[k] + edges[k + 1]), by_hand


def running_statistics(x):
    """Welford's mean and variance, smallest and largest, one pass."""
    n, mean, m2 = 0, 0.0, 0.0
    low, high = np.inf, -np.inf
    for value in x:
        n += 1
        delta = value - mean
        mean += delta / n
        m2 += delta * (value - mean)
        low = min(low, value)
        high = max(high, value)
    return {"n": n, "mean": mean, "std": np.sqrt(m2 / (n - 1)), "range": (low, high)}


def run_lengths(x):
    """Values and lengths of runs."""
    change = np.flatnonzero(np.diff(x)) + 1
    starts = np.concatenate(([0], change))
    lengths = np.diff(np.concatenate((starts, [len(x)])))
    return x[starts], lengths


def longest_run(x, threshold):
    """The longest stretch above a threshold, by a counter."""
    best = current = 0
    for v in x:
        if v > threshold:
            current += 1
            best = max(best, current)
        else:
            current = 0
    return best


def bubble_sort(x):
    """In place, ended when nothing was swapped."""
    n = len(x)
    for i in range(n):
        swapped = False
        for j in range(n - i - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break
    return x


def binary_search(x, value):
    """Where a value is in a sorted array, or minus one."""
    lo, hi = 0, len(x) - 1
    while lo <= hi:
        mid = (lo + hi) // 2
        if x[mid] == value:
            return mid
        if x[mid] < value:
            lo = mid + 1
        else:
            hi = mid - 1
    return -1


def summary(x):
    """What a report prints, as text."""
    q1, med, q3 = np.percentile(x, [25, 50, 75])
    return f"n={len(x)} mean={x.mean():.3f} median={med:.3f} iqr={q3 - q1:.3f}"


def _letters(rng, n):
    return rng.integers(0, 4, n)


def _markov(rng, n):
    A, B = rng.random((3, 3)), rng.random((3, 4))
    return rng.integers(0, 4, n), np.array([0.5, 0.3, 0.2]), A / A.sum(1)[:, None], B / B.sum(1)[:, None]


def _gaps(rng, n):
    x = rng.standard_normal(n)
    x[rng.random(n) < 0.3] = np.nan
    x[0] = 1.0
    return x


def _graph(rng, n):
    W = np.where(rng.random((n, n)) < 0.5, rng.random((n, n)), np.inf)
    np.fill_diagonal(W, 0)
    return W


#: Of each program its arguments, from a generator and a size; a small size, and a realistic one.
CASES = {
    needleman_wunsch: (lambda rng, n: (_letters(rng, n), _letters(rng, n + 1), 1, -1, -2), 8, 200),
    smith_waterman: (lambda rng, n: (_letters(rng, n), _letters(rng, n + 1)), 8, 150),
    bootstrap_interval: (lambda rng, n: (rng.standard_normal(n), rng.integers(0, n, (2 * n, n))), 15, 500),
    bootstrap_seeded: (lambda rng, n: (rng.standard_normal(n), 30, 1), 15, 500),
    permutation_test: (
        lambda rng, n: (rng.random(n), rng.random(n + 1), np.array([rng.permutation(2 * n + 1) for _ in range(30)])),
        9, 1_000,
    ),
    linear_regression: (lambda rng, n: (rng.standard_normal((n, 3)), rng.standard_normal(n)), 20, 5_000),
    group_means: (lambda rng, n: (rng.integers(0, 5, n), rng.random(n)), 30, 20_000),
    rolling_nanmean: (lambda rng, n: (_gaps(rng, n), 5), 20, 5_000),
    fill_forward: (lambda rng, n: (_gaps(rng, n),), 20, 50_000),
    standardise: (lambda rng, n: (rng.standard_normal((n, 4)),), 12, 20_000),
    correlation_matrix: (lambda rng, n: (rng.standard_normal((n, 4)),), 12, 5_000),
    kaplan_meier: (lambda rng, n: (rng.integers(1, 9, n), rng.integers(0, 2, n)), 20, 2_000),
    gc_windows: (lambda rng, n: (rng.choice(np.frombuffer(b"ACGT", np.uint8), n), 10, 4), 60, 20_000),
    kmer_counts: (lambda rng, n: (_letters(rng, n), 3), 40, 20_000),
    kmer_dict: (lambda rng, n: ("ACGTTGCA" * n, 3), 3, 100),
    viterbi: (_markov, 10, 500),
    hmm_forward: (_markov, 10, 1_000),
    outliers: (lambda rng, n: (rng.standard_normal(n) ** 3, 3, 3.0), 30, 2_000),
    ecdf: (lambda rng, n: (rng.standard_normal(n), np.linspace(-2, 2, 9)), 30, 20_000),
    anova: (lambda rng, n: ([rng.standard_normal(n + k) for k in range(3)],), 8, 5_000),
    rank_average: (lambda rng, n: (rng.integers(0, 9, n),), 25, 5_000),
    mann_whitney: (lambda rng, n: (rng.integers(0, 9, n), rng.integers(2, 11, n + 2)), 12, 2_000),
    upgma: (lambda rng, n: ((d := rng.random((n, n))) + d.T,), 7, 60),
    page_rank: (lambda rng, n: ((rng.random((n, n)) < 0.3).astype(float),), 8, 300),
    levenshtein: (lambda rng, n: (_letters(rng, n), _letters(rng, n + 2)), 8, 150),
    metropolis: (lambda rng, n: (rng.standard_normal(n), rng.random(n), 0.0), 30, 10_000),
    gibbs: (lambda rng, n: (rng.standard_normal((n, 2)), 0.6, n, n // 4), 20, 5_000),
    kernel_density: (lambda rng, n: (rng.standard_normal(n), np.linspace(-3, 3, n)), 20, 500),
    lowess: (lambda rng, n: (np.sort(rng.random(n)), rng.random(n)), 12, 150),
    pivot_table: (lambda rng, n: (rng.integers(0, 3, n), rng.integers(0, 4, n), rng.random(n)), 30, 20_000),
    chi_square: (lambda rng, n: (rng.integers(5, 40, (n, n + 1)),), 3, 60),
    dtw: (lambda rng, n: (rng.random(n), rng.random(n + 2), 4), 9, 150),
    floyd_warshall: (lambda rng, n: (_graph(rng, n),), 7, 100),
    dijkstra: (lambda rng, n: (_graph(rng, n), 0), 8, 300),
    hardy_weinberg: (lambda rng, n: (rng.integers(0, 3, (n, 5)),), 20, 500),
    histogram_mode: (lambda rng, n: (rng.standard_normal(n),), 30, 10_000),
    running_statistics: (lambda rng, n: (rng.standard_normal(n),), 20, 20_000),
    run_lengths: (lambda rng, n: (rng.integers(0, 2, n),), 30, 20_000),
    longest_run: (lambda rng, n: (rng.random(n), 0.3), 30, 20_000),
    bubble_sort: (lambda rng, n: (rng.random(n),), 10, 150),
    binary_search: (lambda rng, n: (np.arange(0, 3 * n, 3), 3 * (n // 3)), 20, 50_000),
    summary: (lambda rng, n: (rng.standard_normal(n),), 20, 20_000),
}  # fmt: skip
