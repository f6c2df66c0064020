/* Batches through a stage, images with their channels innermost: what becomes of the maps of a convolution. Pooling keeps
 * no record: who won is seen again from the outputs, which are still there on the way back. */

/* Where the outputs of an image begin, behind the border. */
static inline REAL *FN(maps)(const FN(stage) *s, int64_t image) {
    return s->z + ((image * s->hz + s->q) * s->wz + s->q) * s->op;
}

/* A pixel of an image that is read or shown. */
static inline REAL *FN(pixel)(const FN(image) *m, int64_t r, int64_t y, int64_t x) {
    return m->x + ((r * m->hi + y + m->edge) * m->wi + x + m->edge) * m->c;
}

/* Where the windows of a convolution begin in an image. */
static inline const REAL *FN(windows)(const FN(stage) *s, int64_t r) {
    return FN(pixel)(s->from, r, -s->p, -s->p);
}

/* Outputs of an image become (z - mean) / deviation. */
static void FN(centre)(const FN(stage) *s, int64_t r) {
    const int64_t row = s->norm == GROUP ? r * s->op : 0;
    for (int64_t at = 0; at < s->op; at += LANES) {
        const vec mean = LOAD(s->mean_of + row + at), inverse = LOAD(s->inverse + row + at);
        for (int64_t y = 0; y < s->oh; y++) {
            REAL *z = FN(maps)(s, r) + y * s->wz * s->op + at;
            for (int64_t x = 0; x < s->ow; x++) STORE(z + x * s->op) = (LOAD(z + x * s->op) - mean) * inverse;
        }
    }
}

/* Adds to `sum` the numbers of a vector of maps of one image, less `mean`; squared if asked. A line is summed up in so many
 * parts as do not wait for each other. */
static inline __attribute__((always_inline)) void FN(tally)(const int SQUARE, const int PARTS, const FN(stage) *s, int64_t r,
                                                           int64_t at, vec mean, double *sum) {
    for (int64_t y = 0; y < s->oh; y++) {
        const REAL *z = FN(maps)(s, r) + y * s->wz * s->op + at;
        vec part[4] = {{0}, {0}, {0}, {0}};
        int64_t x = 0;
        for (; x + PARTS <= s->ow; x += PARTS)
            for (int i = 0; i < PARTS; i++) {
                const vec v = LOAD(z + (x + i) * s->op);
                if (SQUARE) part[i] += (v - mean) * (v - mean);
                else part[i] += v;
            }
        for (; x < s->ow; x++) {
            const vec v = LOAD(z + x * s->op);
            if (SQUARE) part[0] += (v - mean) * (v - mean);
            else part[0] += v;
        }
        if (PARTS == 4) part[0] = (part[0] + part[1]) + (part[2] + part[3]);
        for (int64_t i = 0; i < LANES; i++) sum[i] += part[0][i];
    }
}

/* Mean and deviation are those of the batch; running statistics move. */
static void FN(learn_statistics)(FN(stage) *s, int64_t rows) {
    const double count = (double)(rows * s->oh * s->ow);
    for (int64_t at = 0; at < s->op; at += LANES) {
        double sum[LANES], squares[LANES];
        for (int64_t i = 0; i < LANES; i++) sum[i] = squares[i] = 0;
        for (int64_t r = 0; r < rows; r++) FN(tally)(0, 1, s, r, at, (vec){0}, sum);
        for (int64_t i = 0; i < LANES; i++) s->mean_of[at + i] = (REAL)(sum[i] / count);
        for (int64_t r = 0; r < rows; r++) FN(tally)(1, 1, s, r, at, LOAD(s->mean_of + at), squares);
        for (int64_t i = 0; i < LANES && at + i < s->o; i++) {
            s->inverse[at + i] = (REAL)(1 / sqrt(squares[i] / count + s->eps));
            s->means[at + i] += (REAL)(s->momentum * (sum[i] / count - s->means[at + i]));
            s->variances[at + i] += (REAL)(s->momentum * (squares[i] / (count - 1) - s->variances[at + i]));
        }
    }
}

/* The mean over each group of maps, of what was summed up for every map; every map of it has it. */
static inline void FN(share)(const FN(stage) *s, double *sum) {
    const int64_t span = s->o / s->groups;
    for (int64_t g = 0; g < s->o; g += span) {
        double all = 0;
        for (int64_t o = g; o < g + span; o++) all += sum[o];
        for (int64_t o = g; o < g + span; o++) sum[o] = all / (double)(span * s->oh * s->ow);
    }
}

/* Mean and deviation of every group of maps of one image. */
static void FN(learn_groups)(FN(stage) *s, int64_t r) {
    double sum[s->op], squares[s->op];
    REAL *mean = s->mean_of + r * s->op, *inverse = s->inverse + r * s->op;
    memset(sum, 0, sizeof sum), memset(squares, 0, sizeof squares);
    for (int64_t at = 0; at < s->op; at += LANES) FN(tally)(0, 4, s, r, at, (vec){0}, sum + at);
    FN(share)(s, sum);
    for (int64_t o = 0; o < s->o; o++) mean[o] = (REAL)sum[o];
    for (int64_t at = 0; at < s->op; at += LANES) FN(tally)(1, 4, s, r, at, LOAD(mean + at), squares + at);
    FN(share)(s, squares);
    for (int64_t o = 0; o < s->o; o++) inverse[o] = (REAL)(1 / sqrt(squares[o] + s->eps));
}

/* What a norm makes of an output, or the output itself. */
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

/* The outputs of one image, centred if there is a norm, become what the stage shows. */
static void FN(show)(const FN(stage) *s, int64_t r) {
    for (int64_t at = 0; at < s->op; at += LANES) {
        const int64_t own = s->o - at < LANES ? s->o - at : LANES;
        for (int64_t y = 0; y < s->ph; y++) {
            const REAL *z = FN(maps)(s, r) + y * s->wz * s->pool * s->op;
            const REAL *plus = s->plus ? FN(pixel)(s->plus, r, y, 0) + at : NULL;
            REAL *out = FN(pixel)(s->to, r, y, 0) + at;
            for (int64_t x = 0; x < s->pw; x++, z += s->pool * s->op, out += s->o) {
                vec top = FN(largest)(s, z, at);
                if (plus) top += LOAD(plus + x * s->o);
                if (s->relu) top = WHERE(~(top <= 0), top);
                if (own == LANES) STORE(out) = top;
                else memcpy(out, &top, own * sizeof(REAL));
            }
        }
    }
}

/* One batch through a stage. With `learn` batch norm takes its statistics from the batch. */
static void FN(forward)(FN(stage) *s, int64_t rows, int learn) {
    const FN(way) way = FN(way_there)(s);
    const int waits = s->norm == BATCH && learn; /* for all images of the batch */
    for (int64_t r = 0; r < rows; r++) {
        FN(convolve)(&way, FN(windows)(s, r), s->c, s->from->wi * s->c, s->kernel, s->op, s->b, FN(maps)(s, r), s->op,
                     s->wz * s->op, 0);
        if (s->norm == GROUP) FN(learn_groups)(s, r);
        if (s->norm && !waits) FN(centre)(s, r);
        if (!waits) FN(show)(s, r);
    }
    if (waits) FN(learn_statistics)(s, rows);
    for (int64_t r = 0; waits && r < rows; r++) FN(centre)(s, r), FN(show)(s, r);
}

/* What of a gradient from above goes to each pixel of the window: all of it to the first that is largest. `out` is what
 * the stage showed. */
static inline void FN(shares)(const FN(stage) *s, const REAL *z, const REAL *out, int64_t at, vec d, vec *share) {
    if (s->pool == 1) {
        share[0] = s->relu ? WHERE(LOAD(out + at) > 0, d) : d;
        return;
    }
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

/* What a norm takes away of the gradients by its outputs: rows of maps, and for batch norm how many pixels there are. */
typedef struct {
    const REAL *factor, *level, *slope;
    REAL count;
} FN(taking);

/* A gradient back through a norm, if there is one, to the centred output at z. */
static inline vec FN(through)(const FN(stage) *s, vec g, const REAL *z, int64_t at, const FN(taking) *t) {
    if (s->norm == BATCH)
        return (g - (LOAD(t->level + at) + LOAD(z) * LOAD(t->slope + at)) / t->count) * LOAD(t->factor + at);
    if (s->norm) return LOAD(t->factor + at) * g - (LOAD(t->level + at) + LOAD(z) * LOAD(t->slope + at));
    return g;
}

/* The sums over one image that the gradient of a norm needs are added: of gradients with outputs, and of gradients. */
static void FN(weigh)(const FN(stage) *s, int64_t r, REAL *with, REAL *sum) {
    for (int64_t at = 0; at < s->op; at += LANES) {
        vec all = LOAD(sum + at), by = LOAD(with + at), share[4];
        for (int64_t y = 0; y < s->ph; y++) {
            const REAL *z = FN(maps)(s, r) + y * s->wz * s->pool * s->op, *out = FN(pixel)(s->to, r, y, 0);
            const REAL *d = s->to->back + (r * s->ph + y) * s->pw * s->op;
            for (int64_t x = 0; x < s->pw; x++, z += s->pool * s->op, out += s->o, d += s->op) {
                FN(shares)(s, z, out, at, LOAD(d + at), share);
                vec one = {0}, product = {0};
                for (int64_t i = 0; i < s->pool * s->pool; i++) {
                    one += share[i];
                    product += share[i] * LOAD(z + ((i >> 1) * s->wz + (i & 1)) * s->op + at);
                }
                all += one, by += product;
            }
        }
        STORE(sum + at) = all, STORE(with + at) = by;
    }
}

/* Outputs of one image become gradients by them; what was added gets its share. */
static void FN(unpool)(const FN(stage) *s, int64_t r, const FN(taking) *t) {
    REAL *image = FN(maps)(s, r), *plus = s->plus ? s->plus->back : NULL;
    for (int64_t at = 0; at < s->op; at += LANES)
        for (int64_t y = 0; y < s->ph; y++) {
            REAL *z = image + y * s->wz * s->pool * s->op;
            const REAL *out = FN(pixel)(s->to, r, y, 0);
            int64_t place = (r * s->ph + y) * s->pw * s->op + at;
            for (int64_t x = 0; x < s->pw; x++, z += s->pool * s->op, out += s->o, place += s->op) {
                vec share[4];
                FN(shares)(s, z, out, at, LOAD(s->to->back + place), share);
                if (plus && s->plus_adds) STORE(plus + place) += share[0];
                else if (plus) STORE(plus + place) = share[0];
                for (int64_t i = 0; i < s->pool * s->pool; i++) {
                    REAL *to = z + ((i >> 1) * s->wz + (i & 1)) * s->op + at;
                    STORE(to) = FN(through)(s, share[i], to, at, t);
                }
            }
        }
    for (int64_t y = 0; y < s->oh; y++) /* what pooling never saw */
        for (int64_t x = y < s->ph * s->pool ? s->pw * s->pool : 0; x < s->ow; x++)
            for (int64_t at = 0; at < s->op; at += LANES) {
                REAL *to = image + (y * s->wz + x) * s->op + at;
                STORE(to) = FN(through)(s, (vec){0}, to, at, t);
            }
}

/* The same for one image behind group norm, whose sums are its own. */
static void FN(unpool_groups)(const FN(stage) *s, int64_t r, REAL *gs, REAL *gt) {
    REAL with[s->op], sum[s->op], factor[s->op], level[s->op], slope[s->op];
    double levels[s->op], slopes[s->op];
    for (int64_t o = 0; o < s->op; o++) with[o] = sum[o] = factor[o] = level[o] = slope[o] = 0;
    FN(weigh)(s, r, with, sum);
    for (int64_t o = 0; o < s->o; o++) {
        gs[o] += with[o], gt[o] += sum[o];
        levels[o] = (double)s->scale[o] * (double)sum[o], slopes[o] = (double)s->scale[o] * (double)with[o];
    }
    FN(share)(s, levels), FN(share)(s, slopes);
    for (int64_t o = 0; o < s->o; o++) {
        const REAL inverse = s->inverse[r * s->op + o];
        factor[o] = s->scale[o] * inverse, level[o] = (REAL)levels[o] * inverse, slope[o] = (REAL)slopes[o] * inverse;
    }
    FN(unpool)(s, r, &(FN(taking)){factor, level, slope, 1});
}

/* Gradients by the bias, from those by the outputs. */
static void FN(bias_gradient)(const FN(stage) *s, int64_t rows, REAL *gt) {
    memset(gt, 0, s->op * sizeof(REAL));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t y = 0; y < s->oh; y++)
            for (int64_t x = 0; x < s->ow; x++)
                for (int64_t at = 0; at < s->op; at += LANES)
                    STORE(gt + at) += LOAD(FN(maps)(s, r) + (y * s->wz + x) * s->op + at);
}

/* One batch back through a stage: gradients by the kernel in g, by scale and shift in gs and gt, or by the bias in gt. */
static void FN(gradients)(FN(stage) *s, int64_t rows, REAL *g, REAL *gs, REAL *gt) {
    REAL factor[s->op];
    for (int64_t o = 0; o < s->op; o++) gs[o] = gt[o] = 0, factor[o] = s->norm == BATCH ? s->scale[o] * s->inverse[o] : 0;
    const FN(taking) t = {factor, gt, gs, (REAL)(rows * s->oh * s->ow)};
    for (int64_t r = 0; s->norm == BATCH && r < rows; r++) FN(weigh)(s, r, gs, gt);
    if (s->from->back) FN(turn_kernel)(s);
    memset(g, 0, s->size * sizeof(REAL));
    for (int64_t r = 0; r < rows; r++) { /* all of an image while it is at hand */
        if (s->norm == GROUP) FN(unpool_groups)(s, r, gs, gt);
        else FN(unpool)(s, r, &t);
        if (s->from->back) FN(convolve_back)(s, s->z + r * s->hz * s->wz * s->op, s->from->back + r * s->h * s->w * s->cp);
        FN(add_gradient)(s, FN(windows)(s, r), FN(maps)(s, r), g);
    }
    if (!s->norm) FN(bias_gradient)(s, rows, gt);
}
