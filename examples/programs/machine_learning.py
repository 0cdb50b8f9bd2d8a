"""Machine learning, as it is written with NumPy: training loops, networks, clustering, metrics."""

import numpy as np


def k_means(X, k, iterations):
    """Lloyd's algorithm from the first points; empty clusters keep their centre."""
    centres = X[:k].copy()
    for _ in range(iterations):
        dist = np.linalg.norm(X[:, None, :] - centres[None, :, :], axis=2)
        lab = dist.argmin(axis=1)
        for j in range(k):
            if np.any(lab == j):
                centres[j] = X[lab == j].mean(axis=0)
    return centres, lab


def k_means_list(X, centroids):
    """One round, the new centres by a comprehension."""
    lab = np.argmin(((X[:, None] - centroids) ** 2).sum(-1), axis=1)
    return np.array([X[lab == k].mean(axis=0) for k in range(len(centroids))]), lab


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def train_minibatches(X, y, lr, epochs, batch_size):
    """Logistic regression by minibatches, the losses in a list."""
    w = np.zeros(X.shape[1])
    b = 0.0
    losses = []
    for _ in range(epochs):
        for i in range(0, len(X), batch_size):
            xb, yb = X[i : i + batch_size], y[i : i + batch_size]
            p = sigmoid(xb @ w + b)
            loss = -np.mean(yb * np.log(p + 1e-9) + (1 - yb) * np.log(1 - p + 1e-9))
            losses.append(loss)
            w -= lr * xb.T @ (p - yb) / len(xb)
            b -= lr * np.mean(p - yb)
    return w, b, losses


def train_mlp(X, Y, W1, b1, W2, b2, lr, steps):
    """Two layers, gradients by hand, the parameters changed in place; the history as an array."""
    history = []
    for step in range(steps):
        h = np.maximum(0, X @ W1 + b1)
        scores = h @ W2 + b2
        scores -= scores.max(axis=1, keepdims=True)
        probs = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        loss = -np.log(probs[np.arange(len(X)), Y]).mean()
        history.append(loss)
        d = probs.copy()
        d[np.arange(len(X)), Y] -= 1
        d /= len(X)
        dW2 = h.T @ d
        db2 = d.sum(axis=0)
        dh = d @ W2.T
        dh[h <= 0] = 0
        dW1 = X.T @ dh
        db1 = dh.sum(axis=0)
        for p, g in zip([W1, b1, W2, b2], [dW1, db1, dW2, db2]):
            p -= lr * g
        if step % 5 == 0:
            lr *= 0.9
    return np.array(history)


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def attention(q, k, v, mask=None):
    """Scaled dot products, perhaps with a mask."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e9)
    return softmax(scores) @ v


def multi_head_attention(x, Wq, Wk, Wv, Wo, heads):
    """Causal self attention of several heads."""
    t, d = x.shape
    dh = d // heads

    def split(m):
        return m.reshape(t, heads, dh).transpose(1, 0, 2)

    q, k, v = split(x @ Wq), split(x @ Wk), split(x @ Wv)
    att = np.einsum("hid,hjd->hij", q, k) / np.sqrt(dh)
    att = np.where(np.tril(np.ones((t, t), dtype=bool)), att, -np.inf)
    out = softmax(att) @ v
    return out.transpose(1, 0, 2).reshape(t, d) @ Wo


def lstm(x, h, c, W, U, b):
    """A sequence through an LSTM, its outputs stacked from a list."""
    n = h.shape[-1]
    outputs = []
    for t in range(x.shape[0]):
        z = x[t] @ W + h @ U + b
        i, f = sigmoid(z[:n]), sigmoid(z[n : 2 * n])
        g, o = np.tanh(z[2 * n : 3 * n]), sigmoid(z[3 * n :])
        c = f * c + i * g
        h = o * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs), (h, c)


def gru(xs, h, params):
    """A GRU, its parameters in a dict."""
    hs = np.zeros((len(xs), len(h)))
    for t, x in enumerate(xs):
        z = sigmoid(params["Wz"] @ x + params["Uz"] @ h)
        r = sigmoid(params["Wr"] @ x + params["Ur"] @ h)
        candidate = np.tanh(params["Wh"] @ x + params["Uh"] @ (r * h))
        h = (1 - z) * h + z * candidate
        hs[t] = h
    return hs


def conv2d(x, w, stride=1, padding=1):
    """A convolution, NCHW, by loops over the output."""
    n, c, h, wd = x.shape
    f, _, kh, kw = w.shape
    xp = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    oh = (h + 2 * padding - kh) // stride + 1
    ow = (wd + 2 * padding - kw) // stride + 1
    out = np.zeros((n, f, oh, ow))
    for i in range(oh):
        for j in range(ow):
            patch = xp[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw]
            out[:, :, i, j] = np.tensordot(patch, w, axes=([1, 2, 3], [1, 2, 3]))
    return out


def im2col_conv(x, w):
    """A convolution by strided windows and one product."""
    kh, kw = w.shape[2:]
    win = np.lib.stride_tricks.sliding_window_view(x, (kh, kw), axis=(2, 3))
    cols = win.transpose(0, 2, 3, 1, 4, 5).reshape(-1, w[0].size)
    out = cols @ w.reshape(w.shape[0], -1).T
    return out.reshape(x.shape[0], win.shape[2], win.shape[3], -1).transpose(0, 3, 1, 2)


def max_pool(x, size=2):
    """Non-overlapping maxima and where they are."""
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // size, size, w // size, size)
    out = blocks.max(axis=(3, 5))
    mask = blocks == out[:, :, :, None, :, None]
    return out, mask.reshape(x.shape)


def batch_norm(x, gamma, beta, running_mean, running_var, training, momentum=0.9, eps=1e-5):
    """Normalised over the batch; running statistics are changed in place."""
    if training:
        mean = x.mean(axis=0)
        var = x.var(axis=0)
        running_mean *= momentum
        running_mean += (1 - momentum) * mean
        running_var[:] = momentum * running_var + (1 - momentum) * var
    else:
        mean, var = running_mean, running_var
    return gamma * (x - mean) / np.sqrt(var + eps) + beta


def adam(params, grads, m, v, t, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8):
    """One step on dicts of arrays, in place."""
    for key in params:
        m[key] = beta1 * m[key] + (1 - beta1) * grads[key]
        v[key] = beta2 * v[key] + (1 - beta2) * grads[key] ** 2
        m_hat = m[key] / (1 - beta1**t)
        v_hat = v[key] / (1 - beta2**t)
        params[key] -= lr * m_hat / (np.sqrt(v_hat) + eps)


def momentum_descent(A, b, x, lr, beta, tol):
    """Least squares until the gradient is small; the number of steps."""
    velocity = np.zeros_like(x)
    it = 0
    grad = A.T @ (A @ x - b)
    while np.linalg.norm(grad) > tol and it < 500:
        velocity = beta * velocity - lr * grad
        x = x + velocity
        grad = A.T @ (A @ x - b)
        it += 1
    return x, it


def knn_classify(train, labels, test, k):
    """The most frequent label among the nearest."""
    d = ((test[:, None, :] - train[None, :, :]) ** 2).sum(axis=2)
    nearest = np.argsort(d, axis=1)[:, :k]
    out = np.empty(len(test), dtype=labels.dtype)
    for i in range(len(test)):
        votes = labels[nearest[i]]
        out[i] = np.bincount(votes).argmax()
    return out


def knn_unique(train, labels, test, k):
    """The same by np.unique, as textbooks have it."""
    predictions = []
    for point in test:
        distances = np.sqrt(np.sum((train - point) ** 2, axis=1))
        values, counts = np.unique(labels[np.argsort(distances)[:k]], return_counts=True)
        predictions.append(values[np.argmax(counts)])
    return np.array(predictions)


def naive_bayes(X, y, X_test):
    """Gaussian likelihoods per class, classes found by np.unique."""
    classes = np.unique(y)
    means = np.array([X[y == c].mean(axis=0) for c in classes])
    variances = np.array([X[y == c].var(axis=0) + 1e-9 for c in classes])
    priors = np.array([np.mean(y == c) for c in classes])
    ll = -0.5 * (np.log(2 * np.pi * variances[None]) + (X_test[:, None] - means) ** 2 / variances).sum(axis=2)
    return classes[np.argmax(ll + np.log(priors), axis=1)]


def pca(X, k):
    """Scores, absolute loadings and explained variance by an SVD."""
    Xc = X - X.mean(axis=0)
    U, S, Vt = np.linalg.svd(Xc, full_matrices=False)
    explained = S**2 / (len(X) - 1)
    return np.abs(U[:, :k] * S[:k]), np.abs(Vt[:k]), explained[:k] / explained.sum()


def best_split(x, y):
    """A decision stump's threshold by Gini's impurity."""

    def gini(labels):
        if len(labels) == 0:
            return 0.0
        p = np.mean(labels)
        return 2 * p * (1 - p)

    best_t, best_g = None, np.inf
    for t in np.unique(x):
        left, right = y[x <= t], y[x > t]
        g = (len(left) * gini(left) + len(right) * gini(right)) / len(y)
        if g < best_g:
            best_t, best_g = t, g
    return best_t, best_g


def perceptron(X, y, epochs):
    """Rosenblatt's rule, ended when nothing is wrong."""
    w = np.zeros(X.shape[1] + 1)
    for epoch in range(epochs):
        errors = 0
        for xi, target in zip(X, y):
            pred = 1 if np.dot(xi, w[1:]) + w[0] >= 0 else -1
            update = target - pred
            w[1:] += update * xi
            w[0] += update
            errors += int(update != 0)
        if errors == 0:
            break
    return w, epoch


def pegasos(X, y, lam, steps):
    """A linear SVM by subgradients; samples in a fixed order."""
    w = np.zeros(X.shape[1])
    for t in range(1, steps + 1):
        i = (t * 7) % len(X)
        eta = 1.0 / (lam * t)
        if y[i] * (X[i] @ w) < 1:
            w = (1 - eta * lam) * w + eta * y[i] * X[i]
        else:
            w = (1 - eta * lam) * w
    return w


def gaussian_mixture(x, mu, sigma, pi, rounds):
    """Expectation maximisation in one dimension, until the likelihood stays."""
    previous = -np.inf
    for _ in range(rounds):
        dens = pi * np.exp(-0.5 * ((x[:, None] - mu) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
        total = dens.sum(axis=1, keepdims=True)
        ll = np.log(total).sum()
        if abs(ll - previous) < 1e-6:
            break
        previous = ll
        r = dens / total
        nk = r.sum(axis=0)
        mu = (r * x[:, None]).sum(axis=0) / nk
        sigma = np.sqrt((r * (x[:, None] - mu) ** 2).sum(axis=0) / nk)
        pi = nk / len(x)
    return mu, sigma, pi, ll


class LayerNorm:
    """A layer that keeps what its backward pass needs."""

    def __init__(self, gamma, beta):
        self.gamma = gamma
        self.beta = beta

    def forward(self, x):
        self.mean = x.mean(-1, keepdims=True)
        self.inv = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        self.norm = (x - self.mean) * self.inv
        return self.gamma * self.norm + self.beta

    def backward(self, dout):
        n = dout.shape[-1]
        dn = dout * self.gamma
        dx = (n * dn - dn.sum(-1, keepdims=True) - self.norm * (dn * self.norm).sum(-1, keepdims=True)) * self.inv / n
        return dx, (dout * self.norm).sum(0), dout.sum(0)


def layer_norm_gradients(x, gamma, beta, dout):
    """Forward and backward through an object made on the way."""
    layer = LayerNorm(gamma, beta)
    y = layer.forward(x)
    return (y, *layer.backward(dout))


def skip_gram_step(W_in, W_out, centre, context, lr):
    """word2vec's full softmax, rows updated in place."""
    h = W_in[centre]
    p = softmax(W_out @ h)
    p[context] -= 1
    grad_in = W_out.T @ p
    W_out -= lr * np.outer(p, h)
    W_in[centre] -= lr * grad_in


def embedding_gradient(indices, dout, vocabulary):
    """Gradients of repeated rows added up."""
    grad = np.zeros((vocabulary, dout.shape[1]), dtype=dout.dtype)
    np.add.at(grad, indices, dout)
    return grad


def q_learning(rewards, draws, alpha, gamma):
    """A chain of states, actions left and right, epsilon-greedy by given draws."""
    n = len(rewards)
    Q = np.zeros((n, 2))
    state = n // 2
    for u in draws:
        if u < 0.1:
            action = 0 if u < 0.05 else 1
        else:
            action = np.argmax(Q[state])
        nxt = max(0, min(n - 1, state + (1 if action == 1 else -1)))
        Q[state, action] += alpha * (rewards[nxt] + gamma * Q[nxt].max() - Q[state, action])
        state = nxt
    return Q


def value_iteration(P, R, gamma, tol=1e-6):
    """Values and policy of a Markov decision process."""
    V = np.zeros(P.shape[1])
    while True:
        Q = R + gamma * np.einsum("ast,t->as", P, V)
        V_new = Q.max(axis=0)
        if np.max(np.abs(V_new - V)) < tol:
            break
        V = V_new
    return V_new, Q.argmax(axis=0)


def greedy_decode(logits, start, stop, length):
    """Tokens by bigrams, until the stop token."""
    tokens = [start]
    for _ in range(length):
        nxt = int(np.argmax(logits[tokens[-1]]))
        tokens.append(nxt)
        if nxt == stop:
            break
    return tokens


def confusion_matrix(y_true, y_pred, n):
    """Counts, and precision and recall of each class."""
    cm = np.zeros((n, n), dtype=int)
    for t, p in zip(y_true, y_pred):
        cm[t, p] += 1
    tp = np.diag(cm)
    precision = tp / np.maximum(cm.sum(axis=0), 1)
    recall = tp / np.maximum(cm.sum(axis=1), 1)
    return cm, {"precision": precision, "recall": recall, "accuracy": tp.sum() / cm.sum()}


def roc_auc(y, score):
    """The curve's area by trapezoids."""
    order = np.argsort(-score, kind="stable")
    y = y[order]
    tpr = np.cumsum(y) / y.sum()
    fpr = np.cumsum(1 - y) / (len(y) - y.sum())
    tpr = np.concatenate([[0], tpr])
    fpr = np.concatenate([[0], fpr])
    return np.trapezoid(tpr, fpr)


def kernel_ridge(X, y, X_test, gamma, lam):
    """An RBF kernel and one solve."""

    def rbf(A, B):
        sq = (A**2).sum(1)[:, None] + (B**2).sum(1)[None, :] - 2 * A @ B.T
        return np.exp(-gamma * sq)

    alpha = np.linalg.solve(rbf(X, X) + lam * np.eye(len(X)), y)
    return rbf(X_test, X) @ alpha


def positional_encoding(length, d_model):
    """Sines on even columns, cosines on odd ones."""
    pe = np.zeros((length, d_model))
    position = np.arange(length)[:, np.newaxis]
    div = np.exp(np.arange(0, d_model, 2) * -(np.log(10000.0) / d_model))
    pe[:, 0::2] = np.sin(position * div)
    pe[:, 1::2] = np.cos(position * div)
    return pe


def perplexity_rows(D, perplexity, tol=1e-5):
    """t-SNE's conditional probabilities, a bisection a row."""
    n = len(D)
    P = np.zeros((n, n))
    target = np.log(perplexity)
    for i in range(n):
        lo, hi, beta = -np.inf, np.inf, 1.0
        di = np.delete(D[i], i)
        for _ in range(50):
            p = np.exp(-di * beta)
            s = p.sum()
            H = np.log(s) + beta * (di * p).sum() / s
            diff = H - target
            if abs(diff) < tol:
                break
            if diff > 0:
                lo = beta
                beta = beta * 2 if hi == np.inf else (beta + hi) / 2
            else:
                hi = beta
                beta = beta / 2 if lo == -np.inf else (beta + lo) / 2
        P[i, np.arange(n) != i] = p / s
    return P


def one_hot(y, n=None):
    """A row of zeros and a one for each label."""
    if n is None:
        n = y.max() + 1
    return np.eye(n)[y]


def dropout(x, p, seed):
    """Elements dropped by a generator made inside."""
    rng = np.random.default_rng(seed)
    mask = rng.random(x.shape) >= p
    return x * mask / (1 - p)


def shuffled_epochs(X, y, w, epochs, seed):
    """Stochastic descent over a permutation drawn each epoch."""
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        for i in rng.permutation(len(X)):
            w = w - 0.01 * (X[i] @ w - y[i]) * X[i]
    return w


def clip_gradients(grads, max_norm):
    """A list of arrays scaled to a norm, in place."""
    total = np.sqrt(sum(np.sum(g**2) for g in grads))
    if total > max_norm:
        for g in grads:
            g *= max_norm / total
    return total


def early_stopping(losses, patience):
    """The epoch to keep, by how long nothing got better."""
    best, best_epoch, wait = float("inf"), 0, 0
    for epoch, loss in enumerate(losses):
        if loss < best:
            best, best_epoch, wait = loss, epoch, 0
        else:
            wait += 1
            if wait >= patience:
                break
    return best, best_epoch


def _lstm(rng, n):
    return (
        rng.standard_normal((n, 6)),
        np.zeros(5),
        np.zeros(5),
        *(0.3 * rng.standard_normal(s) for s in ((6, 20), (5, 20), 20)),
    )


def _gru(rng, n):
    return (
        rng.standard_normal((n, 4)),
        np.zeros(5),
        {w + g: 0.3 * rng.standard_normal((5, 4 if w == "W" else 5)) for w in "WU" for g in "zrh"},
    )


def _adam(rng, n):
    shapes = {"w": (n, n), "b": (n,)}
    made = [{k: rng.standard_normal(s) for k, s in shapes.items()} for _ in range(2)]
    return *made, *({k: np.zeros(s) for k, s in shapes.items()} for _ in range(2)), 3


def _chain(rng, n):
    P = rng.random((2, n, n))
    return P / P.sum(axis=2, keepdims=True), rng.random((2, n)), 0.9


#: Of each program its arguments, from a generator and a size; a small size, and a realistic one.
CASES = {
    k_means: (lambda rng, n: (rng.random((n, 2)), 3, 5), 20, 5_000),
    k_means_list: (lambda rng, n: (rng.random((n, 2)), np.array([[0.2, 0.2], [0.8, 0.8], [0.2, 0.8]])), 20, 20_000),
    train_minibatches: (
        lambda rng, n: (rng.standard_normal((n, 5)), rng.integers(0, 2, n).astype(float), 0.1, 3, 8), 21, 2_000,
    ),
    train_mlp: (
        lambda rng, n: (
            rng.standard_normal((n, 8)), rng.integers(0, 3, n), 0.1 * rng.standard_normal((8, 16)), np.zeros(16),
            0.1 * rng.standard_normal((16, 3)), np.zeros(3), 0.5, 12,
        ), 15, 1_000,
    ),
    attention: (
        lambda rng, n: (*(rng.standard_normal((2, n, 8)) for _ in range(3)), np.tril(np.ones((n, n), bool))), 7, 256,
    ),
    multi_head_attention: (
        lambda rng, n: (rng.standard_normal((n, 32)), *(0.1 * rng.standard_normal((32, 32)) for _ in range(4)), 4),
        6, 256,
    ),
    lstm: (_lstm, 5, 500),
    gru: (_gru, 5, 500),
    conv2d: (lambda rng, n: (rng.standard_normal((2, 3, n, n)), rng.standard_normal((4, 3, 3, 3))), 6, 32),
    im2col_conv: (lambda rng, n: (rng.standard_normal((2, 3, n, n)), rng.standard_normal((4, 3, 3, 3))), 6, 64),
    max_pool: (lambda rng, n: (rng.standard_normal((2, 3, n, n)),), 6, 64),
    batch_norm: (
        lambda rng, n: (rng.standard_normal((n, 6)), np.ones(6), np.zeros(6), np.zeros(6), np.ones(6), True), 9, 20_000,
    ),
    adam: (_adam, 5, 500),
    momentum_descent: (
        lambda rng, n: (rng.standard_normal((n, 4)), rng.standard_normal(n), np.zeros(4), 0.2 / n, 0.5, 1e-6), 12, 500,
    ),
    knn_classify: (
        lambda rng, n: (rng.random((n, 3)), rng.integers(0, 4, n), rng.random((n // 2, 3)), 3), 16, 500,
    ),
    knn_unique: (
        lambda rng, n: (rng.random((n, 3)), rng.integers(0, 4, n), rng.random((n // 2, 3)), 3), 16, 500,
    ),
    naive_bayes: (
        lambda rng, n: (rng.random((n, 3)), np.arange(n) % 3, rng.random((n // 2, 3))), 18, 5_000,
    ),
    pca: (lambda rng, n: (rng.standard_normal((n, 5)), 2), 20, 5_000),
    best_split: (lambda rng, n: (rng.integers(0, 9, n) / 4, rng.integers(0, 2, n)), 20, 2_000),
    perceptron: (
        lambda rng, n: ((x := rng.standard_normal((n, 2))), np.where(x[:, 0] + x[:, 1] > 0, 1, -1), 10), 15, 1_000,
    ),
    pegasos: (
        lambda rng, n: (rng.standard_normal((n, 3)), rng.choice([-1.0, 1.0], n), 0.1, 4 * n), 11, 2_000,
    ),
    gaussian_mixture: (
        lambda rng, n: (
            np.concatenate([rng.normal(0, 1, n), rng.normal(5, 1, n)]), np.array([1.0, 4.0]), np.ones(2),
            np.array([0.5, 0.5]), 30,
        ), 20, 2_000,
    ),
    layer_norm_gradients: (
        lambda rng, n: (rng.standard_normal((n, 8)), np.ones(8), np.zeros(8), rng.standard_normal((n, 8))), 5, 2_000,
    ),
    skip_gram_step: (
        lambda rng, n: (rng.standard_normal((n, 4)), rng.standard_normal((n, 4)), 2, 5, 0.1), 8, 2_000,
    ),
    embedding_gradient: (
        lambda rng, n: (rng.integers(0, 9, n), rng.standard_normal((n, 4)).astype(np.float32), 9), 20, 20_000,
    ),
    q_learning: (lambda rng, n: (rng.random(6), rng.random(n), 0.5, 0.9), 40, 5_000),
    value_iteration: (_chain, 5, 60),
    greedy_decode: (lambda rng, n: (rng.random((9, 9)), 0, 100, n), 8, 500),
    confusion_matrix: (lambda rng, n: (rng.integers(0, 4, n), rng.integers(0, 4, n), 4), 30, 10_000),
    roc_auc: (lambda rng, n: (np.arange(n) % 3 == 0, rng.random(n).round(2)), 25, 20_000),
    kernel_ridge: (
        lambda rng, n: (rng.random((n, 3)), rng.random(n), rng.random((n // 2, 3)), 1.0, 0.1), 12, 300,
    ),
    positional_encoding: (lambda rng, n: (n, 8), 6, 1_000),
    perplexity_rows: (lambda rng, n: ((d := rng.random((n, n))) + d.T, 3.0), 8, 100),
    one_hot: (lambda rng, n: (rng.integers(0, 5, n),), 9, 20_000),
    dropout: (lambda rng, n: (rng.random((n, n)), 0.3, 1), 6, 300),
    shuffled_epochs: (lambda rng, n: (rng.random((n, 3)), rng.random(n), np.zeros(3), 2, 1), 8, 1_000),
    clip_gradients: (lambda rng, n: ([rng.standard_normal((n, n)), rng.standard_normal(n)], 1.0), 5, 300),
    early_stopping: (lambda rng, n: (rng.random(n), n // 3), 20, 5_000),
}  # fmt: skip
