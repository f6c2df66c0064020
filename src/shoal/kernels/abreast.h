/* The same convolutions with samples side by side: a vector holds one pixel of one map of so many samples, whatever the
 * widths of the stage are. For batches that fill vectors, and for tests.
 *
 * Numbers lie as set of samples x map x line x pixel x sample. The kernel's gradient is summed over the samples last.
 */

/* O maps of P pixels; x is where their windows begin, `rows` lines high, `plane` numbers from one channel to the next. With
 * STEP they are next to each other, else a stride apart; written, they are `apart`. They begin at b or, to `add`, at what
 * is there. */
static inline __attribute__((always_inline)) void FN(patch)(
    const int O, const int P, const int STEP, int64_t stride, const REAL *x, int64_t plane, int64_t line, int64_t channels,
    int64_t rows, int64_t k, const REAL *kernel, const REAL *b, REAL *out, int64_t out_plane, int64_t apart, int add) {
    vec acc[FEW_MAPS][FEW_PIXELS];
    const int64_t by = (STEP ? 1 : stride) * LANES;
    for (int o = 0; o < O; o++)
        for (int p = 0; p < P; p++) {
            if (add) acc[o][p] = LOAD(out + o * out_plane + p * apart);
            else acc[o][p] = (vec){0} + b[o];
        }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < k; column++) {
            const REAL *at = x + row * line + column * LANES;
            for (int64_t c = channels; c; c--, at += plane, kernel += O)
#pragma GCC unroll 6
                for (int p = 0; p < P; p++) {
                    const vec v = LOAD(at + p * by);
#pragma GCC unroll 4
                    for (int o = 0; o < O; o++) acc[o][p] += kernel[o] * v;
                }
        }
    for (int o = 0; o < O; o++)
        for (int p = 0; p < P; p++) STORE(out + o * out_plane + p * apart) = acc[o][p];
}

/* The sums of O maps by P columns of a kernel's row, over all pixels of some lines of all sets. */
static inline __attribute__((always_inline)) void FN(meet)(const int O, const int P, const FN(stage) *s, int64_t sets,
                                                          FN(lines) some, const REAL *x, const REAL *z, REAL *g) {
    const int64_t line = s->from->wi * LANES, plane = s->hz * s->wz * LANES, by = s->stride * LANES;
    vec acc[FEW_MAPS][FEW_PIXELS];
    for (int o = 0; o < O; o++)
        for (int p = 0; p < P; p++) acc[o][p] = (vec){0};
    for (int64_t i = 0; i < sets; i++, x += s->c * s->from->hi * line, z += s->o * plane)
        for (int64_t y = some.from; y < some.to; y++) {
            const REAL *from = x + y * s->stride * line, *d = z + y * s->wz * LANES;
            for (int64_t left = s->ow; left; left--, from += by, d += LANES) {
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

/* O maps of one set of samples. */
static void FN(sweep)(const FN(way) *way, int64_t O, const REAL *x, int64_t plane, int64_t line, int64_t channels,
                      const REAL *kernel, const REAL *b, REAL *out, int64_t out_plane, int64_t apart, int64_t out_line,
                      int add) {
    for (int64_t y = 0; y < way->h; y++) {
        const int64_t top = way->at + y * way->stride, k = way->columns;
        const FN(lines) some = FN(within)(top, way->rows, way->edge, way->filled);
        const int64_t rows = some.to - some.from, stride = way->stride;
        for (int64_t at = 0, P; at < way->w; at += P) {
            P = FN(share_of)(way->w - at, FEW_PIXELS);
            const REAL *from = x + (top + some.from) * line + at * stride * LANES, *part = kernel + some.from * k * channels * O;
            REAL *to = out + y * out_line + at * apart;
            if (stride == 1) MAPS(patch, 1, 1, from, plane, line, channels, rows, k, part, b, to, out_plane, apart, add)
            else MAPS(patch, 0, stride, from, plane, line, channels, rows, k, part, b, to, out_plane, apart, add)
        }
    }
}

/* The gradient of the kernel. */
static void FN(meet_all)(const FN(stage) *s, int64_t sets, REAL *g) {
    const FN(image) *m = s->from;
    if (s->op > s->o) memset(g, 0, s->size * sizeof(REAL)); /* what pads the maps */
    for (int64_t o = 0, O; o < s->o; o += O) {
        O = FN(share_of)(s->o - o, FEW_MAPS);
        const REAL *z = s->z + ((o * s->hz + s->q) * s->wz + s->q) * LANES;
        for (int64_t c = 0; c < s->c; c++)
            for (int64_t row = 0; row < s->k; row++) {
                const FN(lines) some = FN(meeting)(s, row);
                for (int64_t at = 0, P; at < s->k; at += P) {
                    P = FN(share_of)(s->k - at, FEW_PIXELS);
                    const REAL *x = m->x + ((c * m->hi + row + m->edge - s->p) * m->wi + at + m->edge - s->p) * LANES;
                    REAL *to = g + (((row * s->k + at) * s->c + c) * s->op + o);
                    MAPS(meet, s, sets, some, x, z, to)
                }
            }
    }
}
#undef MAPS
#undef MORE_MAPS
#undef PIXELS
#undef MORE_PIXELS

/* Gradients by the images of a batch, from those by its maps. */
static void FN(sweep_back)(const FN(stage) *s, int64_t sets) {
    const int64_t line = s->wz * LANES, plane = s->hz * line, pixels = s->h * s->w * LANES;
    const REAL none[FEW_MAPS] = {0};
    if (s->k < s->stride && !s->adds) memset(s->from->back, 0, sets * s->c * pixels * sizeof(REAL));
    for (int64_t c = 0, C; c < s->c; c += C) {
        C = FN(share_of)(s->c - c, FEW_MAPS);
        for (int64_t a = 0; a < s->stride && a < s->k; a++)
            for (int64_t b = 0; b < s->stride && b < s->k; b++) {
                const FN(phase) down = FN(phase_of)(s, s->h, a), across = FN(phase_of)(s, s->w, b);
                const FN(way) way = FN(way_back)(s, down, across);
                const int64_t y = a + down.first * s->stride - s->p, x = b + across.first * s->stride - s->p;
                REAL *to = s->turned;
                for (int64_t i = a + (down.taps - 1) * s->stride; i >= 0; i -= s->stride)
                    for (int64_t j = b + (across.taps - 1) * s->stride; j >= 0; j -= s->stride)
                        for (int64_t o = 0; o < s->o; o++)
                            for (int64_t n = 0; n < C; n++) *to++ = s->kernel[((i * s->k + j) * s->c + c + n) * s->op + o];
                for (int64_t i = 0; i < sets; i++)
                    FN(sweep)(&way, C, s->z + i * s->o * plane + (s->q + across.first + 1 - across.taps) * LANES, plane, line,
                              s->o, s->turned, none, s->from->back + (i * s->c + c) * pixels + (y * s->w + x) * LANES,
                              pixels, s->stride * LANES, s->stride * s->w * LANES, s->adds);
            }
    }
}
