"""Physics and engineering, as they are simulated with NumPy: integrators, fields, particles, sparse algebra."""

import numpy as np


def leapfrog(x0, v0, dt, steps):
    """A harmonic oscillator, its positions in a list."""
    x, v = x0, v0
    xs = [x]
    v = v - 0.5 * dt * x
    for _ in range(steps):
        x = x + dt * v
        xs.append(x)
        v = v - dt * x
    return np.array(xs)


def mandelbrot(h, w, maxit=20, r=2):
    """The example of NumPy's quickstart."""
    x = np.linspace(-2.5, 1.5, 4 * h + 1)
    y = np.linspace(-1.5, 1.5, 3 * w + 1)
    A, B = np.meshgrid(x, y)
    C = A + B * 1j
    z = np.zeros_like(C)
    divtime = maxit + np.zeros(z.shape, dtype=int)

    for i in range(maxit):
        z = z**2 + C
        diverge = abs(z) > r  # who is diverging
        div_now = diverge & (divtime == maxit)  # who is diverging now
        divtime[div_now] = i  # note when
        z[diverge] = r  # avoid diverging too much

    return divtime


def rk45(y0, t_end, tol):
    """An adaptive Runge-Kutta-Fehlberg method on van der Pol's equation."""

    def f(t, y):
        return np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]])

    t, y, h = 0.0, y0, 0.1
    steps = 0
    while t < t_end:
        if t + h > t_end:
            h = t_end - t
        k1 = h * f(t, y)
        k2 = h * f(t + h / 4, y + k1 / 4)
        k3 = h * f(t + 3 * h / 8, y + 3 * k1 / 32 + 9 * k2 / 32)
        k4 = h * f(t + 12 * h / 13, y + (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = h * f(t + h, y + 439 * k1 / 216 - 8 * k2 + 3680 * k3 / 513 - 845 * k4 / 4104)
        k6 = h * f(t + h / 2, y - 8 * k1 / 27 + 2 * k2 - 3544 * k3 / 2565 + 1859 * k4 / 4104 - 11 * k5 / 40)
        y4 = y + 25 * k1 / 216 + 1408 * k3 / 2565 + 2197 * k4 / 4104 - k5 / 5
        y5 = y + 16 * k1 / 135 + 6656 * k3 / 12825 + 28561 * k4 / 56430 - 9 * k5 / 50 + 2 * k6 / 55
        err = np.max(np.abs(y5 - y4))
        if err <= tol:
            t += h
            y = y5
            steps += 1
        h *= min(4.0, max(0.1, 0.84 * (tol / (err + 1e-30)) ** 0.25))
    return t, y, steps


def rk45_trajectory(y0, t_end, tol):
    """The same idea, accepted steps kept in lists."""
    ts, ys = [0.0], [y0]
    t, y, h = 0.0, y0, 0.1
    while t < t_end:
        h = min(h, t_end - t)
        k1 = -y
        k2 = -(y + h * k1)
        err = np.linalg.norm(h * (k2 - k1) / 2)
        if err < tol:
            t += h
            y = y + h * (k1 + k2) / 2
            ts.append(t)
            ys.append(y)
        h *= 0.9 * np.sqrt(tol / max(err, 1e-12))
    return np.array(ts), np.array(ys)


def heat_2d(u, alpha, dt, steps):
    """The heat equation by explicit steps, boundaries fixed, in place."""
    for _ in range(steps):
        un = u.copy()
        u[1:-1, 1:-1] = un[1:-1, 1:-1] + alpha * dt * (
            un[2:, 1:-1] + un[:-2, 1:-1] + un[1:-1, 2:] + un[1:-1, :-2] - 4 * un[1:-1, 1:-1]
        )
    return u


def wave_1d(u0, c, steps):
    """The wave equation with three rotating levels."""
    u_prev = u0.copy()
    u = u0.copy()
    u_next = np.zeros_like(u0)
    for _ in range(steps):
        u_next[1:-1] = 2 * u[1:-1] - u_prev[1:-1] + c**2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u_next[0] = u_next[-1] = 0
        u_prev, u, u_next = u, u_next, u_prev
    return u


def n_body(pos, vel, mass, dt, steps):
    """Gravity between all pairs, the energies collected."""
    energies = []
    for _ in range(steps):
        diff = pos[None, :, :] - pos[:, None, :]
        r2 = (diff**2).sum(axis=-1) + 0.01
        acc = (diff * (mass[None, :] / r2**1.5)[:, :, None]).sum(axis=1)
        vel += acc * dt
        pos += vel * dt
        kinetic = 0.5 * np.sum(mass * np.sum(vel**2, axis=1))
        potential = -0.5 * np.sum(np.triu(mass[:, None] * mass[None, :] / np.sqrt(r2), 1)) * 2
        energies.append(kinetic + potential)
    return energies


def lattice_boltzmann(F, omega, steps):
    """Nine speeds, streaming by np.roll, BGK collisions."""
    cxs = np.array([0, 0, 1, 1, 1, 0, -1, -1, -1])
    cys = np.array([0, 1, 1, 0, -1, -1, -1, 0, 1])
    weights = np.array([4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36])
    for _ in range(steps):
        for i, cx, cy in zip(range(9), cxs, cys):
            F[:, :, i] = np.roll(F[:, :, i], cx, axis=1)
            F[:, :, i] = np.roll(F[:, :, i], cy, axis=0)
        rho = np.sum(F, 2)
        ux = np.sum(F * cxs, 2) / rho
        uy = np.sum(F * cys, 2) / rho
        Feq = np.zeros(F.shape)
        for i, cx, cy, w in zip(range(9), cxs, cys, weights):
            cu = cx * ux + cy * uy
            Feq[:, :, i] = rho * w * (1 + 3 * cu + 9 * cu**2 / 2 - 3 * (ux**2 + uy**2) / 2)
        F += -omega * (F - Feq)
    return rho, ux, uy


def ising(spins, places, draws, beta):
    """Metropolis' rule on a torus, places and draws given."""
    n = spins.shape[0]
    accepted = 0
    for (i, j), u in zip(places, draws):
        s = spins[i, j]
        nb = spins[(i + 1) % n, j] + spins[i, (j + 1) % n] + spins[(i - 1) % n, j] + spins[i, (j - 1) % n]
        dE = 2 * s * nb
        if dE <= 0 or u < np.exp(-beta * dE):
            spins[i, j] = -s
            accepted += 1
    return accepted, spins.sum()


def life(grid, generations):
    """Conway's game on a torus."""
    for _ in range(generations):
        n = sum(np.roll(np.roll(grid, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i != 0 or j != 0))
        grid = ((n == 3) | ((grid == 1) & (n == 2))).astype(grid.dtype)
    return grid


def lennard_jones(pos, box, cutoff):
    """Forces and energy in a periodic box, by pairs."""
    n = len(pos)
    forces = np.zeros_like(pos)
    energy = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            d = pos[i] - pos[j]
            d -= box * np.round(d / box)
            r2 = np.dot(d, d)
            if r2 < cutoff**2:
                inv6 = 1.0 / r2**3
                energy += 4 * (inv6**2 - inv6)
                f = 24 * (2 * inv6**2 - inv6) / r2 * d
                forces[i] += f
                forces[j] -= f
    return energy, forces


def csr_product(data, indices, indptr, x):
    """A sparse matrix times a vector, a row at a time."""
    y = np.zeros(len(indptr) - 1)
    for i in range(len(y)):
        start, end = indptr[i], indptr[i + 1]
        y[i] = np.dot(data[start:end], x[indices[start:end]])
    return y


def csr_product_loops(data, indices, indptr, x):
    """The same, an entry at a time."""
    n = len(indptr) - 1
    y = np.zeros(n, dtype=data.dtype)
    for i in range(n):
        acc = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            acc += data[k] * x[indices[k]]
        y[i] = acc
    return y


def conjugate_gradient(A, b, x=None, tol=1e-8):
    """Hestenes' and Stiefel's method, at most as many steps as unknowns."""
    if x is None:
        x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for i in range(len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        rs_new = r @ r
        if np.sqrt(rs_new) < tol:
            break
        p = r + (rs_new / rs) * p
        rs = rs_new
    return x, i + 1


def sieve(n):
    """Primes below n."""
    is_prime = np.ones(n, dtype=bool)
    is_prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if is_prime[i]:
            is_prime[i * i :: i] = False
    return np.nonzero(is_prime)[0]


def poisson_sor(f, h, omega, tol):
    """Successive over-relaxation, element by element, until it stays."""
    n, m = f.shape
    u = np.zeros((n, m))
    for it in range(200):
        change = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - h**2 * f[i, j])
                delta = omega * (new - u[i, j])
                u[i, j] += delta
                change = max(change, abs(delta))
        if change < tol:
            break
    return u, it


def burgers(u, nu, dx, dt, steps):
    """Upwind differences; periodic."""
    for n in range(steps):
        un = u.copy()
        for i in range(1, len(u) - 1):
            u[i] = un[i] - un[i] * dt / dx * (un[i] - un[i - 1]) + nu * dt / dx**2 * (un[i + 1] - 2 * un[i] + un[i - 1])
        u[0] = un[0] - un[0] * dt / dx * (un[0] - un[-2]) + nu * dt / dx**2 * (un[1] - 2 * un[0] + un[-2])
        u[-1] = u[0]
    return u


def fdtd_1d(n, steps):
    """Maxwell in one dimension, a Gaussian source, snapshots every few steps."""
    ez = np.zeros(n)
    hy = np.zeros(n - 1)
    snapshots = []
    for t in range(steps):
        hy += 0.5 * np.diff(ez)
        ez[1:-1] += 0.5 * np.diff(hy)
        ez[n // 2] += np.exp(-0.5 * ((t - 20) / 6.0) ** 2)
        if t % 5 == 0:
            snapshots.append(ez.copy())
    return np.array(snapshots)


def double_pendulum(state, dt, steps, g=9.81):
    """Two rods by RK4, all states in one array."""

    def deriv(s):
        t1, w1, t2, w2 = s
        d = t1 - t2
        den = 3 - np.cos(2 * d)
        a1 = (-3 * g * np.sin(t1) - g * np.sin(t1 - 2 * t2) - 2 * np.sin(d) * (w2**2 + w1**2 * np.cos(d))) / den
        a2 = 2 * np.sin(d) * (2 * w1**2 + 2 * g * np.cos(t1) + w2**2 * np.cos(d)) / den
        return np.array([w1, a1, w2, a2])

    out = np.empty((steps + 1, 4))
    out[0] = state
    for i in range(steps):
        k1 = deriv(out[i])
        k2 = deriv(out[i] + dt / 2 * k1)
        k3 = deriv(out[i] + dt / 2 * k2)
        k4 = deriv(out[i] + dt * k3)
        out[i + 1] = out[i] + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return out


def kalman(zs, F, H, Q, R, x, P):
    """A linear filter over measurements."""
    estimates = []
    for z in zs:
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (z - H @ x)
        P = (np.eye(len(x)) - K @ H) @ P
        estimates.append(x)
    return np.array(estimates), P


def random_walk(steps):
    """Given steps summed; distances and the first return."""
    path = np.cumsum(steps, axis=0)
    dist = np.linalg.norm(path, axis=1)
    home = np.where((path == 0).all(axis=1))[0]
    return dist, home[0] if len(home) else -1


def truss(nodes, bars, stiffness, loads, fixed):
    """A plane truss assembled bar by bar and solved."""
    n = 2 * len(nodes)
    K = np.zeros((n, n))
    for a, b in bars:
        d = nodes[b] - nodes[a]
        length = np.sqrt(d @ d)
        c, s = d / length
        k = stiffness / length * np.array([[c * c, c * s], [c * s, s * s]])
        ia, ib = slice(2 * a, 2 * a + 2), slice(2 * b, 2 * b + 2)
        K[ia, ia] += k
        K[ib, ib] += k
        K[ia, ib] -= k
        K[ib, ia] -= k
    free = np.setdiff1d(np.arange(n), fixed)
    u = np.zeros(n)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], loads[free])
    return u


def rope(pos, old, gravity, rest, steps):
    """Verlet's integration with constraints relaxed."""
    for _ in range(steps):
        new = 2 * pos - old + gravity
        new[0] = pos[0]
        for _ in range(5):
            for i in range(len(new) - 1):
                d = new[i + 1] - new[i]
                dist = np.sqrt((d**2).sum())
                shift = 0.5 * (dist - rest) / dist * d
                if i > 0:
                    new[i] += shift
                    new[i + 1] -= shift
                else:
                    new[i + 1] -= 2 * shift
        old, pos = pos, new
    return pos


def kdv(u, length, dt, steps):
    """Korteweg and de Vries, pseudospectral with an integrating factor."""
    n = len(u)
    k = 2 * np.pi / length * np.fft.fftfreq(n, 1 / n)
    u_hat = np.fft.fft(u)
    E = np.exp(1j * k**3 * dt / 2)
    for _ in range(steps):
        g = -3j * k * dt
        a = g * np.fft.fft(np.real(np.fft.ifft(u_hat)) ** 2)
        b = g * np.fft.fft(np.real(np.fft.ifft(E * (u_hat + a / 2))) ** 2)
        u_hat = E**2 * u_hat + E * b
    return np.real(np.fft.ifft(u_hat))


def lorenz(n, dt=0.01, s=10, r=28, b=2.667):
    """The example of Matplotlib's gallery."""

    def step(xyz):
        x, y, z = xyz
        return np.array([s * (y - x), r * x - y - x * z, x * y - b * z])

    xyzs = np.empty((n + 1, 3))
    xyzs[0] = (0.0, 1.0, 1.05)
    for i in range(n):
        xyzs[i + 1] = xyzs[i] + step(xyzs[i]) * dt
    return xyzs


def power_iteration(A, tol=1e-10):
    """The largest eigenvalue and its vector."""
    v = np.ones(A.shape[0])
    v /= np.linalg.norm(v)
    eigenvalue = 0.0
    while True:
        w = A @ v
        new = v @ w
        v = w / np.linalg.norm(w)
        if abs(new - eigenvalue) < tol:
            return new, v
        eigenvalue = new


def gauss_seidel(A, b, rounds):
    """Rows in turn, the newest values used at once."""
    x = np.zeros_like(b)
    for _ in range(rounds):
        for i in range(len(b)):
            x[i] = (b[i] - A[i, :i] @ x[:i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def lu_decompose(A):
    """Partial pivoting, rows swapped by fancy indices."""
    U = A.copy()
    n = len(A)
    L = np.eye(n)
    P = np.arange(n)
    for k in range(n - 1):
        p = np.argmax(np.abs(U[k:, k])) + k
        if p != k:
            U[[k, p]] = U[[p, k]]
            P[[k, p]] = P[[p, k]]
            L[[k, p], :k] = L[[p, k], :k]
        for i in range(k + 1, n):
            L[i, k] = U[i, k] / U[k, k]
            U[i, k:] -= L[i, k] * U[k, k:]
    return P, L, U


def simpson(f_values, h):
    """Composite integration by slices."""
    return h / 3 * (f_values[0] + 4 * f_values[1:-1:2].sum() + 2 * f_values[2:-1:2].sum() + f_values[-1])


def newton_system(x, tol=1e-12):
    """A circle and a hyperbola met by Newton's method, a Jacobian by differences."""

    def F(x):
        return np.array([x[0] ** 2 + x[1] ** 2 - 4, x[0] * x[1] - 1])

    for i in range(50):
        f = F(x)
        if np.linalg.norm(f) < tol:
            break
        J = np.zeros((2, 2))
        for j in range(2):
            dx = np.zeros(2)
            dx[j] = 1e-7
            J[:, j] = (F(x + dx) - f) / 1e-7
        x = x - np.linalg.solve(J, f)
    return x, i


def pid(setpoint, kp, ki, kd, dt, steps, limit=None):
    """A first-order plant under a controller, its output clipped where there is a limit."""
    y, integral, previous = 0.0, 0.0, setpoint
    out = np.zeros(steps)
    for k in range(steps):
        error = setpoint - y
        integral += error * dt
        u = kp * error + ki * integral + kd * (error - previous) / dt
        if limit is not None:
            u = max(-limit, min(limit, u))
        previous = error
        y += dt * (u - y)
        out[k] = y
    overshoot = max(0.0, out.max() - setpoint)
    return out, overshoot


def sph_density(pos, h):
    """A cubic spline over all pairs."""
    d = np.linalg.norm(pos[:, None] - pos[None], axis=-1) / h
    w = np.zeros_like(d)
    near = d <= 1
    far = (d > 1) & (d < 2)
    w[near] = 1 - 1.5 * d[near] ** 2 + 0.75 * d[near] ** 3
    w[far] = 0.25 * (2 - d[far]) ** 3
    return w.sum(axis=1) / (np.pi * h**3)


def ray_spheres(origins, directions, centres, radii):
    """The nearest sphere that each ray meets, or minus one."""
    best = np.full(len(origins), np.inf)
    hit = np.full(len(origins), -1)
    for k, (c, r) in enumerate(zip(centres, radii)):
        oc = origins - c
        b = np.sum(oc * directions, axis=1)
        disc = b**2 - (np.sum(oc**2, axis=1) - r**2)
        t = np.where(disc >= 0, -b - np.sqrt(np.maximum(disc, 0)), np.inf)
        closer = (t > 1e-6) & (t < best)
        best[closer] = t[closer]
        hit[closer] = k
    return hit, best


def traffic(road, vmax, draws):
    """Nagel and Schreckenberg's cars on a ring; -1 is an empty cell."""
    n = len(road)
    for u in draws:
        new = np.full(n, -1)
        for i in range(n):
            if road[i] >= 0:
                gap = 1
                while road[(i + gap) % n] < 0 and gap <= vmax:
                    gap += 1
                v = min(road[i] + 1, vmax, gap - 1)
                if v > 0 and u[i] < 0.3:
                    v -= 1
                new[(i + v) % n] = v
        road = new
    return road


def _csr(rng, n):
    counts = rng.integers(0, 6, n)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return rng.random(indptr[-1]), rng.integers(0, n, indptr[-1]), indptr, rng.random(n)


def _spd(rng, n):
    a = rng.standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


def _kalman(rng, n):
    F = np.array([[1.0, 0.1], [0.0, 1.0]])
    return (
        rng.standard_normal((n, 1)), F, np.array([[1.0, 0.0]]), 0.01 * np.eye(2), np.array([[0.5]]), np.zeros(2),
        np.eye(2),
    )  # fmt: skip


def _truss(rng, n):
    nodes = np.array([[float(i // 2), float(i % 2)] for i in range(n)])
    bars = [(i, j) for i in range(n) for j in range(i + 1, min(i + 4, n))]
    loads = np.zeros(2 * n)
    loads[-1] = -1.0
    return nodes, np.array(bars), 100.0, loads, np.array([0, 1, 2, 3])


def _rope(rng, n):
    pos = np.stack([np.arange(n) * 1.0, np.zeros(n)], axis=1)
    return pos, pos.copy(), np.array([0.0, -0.01]), 1.0, 4


#: Of each program its arguments, from a generator and a size; a small size, and a realistic one.
CASES = {
    leapfrog: (lambda rng, n: (1.0, 0.0, 0.1, n), 10, 10_000),
    mandelbrot: (lambda rng, n: (n, n), 5, 60),
    rk45: (lambda rng, n: (np.array([2.0, 0.0]), float(n), 1e-6), 2, 50),
    rk45_trajectory: (lambda rng, n: (np.array([1.0, 2.0]), float(n), 1e-3), 2, 10),
    heat_2d: (lambda rng, n: (rng.random((n, n)), 1.0, 0.1, 5), 8, 256),
    wave_1d: (lambda rng, n: (np.sin(np.linspace(0, np.pi, n)), 0.5, 7), 20, 100_000),
    n_body: (lambda rng, n: (rng.random((n, 3)), rng.random((n, 3)), rng.random(n), 0.01, 4), 6, 200),
    lattice_boltzmann: (lambda rng, n: (1 + 0.1 * rng.random((n, n + 1, 9)), 0.6, 3), 6, 64),
    ising: (lambda rng, n: (rng.choice([-1, 1], (8, 8)), rng.integers(0, 8, (n, 2)), rng.random(n), 0.4), 40, 10_000),
    life: (lambda rng, n: (rng.integers(0, 2, (n, n)), 4), 8, 256),
    lennard_jones: (lambda rng, n: (rng.random((n, 3)) * 4, 4.0, 1.5), 7, 60),
    csr_product: (_csr, 12, 2_000),
    csr_product_loops: (_csr, 12, 2_000),
    conjugate_gradient: (lambda rng, n: (_spd(rng, n), rng.random(n)), 8, 300),
    sieve: (lambda rng, n: (n,), 100, 200_000),
    poisson_sor: (lambda rng, n: (rng.random((n, n)), 0.1, 1.5, 1e-4), 7, 24),
    burgers: (lambda rng, n: (1 + np.sin(np.linspace(0, 2 * np.pi, n)), 0.07, 0.1, 0.01, 5), 12, 1_000),
    fdtd_1d: (lambda rng, n: (n, 30), 30, 2_000),
    double_pendulum: (lambda rng, n: (np.array([2.0, 0.0, 1.0, 0.0]), 0.01, n), 8, 200),
    kalman: (_kalman, 6, 1_000),
    random_walk: (lambda rng, n: (rng.choice([-1, 1], (n, 2)),), 20, 50_000),
    truss: (_truss, 6, 40),
    rope: (_rope, 6, 60),
    kdv: (lambda rng, n: (np.cos(np.linspace(0, 2 * np.pi, n, endpoint=False)), 2 * np.pi, 1e-4, 5), 16, 512),
    lorenz: (lambda rng, n: (n,), 10, 10_000),
    power_iteration: (lambda rng, n: (_spd(rng, n),), 6, 200),
    gauss_seidel: (lambda rng, n: (_spd(rng, n), rng.random(n), 5), 6, 100),
    lu_decompose: (lambda rng, n: (rng.standard_normal((n, n)),), 6, 80),
    simpson: (lambda rng, n: (np.sin(np.linspace(0, 1, 2 * n + 1)), 0.5 / n), 10, 50_000),
    newton_system: (lambda rng, n: (np.array([2.0, 1.0]),), 1, 1),
    pid: (lambda rng, n: (1.0, 2.0, 1.0, 0.1, 0.05, n, 1.5), 30, 10_000),
    sph_density: (lambda rng, n: (rng.random((n, 3)), 0.3), 9, 300),
    ray_spheres: (
        lambda rng, n: (np.zeros((n, 3)), (d := rng.standard_normal((n, 3))) / np.linalg.norm(d, axis=1)[:, None],
                        rng.standard_normal((4, 3)) * 3, rng.random(4) + 0.5), 12, 20_000,
    ),
    traffic: (lambda rng, n: (np.where(rng.random(n) < 0.4, 0, -1), 5, rng.random((6, n))), 20, 500),
}  # fmt: skip
