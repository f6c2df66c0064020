/* Convolutions of images with their channels innermost: for few samples at a time.
 *
 * A convolution is R neighbouring pixels times a few vectors of maps at once: a kernel's row meets one unbroken run of
 * the padded image. Its gradient by the image is the same with the kernel turned round; with a stride, once for every
 * rest of lines and columns by it, with the taps that they meet.
 */

/* R pixels, `step` numbers apart, times C vectors of maps, which begin at b or, to `add`, at what is there. R, C and, where
 * it is above 0, STEP are constants. */
static inline __attribute__((always_inline)) void FN(tile)(
    const int R, const int C, const int STEP, int64_t step, const REAL *in, int64_t line, int64_t rows, int64_t run,
    const REAL *kernel, int64_t wide, const REAL *b, REAL *out, int64_t apart, int add) {
    vec acc[MOST_PIXELS][2];
    const int64_t by = STEP > 0 ? STEP : step;
    for (int c = 0; c < C; c++) {
        const vec first = b ? LOAD(b + c * LANES) : (vec){0};
        for (int r = 0; r < R; r++) acc[r][c] = add ? LOAD(out + r * apart + c * LANES) : first;
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
        for (int c = 0; c < C; c++) STORE(out + r * apart + c * LANES) = acc[r][c];
}

#define ONE(r, c, s) case r: FN(tile)(r, c, s, step, in, line, rows, run, kernel, wide, b, out, apart, add); break;
#define UP_TO_6(c, s) ONE(1, c, s) ONE(2, c, s) ONE(3, c, s) ONE(4, c, s) ONE(5, c, s) ONE(6, c, s)
#if MOST_PIXELS == 14
#define ALL(c, s) UP_TO_6(c, s) ONE(7, c, s) ONE(8, c, s) ONE(9, c, s) ONE(10, c, s) ONE(11, c, s) ONE(12, c, s) \
    ONE(13, c, s) ONE(14, c, s)
#else
#define ALL(c, s) UP_TO_6(c, s)
#endif
#define TILES(name, c, s)                                                                                       \
    static void FN(name)(int64_t R, int64_t step, const REAL *in, int64_t line, int64_t rows, int64_t run,      \
                         const REAL *kernel, int64_t wide, const REAL *b, REAL *out, int64_t apart, int add) {  \
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
TILES(tiles1_128, 1, 128)
TILES(tiles2_128, 2, 128)
#endif
#undef TILES
#undef ALL
#undef UP_TO_6
#undef ONE

typedef void (*FN(tiles))(int64_t, int64_t, const REAL *, int64_t, int64_t, int64_t, const REAL *, int64_t, const REAL *, REAL *,
                          int64_t, int);

static FN(tiles) FN(tiles_for)(int vectors, int64_t step) {
#if SINGLE
    if (step == 1) return vectors == 1 ? FN(tiles1_1) : FN(tiles2_1);
    if (step == 3) return vectors == 1 ? FN(tiles1_3) : FN(tiles2_3);
    if (step == 16) return vectors == 1 ? FN(tiles1_16) : FN(tiles2_16);
    if (step == 32) return vectors == 1 ? FN(tiles1_32) : FN(tiles2_32);
    if (step == 64) return vectors == 1 ? FN(tiles1_64) : FN(tiles2_64);
    if (step == 128) return vectors == 1 ? FN(tiles1_128) : FN(tiles2_128);
#endif
    return vectors == 1 ? FN(tiles1) : FN(tiles2);
}

/* One image, `channels` numbers a pixel and `line` a line, becomes maps of `wide` numbers a pixel, which are `apart` in a
 * line and lie `out_line` from line to line. */
static void FN(convolve)(const FN(way) *way, const REAL *in, int64_t channels, int64_t line, const REAL *kernel, int64_t wide,
                         const REAL *b, REAL *out, int64_t apart, int64_t out_line, int add) {
    const int64_t step = channels * way->stride, run = way->columns * channels;
    for (int64_t at = 0; at < wide;) {
        const int C = wide - at >= 2 * LANES ? 2 : 1;
        const FN(tiles) tiles = FN(tiles_for)(C, step);
        const int64_t parts = (way->w + MOST_PIXELS - 1) / MOST_PIXELS;
        for (int64_t y = 0; y < way->h; y++) {
            const int64_t top = way->at + y * way->stride;
            const FN(lines) some = FN(within)(top, way->rows, way->edge, way->filled);
            const REAL *from = in + (top + some.from) * line, *part = kernel + some.from * run * wide + at;
            for (int64_t p = 0, x = 0; p < parts; p++) {
                const int64_t R = (way->w - x + parts - p - 1) / (parts - p);
                tiles(R, step, from + x * step, line, some.to - some.from, run, part, wide, b ? b + at : NULL,
                      out + y * out_line + x * apart + at, apart, add);
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
        const REAL *x = in + y * s->stride * s->from->wi * s->c, *d = z + y * s->wz * s->op;
        for (int64_t left = s->ow; left; left--, x += s->stride * s->c, d += s->op) {
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
        const FN(lines) some = FN(meeting)(s, row);
        for (int64_t p = 0, j = 0; p < parts; p++) {
            const int64_t J = (run - j + parts - p - 1) / (parts - p);
            const REAL *x = in + row * s->from->wi * s->c + j;
            for (int64_t at = 0; at < s->op;) {
                const int C = s->op - at >= 2 * LANES ? 2 : 1;
                const REAL *d = z + at;
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

/* The kernel turned round, a part for every rest of lines and columns by the stride. */
static void FN(turn_kernel)(const FN(stage) *s) {
    REAL *to = s->turned;
    for (int64_t down = 0; down < s->stride && down < s->k; down++)
        for (int64_t across = 0; across < s->stride && across < s->k; across++)
            for (int64_t i = down + (s->k - 1 - down) / s->stride * s->stride; i >= 0; i -= s->stride)
                for (int64_t j = across + (s->k - 1 - across) / s->stride * s->stride; j >= 0; j -= s->stride)
                    for (int64_t o = 0; o < s->op; o++, to += s->cp)
                        for (int64_t c = 0; o < s->o && c < s->c; c++)
                            to[c] = s->kernel[((i * s->k + j) * s->c + c) * s->op + o];
}

/* Gradients by one image, from those by its maps. */
static void FN(convolve_back)(const FN(stage) *s, const REAL *z, REAL *back) {
    const REAL *kernel = s->turned;
    if (s->k < s->stride && !s->adds) memset(back, 0, s->h * s->w * s->cp * sizeof(REAL)); /* pixels without any window */
    for (int64_t i = 0; i < s->stride && i < s->k; i++)
        for (int64_t j = 0; j < s->stride && j < s->k; j++) {
            const FN(phase) down = FN(phase_of)(s, s->h, i), across = FN(phase_of)(s, s->w, j);
            const FN(way) way = FN(way_back)(s, down, across);
            const int64_t y = i + down.first * s->stride - s->p, x = j + across.first * s->stride - s->p;
            FN(convolve)(&way, z + (s->q + across.first + 1 - across.taps) * s->op, s->op, s->wz * s->op, kernel, s->cp,
                         NULL, back + (y * s->w + x) * s->cp, s->stride * s->cp, s->stride * s->w * s->cp, s->adds);
            kernel += down.taps * across.taps * s->op * s->cp;
        }
}
