/* The cubic part of MADC: sum_z max(s_iz, s_jz) for all pairs of rows. In doubles; compiled once per instruction set. */

#include <stdint.h>
#include <string.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
#define ROWS 64   /* rows of a block */
#define COLUMNS 256 /* columns that go through a pair of blocks while they are in the cache */
#define TILE 4    /* rows of either side that registers hold */

typedef double vec __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

static inline vec larger(vec a, vec b) {
#if defined(__AVX512F__)
    return (vec)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX__)
    return (vec)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    vec m;
    for (int l = 0; l < LANES; l++) m[l] = a[l] > b[l] ? a[l] : b[l];
    return m;
#endif
}

static double sum(vec v) {
    double total = 0;
    for (int l = 0; l < LANES; l++) total += v[l];
    return total;
}

/* to[p * ROWS + q] += sum_z max(x_pz, y_qz) for TILE x TILE rows and `count` columns; padded columns add nothing new */
static void tile(const double *x, const double *y, int64_t row, int64_t count, double *to) {
    vec acc[TILE][TILE] = {0};
    for (int64_t z = 0; z < count; z += LANES) {
        vec b[TILE];
        for (int q = 0; q < TILE; q++) b[q] = *(const vec *)(y + q * row + z);
        for (int p = 0; p < TILE; p++) {
            const vec a = *(const vec *)(x + p * row + z);
            for (int q = 0; q < TILE; q++) acc[p][q] += larger(a, b[q]);
        }
    }
    for (int p = 0; p < TILE; p++)
        for (int q = 0; q < TILE; q++) to[p * ROWS + q] += sum(acc[p][q]);
}

/* How many rows and columns a matrix must be padded to (with zeros). */
int64_t madc_pad(int64_t n) { return (n + ROWS - 1) / ROWS * ROWS; }

/* `s` is padded to m x m, m = madc_pad(n); `out` (m x m) gets the sums, upper blocks and their mirror images. */
void madc_sums(const double *s, int64_t m, double *out) {
    double block[ROWS * ROWS];
    for (int64_t i = 0; i < m; i += ROWS)
        for (int64_t j = i; j < m; j += ROWS) {
            memset(block, 0, sizeof block);
            for (int64_t z = 0; z < m; z += COLUMNS) {
                const int64_t count = m - z < COLUMNS ? m - z : COLUMNS;
                for (int64_t p = 0; p < ROWS; p += TILE)
                    for (int64_t q = 0; q < ROWS; q += TILE)
                        tile(s + (i + p) * m + z, s + (j + q) * m + z, m, count, block + p * ROWS + q);
            }
            for (int64_t p = 0; p < ROWS; p++)
                for (int64_t q = 0; q < ROWS; q++) out[(i + p) * m + j + q] = out[(j + q) * m + i + p] = block[p * ROWS + q];
        }
}
