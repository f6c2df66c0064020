/* Matrix products in tiles that registers hold, in one precision: TALL rows by two vectors.
 *
 * A matrix by whose rows others are multiplied (length x columns) lies in panels: two vectors of columns from the first
 * row to the last, then the next two; the last panel may be one vector wide. What pads its columns is zero. So a tile
 * reads it in one unbroken run, and the gradient of a tile lies as the tile does.
 */

#ifndef TALL
#if defined(__AVX512F__)
#define TALL 14
#else
#define TALL 6
#endif
#endif

/* out[r] += sum over j of a[r][j] w_j for R rows and a panel of C vectors. R and C are constants after inlining. */
static inline __attribute__((always_inline)) void FN(row_tile)(const int R, const int C, const REAL *const *a, int64_t len,
                                                              const REAL *w, REAL *const *out, int64_t at) {
    vec acc[TALL][2];
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) acc[r][c] = LOAD(out[r] + at + c * LANES);
    for (int64_t j = 0; j < len; j++, w += C * LANES) {
        vec t[2];
#pragma GCC unroll 2
        for (int c = 0; c < C; c++) t[c] = LOAD(w + c * LANES);
#pragma GCC unroll 14
        for (int r = 0; r < R; r++) {
            const REAL k = a[r][j];
#pragma GCC unroll 2
            for (int c = 0; c < C; c++) acc[r][c] += k * t[c];
        }
    }
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) STORE(out[r] + at + c * LANES) = acc[r][c];
}

/* g = sum over j of x_j[k..k + R]' y_j[at..at + C vectors]. */
static inline __attribute__((always_inline)) void FN(outer_tile)(const int R, const int C, const REAL *const *x, int64_t k,
                                                                const REAL *const *y, int64_t at, int64_t len, REAL *g) {
    vec acc[TALL][2];
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) acc[r][c] = (vec){0};
    for (int64_t j = 0; j < len; j++) {
        const REAL *xj = x[j] + k, *yj = y[j] + at;
        __asm__("" : "+r"(xj)); /* R places behind one pointer, not R pointers */
        vec t[2];
#pragma GCC unroll 2
        for (int c = 0; c < C; c++) t[c] = LOAD(yj + c * LANES);
#pragma GCC unroll 14
        for (int r = 0; r < R; r++)
#pragma GCC unroll 2
            for (int c = 0; c < C; c++) acc[r][c] += xj[r] * t[c];
    }
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) STORE(g + (r * C + c) * LANES) = acc[r][c];
}

#define UP_TO_6 ONE(1) ONE(2) ONE(3) ONE(4) ONE(5) ONE(6)
#if TALL == 14
#define ALL UP_TO_6 ONE(7) ONE(8) ONE(9) ONE(10) ONE(11) ONE(12) ONE(13) ONE(14)
#else
#define ALL UP_TO_6
#endif
#define ONE(r) case r: C == 2 ? FN(row_tile)(r, 2, a, len, w, out, at) : FN(row_tile)(r, 1, a, len, w, out, at); break;
static void FN(row_tiles)(int64_t R, int C, const REAL *const *a, int64_t len, const REAL *w, REAL *const *out, int64_t at) {
    switch (R) { ALL }
}
#undef ONE
#define ONE(r) case r: C == 2 ? FN(outer_tile)(r, 2, x, k, y, at, len, g) : FN(outer_tile)(r, 1, x, k, y, at, len, g); break;
static void FN(outer_tiles)(int64_t R, int C, const REAL *const *x, int64_t k, const REAL *const *y, int64_t at, int64_t len,
                            REAL *g) {
    switch (R) { ALL }
}
#undef ONE
#undef ALL
#undef UP_TO_6

/* Rows times a matrix in panels, `columns` wide in whole vectors: out[r] += a[r] w. */
static void FN(add_product)(int64_t rows, const REAL *const *a, int64_t len, const REAL *w, int64_t columns, REAL *const *out) {
    const int64_t parts = (rows + TALL - 1) / TALL;
    for (int64_t at = 0; at < columns;) {
        const int C = columns - at >= 2 * LANES ? 2 : 1;
        for (int64_t p = 0, r = 0; p < parts; p++) {
            const int64_t R = (rows - r + parts - p - 1) / (parts - p);
            FN(row_tiles)(R, C, a + r, len, w + at * len, out + r, at);
            r += R;
        }
        at += C * LANES;
    }
}

/* A matrix in panels (length x columns) moves by its gradient, the sum over j of x_j' y_j; w0 and v only where the rule is
 * not plain. */
static void FN(move_panels)(int64_t len, int64_t columns, REAL *w, const REAL *w0, REAL *v, int64_t count,
                            const REAL *const *x, const REAL *const *y, REAL decay, const FN(rule) *how) {
    const int64_t parts = (len + TALL - 1) / TALL;
    REAL g[TALL * 2 * LANES];
    for (int64_t at = 0; at < columns;) {
        const int C = columns - at >= 2 * LANES ? 2 : 1;
        for (int64_t p = 0, k = 0; p < parts; p++) {
            const int64_t R = (len - k + parts - p - 1) / (parts - p), from = at * len + k * C * LANES;
            FN(outer_tiles)(R, C, x, k, y, at, count, g);
            FN(step)(w + from, w0 ? w0 + from : NULL, v ? v + from : NULL, g, R * C * LANES, decay, how);
            k += R;
        }
        at += C * LANES;
    }
}

/* Between a matrix in panels (length x columns) and one whose columns lie one after the other, as torch has weights. */
static void FN(carry_panels)(int64_t len, int64_t count, REAL *w, REAL *plain, int out) {
    const int64_t columns = FN(padded)(count);
    for (int64_t at = 0; at < columns;) {
        const int64_t wide = columns - at >= 2 * LANES ? 2 * LANES : LANES, most = count - at < wide ? count - at : wide;
        REAL *panel = w + at * len;
        for (int64_t k = 0; k < len; k += 16) {
            const int64_t end = len - k < 16 ? len : k + 16;
            for (int64_t c = 0; c < most; c++) {
                REAL *p = plain + (at + c) * len;
                if (out)
                    for (int64_t i = k; i < end; i++) p[i] = panel[i * wide + c];
                else
                    for (int64_t i = k; i < end; i++) panel[i * wide + c] = p[i];
            }
        }
        at += wide;
    }
}

/* A matrix in panels (length x count columns) becomes its transpose in panels (count x length). */
static void FN(turn_panels)(int64_t len, int64_t count, const REAL *w, REAL *to) {
    const int64_t columns = FN(padded)(count), across = FN(padded)(len);
    for (int64_t at = 0; at < columns;) {
        const int64_t wide = columns - at >= 2 * LANES ? 2 * LANES : LANES, most = count - at < wide ? count - at : wide;
        for (int64_t k = 0; k < across;) {
            const int64_t span = across - k >= 2 * LANES ? 2 * LANES : LANES, end = len - k < span ? len - k : span;
            const REAL *from = w + at * len + k * wide;
            REAL *panel = to + k * count + at * span;
            for (int64_t c = 0; c < most; c++)
                for (int64_t i = 0; i < end; i++) panel[c * span + i] = from[i * wide + c];
            k += span;
        }
        at += wide;
    }
}
