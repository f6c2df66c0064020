/* What has no weights, in one precision: samples become the first image, mean pooling, and the last image becomes rows. Of
 * each the two ways in which numbers lie: channels side by side, or samples (abreast). */

/* Mean pooling of a batch. */
static void FN(pool_means)(const FN(stage) *s, int64_t rows) {
    const int64_t high = s->k ? s->k : s->h, wide = s->k ? s->k : s->w;
    REAL spare[s->cp];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t y = 0; y < s->oh; y++)
            for (int64_t x = 0; x < s->ow; x++) {
                for (int64_t at = 0; at < s->cp; at += LANES) {
                    vec sum = {0};
                    for (int64_t i = 0; i < high; i++)
                        for (int64_t j = 0; j < wide; j++)
                            sum += LOAD(FN(pixel)(s->from, r, y * s->stride + i, x * s->stride + j) + at);
                    STORE(spare + at) = sum / (REAL)(high * wide);
                }
                memcpy(FN(pixel)(s->to, r, y, x), spare, s->c * sizeof(REAL));
            }
}

/* And back: every pixel of a window gets its share. */
static void FN(spread_means)(const FN(stage) *s, int64_t rows) {
    const int64_t high = s->k ? s->k : s->h, wide = s->k ? s->k : s->w;
    if (!s->from->back) return;
    if (!s->adds) memset(s->from->back, 0, rows * s->h * s->w * s->cp * sizeof(REAL));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t y = 0; y < s->oh; y++)
            for (int64_t x = 0; x < s->ow; x++)
                for (int64_t at = 0; at < s->cp; at += LANES) {
                    const vec d = LOAD(s->to->back + ((r * s->oh + y) * s->ow + x) * s->cp + at) / (REAL)(high * wide);
                    for (int64_t i = 0; i < high; i++)
                        for (int64_t j = 0; j < wide; j++)
                            STORE(s->from->back +
                                  ((r * s->h + y * s->stride + i) * s->w + x * s->stride + j) * s->cp + at) += d;
                }
}

/* Samples (channels outermost) become the first image. */
static void FN(lay)(const FN(image) *m, const REAL *x, const int64_t *index, int64_t rows) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t y = 0; y < m->h; y++) {
            const REAL *from = x + (index[r] * m->c * m->h + y) * m->w;
            REAL *to = FN(pixel)(m, r, y, 0);
            for (int64_t c = 0; c < m->c; c++)
                for (int64_t i = 0; i < m->w; i++) to[i * m->c + c] = from[c * m->h * m->w + i];
        }
}

/* The last image becomes rows with the channels outermost, as torch flattens them. */
static void FN(flatten)(const FN(image) *m, int64_t rows, REAL *flat, int64_t row) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t y = 0; y < m->h; y++)
            for (int64_t x = 0; x < m->w; x++)
                for (int64_t c = 0; c < m->c; c++)
                    flat[r * row + (c * m->h + y) * m->w + x] = FN(pixel)(m, r, y, x)[c];
}

/* Rows of gradients become those by the last image. */
static void FN(unflatten)(const FN(image) *m, int64_t rows, const REAL *flat, int64_t row) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < m->h * m->w; i++)
            for (int64_t c = 0; c < m->c; c++)
                m->back[(r * m->h * m->w + i) * m->cp + c] = flat[r * row + c * m->h * m->w + i];
}

/* A pixel of a map of a set of samples. */
static inline REAL *FN(place)(const FN(image) *m, int64_t set, int64_t c, int64_t y, int64_t x) {
    return m->x + (((set * m->c + c) * m->hi + y + m->edge) * m->wi + x + m->edge) * LANES;
}

static void FN(pool_means_abreast)(const FN(stage) *s, int64_t rows) {
    const int64_t high = s->k ? s->k : s->h, wide = s->k ? s->k : s->w, sets = (rows + LANES - 1) / LANES;
    for (int64_t n = 0; n < sets * s->c; n++)
        for (int64_t y = 0; y < s->oh; y++)
            for (int64_t x = 0; x < s->ow; x++) {
                vec sum = {0};
                for (int64_t i = 0; i < high; i++)
                    for (int64_t j = 0; j < wide; j++) sum += LOAD(FN(place)(s->from, 0, n, y * s->stride + i, x * s->stride + j));
                STORE(FN(place)(s->to, 0, n, y, x)) = sum / (REAL)(high * wide);
            }
}

static void FN(spread_means_abreast)(const FN(stage) *s, int64_t rows) {
    const int64_t high = s->k ? s->k : s->h, wide = s->k ? s->k : s->w, sets = (rows + LANES - 1) / LANES;
    if (!s->from->back) return;
    if (!s->adds) memset(s->from->back, 0, sets * s->c * s->h * s->w * LANES * sizeof(REAL));
    const REAL *above = s->to->back;
    for (int64_t n = 0; n < sets * s->c; n++)
        for (int64_t y = 0; y < s->oh; y++)
            for (int64_t x = 0; x < s->ow; x++, above += LANES) {
                const vec d = LOAD(above) / (REAL)(high * wide);
                for (int64_t i = 0; i < high; i++)
                    for (int64_t j = 0; j < wide; j++)
                        STORE(s->from->back + ((n * s->h + y * s->stride + i) * s->w + x * s->stride + j) * LANES) += d;
            }
}

/* What is no sample is zero. */
static void FN(lay_abreast)(const FN(image) *m, const REAL *x, const int64_t *index, int64_t rows) {
    const int64_t sets = (rows + LANES - 1) / LANES, pixels = m->h * m->w;
    for (int64_t i = 0; i < sets; i++)
        for (int64_t c = 0; c < m->c; c++)
            for (int64_t y = 0; y < m->h; y++) {
                REAL *to = FN(place)(m, i, c, y, 0);
                for (int64_t r = 0; r < LANES; r++) {
                    const int64_t sample = i * LANES + r;
                    const REAL *from = sample < rows ? x + (index[sample] * m->c + c) * pixels + y * m->w : NULL;
                    for (int64_t j = 0; j < m->w; j++) to[j * LANES + r] = from ? from[j] : 0;
                }
            }
}

static void FN(flatten_abreast)(const FN(image) *m, int64_t rows, REAL *flat, int64_t row) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < m->c; c++)
            for (int64_t y = 0; y < m->h; y++)
                for (int64_t x = 0; x < m->w; x++)
                    flat[r * row + (c * m->h + y) * m->w + x] = FN(place)(m, r / LANES, c, y, x)[r % LANES];
}

static void FN(unflatten_abreast)(const FN(image) *m, int64_t rows, const REAL *flat, int64_t row) {
    const int64_t numbers = m->c * m->h * m->w;
    for (int64_t r = 0; r < FN(padded)(rows); r++)
        for (int64_t i = 0; i < numbers; i++)
            m->back[(r / LANES * numbers + i) * LANES + r % LANES] = r < rows ? flat[r * row + i] : 0;
}
