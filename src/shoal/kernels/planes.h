/* Batches through a stage, samples side by side: what becomes of the maps of a convolution. Its outputs are kept as they
 * are; what a norm makes of them is formed again where it is needed. */

/* What is laid over the vectors of a map: `live` is 1 for samples of the batch, else 0. */
static inline vec FN(live)(int64_t rows, int64_t set) {
    REAL t[LANES];
    for (int64_t i = 0; i < LANES; i++) t[i] = set * LANES + i < rows;
    return LOAD(t);
}

/* Where the outputs of a map begin, behind the border. */
static inline REAL *FN(map)(const FN(stage) *s, int64_t set, int64_t o) {
    return s->z + (((set * s->o + o) * s->hz + s->q) * s->wz + s->q) * LANES;
}

/* Mean and deviation of a map are those of the batch; running statistics move. */
static void FN(learn_map)(FN(stage) *s, int64_t rows, int64_t o) {
    const int64_t sets = (rows + LANES - 1) / LANES;
    const double count = (double)(rows * s->oh * s->ow);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < sets; i++)
        for (int64_t y = 0; y < s->oh; y++) {
            const REAL *z = FN(map)(s, i, o) + y * s->wz * LANES;
            vec part = {0};
            for (int64_t x = 0; x < s->ow; x++) part += LOAD(z + x * LANES);
            sum += (double)FN(sum)(part * FN(live)(rows, i));
        }
    const REAL mean = s->mean_of[o] = (REAL)(sum / count);
    for (int64_t i = 0; i < sets; i++)
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

/* Mean and deviation of a group of maps, of every sample of a set. Lines are summed up by themselves, and their sums. */
static void FN(learn_group)(FN(stage) *s, int64_t set, int64_t group) {
    const int64_t span = s->o / s->groups, place = (set * s->groups + group) * LANES;
    const REAL count = (REAL)(span * s->oh * s->ow);
    vec mean = {0};
    for (int pass = 0; pass < 2; pass++) {
        vec sum = {0};
        for (int64_t o = group * span; o < (group + 1) * span; o++) {
            vec all = {0};
            for (int64_t y = 0; y < s->oh; y++) {
                const REAL *z = FN(map)(s, set, o) + y * s->wz * LANES;
                vec part = {0};
                for (int64_t x = 0; x < s->ow; x++) {
                    const vec d = LOAD(z + x * LANES) - mean;
                    if (pass) part += d * d;
                    else part += d;
                }
                all += part;
            }
            sum += all;
        }
        if (!pass) STORE(s->mean_of + place) = mean = sum / count;
        else
            for (int64_t i = 0; i < LANES; i++) s->inverse[place + i] = (REAL)(1 / sqrt((double)(sum[i] / count) + s->eps));
    }
}

/* What a norm does to a map: factor z + offset; what it takes away of a gradient, level + slope (z - mean). */
typedef struct {
    vec factor, offset, mean, level, slope;
} FN(norming);

static inline FN(norming) FN(norming_of)(const FN(stage) *s, int64_t set, int64_t o) {
    const vec zero = {0};
    FN(norming) n = {zero + 1, zero, zero, zero, zero};
    if (s->norm == BATCH) {
        const REAL factor = s->scale[o] * s->inverse[o], offset = s->shift[o] - s->mean_of[o] * factor;
        n.factor = zero + factor, n.offset = zero + offset, n.mean = zero + s->mean_of[o];
    } else if (s->norm) {
        const int64_t place = (set * s->groups + o / (s->o / s->groups)) * LANES;
        n.mean = LOAD(s->mean_of + place), n.factor = s->scale[o] * LOAD(s->inverse + place);
        n.offset = s->shift[o] - n.mean * n.factor;
    }
    return n;
}

/* A window of up to four outputs after a norm, and the largest; a number that is none wins. */
typedef struct {
    vec shown[4], top;
} FN(window);

static inline __attribute__((always_inline)) FN(window) FN(look)(const int NORM, const int POOL, const REAL *z,
                                                                int64_t line, const FN(norming) *n) {
    FN(window) w;
    for (int i = 0; i < POOL * POOL; i++) {
        const vec v = LOAD(z + (i >> 1) * line + (i & 1) * LANES);
        if (NORM) w.shown[i] = n->factor * v + n->offset;
        else w.shown[i] = v;
    }
    w.top = w.shown[0];
    for (int i = 1; i < POOL * POOL; i++) {
        const FN(whole) wins = (FN(whole))(w.shown[i] > w.top) | (FN(whole))(w.shown[i] != w.shown[i]);
        w.top = (vec)(((FN(whole))w.shown[i] & wins) | ((FN(whole))w.top & ~wins));
    }
    return w;
}

/* One map of one set becomes a plane of what the stage shows. */
static inline __attribute__((always_inline)) void FN(pool_map)(const int NORM, const int POOL, const FN(stage) *s, int64_t set,
                                                              int64_t o) {
    const FN(norming) n = FN(norming_of)(s, set, o);
    for (int64_t y = 0; y < s->ph; y++) {
        const REAL *z = FN(map)(s, set, o) + y * POOL * s->wz * LANES;
        const REAL *plus = s->plus ? FN(place)(s->plus, set, o, y, 0) : NULL;
        REAL *to = FN(place)(s->to, set, o, y, 0);
        for (int64_t x = 0; x < s->pw; x++) {
            vec top = FN(look)(NORM, POOL, z + x * POOL * LANES, s->wz * LANES, &n).top;
            if (plus) top += LOAD(plus + x * LANES);
            if (s->relu) top = WHERE(~(top <= 0), top);
            STORE(to + x * LANES) = top;
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

static void FN(show_map)(const FN(stage) *s, int64_t set, int64_t o) { EITHER(pool_map, s, set, o) }

/* `forward` for samples side by side. */
static void FN(forward_abreast)(FN(stage) *s, int64_t rows, int learn) {
    const int64_t sets = (rows + LANES - 1) / LANES, line = s->from->wi * LANES, plane = s->hz * s->wz * LANES;
    const FN(way) way = FN(way_there)(s);
    for (int64_t o = 0, O; o < s->o; o += O) {
        O = FN(share_of)(s->o - o, FEW_MAPS);
        for (int64_t i = 0; i < s->k * s->k * s->c; i++) memcpy(s->turned + i * O, s->kernel + i * s->op + o, O * sizeof(REAL));
        for (int64_t i = 0; i < sets; i++)
            FN(sweep)(&way, O, FN(place)(s->from, i, 0, -s->p, -s->p), s->from->hi * line, line, s->c, s->turned, s->b + o,
                      FN(map)(s, i, o), plane, LANES, s->wz * LANES, 0);
        for (int64_t m = o; s->norm != GROUP && m < o + O; m++) {
            if (s->norm && learn) FN(learn_map)(s, rows, m);
            for (int64_t i = 0; i < sets; i++) FN(show_map)(s, i, m);
        }
    }
    for (int64_t i = 0; s->norm == GROUP && i < sets; i++) {
        for (int64_t g = 0; g < s->groups; g++) FN(learn_group)(s, i, g);
        for (int64_t o = 0; o < s->o; o++) FN(show_map)(s, i, o);
    }
}

/* Gradients by what one map of one set shows are added up in `sum` and, times outputs less their mean, in `with`; with
 * `last` outputs become gradients by them, and what was added gets its share. */
static inline __attribute__((always_inline)) void FN(unpool_map)(const int NORM, const int POOL, const FN(stage) *s, int64_t set,
                                                                int64_t o, int last, const FN(norming) *n, vec live,
                                                                vec *sum, vec *with) {
    const int64_t line = s->wz * LANES, place = (set * s->o + o) * s->ph * s->pw * LANES;
    const REAL *above = s->to->back + place;
    REAL *z = FN(map)(s, set, o), *plus = s->plus && s->plus->back && last ? s->plus->back + place : NULL;
    for (int64_t y = 0; y < s->ph; y++) {
        const REAL *out = FN(place)(s->to, set, o, y, 0);
        for (int64_t x = 0; x < s->pw; x++, above += LANES) {
            REAL *at = z + (y * s->wz + x) * POOL * LANES;
            const FN(window) w = FN(look)(NORM, POOL, at, line, n);
            const vec d = LOAD(above), top = POOL == 1 ? LOAD(out + x * LANES) : w.top;
            FN(whole) open = (FN(whole))(top == top);
            if (s->relu) open &= (FN(whole))(top > 0);
            *sum += WHERE(open, d);
            if (plus) {
                if (s->plus_adds) STORE(plus) += WHERE(open, d);
                else STORE(plus) = WHERE(open, d);
                plus += LANES;
            }
            for (int64_t j = 0; j < POOL * POOL; j++) {
                REAL *to = at + (j >> 1) * line + (j & 1) * LANES;
                const FN(whole) mine = POOL == 1 ? open : open & (FN(whole))(w.shown[j] == top);
                const vec share = WHERE(mine, d);
                open &= ~mine;
                if (!last) *with += share * (LOAD(to) - n->mean);
                else if (NORM) STORE(to) = (n->factor * share - (n->level + n->slope * (LOAD(to) - n->mean))) * live;
                else STORE(to) = share;
            }
        }
    }
    for (int64_t y = 0; last && y < s->oh; y++) /* what pooling never saw */
        for (int64_t x = y < s->ph * POOL ? s->pw * POOL : 0; x < s->ow; x++) {
            REAL *to = z + y * line + x * LANES;
            if (NORM) STORE(to) = (n->slope * (n->mean - LOAD(to)) - n->level) * live;
            else STORE(to) = (vec){0};
        }
}

static void FN(count_map)(const FN(stage) *s, int64_t set, int64_t o, const FN(norming) *n, vec *sum, vec *with) {
    EITHER(unpool_map, s, set, o, 0, n, (vec){0}, sum, with)
}

static void FN(fill_map)(const FN(stage) *s, int64_t set, int64_t o, const FN(norming) *n, vec live, vec *sum) {
    EITHER(unpool_map, s, set, o, 1, n, live, sum, NULL)
}
#undef EITHER

/* Outputs of a map become gradients by output; gs and gt are the sums that batch norm and bias need. */
static void FN(back_map)(const FN(stage) *s, int64_t rows, int64_t o, REAL *gs, REAL *gt) {
    const int64_t sets = (rows + LANES - 1) / LANES;
    const REAL count = (REAL)(rows * s->oh * s->ow);
    FN(norming) n = FN(norming_of)(s, 0, o);
    vec sum = {0}, with = {0}, unused = {0};
    for (int64_t i = 0; s->norm && i < sets; i++) FN(count_map)(s, i, o, &n, &sum, &with);
    if (s->norm) {
        const REAL factor = s->scale[o] * s->inverse[o], all = gt[o] = FN(sum)(sum);
        gs[o] = FN(sum)(with) * s->inverse[o];
        n.level = (vec){0} + factor * all / count, n.slope = (vec){0} + factor * s->inverse[o] * gs[o] / count;
    }
    for (int64_t i = 0; i < sets; i++) FN(fill_map)(s, i, o, &n, FN(live)(rows, i), s->norm ? &unused : &sum);
    if (!s->norm) gt[o] = FN(sum)(sum);
}

/* The same for a group of maps of one set behind group norm; gs and gt grow. */
static void FN(back_group)(const FN(stage) *s, int64_t rows, int64_t set, int64_t group, REAL *gs, REAL *gt) {
    const int64_t span = s->o / s->groups;
    const vec inverse = LOAD(s->inverse + (set * s->groups + group) * LANES);
    const REAL count = (REAL)(span * s->oh * s->ow);
    vec level = {0}, slope = {0}, unused = {0};
    for (int64_t o = group * span; o < (group + 1) * span; o++) {
        const FN(norming) n = FN(norming_of)(s, set, o);
        vec sum = {0}, with = {0};
        FN(count_map)(s, set, o, &n, &sum, &with);
        with *= inverse;
        gt[o] += FN(sum)(sum), gs[o] += FN(sum)(with);
        level += s->scale[o] * sum, slope += s->scale[o] * with;
    }
    for (int64_t o = group * span; o < (group + 1) * span; o++) {
        FN(norming) n = FN(norming_of)(s, set, o);
        n.level = level * inverse / count, n.slope = slope * inverse * inverse / count;
        FN(fill_map)(s, set, o, &n, FN(live)(rows, set), &unused);
    }
}

static void FN(bias_gradient_abreast)(const FN(stage) *s, int64_t rows, REAL *gt) {
    for (int64_t o = 0; o < s->o; o++) {
        vec sum = {0};
        for (int64_t i = 0; i < (rows + LANES - 1) / LANES; i++)
            for (int64_t y = 0; y < s->oh; y++)
                for (int64_t x = 0; x < s->ow; x++) sum += LOAD(FN(map)(s, i, o) + (y * s->wz + x) * LANES);
        gt[o] = FN(sum)(sum);
    }
}

/* `gradients` for samples side by side: by the kernel in g, by scale and shift in gs and gt, or by the bias in gt. */
static void FN(gradients_abreast)(FN(stage) *s, int64_t rows, REAL *g, REAL *gs, REAL *gt) {
    const int64_t sets = (rows + LANES - 1) / LANES;
    for (int64_t o = 0; o < s->o; o++) gs[o] = gt[o] = 0;
    for (int64_t o = 0; s->norm != GROUP && o < s->o; o++) FN(back_map)(s, rows, o, gs, gt);
    for (int64_t i = 0; s->norm == GROUP && i < sets * s->groups; i++)
        FN(back_group)(s, rows, i / s->groups, i % s->groups, gs, gt);
    if (s->from->back) FN(sweep_back)(s, sets);
    FN(meet_all)(s, sets, g);
}
