/* One row of an LSTM or GRU layer at one word, on its way and back, in one precision.
 *
 * Gates are computed in the place of their sums and gradients in the place of gates, in torch's order: i f g o, or r z n.
 */

#if SINGLE
static inline vec FN(choose)(FN(whole) first, vec x, vec y) {
    return (vec)((FN(whole))WHERE(first, x) | (FN(whole))WHERE(~first, y));
}
static inline vec FN(magnitude)(vec x) { return (vec)((FN(whole))x & 0x7fffffff); }

/* 1 / (1 + exp(-x)) within 3e-7 of itself. */
static inline vec FN(sigmoid)(vec x) {
    const vec e = FN(vexp)(-FN(magnitude)(x)), r = 1 / (1 + e);
    return FN(choose)((FN(whole))(x < 0), e * r, r);
}

/* tanh within 3e-7 of itself: a polynomial near 0 (Moshier's, as for exp), else by exp(-2|x|). */
static inline vec FN(vtanh)(vec x) {
    const vec y = FN(magnitude)(x), e = FN(vexp)(-2 * y), s = x * x;
    vec p = s * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    const vec far = (vec)((FN(whole))((1 - e) / (1 + e)) | ((FN(whole))x & (int32_t)0x80000000));
    return FN(choose)((FN(whole))(y < 0.625f), p * s * x + x, far);
}
#else
static inline vec FN(sigmoid)(vec x) {
    REAL t[LANES];
    STORE(t) = x;
    for (int64_t i = 0; i < LANES; i++) t[i] = 1 / (1 + exp(-t[i]));
    return LOAD(t);
}
static inline vec FN(vtanh)(vec x) {
    REAL t[LANES];
    STORE(t) = x;
    for (int64_t i = 0; i < LANES; i++) t[i] = tanh(t[i]);
    return LOAD(t);
}
#endif

/* Both functions of many numbers, for a test of their error. */
void FN(gates_of)(const REAL *x, int64_t vectors, REAL *sigmoid, REAL *tangent) {
    for (int64_t i = 0; i < vectors * LANES; i += LANES)
        STORE(sigmoid + i) = FN(sigmoid)(LOAD(x + i)), STORE(tangent + i) = FN(vtanh)(LOAD(x + i));
}

/* Gates lie side by side without padding: of a gate's last vector only the lanes of `keep` are its own. */
#define PUT(p, keep, x) (STORE(p) = (vec)((FN(whole))WHERE(keep, x) | (FN(whole))WHERE(~(keep), LOAD(p))))

static inline FN(whole) FN(own)(int64_t left) {
    FN(whole) keep;
    for (int64_t i = 0; i < LANES; i++) keep[i] = i < left ? -1 : 0;
    return keep;
}

/* One row of an LSTM: sums become gates, and state and cell move on. */
static inline void FN(lstm)(int64_t n, REAL *z, const REAL *before, REAL *c, REAL *tc, REAL *h) {
    for (int64_t j = 0; j < n; j += LANES) {
        const FN(whole) keep = FN(own)(n - j);
        const vec i = FN(sigmoid)(LOAD(z + j)), f = FN(sigmoid)(LOAD(z + n + j)), g = FN(vtanh)(LOAD(z + 2 * n + j));
        const vec o = FN(sigmoid)(LOAD(z + 3 * n + j)), now = WHERE(keep, f * LOAD(before + j) + i * g), t = FN(vtanh)(now);
        PUT(z + j, keep, i), PUT(z + n + j, keep, f), PUT(z + 2 * n + j, keep, g), PUT(z + 3 * n + j, keep, o);
        STORE(c + j) = now, STORE(tc + j) = t, STORE(h + j) = WHERE(keep, o * t);
    }
}

/* Back: gates become gradients by their sums; `dh` is that by the state, `dc` by the cell, now and then before. */
static inline void FN(lstm_back)(int64_t n, REAL *z, const REAL *before, const REAL *tc, const REAL *dh, REAL *dc) {
    for (int64_t j = 0; j < n; j += LANES) {
        const FN(whole) keep = FN(own)(n - j);
        const vec i = LOAD(z + j), f = LOAD(z + n + j), g = LOAD(z + 2 * n + j), o = LOAD(z + 3 * n + j);
        const vec d = LOAD(dh + j), t = LOAD(tc + j), e = LOAD(dc + j) + d * o * (1 - t * t);
        PUT(z + j, keep, e * g * i * (1 - i)), PUT(z + n + j, keep, e * LOAD(before + j) * f * (1 - f));
        PUT(z + 2 * n + j, keep, e * i * (1 - g * g)), PUT(z + 3 * n + j, keep, d * t * o * (1 - o));
        STORE(dc + j) = WHERE(keep, e * f);
    }
}

/* One row of a GRU; `u` is the share of the state before. */
static inline void FN(gru)(int64_t n, REAL *z, const REAL *u, const REAL *before, REAL *h) {
    for (int64_t j = 0; j < n; j += LANES) {
        const FN(whole) keep = FN(own)(n - j);
        const vec r = FN(sigmoid)(LOAD(z + j) + LOAD(u + j)), s = FN(sigmoid)(LOAD(z + n + j) + LOAD(u + n + j));
        const vec t = FN(vtanh)(LOAD(z + 2 * n + j) + r * LOAD(u + 2 * n + j)), b = LOAD(before + j);
        PUT(z + j, keep, r), PUT(z + n + j, keep, s), PUT(z + 2 * n + j, keep, t);
        STORE(h + j) = WHERE(keep, t + s * (b - t));
    }
}

/* Back: gates become gradients by the inputs' share, `u` by the state's; `dc` is what goes to the state before past them. */
static inline void FN(gru_back)(int64_t n, REAL *z, REAL *u, const REAL *before, const REAL *dh, REAL *dc) {
    for (int64_t j = 0; j < n; j += LANES) {
        const FN(whole) keep = FN(own)(n - j);
        const vec r = LOAD(z + j), s = LOAD(z + n + j), t = LOAD(z + 2 * n + j), d = LOAD(dh + j);
        const vec e = d * (1 - s) * (1 - t * t), dr = e * LOAD(u + 2 * n + j) * r * (1 - r);
        const vec ds = d * (LOAD(before + j) - t) * s * (1 - s);
        PUT(z + j, keep, dr), PUT(z + n + j, keep, ds), PUT(z + 2 * n + j, keep, e);
        PUT(u + j, keep, dr), PUT(u + n + j, keep, ds), PUT(u + 2 * n + j, keep, e * r);
        STORE(dc + j) = WHERE(keep, d * s);
    }
}
#undef PUT

/* One output is the log-odds of class 1. Odds become gradients by them; returns the summed loss of the rows. */
static double FN(odds)(int64_t rows, int64_t wide, REAL *z, const int64_t *label, const int64_t *index) {
    double loss = 0;
    for (int64_t r = 0; r < rows; r++) {
        const double s = (double)z[r * wide], y = (double)label[index[r]];
        loss += (s > 0 ? s : 0) - s * y + log1p(exp(-fabs(s)));
        z[r * wide] = (REAL)((1 / (1 + exp(-s)) - y) / (double)rows);
    }
    return loss;
}

/* The log-probabilities of both classes. */
static void FN(log_odds)(REAL odds, REAL *out) {
    const double s = (double)odds, rest = log1p(exp(-fabs(s)));
    out[0] = (REAL)((s > 0 ? -s : 0) - rest), out[1] = (REAL)((s > 0 ? 0 : s) - rest);
}
