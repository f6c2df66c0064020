/* Dense layers and what else every network needs, in one precision: sgd.c includes it for float and for double.
 *
 * A layer is W (out x in), its rows padded with zeros to whole vectors, and a bias. The first layer has two forms:
 *   direct  z = x W' + b, and W moves;
 *   dual    W = a W0 + A' X for the client's samples X, so z = a Z0 + G A + b with Z0 = X W0' and G = X X', and a
 *           and A move. Exact for every rule that stays in the span of the gradients: SGD, momentum, decay, proximal.
 * The gradient of a batch is summed first and added once.
 */

typedef REAL FN(vec) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#define vec FN(vec)
#define LANES ((int64_t)(VECTOR_BYTES / sizeof(REAL)))
#define LOAD(p) (*(const vec *)(p))
#define STORE(p) (*(vec *)(p))

typedef struct {
    int64_t in, out, row; /* row: `in` padded */
    int biased, rectified; /* rectified: what it is given, unless it is the first */
    REAL *w, *w0, *v;     /* weights, those received, their momentum: none of the first layer in the dual form */
    REAL *b, *b0, *vb;    /* those received and momentum only where the rule is not plain */
    REAL *act;  /* what the layer is given, batch x row (not of the first layer) */
    REAL *z;    /* outputs, then gradients by output, batch x padded out */
} FN(layer);

typedef struct {
    REAL lr, momentum, decay_w, decay_b, mu;
    int plain; /* no momentum, no decay, no proximal term */
} FN(rule);

/* What becomes of a sum; `lr` is that of a step. */
typedef struct {
    enum use what;
    REAL lr;
} FN(use);

static inline int64_t FN(padded)(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

/* The sum of the lanes, halves first. */
static inline REAL FN(sum)(vec x) {
#if defined(__AVX512F__) && SINGLE
    return _mm512_reduce_add_ps((__m512)x);
#elif defined(__AVX__) && SINGLE
    const __m128 q = _mm_add_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
    const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(d, _mm_shuffle_ps(d, d, 1)));
#else
    REAL t[LANES];
    STORE(t) = x;
    for (int64_t half = LANES / 2; half; half /= 2)
        for (int64_t i = 0; i < half; i++) t[i] += t[i + half];
    return t[0];
#endif
}

#if SINGLE
typedef int32_t FN(whole) __attribute__((vector_size(VECTOR_BYTES)));
#else
typedef int64_t FN(whole) __attribute__((vector_size(VECTOR_BYTES)));
#endif
#define WHERE(mask, x) ((vec)((FN(whole))(x) & (FN(whole))(mask))) /* x where the mask is set, else 0 */

/* The larger of two, lane by lane; of two of which one is no number, x. */
static inline vec FN(larger)(vec x, vec y) {
    const FN(whole) second = (FN(whole))(y > x);
    return (vec)((FN(whole))WHERE(second, y) | (FN(whole))WHERE(~second, x));
}

/* The largest of the lanes. */
static inline REAL FN(top)(vec x) {
#if defined(__AVX512F__) && SINGLE
    return _mm512_reduce_max_ps((__m512)x);
#else
    REAL t[LANES];
    STORE(t) = x;
    for (int64_t half = LANES / 2; half; half /= 2)
        for (int64_t i = 0; i < half; i++) t[i] = t[i + half] > t[i] ? t[i + half] : t[i];
    return t[0];
#endif
}

#if SINGLE
/* exp of numbers up to 0: 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2] (the one of Cephes, Moshier 1992). */
static inline vec FN(vexp)(vec x) {
    const vec magic = (vec){0} + 12582912.0f; /* adding and taking away 1.5 2^23 rounds to a whole number */
    const FN(whole) low = x < -87.0f; /* all bits where it holds */
    x = (vec)(((FN(whole))x & ~low) | ((FN(whole))((vec){0} - 87.0f) & low));
    const vec n = (x * 1.44269504088896341f + magic) - magic;
    const vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    const FN(whole) power = (__builtin_convertvector(n, FN(whole)) + 127) << 23;
    return (p * (r * r) + r + 1.0f) * (vec)power;
}
#else
static inline vec FN(vexp)(vec x) {
    REAL t[LANES];
    STORE(t) = x;
    for (int64_t i = 0; i < LANES; i++) t[i] = exp(t[i]);
    return LOAD(t);
}
#endif

/* R rows of coefficients times `len` rows of T, C vectors wide. Names in capitals are constants after inlining. */
static inline __attribute__((always_inline)) void FN(block)(
    const int R, const int C, const int LISTED, const REAL *const *coef, int64_t len, const REAL *t, int64_t stride,
    const REAL *const *ts, int64_t at, REAL *out, int64_t row, FN(use) use) {
    vec acc[12][4];
#pragma GCC unroll 12
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) acc[r][c] = (vec){0};
    if (use.what == ADD)
#pragma GCC unroll 12
        for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int c = 0; c < C; c++) acc[r][c] = LOAD(out + r * row + at + c * LANES);
    for (int64_t j = 0; j < len; j++) {
        const REAL *tj = LISTED ? ts[j] + at : t + j * stride + at;
        vec x[4];
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) x[c] = LOAD(tj + c * LANES);
#pragma GCC unroll 12
        for (int r = 0; r < R; r++) {
            const REAL k = coef[r][j];
#pragma GCC unroll 4
            for (int c = 0; c < C; c++) acc[r][c] += k * x[c];
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) {
            REAL *to = out + r * row + at + c * LANES;
            if (use.what == STEP) acc[r][c] = LOAD(to) - use.lr * acc[r][c];
            STORE(to) = acc[r][c];
        }
}

#define CASE(r) case r: FN(block)(r, C, L, coef, len, t, stride, ts, at, out, row, use); break;
#define CHUNK(name, width, list)                                                                                \
    static void FN(name)(int R, const REAL *const *coef, int64_t len, const REAL *t, int64_t stride,           \
                         const REAL *const *ts, int64_t at, REAL *out, int64_t row, FN(use) use) {         \
        enum { C = width, L = list };                                                                          \
        switch (R) { CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) \
            CASE(12) }                                                                                         \
    }
CHUNK(narrow, 1, 0)
CHUNK(wide, 2, 0)
CHUNK(narrow_listed, 1, 1)
CHUNK(wide_listed, 2, 1)
#undef CHUNK
#undef CASE

/* The sum over j of coef[r][j] T_j for `rows` rows r; T_j is t + j stride, or ts[j] where ts is given. */
static void FN(product)(int64_t rows, const REAL *const *coef, int64_t len, const REAL *t, int64_t stride,
                        const REAL *const *ts, REAL *out, int64_t row, FN(use) use) {
    for (int64_t at = 0; at < row;) {
        const int C = row - at >= 2 * LANES ? 2 : 1;
        const int64_t most = C == 1 ? 12 : WIDE_ROWS, parts = (rows + most - 1) / most;
        for (int64_t p = 0, r = 0; p < parts; p++) {
            const int R = (int)((rows - r + parts - p - 1) / (parts - p));
            (ts ? C == 1 ? FN(narrow_listed) : FN(wide_listed) : C == 1 ? FN(narrow) : FN(wide))(R, coef + r, len, t, stride, ts, at, out + r * row, row, use);
            r += R;
        }
        at += C * LANES;
    }
}

/* z[r][k] = x_r . w_k + b_k for R rows and K outputs. R and K are constants after inlining, and SEND: then the weights
 * of the next K outputs are sent for. */
static inline __attribute__((always_inline)) void FN(corner)(
    const int R, const int K, const int SEND, const REAL *const *x, const REAL *w, const REAL *b, int64_t row, REAL *z, int64_t wide) {
    vec acc[5][5];
#pragma GCC unroll 5
    for (int r = 0; r < R; r++)
#pragma GCC unroll 5
        for (int k = 0; k < K; k++) acc[r][k] = (vec){0};
    for (int64_t j = 0; j < row; j += LANES) {
        vec y[5];
#pragma GCC unroll 5
        for (int k = 0; k < K; k++) {
            y[k] = LOAD(w + k * row + j);
            if (SEND) __builtin_prefetch(w + (K + k) * row + j);
        }
#pragma GCC unroll 5
        for (int r = 0; r < R; r++) {
            const vec p = LOAD(x[r] + j);
#pragma GCC unroll 5
            for (int k = 0; k < K; k++) acc[r][k] += p * y[k];
        }
    }
#pragma GCC unroll 5
    for (int r = 0; r < R; r++)
#pragma GCC unroll 5
        for (int k = 0; k < K; k++) z[r * wide + k] = FN(sum)(acc[r][k]) + b[k];
}

#define CASE(r)                                                                                        \
    case r:                                                                                            \
        switch (far ? 6 : K) {                                                                         \
        case 6: FN(corner)(r, 5, 1, ARGS); break;                                                      \
        case 5: FN(corner)(r, 5, 0, ARGS); break;                                                      \
        case 4: FN(corner)(r, 4, 0, ARGS); break;                                                      \
        case 3: FN(corner)(r, 3, 0, ARGS); break;                                                      \
        case 2: FN(corner)(r, 2, 0, ARGS); break;                                                      \
        default: FN(corner)(r, 1, 0, ARGS);                                                            \
        }                                                                                              \
        break;
#define ARGS x + r, l->w + k * l->row, l->b + k, l->row, l->z + r * wide + k, wide
static void FN(dots)(int64_t rows, const REAL *const *x, const FN(layer) *l, int64_t wide) {
    for (int64_t k = 0; k < l->out;) {
        const int64_t left = l->out - k, K = left % 5 && left > 5 && left < 10 ? (left + 1) / 2 : left < 5 ? left : 5;
        const int far = l->out * l->row > MANY && left >= 10;
        for (int64_t r = 0; r < rows; r += 5)
            switch (rows - r < 5 ? rows - r : 5) { CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) }
        k += K;
    }
}
#undef CASE
#undef ARGS

/* One step of a block of n numbers: v = momentum v + g + decay w + mu (w - w0), w -= lr v. */
static inline void FN(step)(REAL *restrict w, const REAL *restrict w0, REAL *restrict v, const REAL *restrict g, int64_t n, REAL decay,
                            const FN(rule) *how) {
    if (how->plain)
        for (int64_t i = 0; i < n; i++) w[i] -= how->lr * g[i];
    else
        for (int64_t i = 0; i < n; i++) {
            v[i] = how->momentum * v[i] + (g[i] + decay * w[i] + how->mu * (w[i] - w0[i]));
            w[i] -= how->lr * v[i];
        }
}

/* Scores become gradients by score; returns the summed loss of the rows. */
static double FN(softmax)(int64_t rows, int64_t classes, int64_t wide, REAL *z, const int64_t *label,
                          const int64_t *index) {
    double loss = 0, totals = 1; /* logarithms are taken of products of a few totals */
    REAL keep[wide], low[wide], place[wide];
    for (int64_t k = 0; k < wide; k++) keep[k] = k < classes, low[k] = k < classes ? 0 : -LOWEST, place[k] = (REAL)k;
    const REAL one = 1 / (REAL)rows;
    for (int64_t r = 0; r < rows; r++) {
        REAL *s = z + r * wide;
        const int64_t y = label[index[r]];
        const REAL score = s[y];
        vec most = LOAD(s) * LOAD(keep) + LOAD(low), sum = {0};
        for (int64_t k = LANES; k < wide; k += LANES)
            most = FN(larger)(most, LOAD(s + k) * LOAD(keep + k) + LOAD(low + k));
        const REAL top = FN(top)(most);
        for (int64_t k = 0; k < wide; k += LANES) {
            const vec e = WHERE(LOAD(keep + k) > 0, FN(vexp)(LOAD(s + k) - top));
            STORE(s + k) = e;
            sum += e;
        }
        const REAL total = FN(sum)(sum), factor = one / total;
        for (int64_t k = 0; k < wide; k += LANES) /* a vector is written whole: it is read as one soon after */
            STORE(s + k) = LOAD(s + k) * factor - WHERE(LOAD(place + k) == (REAL)y, (vec){0} + one);
        loss -= (double)(score - top);
        totals *= (double)total;
        if (r % 8 == 7) loss += log(totals), totals = 1;
    }
    return loss + log(totals);
}

/* gradients by output (batch x wide) as one row per output */
static void FN(turn)(int64_t rows, int64_t out, int64_t wide, const REAL *z, REAL *turned) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < out; k++) turned[k * rows + r] = z[r * wide + k];
}

/* K rows of weights, at `coef` their gradients by output for R samples: gradients by the given rows are added to `back`, or
 * begun there, and the weights moved. Every number is what `product` and `step` make of it. */
static inline __attribute__((always_inline)) void FN(pass_rows)(const int R, int64_t K, const REAL *coef, const REAL *const *given,
                                                               REAL *back, int64_t row, REAL *w, REAL lr, int begin) {
    for (int64_t j = 0; j < row; j += LANES) {
        vec x[8], sum[8];
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            x[r] = LOAD(given[r] + j);
            sum[r] = begin ? (vec){0} : LOAD(back + r * row + j);
        }
        for (int64_t k = 0; k < K; k++) {
            const vec old = LOAD(w + k * row + j);
            __builtin_prefetch(w + (k + K) * row + j, 1);
            vec g = {0};
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) {
                const REAL d = coef[k * R + r];
                sum[r] += d * old;
                g += d * x[r];
            }
            STORE(w + k * row + j) = old - lr * g;
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) STORE(back + r * row + j) = sum[r];
    }
}

/* All weights in one pass: for a matrix that no cache holds and up to eight samples. */
static void FN(pass)(FN(layer) *l, int64_t rows, const REAL *const *given, REAL *back, const REAL *turned, REAL lr) {
    for (int64_t k = 0; k < l->out; k += 8) {
        const int64_t K = l->out - k < 8 ? l->out - k : 8;
#define CASE(r) case r: FN(pass_rows)(r, K, turned + k * r, given, back, l->row, l->w + k * l->row, lr, !k); break;
        switch (rows) { CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) }
#undef CASE
    }
}

/* Moves the layer by its gradient; `given` are the rows it was given. If `back` is there, gradients by those rows go into
 * it first, rows x row: a piece of the weights is read from memory once for both. */
static void FN(move)(FN(layer) *l, int64_t rows, const REAL *const *given, REAL *back, REAL *turned, const REAL **coef,
                     REAL *g, const FN(rule) *how) {
    const int64_t wide = FN(padded)(l->out);
    const REAL *above[rows];
    FN(turn)(rows, l->out, wide, l->z, turned);
    if (back && how->plain && rows <= 8 && l->out * l->row > MANY) {
        FN(pass)(l, rows, given, back, turned, how->lr);
        return;
    }
    for (int64_t k = 0; k < l->out; k++) coef[k] = turned + k * rows;
    for (int64_t piece = 0; piece < l->out; piece += 4 * WIDE_ROWS) {
        const int64_t end = l->out - piece < 4 * WIDE_ROWS ? l->out : piece + 4 * WIDE_ROWS;
        for (int64_t r = 0; r < rows; r++) above[r] = l->z + r * wide + piece;
        if (back) FN(product)(rows, above, end - piece, l->w + piece * l->row, l->row, NULL, back, l->row, (FN(use)){piece ? ADD : WRITE, 0});
        for (int64_t k = piece; k < end; k += WIDE_ROWS) {
            const int64_t size = end - k < WIDE_ROWS ? end - k : WIDE_ROWS, from = k * l->row;
            if (how->plain) {
                FN(product)(size, coef + k, rows, NULL, 0, given, l->w + from, l->row, (FN(use)){STEP, how->lr});
                continue;
            }
            FN(product)(size, coef + k, rows, NULL, 0, given, g, l->row, (FN(use)){WRITE, 0});
            FN(step)(l->w + from, l->w0 + from, l->v + from, g, size * l->row, how->decay_w, how);
        }
    }
}

static void FN(move_bias)(FN(layer) *l, int64_t rows, REAL *g, const FN(rule) *how) {
    if (!l->biased) return;
    const int64_t wide = FN(padded)(l->out);
    for (int64_t k = 0; k < wide; k += LANES) {
        vec sum = {0};
        for (int64_t r = 0; r < rows; r++) sum += LOAD(l->z + r * wide + k);
        STORE(g + k) = sum;
    }
    FN(step)(l->b, l->b0, l->vb, g, wide, how->decay_b, how); /* what pads a row of gradients is 0 */
}
