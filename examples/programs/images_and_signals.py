"""Signal and image processing, as it is written with NumPy: filters, transforms, dithering, segmentation."""

import numpy as np


def histogram_equalisation(image):
    """Grey levels spread so that their cumulative histogram is a line."""
    hist, _ = np.histogram(image.flatten(), 256, [0, 256])
    cdf = hist.cumsum()
    cdf_min = cdf[cdf > 0].min()
    lut = np.round((cdf - cdf_min) / (image.size - cdf_min) * 255).astype(np.uint8)
    return lut[image]


def bilinear_resize(img, scale):
    """An image of another size, each pixel between its four neighbours."""
    h, w = img.shape[:2]
    new_h, new_w = int(h * scale), int(w * scale)
    y = np.linspace(0, h - 1, new_h)
    x = np.linspace(0, w - 1, new_w)
    y0 = np.floor(y).astype(int)
    x0 = np.floor(x).astype(int)
    y1 = np.minimum(y0 + 1, h - 1)
    x1 = np.minimum(x0 + 1, w - 1)
    wy = (y - y0)[:, None, None]
    wx = (x - x0)[None, :, None]
    top = img[y0][:, x0] * (1 - wx) + img[y0][:, x1] * wx
    bottom = img[y1][:, x0] * (1 - wx) + img[y1][:, x1] * wx
    return (top * (1 - wy) + bottom * wy).astype(img.dtype)


def error_diffusion(image):
    """Floyd and Steinberg's dither to black and white."""
    img = image.astype(float)
    h, w = img.shape
    for y in range(h):
        for x in range(w):
            old = img[y, x]
            new = 255.0 if old > 127 else 0.0
            img[y, x] = new
            err = old - new
            if x + 1 < w:
                img[y, x + 1] += err * 7 / 16
            if y + 1 < h:
                if x > 0:
                    img[y + 1, x - 1] += err * 3 / 16
                img[y + 1, x] += err * 5 / 16
                if x + 1 < w:
                    img[y + 1, x + 1] += err * 1 / 16
    return img.astype(np.uint8)


def atkinson_dither(img):
    """Error diffusion in place, six eighths of the error."""
    h, w = img.shape
    for y in range(h):
        for x in range(w):
            old = img[y, x]
            new = np.round(old)
            img[y, x] = new
            e = (old - new) / 8
            for dy, dx in [(0, 1), (0, 2), (1, -1), (1, 0), (1, 1), (2, 0)]:
                if 0 <= y + dy < h and 0 <= x + dx < w:
                    img[y + dy, x + dx] += e


def ordered_dither(image):
    """Bayer's matrix of thresholds, tiled over the image."""
    bayer = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]])
    threshold = (bayer + 0.5) / 16 * 255
    h, w = image.shape
    tiled = np.tile(threshold, (h // 4 + 1, w // 4 + 1))[:h, :w]
    return np.where(image > tiled, 255, 0).astype(np.uint8)


def gaussian_kernel(sigma):
    radius = int(3 * sigma + 0.5)
    x = np.arange(-radius, radius + 1)
    k = np.exp(-(x**2) / (2 * sigma**2))
    return k / k.sum()


def gaussian_blur(image, sigma):
    """A separable blur: rows, then columns, by np.convolve."""
    k = gaussian_kernel(sigma)
    pad = len(k) // 2
    padded = np.pad(image, pad, mode="edge")
    rows = np.array([np.convolve(row, k, mode="valid") for row in padded])
    return np.array([np.convolve(col, k, mode="valid") for col in rows.T]).T


def sobel_edges(img):
    """Magnitude and direction of the gradient, by loops over the kernel."""
    kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    ky = kx.T
    h, w = img.shape
    gx = np.zeros((h - 2, w - 2))
    gy = np.zeros((h - 2, w - 2))
    for i in range(3):
        for j in range(3):
            gx += kx[i, j] * img[i : i + h - 2, j : j + w - 2]
            gy += ky[i, j] * img[i : i + h - 2, j : j + w - 2]
    mag = np.hypot(gx, gy)
    mag *= 255.0 / mag.max()
    return mag, np.arctan2(gy, gx)


def median_filter(img, size):
    """The median of each window."""
    pad = size // 2
    padded = np.pad(img, pad, mode="reflect")
    out = np.empty_like(img)
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            out[i, j] = np.median(padded[i : i + size, j : j + size])
    return out


def harris_corners(img, k=0.04):
    """Harris's response and the places where it is a hundredth of the largest."""
    dy, dx = np.gradient(img.astype(float))

    def box(a):
        p = np.pad(a, 1)
        return sum(p[i : i + a.shape[0], j : j + a.shape[1]] for i in range(3) for j in range(3))

    sxx, syy, sxy = box(dx * dx), box(dy * dy), box(dx * dy)
    r = sxx * syy - sxy**2 - k * (sxx + syy) ** 2
    ys, xs = np.where(r > 0.01 * r.max())
    return r, list(zip(ys, xs))


def otsu_threshold(image):
    """The threshold with the largest variance between classes."""
    counts = np.bincount(image.ravel(), minlength=256)
    total = image.size
    sum_all = np.dot(np.arange(256), counts)
    best, best_t = 0.0, 0
    w_b, sum_b = 0, 0.0
    for t in range(256):
        w_b += counts[t]
        if w_b == 0:
            continue
        w_f = total - w_b
        if w_f == 0:
            break
        sum_b += t * counts[t]
        m_b = sum_b / w_b
        m_f = (sum_all - sum_b) / w_f
        var = w_b * w_f * (m_b - m_f) ** 2
        if var > best:
            best, best_t = var, t
    return best_t


def flood_fill(img, y, x, colour):
    """The region around a pixel repainted, with a stack."""
    old = img[y, x]
    if old == colour:
        return 0
    stack = [(y, x)]
    n = 0
    while stack:
        i, j = stack.pop()
        if 0 <= i < img.shape[0] and 0 <= j < img.shape[1] and img[i, j] == old:
            img[i, j] = colour
            n += 1
            stack.extend([(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)])
    return n


def label_components(mask):
    """Connected components by propagating the smallest label until nothing changes."""
    labels = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
    while True:
        padded = np.pad(labels, 1)
        new = labels.copy()
        for dy, dx in ((0, 1), (2, 1), (1, 0), (1, 2)):
            neighbour = padded[dy : dy + mask.shape[0], dx : dx + mask.shape[1]]
            new = np.where(mask & (neighbour > 0), np.minimum(new, neighbour), new)
        if np.array_equal(new, labels):
            break
        labels = new
    _, dense = np.unique(labels, return_inverse=True)
    return dense.reshape(mask.shape)


def stft(x, n_fft, hop):
    """Windowed transforms, by a comprehension."""
    w = np.hanning(n_fft)
    return np.array([np.fft.rfft(w * x[i : i + n_fft]) for i in range(0, len(x) - n_fft + 1, hop)]).T


def spectrogram(x, n_fft=64, hop=32):
    """Power in decibels, frame by frame into a preallocated array."""
    window = np.hamming(n_fft)
    frames = 1 + (len(x) - n_fft) // hop
    out = np.zeros((n_fft // 2 + 1, frames))
    for t in range(frames):
        segment = x[t * hop : t * hop + n_fft] * window
        out[:, t] = np.abs(np.fft.rfft(segment)) ** 2
    return 10 * np.log10(np.maximum(out, 1e-10))


def istft(spec, hop):
    """The inverse by overlap and add."""
    n_fft = 2 * (spec.shape[0] - 1)
    w = np.hanning(n_fft)
    n = n_fft + hop * (spec.shape[1] - 1)
    x = np.zeros(n)
    norm = np.zeros(n)
    for i in range(spec.shape[1]):
        x[i * hop : i * hop + n_fft] += w * np.fft.irfft(spec[:, i])
        norm[i * hop : i * hop + n_fft] += w**2
    norm[norm < 1e-8] = 1.0
    return x / norm


def biquad(x, b, a):
    """A second-order filter, direct form I, in place."""
    x1 = x2 = y1 = y2 = 0.0
    for n in range(len(x)):
        x0 = x[n]
        y0 = (b[0] * x0 + b[1] * x1 + b[2] * x2 - a[1] * y1 - a[2] * y2) / a[0]
        x2, x1 = x1, x0
        y2, y1 = y1, y0
        x[n] = y0
    return x


def fir_filter(x, taps):
    """A causal FIR filter with a sliding state."""
    state = np.zeros(len(taps))
    y = np.zeros_like(x)
    for n, sample in enumerate(x):
        state[1:] = state[:-1]
        state[0] = sample
        y[n] = np.dot(taps, state)
    return y


def lowpass_taps(n, cutoff):
    """A windowed sinc."""
    t = np.arange(n) - (n - 1) / 2
    h = np.sinc(2 * cutoff * t) * np.blackman(n)
    return h / h.sum()


def pitch(frame, rate, low=50, high=500):
    """The fundamental by autocorrelation."""
    frame = frame - frame.mean()
    corr = np.correlate(frame, frame, mode="full")
    corr = corr[len(corr) // 2 :]
    lo, hi = int(rate / high), int(rate / low)
    lag = lo + np.argmax(corr[lo:hi])
    return rate / lag


def zero_crossing_rate(x, frame, hop):
    """Sign changes per sample, a list turned into an array."""
    rates = []
    for start in range(0, len(x) - frame + 1, hop):
        s = np.sign(x[start : start + frame])
        rates.append(np.sum(np.abs(np.diff(s))) / (2 * frame))
    return np.array(rates)


def welch(x, fs, nperseg):
    """A power spectral density, the mean of half-overlapping periodograms."""
    step = nperseg // 2
    win = np.hanning(nperseg)
    scale = 1.0 / (fs * (win * win).sum())
    psd = []
    for k in range(0, x.shape[-1] - nperseg + 1, step):
        seg = x[k : k + nperseg]
        seg = seg - np.mean(seg)
        p = np.abs(np.fft.rfft(win * seg)) ** 2 * scale
        p[1:-1] *= 2
        psd.append(p)
    return np.fft.rfftfreq(nperseg, 1 / fs), np.mean(psd, axis=0)


def envelope(x):
    """The amplitude of the analytic signal."""
    n = x.size
    spectrum = np.fft.fft(x)
    h = np.zeros(n)
    if n % 2 == 0:
        h[0] = h[n // 2] = 1
        h[1 : n // 2] = 2
    else:
        h[0] = 1
        h[1 : (n + 1) // 2] = 2
    return np.abs(np.fft.ifft(spectrum * h))


def find_peaks(x, height):
    """Local maxima above a height, a list that grows where one is found."""
    peaks = []
    for i in range(1, len(x) - 1):
        if x[i] > height and x[i] > x[i - 1] and x[i] >= x[i + 1]:
            peaks.append(i)
    return np.array(peaks)


def rgb_to_hsv(rgb):
    """Hue, saturation and value by masks."""
    rgb = rgb.astype(np.float64) / 255
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    mx = rgb.max(axis=-1)
    mn = rgb.min(axis=-1)
    d = mx - mn
    h = np.zeros_like(mx)
    m = d > 0
    i = m & (mx == r)
    h[i] = ((g - b)[i] / d[i]) % 6
    i = m & (mx == g) & (mx != r)
    h[i] = (b - r)[i] / d[i] + 2
    i = m & (mx == b) & (mx != r) & (mx != g)
    h[i] = (r - g)[i] / d[i] + 4
    s = np.where(mx > 0, d / np.where(mx > 0, mx, 1), 0)
    return np.stack([h * 60, s, mx], axis=-1)


def integral_mean(img, r):
    """Means of windows from an integral image."""
    ii = np.zeros((img.shape[0] + 1, img.shape[1] + 1))
    ii[1:, 1:] = img.cumsum(0).cumsum(1)
    k = 2 * r + 1
    return (ii[k:, k:] - ii[:-k, k:] - ii[k:, :-k] + ii[:-k, :-k]) / k**2


def erode(mask, iterations=1):
    """Binary erosion by a cross."""
    for _ in range(iterations):
        p = np.pad(mask, 1, constant_values=True)
        mask = p[1:-1, 1:-1] & p[:-2, 1:-1] & p[2:, 1:-1] & p[1:-1, :-2] & p[1:-1, 2:]
    return mask


def gamma_correct(img, gamma):
    """A table of 256 values, looked up."""
    table = np.array([((i / 255.0) ** (1.0 / gamma)) * 255 for i in np.arange(0, 256)]).astype("uint8")
    return table[img]


def non_max_suppression(mag, angle):
    """Edges thinned along their direction."""
    h, w = mag.shape
    out = np.zeros((h, w))
    deg = angle * 180.0 / np.pi
    deg[deg < 0] += 180
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            q, r = 255.0, 255.0
            if (0 <= deg[i, j] < 22.5) or (157.5 <= deg[i, j] <= 180):
                q = mag[i, j + 1]
                r = mag[i, j - 1]
            elif 22.5 <= deg[i, j] < 67.5:
                q = mag[i + 1, j - 1]
                r = mag[i - 1, j + 1]
            elif 67.5 <= deg[i, j] < 112.5:
                q = mag[i + 1, j]
                r = mag[i - 1, j]
            elif 112.5 <= deg[i, j] < 157.5:
                q = mag[i - 1, j - 1]
                r = mag[i + 1, j + 1]
            if mag[i, j] >= q and mag[i, j] >= r:
                out[i, j] = mag[i, j]
    return out


def hough_lines(edges, n_theta):
    """Votes of edge pixels for lines."""
    thetas = np.deg2rad(np.linspace(-90, 90, n_theta))
    h, w = edges.shape
    diag = int(np.ceil(np.sqrt(h * h + w * w)))
    acc = np.zeros((2 * diag, n_theta), dtype=np.uint64)
    ys, xs = np.nonzero(edges)
    for x, y in zip(xs, ys):
        rho = np.round(x * np.cos(thetas) + y * np.sin(thetas)).astype(int) + diag
        acc[rho, np.arange(n_theta)] += 1
    return acc


def carve_seam(img):
    """One vertical seam of least energy removed."""
    r, c = img.shape
    energy = np.abs(np.gradient(img, axis=0)) + np.abs(np.gradient(img, axis=1))
    cost = energy.copy()
    back = np.zeros((r, c), dtype=int)
    for i in range(1, r):
        for j in range(c):
            lo = max(j - 1, 0)
            idx = np.argmin(cost[i - 1, lo : j + 2]) + lo
            back[i, j] = idx
            cost[i, j] += cost[i - 1, idx]
    mask = np.ones((r, c), dtype=bool)
    j = np.argmin(cost[-1])
    for i in reversed(range(r)):
        mask[i, j] = False
        j = back[i, j]
    return img[mask].reshape((r, c - 1))


def rotate_nearest(img, degrees):
    """A rotation about the middle, the nearest pixel, black outside."""
    h, w = img.shape
    t = np.deg2rad(degrees)
    cy, cx = (h - 1) / 2, (w - 1) / 2
    yy, xx = np.mgrid[0:h, 0:w]
    sy = np.rint(cy + (yy - cy) * np.cos(t) - (xx - cx) * np.sin(t)).astype(int)
    sx = np.rint(cx + (yy - cy) * np.sin(t) + (xx - cx) * np.cos(t)).astype(int)
    ok = (sy >= 0) & (sy < h) & (sx >= 0) & (sx < w)
    out = np.zeros_like(img)
    out[ok] = img[sy[ok], sx[ok]]
    return out


def block_dct(img, quality):
    """Blocks of 8×8 transformed, quantised and back."""
    n = 8
    k = np.arange(n)
    d = np.cos(np.pi * (2 * k[None, :] + 1) * k[:, None] / (2 * n)) * np.sqrt(2 / n)
    d[0] /= np.sqrt(2)
    out = np.zeros(img.shape)
    for i in range(0, img.shape[0], n):
        for j in range(0, img.shape[1], n):
            block = img[i : i + n, j : j + n] - 128.0
            coef = d @ block @ d.T
            coef = np.round(coef / quality) * quality
            out[i : i + n, j : j + n] = d.T @ coef @ d + 128
    return np.clip(out, 0, 255).astype(np.uint8)


def unsharp_mask(image, amount):
    """A u8 image sharpened, without wrapping."""
    f = image.astype(np.float32)
    p = np.pad(f, 1, mode="edge")
    blur = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + 4 * f) / 8
    return np.clip(f + amount * (f - blur), 0, 255).astype(np.uint8)


def moving_rms(x, k):
    """The root mean square of the samples around each one, fewer at the ends."""
    out = np.empty(len(x))
    for i in range(len(x)):
        lo = max(0, i - k)
        hi = min(len(x), i + k + 1)
        out[i] = np.sqrt(np.mean(x[lo:hi] ** 2))
    return out


def mel_filters(n_mels, n_fft, rate):
    """Triangles on the mel scale."""

    def hz(m):
        return 700 * (10 ** (m / 2595) - 1)

    top = 2595 * np.log10(1 + rate / 2 / 700)
    points = hz(np.linspace(0, top, n_mels + 2))
    bins = np.floor((n_fft + 1) * points / rate).astype(int)
    fb = np.zeros((n_mels, n_fft // 2 + 1))
    for m in range(1, n_mels + 1):
        left, centre, right = bins[m - 1], bins[m], bins[m + 1]
        for k in range(left, centre):
            fb[m - 1, k] = (k - left) / (centre - left)
        for k in range(centre, right):
            fb[m - 1, k] = (right - k) / (right - centre)
    return fb


def goertzel(x, k):
    """One bin of a transform, sample by sample."""
    w = 2 * np.pi * k / len(x)
    coeff = 2 * np.cos(w)
    s_prev, s_prev2 = 0.0, 0.0
    for sample in x:
        s = sample + coeff * s_prev - s_prev2
        s_prev2, s_prev = s_prev, s
    return s_prev**2 + s_prev2**2 - coeff * s_prev * s_prev2


def lms(x, d, taps, mu):
    """An adaptive filter: the error signal and the weights."""
    w = np.zeros(taps)
    e = np.zeros(len(x))
    for n in range(taps, len(x)):
        u = x[n - taps : n][::-1]
        e[n] = d[n] - w @ u
        w = w + mu * e[n] * u
    return e, w


def _image(rng, n, dtype=np.uint8):
    return rng.integers(0, 256, (n, n), dtype=np.uint8).astype(dtype)


#: Of each program its arguments, from a generator and a size; a small size, and a realistic one.
CASES = {
    histogram_equalisation: (lambda rng, n: (_image(rng, n) // 2,), 12, 512),
    bilinear_resize: (lambda rng, n: (rng.integers(0, 256, (n, n + 2, 3), dtype=np.uint8), 1.5), 8, 256),
    error_diffusion: (lambda rng, n: (_image(rng, n),), 9, 128),
    atkinson_dither: (lambda rng, n: (rng.random((n, n + 1)),), 7, 96),
    ordered_dither: (lambda rng, n: (_image(rng, n),), 10, 512),
    gaussian_blur: (lambda rng, n: (rng.random((n, n)), 1.0), 12, 256),
    sobel_edges: (lambda rng, n: (rng.random((n, n)),), 9, 512),
    median_filter: (lambda rng, n: (rng.random((n, n)), 3), 8, 64),
    harris_corners: (lambda rng, n: (_image(rng, n),), 9, 256),
    otsu_threshold: (lambda rng, n: (_image(rng, n) // 3 + 10,), 12, 512),
    flood_fill: (lambda rng, n: (rng.integers(0, 2, (n, n)), 1, 2, 7), 6, 64),
    label_components: (lambda rng, n: (rng.random((n, n)) > 0.5,), 8, 64),
    stft: (lambda rng, n: (rng.standard_normal(n), 32, 16), 200, 20_000),
    spectrogram: (lambda rng, n: (rng.standard_normal(n),), 300, 40_000),
    istft: (lambda rng, n: (rng.standard_normal((17, n)) + 1j * rng.standard_normal((17, n)), 8), 6, 2_000),
    biquad: (lambda rng, n: (rng.standard_normal(n), [0.2, 0.4, 0.2], [1.0, -0.5, 0.3]), 50, 44_100),
    fir_filter: (lambda rng, n: (rng.standard_normal(n), np.hanning(9)), 30, 10_000),
    lowpass_taps: (lambda rng, n: (n, 0.2), 21, 1_001),
    pitch: (lambda rng, n: (np.sin(np.arange(n) * 2 * np.pi * 110 / 8000), 8000), 400, 2_048),
    zero_crossing_rate: (lambda rng, n: (rng.standard_normal(n), 20, 10), 100, 40_000),
    welch: (lambda rng, n: (rng.standard_normal(n), 1000.0, 32), 160, 40_000),
    envelope: (lambda rng, n: (rng.standard_normal(n),), 40, 8_192),
    find_peaks: (lambda rng, n: (rng.standard_normal(n), 0.5), 40, 20_000),
    rgb_to_hsv: (lambda rng, n: (rng.integers(0, 4, (n, n, 3), dtype=np.uint8) * 80,), 7, 256),
    integral_mean: (lambda rng, n: (_image(rng, n), 2), 11, 512),
    erode: (lambda rng, n: (rng.random((n, n)) > 0.1, 3), 12, 512),
    gamma_correct: (lambda rng, n: (_image(rng, n), 2.2), 10, 512),
    non_max_suppression: (
        lambda rng, n: (rng.random((n, n)), rng.uniform(-np.pi, np.pi, (n, n))), 8, 128,
    ),
    hough_lines: (lambda rng, n: (rng.random((n, n)) > 0.8, 9), 8, 64),
    carve_seam: (lambda rng, n: (rng.random((n, n + 1)),), 8, 96),
    rotate_nearest: (lambda rng, n: (_image(rng, n), 30), 11, 512),
    block_dct: (lambda rng, n: (_image(rng, n), 10), 16, 128),
    unsharp_mask: (lambda rng, n: (_image(rng, n), 1.5), 10, 512),
    moving_rms: (lambda rng, n: (rng.standard_normal(n), 3), 20, 10_000),
    mel_filters: (lambda rng, n: (n, 256, 8000), 6, 40),
    goertzel: (lambda rng, n: (rng.standard_normal(n), 5), 32, 20_000),
    lms: (lambda rng, n: (rng.standard_normal(n), rng.standard_normal(n), 8, 0.01), 40, 10_000),
}  # fmt: skip
