/* The same stages with samples side by side: a vector holds one pixel of one map of so many samples, whatever the widths
 * of the stage are. For batches that fill vectors, and for tests.
 *
 * Numbers lie as group of samples x map x line x pixel x sample. Outputs of a convolution are kept as they are; what
 * batch norm makes of them is formed again where it is needed. The kernel's gradient is summed over the samples last.
 */

/* O maps of P pixels; x is where their windows begin, `rows` lines high, `plane` numbers from one channel to the next. */
static inline __attribute__((always_inline)) void FN(patch)(
    const int O, const int P, const REAL *x, int64_t plane, int64_t line, int64_t channels, int64_t rows,
    int64_t k, const REAL *kernel, const REAL *b, REAL *out, int64_t out_plane) {
    vec acc[FEW_MAPS][FEW_PIXELS];
    for (int o = 0; o < O; o++)
        for (int p = 0; p < P; p++) acc[o][p] = (vec){0} + b[o];
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < k; column++) {
            const REAL *at = x + row * line + column * LANES;
            for (int64_t c = channels; c; c--, at += plane, kernel += O)
#pragma GCC unroll 6
                for (int p = 0; p < P; p++) {
                    const vec v = LOAD(at + p * LANES);
#pragma GCC unroll 4
                    for (int o = 0; o < O; o++) acc[o][p] += kernel[o] * v;
                }
        }
    for (int o = 0; o < O; o++)
        for (int p = 0; p < P; p++) STORE(out + o * out_plane + p * LANES) = acc[o][p];
}

/* The sums of O maps by P columns of a kernel's row, over all pixels of some lines of all groups. */
static inline __attribute__((always_inline)) void FN(meet)(const int O, const int P, const FN(stage) *s, int64_t groups,
                                                          FN(lines) some, const REAL *x, const REAL *z, REAL *g) {
    const int64_t line = s->wi * LANES, plane = s->hz * s->wz * LANES;
    vec acc[FEW_MAPS][FEW_PIXELS];
    for (int o = 0; o < O; o++)
        for (int p = 0; p < P; p++) acc[o][p] = (vec){0};
    for (int64_t i = 0; i < groups; i++, x += s->c * s->hi * line, z += s->o * plane)
        for (int64_t y = some.from; y < some.to; y++) {
            const REAL *from = x + y * line, *d = z + y * s->wz * LANES;
            for (int64_t left = s->ow; left; left--, from += LANES, d += LANES) {
                vec t[FEW_MAPS];
#pragma GCC unroll 4
                for (int o = 0; o < O; o++) t[o] = LOAD(d + o * plane);
#pragma GCC unroll 6
                for (int p = 0; p < P; p++) {
                    const vec v = LOAD(from + p * LANES);
#pragma GCC unroll 4
                    for (int o = 0; o < O; o++) acc[o][p] += t[o] * v;
                }
            }
        }
    for (int p = 0; p < P; p++)
        for (int o = 0; o < O; o++) g[p * s->c * s->op + o] = FN(sum)(acc[o][p]);
}

#define PIXELS(F, o, ...)                                                                                        \
    switch (P) {                                                                                                 \
        case 1: FN(F)(o, 1, __VA_ARGS__); break;                                                                 \
        case 2: FN(F)(o, 2, __VA_ARGS__); break;                                                                 \
        case 3: FN(F)(o, 3, __VA_ARGS__); break;                                                                 \
        case 4: FN(F)(o, 4, __VA_ARGS__); break;                                                                 \
        case 5: FN(F)(o, 5, __VA_ARGS__); break;                                                                 \
        MORE_PIXELS(F, o, __VA_ARGS__)                                                                           \
    }
#if FEW_MAPS == 4
#define MORE_PIXELS(F, o, ...) case 6: FN(F)(o, 6, __VA_ARGS__); break;
#define MORE_MAPS(F, ...) case 3: PIXELS(F, 3, __VA_ARGS__) break; case 4: PIXELS(F, 4, __VA_ARGS__) break;
#else
#define MORE_PIXELS(F, o, ...)
#define MORE_MAPS(F, ...)
#endif
#define MAPS(F, ...)                                                                                             \
    switch (O) {                                                                                                 \
        case 1: PIXELS(F, 1, __VA_ARGS__) break;                                                                 \
        case 2: PIXELS(F, 2, __VA_ARGS__) break;                                                                 \
        MORE_MAPS(F, __VA_ARGS__)                                                                                \
    }

/* So many of what is left are next, if nothing larger than `most` is to come and the parts are to be alike. */
static inline int64_t FN(share_of)(int64_t left, int64_t most) {
    const int64_t parts = (left + most - 1) / most;
    return (left + parts - 1) / parts;
}

/* O maps of one group: h lines of w pixels, from images with `filled` lines behind an edge. */
static void FN(sweep)(int64_t O, const REAL *x, int64_t plane, int64_t line, int64_t channels, int64_t k, int64_t edge,
                      int64_t filled, const REAL *kernel, const REAL *b, REAL *out, int64_t out_plane, int64_t h, int64_t w,
                      int64_t out_line) {
    for (int64_t y = 0; y < h; y++) {
        const FN(lines) some = FN(within)(y, k, edge, filled);
        for (int64_t at = 0, P; at < w; at += P) {
            P = FN(share_of)(w - at, FEW_PIXELS);
            const REAL *from = x + (y + some.from) * line + at * LANES, *part = kernel + some.from * k * channels * O;
            REAL *to = out + y * out_line + at * LANES;
            MAPS(patch, from, plane, line, channels, some.to - some.from, k, part, b, to, out_plane)
        }
    }
}

/* The gradient of the kernel. */
static void FN(meet_all)(const FN(stage) *s, int64_t groups, REAL *g) {
    if (s->op > s->o) memset(g, 0, s->size * sizeof(REAL)); /* what pads the maps */
    for (int64_t o = 0, O; o < s->o; o += O) {
        O = FN(share_of)(s->o - o, FEW_MAPS);
        const REAL *z = s->z + ((o * s->hz + s->q) * s->wz + s->q) * LANES;
        for (int64_t c = 0; c < s->c; c++)
            for (int64_t row = 0; row < s->k; row++) {
                const FN(lines) some = FN(within)(row, s->oh, s->p, s->h);
                for (int64_t at = 0, P; at < s->k; at += P) {
                    P = FN(share_of)(s->k - at, FEW_PIXELS);
                    const REAL *x = s->in + ((c * s->hi + row) * s->wi + at) * LANES;
                    REAL *to = g + (((row * s->k + at) * s->c + c) * s->op + o);
                    MAPS(meet, s, groups, some, x, z, to)
                }
            }
    }
}
#undef MAPS
#undef MORE_MAPS
#undef PIXELS
#undef MORE_PIXELS

/* What is laid over the vectors of a map: `live` is 1 for samples of the batch, else 0. */
static inline vec FN(live)(int64_t rows, int64_t group) {
    REAL t[LANES];
    for (int64_t i = 0; i < LANES; i++) t[i] = group * LANES + i < rows;
    return LOAD(t);
}

/* Where the outputs of a map begin, behind the border. */
static inline REAL *FN(map)(const FN(stage) *s, int64_t group, int64_t o) {
    return s->z + (((group * s->o + o) * s->hz + s->q) * s->wz + s->q) * LANES;
}

/* Mean and deviation of a map are those of the batch; running statistics move. */
static void FN(learn_map)(FN(stage) *s, int64_t rows, int64_t o) {
    const int64_t groups = (rows + LANES - 1) / LANES;
    const double count = (double)(rows * s->oh * s->ow);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < groups; i++)
        for (int64_t y = 0; y < s->oh; y++) {
            const REAL *z = FN(map)(s, i, o) + y * s->wz * LANES;
            vec part = {0};
            for (int64_t x = 0; x < s->ow; x++) part += LOAD(z + x * LANES);
            sum += (double)FN(sum)(part * FN(live)(rows, i));
        }
    const REAL mean = s->mean[o] = (REAL)(sum / count);
    for (int64_t i = 0; i < groups; i++)
        for (int64_t y = 0; y < s->oh; y++) {
            const REAL *z = FN(map)(s, i, o) + y * s->wz * LANES;
            vec part = {0};
            for (int64_t x = 0; x < s->ow; x++) {
                const vec d = LOAD(z + x * LANES) - mean;
                part += d * d;
            }
            squares += (double)FN(sum)(part * FN(live)(rows, i));
        }
    s->inverse[o] = (REAL)(1 / sqrt(squares / count + s->eps));
    s->means[o] += (REAL)(s->momentum * (sum / count - s->means[o]));
    s->variances[o] += (REAL)(s->momentum * (squares / (count - 1) - s->variances[o]));
}

/* A window of up to four outputs after batch norm, and the largest; a number that is none wins. */
typedef struct {
    vec shown[4], top;
} FN(window);

static inline __attribute__((always_inline)) FN(window) FN(look)(const int NORM, const int POOL, const REAL *z,
                                                                int64_t line, REAL factor, REAL offset) {
    FN(window) w;
    for (int i = 0; i < POOL * POOL; i++) {
        const vec v = LOAD(z + (i >> 1) * line + (i & 1) * LANES);
        if (NORM) w.shown[i] = factor * v + offset;
        else w.shown[i] = v;
    }
    w.top = w.shown[0];
    for (int i = 1; i < POOL * POOL; i++) {
        const FN(whole) wins = (FN(whole))(w.shown[i] > w.top) | (FN(whole))(w.shown[i] != w.shown[i]);
        w.top = (vec)(((FN(whole))w.shown[i] & wins) | ((FN(whole))w.top & ~wins));
    }
    return w;
}

/* One map of one group becomes a plane of the next stage or, after the last, a part of rows. */
static inline __attribute__((always_inline)) void FN(pool_map)(const int NORM, const int POOL, const FN(stage) *s, const REAL *z,
                                                              int64_t o, REAL *to, int64_t line, REAL *flat, int64_t row, int64_t live) {
    const REAL factor = NORM ? s->scale[o] * s->inverse[o] : 1, offset = NORM ? s->shift[o] - s->mean[o] * factor : 0;
    for (int64_t y = 0; y < s->ph; y++)
        for (int64_t x = 0; x < s->pw; x++) {
            vec top = FN(look)(NORM, POOL, z + (y * s->wz + x) * POOL * LANES, s->wz * LANES, factor, offset).top;
            if (s->relu) top = WHERE(~(top <= 0), top);
            if (to) {
                STORE(to + y * line + x * LANES) = top;
            } else {
                REAL t[LANES];
                STORE(t) = top;
                for (int64_t i = 0; i < live; i++) flat[i * row + y * s->pw + x] = t[i];
            }
        }
}

#define EITHER(F, ...)                                                                                            \
    if (s->norm) {                                                                                               \
        if (s->pool == 2) FN(F)(1, 2, __VA_ARGS__);                                                              \
        else FN(F)(1, 1, __VA_ARGS__);                                                                           \
    } else {                                                                                                     \
        if (s->pool == 2) FN(F)(0, 2, __VA_ARGS__);                                                              \
        else FN(F)(0, 1, __VA_ARGS__);                                                                           \
    }

/* `forward` for samples side by side. */
static void FN(forward_abreast)(FN(stage) *s, int64_t rows, const FN(stage) *next, REAL *flat, int64_t row, int learn) {
    const int64_t groups = (rows + LANES - 1) / LANES, line = s->wi * LANES, plane = s->hz * s->wz * LANES;
    for (int64_t o = 0, O; o < s->o; o += O) {
        O = FN(share_of)(s->o - o, FEW_MAPS);
        for (int64_t i = 0; i < s->k * s->k * s->c; i++) memcpy(s->turned + i * O, s->kernel + i * s->op + o, O * sizeof(REAL));
        for (int64_t i = 0; i < groups; i++)
            FN(sweep)(O, s->in + i * s->c * s->hi * line, s->hi * line, line, s->c, s->k, s->p, s->h, s->turned, s->b + o,
                      FN(map)(s, i, o), plane, s->oh, s->ow, s->wz * LANES);
        for (int64_t m = o; m < o + O; m++) {
            if (s->norm && learn) FN(learn_map)(s, rows, m);
            for (int64_t i = 0; i < groups; i++) {
                const int64_t live = rows - i * LANES < LANES ? rows - i * LANES : LANES;
                REAL *to = next ? next->in + (((i * next->c + m) * next->hi + next->p) * next->wi + next->p) * LANES : NULL;
                EITHER(pool_map, s, FN(map)(s, i, m), m, to, next ? next->wi * LANES : 0,
                      flat + i * LANES * row + m * s->ph * s->pw, row, live)
            }
        }
    }
}

/* Outputs of a map become gradients by output; gs and gt are the sums that batch norm and bias need. */
static inline __attribute__((always_inline)) void FN(unpool_map)(const int NORM, const int POOL, FN(stage) *s, int64_t rows,
                                                                const FN(stage) *next, const REAL *flat, int64_t row,
                                                                int64_t o, REAL *gs, REAL *gt) {
    const int64_t groups = (rows + LANES - 1) / LANES, line = s->wz * LANES, n = POOL * POOL;
    const REAL mean = NORM ? s->mean[o] : 0, factor = NORM ? s->scale[o] * s->inverse[o] : 1;
    const REAL offset = NORM ? s->shift[o] - mean * factor : 0, count = (REAL)(rows * s->oh * s->ow);
    REAL level = 0, slope = 0; /* what of the gradient batch norm takes away: level + slope (z - mean) */
    for (int pass = NORM ? 0 : 1; pass < 2; pass++) {
        vec sum = {0}, with = {0};
        for (int64_t i = 0; i < groups; i++) {
            const vec live = FN(live)(rows, i);
            REAL *z = FN(map)(s, i, o);
            const REAL *above = next ? next->back + (i * s->o + o) * s->ph * s->pw * LANES : NULL;
            const REAL *from = flat + i * LANES * row + o * s->ph * s->pw;
            for (int64_t y = 0; y < s->ph; y++)
                for (int64_t x = 0; x < s->pw; x++, above += LANES) {
                    REAL *at = z + (y * s->wz + x) * POOL * LANES;
                    const FN(window) w = FN(look)(NORM, POOL, at, line, factor, offset);
                    vec d;
                    if (next) {
                        d = LOAD(above);
                    } else {
                        REAL t[LANES];
                        for (int64_t r = 0; r < LANES; r++) t[r] = i * LANES + r < rows ? from[r * row + y * s->pw + x] : 0;
                        d = LOAD(t);
                    }
                    FN(whole) open = (FN(whole))(w.top == w.top);
                    if (s->relu) open &= (FN(whole))(w.top > 0);
                    if (!pass || !NORM) sum += WHERE(open, d);
                    for (int64_t j = 0; j < n; j++) {
                        REAL *to = at + (j >> 1) * line + (j & 1) * LANES;
                        const FN(whole) mine = open & (FN(whole))(w.shown[j] == w.top);
                        const vec share = WHERE(mine, d);
                        open &= ~mine;
                        if (!pass) with += share * (LOAD(to) - mean);
                        else if (NORM) STORE(to) = (factor * share - (level + slope * (LOAD(to) - mean))) * live;
                        else STORE(to) = share;
                    }
                }
            for (int64_t y = 0; pass && y < s->oh; y++) /* what pooling never saw */
                for (int64_t x = y < s->ph * POOL ? s->pw * POOL : 0; x < s->ow; x++) {
                    REAL *to = z + y * line + x * LANES;
                    if (NORM) STORE(to) = (slope * (mean - LOAD(to)) - level) * live;
                    else STORE(to) = (vec){0};
                }
        }
        if (!pass || !NORM) gt[o] = FN(sum)(sum);
        if (!pass) {
            gs[o] = FN(sum)(with) * s->inverse[o];
            level = factor * gt[o] / count, slope = factor * s->inverse[o] * gs[o] / count;
        }
    }
}

/* `backward` for samples side by side, up to the gradients: by the kernel in g, by scale and shift in gs and gt, or by
 * the bias in gt. */
static void FN(gradients_abreast)(FN(stage) *s, int64_t rows, const FN(stage) *next, const REAL *flat, int64_t row, REAL *g,
                                  REAL *gs, REAL *gt) {
    const int64_t groups = (rows + LANES - 1) / LANES, line = s->wz * LANES, plane = s->hz * line, taps = s->k * s->k;
    for (int64_t o = 0; o < s->o; o++) EITHER(unpool_map, s, rows, next, flat, row, o, gs, gt)
    const REAL none[FEW_MAPS] = {0};
    for (int64_t c = 0, C; s->back && c < s->c; c += C) {
        C = FN(share_of)(s->c - c, FEW_MAPS);
        for (int64_t i = 0; i < taps; i++) /* turned round */
            for (int64_t o = 0; o < s->o; o++)
                for (int64_t j = 0; j < C; j++)
                    s->turned[(i * s->o + o) * C + j] = s->kernel[((taps - 1 - i) * s->c + c + j) * s->op + o];
        for (int64_t i = 0; i < groups; i++)
            FN(sweep)(C, s->z + i * s->o * plane, plane, line, s->o, s->k, s->q, s->oh, s->turned, none,
                      s->back + (i * s->c + c) * s->h * s->w * LANES, s->h * s->w * LANES, s->h, s->w, s->w * LANES);
    }
    FN(meet_all)(s, groups, g);
}
#undef EITHER

/* Samples (channels outermost) into the padded images of the first stage; what is no sample is zero. */
static void FN(lay_abreast)(const FN(stage) *s, const REAL *x, const int64_t *index, int64_t rows) {
    const int64_t groups = (rows + LANES - 1) / LANES, pixels = s->h * s->w;
    for (int64_t i = 0; i < groups; i++)
        for (int64_t c = 0; c < s->c; c++)
            for (int64_t y = 0; y < s->h; y++) {
                REAL *to = s->in + (((i * s->c + c) * s->hi + y + s->p) * s->wi + s->p) * LANES;
                for (int64_t r = 0; r < LANES; r++) {
                    const int64_t sample = i * LANES + r;
                    const REAL *from = sample < rows ? x + (index[sample] * s->c + c) * pixels + y * s->w : NULL;
                    for (int64_t j = 0; j < s->w; j++) to[j * LANES + r] = from ? from[j] : 0;
                }
            }
}
