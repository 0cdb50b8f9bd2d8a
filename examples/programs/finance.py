"""Finance, as it is written with NumPy: option pricing, risk, backtests, curves."""

import math

import numpy as np


def monte_carlo_call(z, s0, k, r, sigma, t):
    """A price and its standard error from given normals."""
    st = s0 * np.exp((r - 0.5 * sigma**2) * t + sigma * np.sqrt(t) * z)
    payoff = np.exp(-r * t) * np.maximum(st - k, 0)
    return payoff.mean(), payoff.std(ddof=1) / np.sqrt(len(payoff))


def monte_carlo_seeded(n, s0, k, r, sigma, t, seed):
    """The same, drawing its normals."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    st = s0 * np.exp((r - 0.5 * sigma**2) * t + sigma * np.sqrt(t) * z)
    return np.exp(-r * t) * np.maximum(st - k, 0).mean()


def american_binomial(S, K, r, sigma, T, N):
    """An American put on Cox, Ross and Rubinstein's tree."""
    dt = T / N
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    disc = np.exp(-r * dt)
    prices = S * d ** np.arange(N, -1, -1) * u ** np.arange(0, N + 1)
    values = np.maximum(K - prices, 0)
    for i in range(N - 1, -1, -1):
        values = disc * (p * values[1 : i + 2] + (1 - p) * values[0 : i + 1])
        prices = S * d ** np.arange(i, -1, -1) * u ** np.arange(0, i + 1)
        values = np.maximum(values, K - prices)
    return values[0]


def binomial_lattice(S, K, r, sigma, T, N):
    """The same on a two-dimensional lattice, by loops."""
    dt = T / N
    u = math.exp(sigma * math.sqrt(dt))
    d = 1.0 / u
    q = (math.exp(r * dt) - d) / (u - d)
    V = np.zeros((N + 1, N + 1))
    for j in range(N + 1):
        V[N, j] = max(K - S * u**j * d ** (N - j), 0)
    for i in range(N - 1, -1, -1):
        for j in range(i + 1):
            hold = math.exp(-r * dt) * (q * V[i + 1, j + 1] + (1 - q) * V[i + 1, j])
            V[i, j] = max(hold, K - S * u**j * d ** (i - j))
    return V[0, 0]


def norm_cdf(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


def black_scholes(S, K, T, r, sigma, option="call"):
    """One price and its Greeks, by the math module."""
    d1 = (math.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * math.sqrt(T))
    d2 = d1 - sigma * math.sqrt(T)
    if option == "call":
        price = S * norm_cdf(d1) - K * math.exp(-r * T) * norm_cdf(d2)
        delta = norm_cdf(d1)
    else:
        price = K * math.exp(-r * T) * norm_cdf(-d2) - S * norm_cdf(-d1)
        delta = norm_cdf(d1) - 1
    gamma = math.exp(-(d1**2) / 2) / math.sqrt(2 * math.pi) / (S * sigma * math.sqrt(T))
    return {"price": price, "delta": delta, "gamma": gamma}


def implied_volatility(price, S, K, T, r):
    """Newton's method on a European call."""
    sigma = 0.2
    for _ in range(100):
        d1 = (np.log(S / K) + (r + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
        d2 = d1 - sigma * np.sqrt(T)
        value = S * norm_cdf(d1) - K * np.exp(-r * T) * norm_cdf(d2)
        vega = S * np.sqrt(T) * np.exp(-0.5 * d1**2) / np.sqrt(2 * np.pi)
        diff = value - price
        if abs(diff) < 1e-8:
            return sigma
        sigma -= diff / vega
    return float("nan")


def markowitz(returns, target):
    """Weights of least variance for a mean, by Lagrange's multipliers."""
    mu = returns.mean(axis=0)
    cov = np.cov(returns, rowvar=False)
    n = len(mu)
    A = np.zeros((n + 2, n + 2))
    A[:n, :n] = 2 * cov
    A[:n, n] = A[n, :n] = mu
    A[:n, n + 1] = A[n + 1, :n] = 1
    b = np.zeros(n + 2)
    b[n:] = target, 1
    w = np.linalg.solve(A, b)[:n]
    return w, np.sqrt(w @ cov @ w)


def ewma_volatility(returns, lam=0.94):
    """RiskMetrics' volatility, recursively."""
    var = np.zeros(len(returns))
    var[0] = returns[0] ** 2
    for t in range(1, len(returns)):
        var[t] = lam * var[t - 1] + (1 - lam) * returns[t - 1] ** 2
    return np.sqrt(var)


def garch_likelihood(params, r):
    """The negative log likelihood of GARCH(1, 1)."""
    omega, alpha, beta = params
    if alpha + beta >= 1:
        return np.inf
    T = len(r)
    sigma2 = np.empty(T)
    sigma2[0] = np.var(r)
    for t in range(1, T):
        sigma2[t] = omega + alpha * r[t - 1] ** 2 + beta * sigma2[t - 1]
    return 0.5 * np.sum(np.log(2 * np.pi) + np.log(sigma2) + r**2 / sigma2)


def max_drawdown(prices):
    """The largest fall, and where it begins and ends."""
    peak = np.maximum.accumulate(prices)
    drawdown = (prices - peak) / peak
    end = np.argmin(drawdown)
    start = np.argmax(prices[: end + 1])
    return drawdown.min(), start, end


def moving_average(x, n):
    c = np.cumsum(np.insert(x, 0, 0))
    return (c[n:] - c[:-n]) / n


def crossover_backtest(prices, fast, slow):
    """Long where the fast average is above the slow one."""
    f = moving_average(prices, fast)[slow - fast :]
    s = moving_average(prices, slow)
    signal = np.where(f > s, 1, 0)
    returns = np.diff(prices[slow - 1 :]) / prices[slow - 1 : -1]
    strategy = signal[:-1] * returns
    equity = np.cumprod(1 + strategy)
    sharpe = np.sqrt(252) * strategy.mean() / strategy.std()
    return equity, sharpe


def backtest_loop(prices, fast, slow, cash):
    """Trades one at a time, noted in a list."""
    position = 0
    trades = []
    for i in range(slow, len(prices)):
        f = prices[i - fast : i].mean()
        s = prices[i - slow : i].mean()
        if f > s and position == 0:
            position = cash // prices[i]
            cash -= position * prices[i]
            trades.append((i, prices[i]))
        elif f < s and position > 0:
            cash += position * prices[i]
            position = 0
    return cash + position * prices[-1], len(trades)


def rsi(prices, n=14):
    """Wilder's relative strength index."""
    deltas = np.diff(prices)
    seed = deltas[: n + 1]
    up = seed[seed >= 0].sum() / n
    down = -seed[seed < 0].sum() / n
    rs = up / down
    out = np.zeros_like(prices)
    out[:n] = 100.0 - 100.0 / (1.0 + rs)
    for i in range(n, len(prices)):
        delta = deltas[i - 1]
        if delta > 0:
            upval = delta
            downval = 0.0
        else:
            upval = 0.0
            downval = -delta
        up = (up * (n - 1) + upval) / n
        down = (down * (n - 1) + downval) / n
        rs = up / down
        out[i] = 100.0 - 100.0 / (1.0 + rs)
    return out


def bollinger(prices, n, k):
    """Rolling mean and bands, NaN where there is no window yet."""
    mid = np.full(len(prices), np.nan)
    band = np.full(len(prices), np.nan)
    for i in range(n - 1, len(prices)):
        window = prices[i - n + 1 : i + 1]
        mid[i] = window.mean()
        band[i] = k * window.std()
    return mid - band, mid, mid + band


def value_at_risk(returns, level=0.95):
    """Historical value at risk and expected shortfall."""
    var = np.percentile(returns, 100 * (1 - level))
    cvar = returns[returns <= var].mean()
    return -var, -cvar


def longstaff_schwartz(paths, K, r, dt):
    """An American put by regression on paths."""
    discount = np.exp(-r * dt)
    cash = np.maximum(K - paths[:, -1], 0)
    for t in range(paths.shape[1] - 2, 0, -1):
        cash *= discount
        itm = paths[:, t] < K
        if itm.sum() > 3:
            coeffs = np.polyfit(paths[itm, t], cash[itm], 2)
            continuation = np.polyval(coeffs, paths[itm, t])
            exercise = K - paths[itm, t]
            cash[itm] = np.where(exercise > continuation, exercise, cash[itm])
    return discount * cash.mean()


def bond_yield(price, coupon, periods, face=100.0):
    """The yield by bisection."""
    times = np.arange(1, periods + 1)
    flows = np.full(periods, coupon)
    flows[-1] += face
    lo, hi = -0.5, 1.0
    while hi - lo > 1e-10:
        mid = (lo + hi) / 2
        if (flows / (1 + mid) ** times).sum() > price:
            lo = mid
        else:
            hi = mid
    return mid


def bootstrap_curve(par_rates):
    """Discount factors of annual par swaps."""
    df = np.zeros(len(par_rates))
    for i, rate in enumerate(par_rates):
        df[i] = (1 - rate * df[:i].sum()) / (1 + rate)
    zero = -np.log(df) / np.arange(1, len(df) + 1)
    return df, zero


def heston_paths(z1, z2, s0, v0, kappa, theta, xi, rho, r, dt):
    """Euler's scheme with full truncation."""
    steps, n = z1.shape
    s = np.full(n, s0)
    v = np.full(n, v0)
    for t in range(steps):
        zv = rho * z1[t] + np.sqrt(1 - rho**2) * z2[t]
        vp = np.maximum(v, 0)
        s = s * np.exp((r - 0.5 * vp) * dt + np.sqrt(vp * dt) * z1[t])
        v += kappa * (theta - vp) * dt + xi * np.sqrt(vp * dt) * zv
    return s, v


def asian_option(z, s0, k, r, sigma, t):
    """An arithmetic average price, and a control variate."""
    n, steps = z.shape
    dt = t / steps
    paths = np.empty((n, steps + 1))
    paths[:, 0] = s0
    for i in range(1, steps + 1):
        paths[:, i] = paths[:, i - 1] * np.exp((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z[:, i - 1])
    arith = np.exp(-r * t) * np.maximum(paths[:, 1:].mean(axis=1) - k, 0)
    geo = np.exp(-r * t) * np.maximum(np.exp(np.log(paths[:, 1:]).mean(axis=1)) - k, 0)
    beta = np.cov(arith, geo)[0, 1] / np.var(geo, ddof=1)
    return np.mean(arith - beta * (geo - geo.mean()))


def fill_order(quantity, book_prices, book_sizes):
    """A market order walks the book, which loses what it takes."""
    cost = 0.0
    left = quantity
    for i in range(len(book_prices)):
        take = min(left, book_sizes[i])
        cost += take * book_prices[i]
        book_sizes[i] -= take
        left -= take
        if left == 0:
            break
    return cost / (quantity - left), left


def thomas(a, b, c, d):
    n = len(d)
    cp, dp = np.zeros(n), np.zeros(n)
    cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def crank_nicolson(K, r, sigma, T, smax, M, N):
    """A European put on a grid, a tridiagonal solve a step."""
    dt = T / N
    S = np.linspace(0, smax, M + 1)
    V = np.maximum(K - S, 0)
    j = np.arange(1, M)
    alpha = 0.25 * dt * (sigma**2 * j**2 - r * j)
    beta = -0.5 * dt * (sigma**2 * j**2 + r)
    gamma = 0.25 * dt * (sigma**2 * j**2 + r * j)
    for n in range(N):
        rhs = alpha * V[:-2] + (1 + beta) * V[1:-1] + gamma * V[2:]
        bound = K * np.exp(-r * (n + 1) * dt)
        rhs[0] += alpha[0] * bound
        V[1:-1] = thomas(-alpha, 1 - beta, -gamma, rhs)
        V[0] = bound
    return S, V


def pairs_zscore(x, y, entry):
    """A spread's z score and the positions that follow from it."""
    beta = np.polyfit(x, y, 1)[0]
    spread = y - beta * x
    z = (spread - spread.mean()) / spread.std()
    position = np.zeros(len(z), dtype=int)
    for t in range(1, len(z)):
        if z[t] > entry:
            position[t] = -1
        elif z[t] < -entry:
            position[t] = 1
        elif abs(z[t]) < 0.5:
            position[t] = 0
        else:
            position[t] = position[t - 1]
    return z, position


def amortisation(principal, rate, months):
    """A table of a loan's payments, a row each month."""
    payment = principal * rate / (1 - (1 + rate) ** -months)
    rows = []
    balance = principal
    for m in range(1, months + 1):
        interest = balance * rate
        balance -= payment - interest
        rows.append([m, interest, payment - interest, balance])
    return np.array(rows)


def irr(cashflows):
    """The internal rate of return by Newton's method."""
    rate = 0.1
    t = np.arange(len(cashflows))
    for _ in range(50):
        f = np.sum(cashflows / (1 + rate) ** t)
        df = np.sum(-t * cashflows / (1 + rate) ** (t + 1))
        new = rate - f / df
        if abs(new - rate) < 1e-9:
            break
        rate = new
    return rate


def correlated_var(weights, cov, z):
    """Value at risk of a portfolio with correlated normals."""
    L = np.linalg.cholesky(cov)
    returns = z @ L.T
    pnl = returns @ weights
    return np.sort(pnl)[int(0.05 * len(pnl))]


def vwap(price, volume, bucket):
    """Volume-weighted prices in buckets of ticks."""
    n = len(price) // bucket * bucket
    p = price[:n].reshape(-1, bucket)
    v = volume[:n].reshape(-1, bucket)
    return (p * v).sum(axis=1) / v.sum(axis=1)


def _prices(rng, n):
    return 100 * np.exp(np.cumsum(0.02 * rng.standard_normal(n)))


def _covariance(rng, n):
    a = rng.standard_normal((n, n))
    return a @ a.T / n + 0.1 * np.eye(n)


#: Of each program its arguments, from a generator and a size; a small size, and a realistic one.
CASES = {
    monte_carlo_call: (lambda rng, n: (rng.standard_normal(n), 100.0, 105.0, 0.03, 0.2, 1.0), 50, 200_000),
    monte_carlo_seeded: (lambda rng, n: (n, 100.0, 105.0, 0.03, 0.2, 1.0, 1), 50, 200_000),
    american_binomial: (lambda rng, n: (100.0, 105.0, 0.03, 0.2, 1.0, n), 12, 300),
    binomial_lattice: (lambda rng, n: (100.0, 105.0, 0.03, 0.2, 1.0, n), 9, 100),
    black_scholes: (lambda rng, n: (100.0, 105.0, 1.0, 0.03, 0.2, "put"), 1, 1),
    implied_volatility: (lambda rng, n: (8.0, 100.0, 105.0, 1.0, 0.03), 1, 1),
    markowitz: (lambda rng, n: (0.01 * rng.standard_normal((n, 4)), 0.001), 30, 2_000),
    ewma_volatility: (lambda rng, n: (0.01 * rng.standard_normal(n),), 20, 5_000),
    garch_likelihood: (lambda rng, n: (np.array([1e-6, 0.1, 0.8]), 0.01 * rng.standard_normal(n)), 20, 5_000),
    max_drawdown: (lambda rng, n: (_prices(rng, n),), 30, 50_000),
    crossover_backtest: (lambda rng, n: (_prices(rng, n), 3, 8), 40, 20_000),
    backtest_loop: (lambda rng, n: (_prices(rng, n), 3, 8, 10_000.0), 40, 5_000),
    rsi: (lambda rng, n: (_prices(rng, n),), 40, 10_000),
    bollinger: (lambda rng, n: (_prices(rng, n), 5, 2.0), 20, 5_000),
    value_at_risk: (lambda rng, n: (0.01 * rng.standard_normal(n),), 60, 50_000),
    longstaff_schwartz: (
        lambda rng, n: (100 * np.exp(np.cumsum(0.1 * rng.standard_normal((n, 8)), axis=1)), 100.0, 0.03, 0.1),
        40, 10_000,
    ),
    bond_yield: (lambda rng, n: (95.0, 4.0, n), 10, 60),
    bootstrap_curve: (lambda rng, n: (np.linspace(0.02, 0.03, n),), 8, 30),
    heston_paths: (
        lambda rng, n: (
            rng.standard_normal((6, n)), rng.standard_normal((6, n)), 100.0, 0.04, 1.5, 0.04, 0.3, -0.7, 0.02, 0.1,
        ), 10, 20_000,
    ),
    asian_option: (lambda rng, n: (rng.standard_normal((n, 6)), 100.0, 100.0, 0.03, 0.2, 1.0), 20, 20_000),
    fill_order: (lambda rng, n: (17, np.linspace(100, 101, n), rng.integers(1, 9, n)), 10, 1_000),
    crank_nicolson: (lambda rng, n: (100.0, 0.05, 0.2, 1.0, 300.0, n, n // 2), 16, 100),
    pairs_zscore: (lambda rng, n: ((x := _prices(rng, n)), 1.5 * x + rng.standard_normal(n), 1.0), 30, 5_000),
    amortisation: (lambda rng, n: (100_000.0, 0.004, n), 12, 360),
    irr: (lambda rng, n: (np.concatenate([[-100.0], np.full(n, 30.0)]),), 5, 50),
    correlated_var: (lambda rng, n: (np.full(3, 1 / 3), _covariance(rng, 3), rng.standard_normal((n, 3))), 60, 50_000),
    vwap: (lambda rng, n: (_prices(rng, n), rng.integers(1, 100, n), 6), 32, 50_000),
}  # fmt: skip
