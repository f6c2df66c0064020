/* The two-stream term of FedMMD in one precision: what the local model says of a batch, b, stays near what the model
 * received says of it, a. MMD^2 = mean k(a, a') - 2 mean k(a, b) + mean k(b, b') with k = sum over s of
 * exp(-|x - y|^2 / 2s), so its gradient by b_j is 2 / B^2 times
 *   sum over i of w(a_i, b_j) (b_j - a_i) - w(b_i, b_j) (b_j - b_i),   w = sum over s of exp(-|x - y|^2 / 2s) / s.
 * MMD^2 itself, which is below 0 by rounding at most, is not formed.
 */

/* w for a squared distance; the rates 1 / 2s lie in whole vectors, and behind them twice each. */
static REAL FN(nearness)(REAL squared, const REAL *rates, int64_t count) {
    vec sum = {0};
    for (int64_t i = 0; i < count; i += LANES) sum += FN(vexp)(-squared * LOAD(rates + i)) * LOAD(rates + count + i);
    return FN(sum)(sum);
}

/* out += c w(x, y) (x - y) for rows of `wide` numbers. */
static void FN(pull_apart)(const REAL *x, const REAL *y, int64_t wide, const REAL *rates, int64_t count, REAL c, REAL *out) {
    vec squares = {0};
    for (int64_t k = 0; k < wide; k += LANES) {
        const vec d = LOAD(x + k) - LOAD(y + k);
        squares += d * d;
    }
    const REAL by = c * FN(nearness)(FN(sum)(squares), rates, count);
    for (int64_t k = 0; k < wide; k += LANES) STORE(out + k) += by * (LOAD(x + k) - LOAD(y + k));
}

/* The gradient of lam MMD^2 by the rows of b, into rows of `out`. */
static void FN(discrepancy)(int64_t size, const REAL *const *a, const REAL *const *b, int64_t wide, REAL lam,
                            const REAL *rates, int64_t count, REAL *out) {
    const REAL c = 2 * lam / (REAL)(size * size);
    memset(out, 0, size * wide * sizeof(REAL));
    for (int64_t j = 0; j < size; j++)
        for (int64_t i = 0; i < size; i++) {
            FN(pull_apart)(b[j], a[i], wide, rates, count, c, out + j * wide);
            if (i != j) FN(pull_apart)(b[j], b[i], wide, rates, count, -c, out + j * wide);
        }
}
