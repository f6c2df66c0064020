/* Batches through a stage, images with their channels innermost: for few samples at a time.
 *
 * A convolution is R neighbouring pixels times a few vectors of maps at once: a kernel's row meets one unbroken run of
 * the padded image. Its gradient by the image is the same with the kernel turned round. Pooling keeps no record: who won
 * is seen again from the outputs, which are still there on the way back.
 */

/* R pixels, `step` numbers apart, times C vectors of maps. R, C and, where it is above 0, STEP are constants. */
static inline __attribute__((always_inline)) void FN(tile)(
    const int R, const int C, const int STEP, int64_t step, const REAL *in, int64_t line, int64_t rows, int64_t run,
    const REAL *kernel, int64_t wide, const REAL *b, REAL *out) {
    vec acc[MOST_PIXELS][2];
    const int64_t by = STEP > 0 ? STEP : step;
    for (int c = 0; c < C; c++) {
        const vec first = b ? LOAD(b + c * LANES) : (vec){0};
        for (int r = 0; r < R; r++) acc[r][c] = first;
    }
    for (int64_t row = 0; row < rows; row++, in += line)
        for (int64_t j = 0; j < run; j++, kernel += wide) {
            vec t[2];
#pragma GCC unroll 2
            for (int c = 0; c < C; c++) t[c] = LOAD(kernel + c * LANES);
#pragma GCC unroll 14
            for (int r = 0; r < R; r++) {
                const REAL x = in[r * by + j];
#pragma GCC unroll 2
                for (int c = 0; c < C; c++) acc[r][c] += x * t[c];
            }
        }
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) STORE(out + r * wide + c * LANES) = acc[r][c];
}

#define ONE(r, c, s) case r: FN(tile)(r, c, s, step, in, line, rows, run, kernel, wide, b, out); break;
#define UP_TO_6(c, s) ONE(1, c, s) ONE(2, c, s) ONE(3, c, s) ONE(4, c, s) ONE(5, c, s) ONE(6, c, s)
#if MOST_PIXELS == 14
#define ALL(c, s) UP_TO_6(c, s) ONE(7, c, s) ONE(8, c, s) ONE(9, c, s) ONE(10, c, s) ONE(11, c, s) ONE(12, c, s) \
    ONE(13, c, s) ONE(14, c, s)
#else
#define ALL(c, s) UP_TO_6(c, s)
#endif
#define TILES(name, c, s)                                                                                       \
    static void FN(name)(int64_t R, int64_t step, const REAL *in, int64_t line, int64_t rows, int64_t run,      \
                         const REAL *kernel, int64_t wide, const REAL *b, REAL *out) {                          \
        switch (R) { ALL(c, s) }                                                                                \
    }
TILES(tiles1, 1, 0)
TILES(tiles2, 2, 0)
#if SINGLE
TILES(tiles1_1, 1, 1)
TILES(tiles2_1, 2, 1)
TILES(tiles1_3, 1, 3)
TILES(tiles2_3, 2, 3)
TILES(tiles1_16, 1, 16)
TILES(tiles2_16, 2, 16)
TILES(tiles1_32, 1, 32)
TILES(tiles2_32, 2, 32)
TILES(tiles1_64, 1, 64)
TILES(tiles2_64, 2, 64)
#endif
#undef TILES
#undef ALL
#undef UP_TO_6
#undef ONE

typedef void (*FN(tiles))(int64_t, int64_t, const REAL *, int64_t, int64_t, int64_t, const REAL *, int64_t, const REAL *, REAL *);

static FN(tiles) FN(tiles_for)(int vectors, int64_t step) {
#if SINGLE
    if (step == 1) return vectors == 1 ? FN(tiles1_1) : FN(tiles2_1);
    if (step == 3) return vectors == 1 ? FN(tiles1_3) : FN(tiles2_3);
    if (step == 16) return vectors == 1 ? FN(tiles1_16) : FN(tiles2_16);
    if (step == 32) return vectors == 1 ? FN(tiles1_32) : FN(tiles2_32);
    if (step == 64) return vectors == 1 ? FN(tiles1_64) : FN(tiles2_64);
#endif
    return vectors == 1 ? FN(tiles1) : FN(tiles2);
}

/* One image, `step` channels and `line` numbers a line, `filled` lines behind an edge, becomes maps: h lines of w pixels,
 * `wide` numbers a pixel. */
static void FN(convolve)(const REAL *in, int64_t step, int64_t line, int64_t k, int64_t edge, int64_t filled,
                         const REAL *kernel, int64_t wide, const REAL *b, REAL *out, int64_t h, int64_t w,
                         int64_t out_line) {
    for (int64_t at = 0; at < wide;) {
        const int C = wide - at >= 2 * LANES ? 2 : 1;
        const FN(tiles) tiles = FN(tiles_for)(C, step);
        const int64_t parts = (w + MOST_PIXELS - 1) / MOST_PIXELS;
        for (int64_t y = 0; y < h; y++) {
            const FN(lines) some = FN(within)(y, k, edge, filled);
            const REAL *from = in + (y + some.from) * line, *part = kernel + some.from * k * step * wide + at;
            for (int64_t p = 0, x = 0; p < parts; p++) {
                const int64_t R = (w - x + parts - p - 1) / (parts - p);
                tiles(R, step, from + x * step, line, some.to - some.from, k * step, part, wide, b ? b + at : NULL,
                      out + y * out_line + x * wide + at);
                x += R;
            }
        }
        at += C * LANES;
    }
}

/* J rows of a kernel's gradient, C vectors wide, from some lines of one image. */
static inline __attribute__((always_inline)) void FN(gather)(const int J, const int C, const FN(stage) *s, FN(lines) some,
                                                            const REAL *in, const REAL *z, REAL *g) {
    vec acc[MOST_PIXELS][2];
    for (int j = 0; j < J; j++)
        for (int c = 0; c < C; c++) acc[j][c] = (vec){0};
    for (int64_t y = some.from; y < some.to; y++) {
        const REAL *x = in + y * s->wi * s->c, *d = z + y * s->wz * s->op;
        for (int64_t left = s->ow; left; left--, x += s->c, d += s->op) {
            vec t[2];
#pragma GCC unroll 2
            for (int c = 0; c < C; c++) t[c] = LOAD(d + c * LANES);
#pragma GCC unroll 14
            for (int j = 0; j < J; j++)
#pragma GCC unroll 2
                for (int c = 0; c < C; c++) acc[j][c] += x[j] * t[c];
        }
    }
    for (int j = 0; j < J; j++)
        for (int c = 0; c < C; c++) STORE(g + j * s->op + c * LANES) += acc[j][c];
}

#define ONE(j) case j: C == 2 ? FN(gather)(j, 2, s, some, x, d, to) : FN(gather)(j, 1, s, some, x, d, to); break;
static void FN(add_gradient)(const FN(stage) *s, const REAL *in, const REAL *z, REAL *g) {
    const int64_t run = s->k * s->c, parts = (run + MOST_PIXELS - 1) / MOST_PIXELS;
    for (int64_t row = 0; row < s->k; row++) {
        const FN(lines) some = FN(within)(row, s->oh, s->p, s->h);
        for (int64_t p = 0, j = 0; p < parts; p++) {
            const int64_t J = (run - j + parts - p - 1) / (parts - p);
            const REAL *x = in + row * s->wi * s->c + j;
            for (int64_t at = 0; at < s->op;) {
                const int C = s->op - at >= 2 * LANES ? 2 : 1;
                const REAL *d = z + (s->q * s->wz + s->q) * s->op + at;
                REAL *to = g + (row * run + j) * s->op + at;
                switch (J) {
                    ONE(1) ONE(2) ONE(3) ONE(4) ONE(5) ONE(6)
#if MOST_PIXELS == 14
                    ONE(7) ONE(8) ONE(9) ONE(10) ONE(11) ONE(12) ONE(13) ONE(14)
#endif
                }
                at += C * LANES;
            }
            j += J;
        }
    }
}
#undef ONE

/* Where the outputs of an image begin, behind the border. */
static inline REAL *FN(maps)(const FN(stage) *s, int64_t image) {
    return s->z + ((image * s->hz + s->q) * s->wz + s->q) * s->op;
}

/* Outputs become (z - mean) / deviation. */
static void FN(centre)(FN(stage) *s, int64_t rows) {
    for (int64_t at = 0; at < s->op; at += LANES) {
        const vec mean = LOAD(s->mean + at), inverse = LOAD(s->inverse + at);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t y = 0; y < s->oh; y++) {
                REAL *z = FN(maps)(s, r) + y * s->wz * s->op + at;
                for (int64_t x = 0; x < s->ow; x++) STORE(z + x * s->op) = (LOAD(z + x * s->op) - mean) * inverse;
            }
    }
}

/* Mean and deviation are those of the batch; running statistics move. */
static void FN(learn_statistics)(FN(stage) *s, int64_t rows) {
    const double count = (double)(rows * s->oh * s->ow);
    for (int64_t at = 0; at < s->op; at += LANES) {
        double sum[LANES], squares[LANES];
        for (int64_t i = 0; i < LANES; i++) sum[i] = squares[i] = 0;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t y = 0; y < s->oh; y++) {
                const REAL *z = FN(maps)(s, r) + y * s->wz * s->op + at;
                vec part = {0};
                for (int64_t x = 0; x < s->ow; x++) part += LOAD(z + x * s->op);
                for (int64_t i = 0; i < LANES; i++) sum[i] += part[i];
            }
        for (int64_t i = 0; i < LANES; i++) s->mean[at + i] = (REAL)(sum[i] / count);
        const vec mean = LOAD(s->mean + at);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t y = 0; y < s->oh; y++) {
                REAL *z = FN(maps)(s, r) + y * s->wz * s->op + at;
                vec part = {0};
                for (int64_t x = 0; x < s->ow; x++) {
                    const vec d = LOAD(z + x * s->op) - mean;
                    part += d * d;
                }
                for (int64_t i = 0; i < LANES; i++) squares[i] += part[i];
            }
        for (int64_t i = 0; i < LANES && at + i < s->o; i++) {
            s->inverse[at + i] = (REAL)(1 / sqrt(squares[i] / count + s->eps));
            s->means[at + i] += (REAL)(s->momentum * (sum[i] / count - s->means[at + i]));
            s->variances[at + i] += (REAL)(s->momentum * (squares[i] / (count - 1) - s->variances[at + i]));
        }
    }
}

/* What batch norm makes of an output, or the output itself. */
static inline vec FN(shown)(const FN(stage) *s, const REAL *z, int64_t at) {
    if (!s->norm) return LOAD(z);
    return LOAD(s->scale + at) * LOAD(z) + LOAD(s->shift + at);
}

/* The largest of a window; a number that is none wins. */
static inline vec FN(largest)(const FN(stage) *s, const REAL *z, int64_t at) {
    vec top = FN(shown)(s, z + at, at);
    if (s->pool == 2)
        for (int64_t i = 1; i < 4; i++) {
            const vec v = FN(shown)(s, z + ((i >> 1) * s->wz + (i & 1)) * s->op + at, at);
            const FN(whole) wins = (FN(whole))(v > top) | (FN(whole))(v != v);
            top = (vec)(((FN(whole))v & wins) | ((FN(whole))top & ~wins));
        }
    return top;
}

/* One batch through a stage; the result lies in the padded image of the next one or, after the last, in rows of `flat`
 * with the channels outermost, as torch flattens them. With `learn` batch norm takes its statistics from the batch. */
static void FN(forward)(FN(stage) *s, int64_t rows, const FN(stage) *next, REAL *flat, int64_t row, int learn) {
    for (int64_t r = 0; r < rows; r++)
        FN(convolve)(s->in + r * s->hi * s->wi * s->c, s->c, s->wi * s->c, s->k, s->p, s->h, s->kernel, s->op, s->b,
                     FN(maps)(s, r), s->oh, s->ow, s->wz * s->op);
    if (s->norm && learn) FN(learn_statistics)(s, rows);
    if (s->norm) FN(centre)(s, rows);
    REAL pixel[s->op];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t y = 0; y < s->ph; y++)
            for (int64_t x = 0; x < s->pw; x++) {
                const REAL *z = FN(maps)(s, r) + (y * s->wz + x) * s->pool * s->op;
                for (int64_t at = 0; at < s->op; at += LANES) {
                    vec top = FN(largest)(s, z, at);
                    if (s->relu) top = WHERE(~(top <= 0), top);
                    STORE(pixel + at) = top;
                }
                if (next) {
                    memcpy(next->in + ((r * next->hi + y + next->p) * next->wi + x + next->p) * s->o, pixel,
                           s->o * sizeof(REAL));
                } else {
                    REAL *to = flat + r * row + y * s->pw + x;
                    for (int64_t o = 0; o < s->o; o++) to[o * s->ph * s->pw] = pixel[o];
                }
            }
}

/* The gradient by a pooled pixel, padded to whole vectors. */
static inline const REAL *FN(above)(const FN(stage) *s, const FN(stage) *next, const REAL *flat, int64_t row, int64_t r,
                                    int64_t y, int64_t x, REAL *pixel) {
    if (next) return next->back + ((r * s->ph + y) * s->pw + x) * s->op;
    const REAL *from = flat + r * row + y * s->pw + x;
    for (int64_t o = 0; o < s->o; o++) pixel[o] = from[o * s->ph * s->pw];
    return pixel;
}

/* What of a gradient from above goes to each pixel of the window: all of it to the first that is largest. */
static inline void FN(shares)(const FN(stage) *s, const REAL *z, int64_t at, vec d, vec *share) {
    const vec top = FN(largest)(s, z, at);
    FN(whole) open = (FN(whole))(top == top);
    if (s->relu) open &= (FN(whole))(top > 0);
    for (int64_t i = 0; i < s->pool * s->pool; i++) {
        const vec v = FN(shown)(s, z + ((i >> 1) * s->wz + (i & 1)) * s->op + at, at);
        const FN(whole) mine = open & (FN(whole))(v == top);
        share[i] = WHERE(mine, d);
        open &= ~mine;
    }
}

/* A gradient back through batch norm, if there is one, to the output at z; gs and gt are sums over the batch. */
static inline vec FN(through)(const FN(stage) *s, vec g, const REAL *z, int64_t at, const REAL *gs, const REAL *gt,
                              REAL count) {
    if (!s->norm) return g;
    return (g - (LOAD(gt + at) + LOAD(z) * LOAD(gs + at)) / count) * (LOAD(s->scale + at) * LOAD(s->inverse + at));
}

/* Outputs become gradients by output; with batch norm the sums that its gradient needs go first. */
static void FN(unpool)(FN(stage) *s, int64_t rows, const FN(stage) *next, const REAL *flat, int64_t row, REAL *gs, REAL *gt) {
    const int64_t n = s->pool * s->pool;
    const REAL count = (REAL)(rows * s->oh * s->ow);
    REAL pixel[s->op];
    vec share[4];
    for (int64_t o = 0; o < s->op; o++) pixel[o] = gs[o] = gt[o] = 0;
    for (int64_t r = 0; s->norm && r < rows; r++)
        for (int64_t y = 0; y < s->ph; y++)
            for (int64_t x = 0; x < s->pw; x++) {
                const REAL *z = FN(maps)(s, r) + (y * s->wz + x) * s->pool * s->op;
                const REAL *d = FN(above)(s, next, flat, row, r, y, x, pixel);
                for (int64_t at = 0; at < s->op; at += LANES) {
                    FN(shares)(s, z, at, LOAD(d + at), share);
                    vec sum = {0}, with = {0};
                    for (int64_t i = 0; i < n; i++) {
                        sum += share[i];
                        with += share[i] * LOAD(z + ((i >> 1) * s->wz + (i & 1)) * s->op + at);
                    }
                    STORE(gt + at) += sum;
                    STORE(gs + at) += with;
                }
            }
    for (int64_t r = 0; r < rows; r++) {
        REAL *image = FN(maps)(s, r);
        for (int64_t y = 0; y < s->ph; y++)
            for (int64_t x = 0; x < s->pw; x++) {
                REAL *z = image + (y * s->wz + x) * s->pool * s->op;
                const REAL *d = FN(above)(s, next, flat, row, r, y, x, pixel);
                for (int64_t at = 0; at < s->op; at += LANES) {
                    FN(shares)(s, z, at, LOAD(d + at), share);
                    for (int64_t i = 0; i < n; i++) {
                        REAL *to = z + ((i >> 1) * s->wz + (i & 1)) * s->op + at;
                        STORE(to) = FN(through)(s, share[i], to, at, gs, gt, count);
                    }
                }
            }
        for (int64_t y = 0; y < s->oh; y++) /* what pooling never saw */
            for (int64_t x = y < s->ph * s->pool ? s->pw * s->pool : 0; x < s->ow; x++)
                for (int64_t at = 0; at < s->op; at += LANES) {
                    REAL *to = image + (y * s->wz + x) * s->op + at;
                    STORE(to) = FN(through)(s, (vec){0}, to, at, gs, gt, count);
                }
    }
}

/* One batch back through a stage: gradients by the kernel in g, by scale and shift in gs and gt, or by the bias in gt. */
static void FN(gradients)(FN(stage) *s, int64_t rows, const FN(stage) *next, const REAL *flat, int64_t row, REAL *g, REAL *gs,
                          REAL *gt) {
    FN(unpool)(s, rows, next, flat, row, gs, gt);
    if (s->back) {
        for (int64_t i = 0; i < s->k * s->k; i++)
            for (int64_t c = 0; c < s->c; c++)
                for (int64_t o = 0; o < s->o; o++)
                    s->turned[((s->k * s->k - 1 - i) * s->op + o) * s->cp + c] = s->kernel[(i * s->c + c) * s->op + o];
        for (int64_t r = 0; r < rows; r++)
            FN(convolve)(s->z + r * s->hz * s->wz * s->op, s->op, s->wz * s->op, s->k, s->q, s->oh, s->turned, s->cp, NULL,
                         s->back + r * s->h * s->w * s->cp, s->h, s->w, s->w * s->cp);
    }
    memset(g, 0, s->size * sizeof(REAL));
    for (int64_t r = 0; r < rows; r++)
        FN(add_gradient)(s, s->in + r * s->hi * s->wi * s->c, s->z + r * s->hz * s->wz * s->op, g);
    for (int64_t r = 0; !s->norm && r < rows; r++)
        for (int64_t y = 0; y < s->oh; y++)
            for (int64_t x = 0; x < s->ow; x++)
                for (int64_t at = 0; at < s->op; at += LANES)
                    STORE(gt + at) += LOAD(FN(maps)(s, r) + (y * s->wz + x) * s->op + at);
}

/* Samples (channels outermost) into the padded images of the first stage. */
static void FN(lay)(const FN(stage) *s, const REAL *x, const int64_t *index, int64_t rows) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t y = 0; y < s->h; y++) {
            const REAL *from = x + (index[r] * s->c * s->h + y) * s->w;
            REAL *to = s->in + ((r * s->hi + y + s->p) * s->wi + s->p) * s->c;
            for (int64_t c = 0; c < s->c; c++)
                for (int64_t i = 0; i < s->w; i++) to[i * s->c + c] = from[c * s->h * s->w + i];
        }
}
