/* The stages of a network and the images between them. A stage is a convolution and, each if it is there: batch norm or
 * group norm, another image that is added, a rectifier, max pooling by two; or it is mean pooling. Image 0 is the samples,
 * image i + 1 what stage i shows. What they hold; conv.h and maps.h send batches through, or abreast.h and planes.h. */

#define STAGE_NUMBERS 15 /* of a stage's shape: from plus mean c h w o k p stride biased norm groups relu pool */

typedef struct {
    int64_t c, h, w, cp;  /* channels, height, width; channels in whole vectors */
    int64_t edge, hi, wi; /* the border of zeros that its readers need; height and width with it */
    int64_t rooms[2];     /* numbers of x, back */
    REAL *x;              /* batch x image with border */
    REAL *back;           /* gradients by it, batch x h x w x cp; of samples there are none */
    int read;             /* while stages are measured, the last first: whether a later one has it */
} FN(image);

typedef struct {
    FN(image) *from, *to, *plus;   /* what it reads, what it shows, what is added, if anything is */
    int adds, plus_adds;           /* whether gradients by `from` and `plus` are added to what a later stage left there */
    int mean;                      /* it is mean pooling, k x k pixels or, if k is 0, all of them */
    int64_t c, h, w, o, k, p;      /* channels, height and width in; maps, kernel, padding */
    int64_t stride;
    int biased, norm, relu;        /* norm: NO_NORM, BATCH, GROUP */
    int64_t groups, pool;          /* of group norm; max pooling: 1 or 2 */
    int64_t cp, op;                /* channels and maps in whole vectors */
    int64_t oh, ow;                /* the maps */
    int64_t q, hz, wz;             /* border, height and width of the maps with the border that the way back needs */
    int64_t ph, pw;                /* the maps after pooling */
    int64_t size;                  /* numbers of the kernel */
    REAL *kernel, *kernel0, *vk;   /* kernel row x kernel column x channel x map */
    REAL *turned;                  /* turned round, kernel row x kernel column x map x channel; abreast: a few maps */
    REAL *b, *b0, *vb;
    REAL *scale, *scale0, *vs, *shift, *shift0, *vt; /* of a norm */
    REAL *mean_of, *inverse;       /* means, and 1 / sqrt(variance + eps): of the batch, or of every sample */
    REAL *means, *variances;       /* running ones, of batch norm */
    double eps, momentum;
    int abreast;                   /* samples lie side by side (abreast.h), else channels do (conv.h) */
    int64_t rooms[3];              /* numbers of turned, z, mean_of */
    REAL *z;                       /* batch x maps with border: outputs of the convolution, then gradients by them */
} FN(stage);

/* Of `k` lines, the first at `at`, those that lie behind `edge` empty lines and within `filled` ones. */
typedef struct {
    int64_t from, to;
} FN(lines);

static inline FN(lines) FN(within)(int64_t at, int64_t k, int64_t edge, int64_t filled) {
    const int64_t first = edge - at > 0 ? edge - at : 0, from = first < k ? first : k;
    const int64_t last = edge + filled - at < k ? edge + filled - at : k;
    return (FN(lines)){from, last > from ? last : from};
}

/* Windows that a convolution goes through: where they lie in what is read, which has empty lines above and below. */
typedef struct {
    int64_t stride, rows, columns; /* from one to the next; a window */
    int64_t at, edge, filled;      /* the line of the first; lines before those that are not empty, and how many they are */
    int64_t h, w;                  /* windows below and beside each other */
} FN(way);

static inline FN(way) FN(way_there)(const FN(stage) *s) {
    return (FN(way)){s->stride, s->k, s->k, 0, s->p, s->h, s->oh, s->ow};
}

/* On the way back lines of the padded image whose number has the same rest by the stride, `rest`, meet the same rows of
 * the kernel: every so many of them. */
typedef struct {
    int64_t taps, first, count; /* rows of the kernel; the first such line within `h` lines behind the padding; lines */
} FN(phase);

static inline FN(phase) FN(phase_of)(const FN(stage) *s, int64_t h, int64_t rest) {
    const int64_t first = (s->p - rest + s->stride - 1) / s->stride;
    const int64_t end = s->p + h > rest ? (s->p + h - rest + s->stride - 1) / s->stride : 0;
    return (FN(phase)){rest < s->k ? (s->k - rest + s->stride - 1) / s->stride : 0, first, end > first ? end - first : 0};
}

static inline FN(way) FN(way_back)(const FN(stage) *s, FN(phase) down, FN(phase) across) {
    return (FN(way)){1, down.taps, across.taps, s->q + down.first + 1 - down.taps, s->q, s->oh, down.count, across.count};
}

/* The outputs that meet a row of the kernel, of which there are `oh` lines. */
static inline FN(lines) FN(meeting)(const FN(stage) *s, int64_t row) {
    const int64_t from = s->p > row ? (s->p - row + s->stride - 1) / s->stride : 0;
    const int64_t end = s->p + s->h > row ? (s->p + s->h - row + s->stride - 1) / s->stride : 0;
    return (FN(lines)){from, end < s->oh ? end : s->oh};
}

/* Mean and deviation are the running ones. */
static void FN(use_running)(FN(stage) *s) {
    for (int64_t i = 0; s->norm == BATCH && i < s->o; i++) {
        s->mean_of[i] = s->means[i];
        s->inverse[i] = (REAL)(1 / sqrt((double)s->variances[i] + s->eps));
    }
}

/* Numbers of a stage that training needs; the borders of the images that it reads and shows grow as they must. */
static int64_t FN(measure)(FN(stage) *s, const int64_t *shape, const double *norm, FN(image) *images, FN(image) *to,
                           int64_t most, int abreast) {
    s->from = images + shape[0], s->plus = shape[1] < 0 ? NULL : images + shape[1], s->to = to, s->mean = (int)shape[2];
    s->c = shape[3], s->h = shape[4], s->w = shape[5], s->o = shape[6], s->k = shape[7], s->p = shape[8];
    s->stride = shape[9], s->biased = (int)shape[10], s->norm = (int)shape[11], s->groups = shape[12];
    s->relu = (int)shape[13], s->pool = shape[14], s->eps = norm[0], s->momentum = norm[1], s->abreast = abreast;
    s->cp = FN(padded)(s->c), s->op = FN(padded)(s->o);
    s->oh = (s->h + 2 * s->p - (s->k ? s->k : s->h)) / s->stride + 1;
    s->ow = (s->w + 2 * s->p - (s->k ? s->k : s->w)) / s->stride + 1;
    s->ph = s->oh / s->pool, s->pw = s->ow / s->pool, s->size = s->mean ? 0 : s->k * s->k * s->c * s->op;
    s->from->c = s->c, s->from->h = s->h, s->from->w = s->w, to->c = s->o, to->h = s->ph, to->w = s->pw;
    if (s->from->edge < s->p) s->from->edge = s->p;
    if (s->plus) s->plus_adds = s->plus->read, s->plus->read = 1; /* its turn comes before that of `from` */
    s->adds = s->from->read, s->from->read = 1;
    if (s->mean) return 0;
    int64_t below = 0, beside = 0;
    for (int64_t rest = 0; rest < s->stride; rest++) {
        const FN(phase) down = FN(phase_of)(s, s->h, rest), across = FN(phase_of)(s, s->w, rest);
#define GROW(border, wanted) border = (wanted) > border ? (wanted) : border
        GROW(s->q, down.taps - 1 - down.first);
        GROW(below, down.first + down.count - s->oh);
        GROW(beside, across.first + across.count - s->ow);
#undef GROW
    }
    s->hz = s->oh + s->q + below, s->wz = s->ow + s->q + beside;
    most = abreast ? FN(padded)(most) : most;
    s->rooms[0] = abreast ? FEW_MAPS * s->k * s->k * (s->c > s->o ? s->c : s->o) : s->k * s->k * s->op * s->cp;
    s->rooms[1] = most * s->hz * s->wz * (abreast ? s->o : s->op);
    s->rooms[2] = s->norm == GROUP ? most * (abreast ? s->groups : s->op) : s->op;
    int64_t numbers = 3 * s->size + 9 * s->op;
    for (int i = 0; i < 3; i++) numbers += (i == 2 ? 2 : 1) * (s->rooms[i] = FN(padded)(s->rooms[i]));
    return numbers;
}

/* Numbers of an image, once all stages are measured; a vector may be read across its end. */
static int64_t FN(measure_image)(FN(image) *m, int first, int64_t most, int abreast) {
    most = abreast ? FN(padded)(most) : most;
    m->cp = FN(padded)(m->c), m->hi = m->h + 2 * m->edge, m->wi = m->w + 2 * m->edge;
    m->rooms[0] = FN(padded)(most * m->hi * m->wi * m->c) + m->cp;
    m->rooms[1] = first ? 0 : FN(padded)(most * m->h * m->w * (abreast ? m->c : m->cp));
    return m->rooms[0] + m->rooms[1];
}

/* Gives a stage its numbers, out of `at`; what comes after them. */
static REAL *FN(settle)(FN(stage) *s, REAL *at) {
    if (s->mean) return at;
#define TAKE(count) (at += (count), at - (count))
    s->kernel = TAKE(s->size), s->kernel0 = TAKE(s->size), s->vk = TAKE(s->size);
    s->b = TAKE(s->op), s->b0 = TAKE(s->op), s->vb = TAKE(s->op);
    s->scale = TAKE(s->op), s->scale0 = TAKE(s->op), s->vs = TAKE(s->op);
    s->shift = TAKE(s->op), s->shift0 = TAKE(s->op), s->vt = TAKE(s->op);
    s->mean_of = TAKE(s->rooms[2]), s->inverse = TAKE(s->rooms[2]);
    s->turned = TAKE(s->rooms[0]), s->z = TAKE(s->rooms[1]);
#undef TAKE
    return at;
}

static REAL *FN(settle_image)(FN(image) *m, REAL *at) {
    m->x = at, m->back = m->rooms[1] ? at + m->rooms[0] : NULL;
    return at + m->rooms[0] + m->rooms[1];
}

/* Numbers of a stage as torch keeps them (map x channel x kernel row x column), into or out of a stage. */
static REAL *FN(carry)(FN(stage) *s, REAL *kernel, REAL *b, REAL *scale, REAL *shift, REAL *p, int out) {
    for (int64_t o = 0; !s->mean && o < s->o; o++)
        for (int64_t c = 0; c < s->c; c++)
            for (int64_t i = 0; i < s->k * s->k; i++, p++) {
                REAL *mine = kernel + (i * s->c + c) * s->op + o;
                if (out) *p = *mine;
                else *mine = *p;
            }
    REAL *rows[] = {s->biased ? b : NULL, s->norm ? scale : NULL, s->norm ? shift : NULL};
    for (int i = 0; i < 3; i++)
        if (rows[i]) {
            memcpy(out ? p : rows[i], out ? rows[i] : p, s->o * sizeof(REAL));
            p += s->o;
        }
    return p;
}
