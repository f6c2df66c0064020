/* A stage of a network: a convolution (stride 1), batch norm if it has one, max pooling by two if it has one, rectifier
 * if it has one. What it holds; conv.h and abreast.h send batches through it. */

typedef struct {
    int64_t c, h, w, o, k, p; /* channels, height and width in; maps, kernel, padding */
    int biased, norm, relu;
    int64_t pool;                  /* 1 or 2 */
    int64_t cp, op;                /* channels and maps in whole vectors */
    int64_t hi, wi, oh, ow;        /* the padded image, the maps */
    int64_t q, hz, wz;             /* border, height and width of the maps with the border that the way back needs */
    int64_t ph, pw;                /* the maps after pooling */
    int64_t size;                  /* numbers of the kernel */
    REAL *kernel, *kernel0, *vk;   /* kernel row x kernel column x channel x map */
    REAL *turned;                  /* turned round, kernel row x kernel column x map x channel; abreast: a few maps */
    REAL *b, *b0, *vb;
    REAL *scale, *scale0, *vs, *shift, *shift0, *vt; /* of batch norm */
    REAL *mean, *inverse;          /* of the batch: means, and 1 / sqrt(variance + eps) */
    REAL *means, *variances;       /* running ones */
    double eps, momentum;
    int abreast;                   /* samples lie side by side (abreast.h), else channels do (conv.h) */
    int64_t rooms[4];              /* numbers of turned, in, z, back */
    REAL *in;                      /* batch x padded image */
    REAL *z;                       /* batch x maps with border: outputs of the convolution, then gradients by them */
    REAL *back;                    /* gradients by the image, batch x h x w x cp (not of the first stage) */
} FN(stage);

/* Of `k` lines, the first at `at`, those that lie behind `edge` empty lines and within `filled` ones. */
typedef struct {
    int64_t from, to;
} FN(lines);

static inline FN(lines) FN(within)(int64_t at, int64_t k, int64_t edge, int64_t filled) {
    const int64_t from = edge - at > 0 ? edge - at : 0, to = edge + filled - at < k ? edge + filled - at : k;
    return (FN(lines)){from, to};
}

/* Mean and deviation are the running ones. */
static void FN(use_running)(FN(stage) *s) {
    for (int64_t i = 0; s->norm && i < s->o; i++) {
        s->mean[i] = s->means[i];
        s->inverse[i] = (REAL)(1 / sqrt((double)s->variances[i] + s->eps));
    }
}

/* Numbers of a stage that training needs; `shape` is c h w o k p biased norm relu pool. */
static int64_t FN(measure)(FN(stage) *s, const int64_t *shape, const double *norm, int first, int64_t most, int abreast) {
    s->c = shape[0], s->h = shape[1], s->w = shape[2], s->o = shape[3], s->k = shape[4], s->p = shape[5];
    s->biased = (int)shape[6], s->norm = (int)shape[7], s->relu = (int)shape[8], s->pool = shape[9];
    s->eps = norm[0], s->momentum = norm[1];
    s->cp = FN(padded)(s->c), s->op = FN(padded)(s->o);
    s->hi = s->h + 2 * s->p, s->wi = s->w + 2 * s->p, s->oh = s->hi - s->k + 1, s->ow = s->wi - s->k + 1;
    s->q = s->k - 1 - s->p, s->hz = s->oh + 2 * s->q, s->wz = s->ow + 2 * s->q;
    s->ph = s->oh / s->pool, s->pw = s->ow / s->pool, s->size = s->k * s->k * s->c * s->op;
    s->abreast = abreast;
    if (abreast) {
        most = FN(padded)(most);
        s->rooms[0] = FEW_MAPS * s->k * s->k * (s->c > s->o ? s->c : s->o), s->rooms[1] = most * s->hi * s->wi * s->c;
        s->rooms[2] = most * s->hz * s->wz * s->o, s->rooms[3] = first ? 0 : most * s->h * s->w * s->c;
    } else {
        s->rooms[0] = first ? 0 : s->k * s->k * s->op * s->cp, s->rooms[1] = most * s->hi * s->wi * s->c;
        s->rooms[2] = most * s->hz * s->wz * s->op, s->rooms[3] = first ? 0 : most * s->h * s->w * s->cp;
    }
    int64_t numbers = 3 * s->size + 11 * s->op;
    for (int i = 0; i < 4; i++) numbers += s->rooms[i] = FN(padded)(s->rooms[i]);
    return numbers;
}

/* Gives a stage its numbers, out of `at`; what comes after them. */
static REAL *FN(settle)(FN(stage) *s, REAL *at) {
#define TAKE(count) (at += (count), at - (count))
    s->kernel = TAKE(s->size), s->kernel0 = TAKE(s->size), s->vk = TAKE(s->size);
    s->b = TAKE(s->op), s->b0 = TAKE(s->op), s->vb = TAKE(s->op);
    s->scale = TAKE(s->op), s->scale0 = TAKE(s->op), s->vs = TAKE(s->op);
    s->shift = TAKE(s->op), s->shift0 = TAKE(s->op), s->vt = TAKE(s->op);
    s->mean = TAKE(s->op), s->inverse = TAKE(s->op);
    s->turned = TAKE(s->rooms[0]), s->in = TAKE(s->rooms[1]), s->z = TAKE(s->rooms[2]);
    s->back = s->rooms[3] ? TAKE(s->rooms[3]) : NULL;
#undef TAKE
    return at;
}

/* Numbers of a stage as torch keeps them (map x channel x kernel row x column), into or out of a stage. */
static REAL *FN(carry)(FN(stage) *s, REAL *kernel, REAL *b, REAL *scale, REAL *shift, REAL *p, int out) {
    for (int64_t o = 0; o < s->o; o++)
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
