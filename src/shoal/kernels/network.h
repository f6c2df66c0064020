/* A network in one precision, with room for one batch: stages of convolution or recurrent cells if there are any, then
 * layers. */

/* What it is, and how all clients of a call train it; laid out as `Call` in calls.py. */
typedef struct {
    int64_t stages, layers, size, trainable, norms; /* `size` numbers in all, the last `norms` of them counters */
    const int64_t *shapes, *widths;                 /* of the stages (stage.h); of the layers */
    const double *constants;                        /* of the stages' norms: eps and momentum */
    const uint8_t *bias, *rectified;                /* which layers have one; before which a rectifier stands */
    const int64_t *cell_shapes;                     /* of the recurrent cells: four numbers each */
    int64_t cells, words;                           /* how many; the words of a sample */
    const void *x, *shift, *scale;                  /* samples as they are stored; inputs are (x - shift) / scale */
    const float *inverse;                           /* of `scale`, where a multiplication does for bytes (bytes.h) */
    int64_t kind, numbers;                          /* bytes, floats or doubles: 0, 1, 2; so many a sample */
    int64_t batch, pairs, shuffle;
    double lr, momentum, decay_w, decay_b, mu;
    double lam;                                     /* of the discrepancy from the model received (mmd.h), if above 0 */
    const double *bandwidths;                       /* its values of s */
    int64_t bands, cut;                             /* how many; the layer whose inputs are compared, or how many there are */
    int64_t fusion, channels, gammas;               /* features are mixed before layer `cut` (fusion.h), if it is not 0 */
    double gamma;                                   /* of a mixture that does not learn it */
    void *rooms;                                    /* for each thread so many bytes, for samples and sums; or none */
    int64_t room;
    int64_t threads;
    const volatile int32_t *stop; /* once it is not 0, nothing more is begun */
} FN(call);

/* One batch through a stage. With `learn` batch norm takes its statistics from the batch. */
static void FN(send)(FN(stage) *s, int64_t rows, int learn) {
    if (s->mean) (s->abreast ? FN(pool_means_abreast) : FN(pool_means))(s, rows);
    else (s->abreast ? FN(forward_abreast) : FN(forward))(s, rows, learn);
}

/* One batch back through a stage, which then moves. `g` has room for the kernel's gradient and two rows of maps. */
static void FN(backward)(FN(stage) *s, int64_t rows, REAL *g, const FN(rule) *how) {
    REAL *gs = g + s->size, *gt = gs + s->op;
    if (s->mean) {
        (s->abreast ? FN(spread_means_abreast) : FN(spread_means))(s, rows);
        return;
    }
    (s->abreast ? FN(gradients_abreast) : FN(gradients))(s, rows, g, gs, gt);
    FN(step)(s->kernel, s->kernel0, s->vk, g, s->size, how->decay_w, how);
    if (s->norm) {
        FN(step)(s->scale, s->scale0, s->vs, gs, s->o, how->decay_b, how);
        FN(step)(s->shift, s->shift0, s->vt, gt, s->o, how->decay_b, how);
    }
    if (s->biased && s->norm == GROUP) (s->abreast ? FN(bias_gradient_abreast) : FN(bias_gradient))(s, rows, gt);
    for (int64_t o = 0; s->norm == BATCH && o < s->o; o++) gt[o] = 0; /* a constant before batch norm is taken away again */
    if (s->biased) FN(step)(s->b, s->b0, s->vb, gt, s->o, how->decay_b, how);
}

typedef struct {
    FN(stage) *stages;
    FN(image) *images;          /* what the stages read and show, one more than there are stages */
    FN(layer) *layers;
    FN(reader) reader;          /* the recurrent cells, if there are any */
    int64_t stage_count, layer_count, at_once; /* so many samples go through the stages at once */
    REAL *flat, *flat_back;     /* what the stages hand to the layers, and the gradients by it or by what cells hand
                                   over: batch x first row; neither is there without stages or cells */
    REAL *pull;                 /* gradients of a discrepancy by what is compared, if there is one */
    int64_t cut;
    FN(fusion) fusion;          /* before layer `cut`, if there is one */
    REAL *g, *turned;
    const REAL **rows, **coef, **acts;
    void *memory;
    int64_t bytes;              /* of memory */
} FN(network);

static REAL *FN(carry_layer)(const FN(layer) *l, REAL *w, REAL *b, REAL *p, int bias, int weights, int out) {
    for (int64_t k = 0; weights && k < l->out; k++)
        memcpy(out ? p + k * l->in : w + k * l->row, out ? w + k * l->row : p + k * l->in, l->in * sizeof(REAL));
    p += l->in * l->out;
    if (bias) memcpy(out ? p : b, out ? b : p, l->out * sizeof(REAL));
    return p + bias * l->out;
}

/* Between the vector as torch has it and the network, in either direction; with `speed` the momentum instead. */
static void FN(exchange)(FN(network) *net, REAL *p, const uint8_t *bias, int dual, int speed, int out) {
    for (int64_t i = 0; i < net->stage_count; i++) {
        FN(stage) *s = net->stages + i;
        p = speed ? FN(carry)(s, s->vk, s->vb, s->vs, s->vt, p, out)
                  : FN(carry)(s, s->kernel, s->b, s->scale, s->shift, p, out);
    }
    for (int64_t i = 0; i < net->reader.count; i++) p = FN(carry_cell)(net->reader.cells + i, p, speed, out);
    for (int64_t i = 0; i < net->layer_count; i++) {
        FN(layer) *l = net->layers + i;
        if (net->fusion.kind && i == net->fusion.at) p = FN(carry_fusion)(&net->fusion, p, speed, out);
        p = FN(carry_layer)(l, speed ? l->v : l->w, speed ? l->vb : l->b, p, bias[i], i > 0 || !dual, out);
    }
}

/* The running means and variances of batch norm lie behind the trainable numbers. */
static void FN(point_at_statistics)(FN(network) *net, REAL *statistics) {
    for (int64_t i = 0; i < net->stage_count; i++) {
        FN(stage) *s = net->stages + i;
        if (s->norm == BATCH) s->means = statistics, s->variances = statistics + s->o, statistics += 2 * s->o;
    }
}

/* Memory for a network and one batch of up to `most` samples, of which so many go through the stages at once; 0 if
 * there is none. */
static int FN(build)(FN(network) *net, const FN(call) *c, int64_t most, int64_t at_once, int form, int extras) {
    const int dual = form == DUAL;
    const int64_t *widths = c->widths;
    int64_t numbers = 0, widest = 1, grads = 1;
    net->stage_count = c->stages, net->layer_count = c->layers, net->at_once = at_once;
    net->stages = calloc(c->stages + 1, sizeof(FN(stage))), net->layers = calloc(c->layers, sizeof(FN(layer)));
    net->images = calloc(c->stages + 1, sizeof(FN(image)));
    if (!net->stages || !net->layers || !net->images) return 0;
    if (c->cells && !FN(lay_reader)(&net->reader, c->cells, c->cell_shapes, c->words, most, extras)) return 0;
    if (c->fusion && !FN(lay_fusion)(&net->fusion, c->fusion, c->cut, c->channels, widths[c->cut], c->gammas, most, extras))
        return 0;
#define MOST(a, b) ((a) > (b) ? (a) : (b))
    for (int64_t i = c->stages - 1; i >= 0; i--) {
        FN(stage) *s = net->stages + i;
        numbers += FN(measure)(s, c->shapes + STAGE_NUMBERS * i, c->constants + 2 * i, net->images, net->images + i + 1, at_once,
                               form == ABREAST);
        grads = MOST(grads, s->size + 2 * s->op);
    }
    for (int64_t i = 0; c->stages && i <= c->stages; i++)
        numbers += FN(measure_image)(net->images + i, !i, at_once, form == ABREAST);
    for (int64_t i = 0; i < c->layers; i++) {
        const int64_t row = FN(padded)(widths[i]), out = FN(padded)(widths[i + 1]);
        widest = MOST(widest, out), grads = MOST(grads, MOST(WIDE_ROWS * row, out));
        numbers += (extras ? 3 : 1) * (widths[i + 1] * row + out) + out + most * (row + out);
    }
#undef MOST
    const int64_t row = FN(padded)(widths[0]);
    grads = FN(padded)(grads);
    numbers += grads + FN(padded)(widest * most) + (c->stages || c->cells ? 2 * most * row : 0);
    net->bytes = numbers * sizeof(REAL);
    REAL *at = net->memory = room_for(net->bytes);
    net->rows = malloc((2 * most + widest) * sizeof(REAL *));
    if (!net->memory || !net->rows) return 0;
    net->coef = net->rows + most, net->acts = net->coef + widest;
#define TAKE(count) (at += (count), at - (count))
    for (int64_t i = 0; i < c->stages; i++) at = FN(settle)(net->stages + i, at);
    for (int64_t i = 0; c->stages && i <= c->stages; i++) at = FN(settle_image)(net->images + i, at);
    for (int64_t i = 0; i < c->layers; i++) {
        FN(layer) *l = net->layers + i;
        l->in = widths[i], l->out = widths[i + 1], l->row = FN(padded)(l->in);
        const int64_t out = FN(padded)(l->out), size = i > 0 || !dual ? l->out * l->row : 0;
        l->w = TAKE(size), l->b = TAKE(out), l->biased = c->bias[i], l->rectified = c->rectified[i];
        if (extras) l->w0 = TAKE(size), l->v = TAKE(size), l->b0 = TAKE(out), l->vb = TAKE(out);
        l->act = i ? TAKE(most * l->row) : NULL, l->z = TAKE(most * out);
    }
    net->g = TAKE(grads), net->turned = TAKE(FN(padded)(widest * most));
    if (c->stages || c->cells) net->flat = TAKE(most * row), net->flat_back = TAKE(most * row);
#undef TAKE
    return 1;
}

static void FN(tear_down)(FN(network) *net) {
    FN(drop_reader)(&net->reader), FN(drop_fusion)(&net->fusion);
    free(net->memory), free(net->rows), free(net->stages), free(net->images), free(net->layers);
}

/* A network as after `build`, ready for another client: what pads rows and images is zero, whatever came before. */
static void FN(clear)(FN(network) *net, REAL gamma) {
    memset(net->memory, 0, net->bytes), FN(clear_fusion)(&net->fusion, gamma);
    for (int64_t i = 0; i < net->reader.count; i++)
        memset(net->reader.cells[i].memory, 0, net->reader.cells[i].weights * sizeof(REAL));
}

/* The numbers as they are now are those received. */
static void FN(anchor)(FN(network) *net, int dual) {
    for (int64_t i = 0; i < net->stage_count; i++) {
        FN(stage) *s = net->stages + i;
        if (s->mean) continue;
        memcpy(s->kernel0, s->kernel, s->size * sizeof(REAL));
        memcpy(s->b0, s->b, s->op * sizeof(REAL));
        memcpy(s->scale0, s->scale, s->op * sizeof(REAL));
        memcpy(s->shift0, s->shift, s->op * sizeof(REAL));
    }
    for (int64_t i = 0; i < net->reader.count; i++) FN(anchor_cell)(net->reader.cells + i);
    FN(anchor_fusion)(&net->fusion);
    for (int64_t i = 0; i < net->layer_count; i++) {
        FN(layer) *l = net->layers + i;
        if (i || !dual) memcpy(l->w0, l->w, l->out * l->row * sizeof(REAL));
        memcpy(l->b0, l->b, l->out * sizeof(REAL));
    }
}

/* The outputs of the first layer for some samples, `row` numbers apart; with `learn` batch norm learns from them. */
static void FN(first_layer)(FN(network) *net, const REAL *x, int64_t row, const int64_t *index, int64_t size, int learn) {
    FN(layer) *first = net->layers;
    for (int64_t from = 0; net->stage_count && from < size; from += net->at_once) {
        const int64_t rows = size - from < net->at_once ? size - from : net->at_once;
        const int abreast = net->stages->abreast;
        (abreast ? FN(lay_abreast) : FN(lay))(net->images, x, index + from, rows);
        for (int64_t i = 0; i < net->stage_count; i++) FN(send)(net->stages + i, rows, learn);
        (abreast ? FN(flatten_abreast) : FN(flatten))(net->images + net->stage_count, rows, net->flat + from * first->row,
                                                      first->row);
    }
    if (net->reader.count) FN(read_words)(&net->reader, x, index, size);
    for (int64_t r = 0; r < size; r++)
        net->rows[r] = net->reader.count ? FN(last_state)(&net->reader, r)
                       : net->stage_count ? net->flat + r * first->row : x + index[r] * row;
    if (net->fusion.kind && !net->fusion.at) FN(fuse)(&net->fusion, size, net->rows);
    FN(dots)(size, net->rows, first, FN(padded)(first->out));
}

/* One batch back through the stages, which move; gradients by what they handed over are in flat_back. */
static void FN(back_through_stages)(FN(network) *net, int64_t size, const FN(rule) *how) {
    (net->stages->abreast ? FN(unflatten_abreast) : FN(unflatten))(net->images + net->stage_count, size, net->flat_back,
                                                                  net->layers->row);
    for (int64_t i = net->stage_count - 1; i >= 0; i--) FN(backward)(net->stages + i, size, net->g, how);
}

/* The outputs of all other layers. */
static void FN(other_layers)(FN(network) *net, int64_t size) {
    for (int64_t i = 1; i < net->layer_count; i++) {
        FN(layer) *l = net->layers + i, *before = l - 1;
        for (int64_t t = 0; t < size * l->row; t++) { /* a row of l is as long as a padded output of the one before */
            const REAL z = before->z[t];
            l->act[t] = !l->rectified || z > 0 || z != z ? z : 0;
        }
        for (int64_t r = 0; r < size; r++) net->acts[r] = l->act + r * l->row;
        if (net->fusion.kind && net->fusion.at == i) FN(fuse)(&net->fusion, size, net->acts);
        FN(dots)(size, net->acts, l, FN(padded)(l->out));
    }
}

/* Samples as the network takes them, `row` numbers apart: bytes and floats are taken for floats, doubles for doubles,
 * and both rounded to the precision of the network last, as numpy would. A turn says where each pixel comes from.
 * Samples lie far apart: those after the next are sent for while this one is read. */
#define READ(STORED, TAKEN, QUOTIENT)                                                                            \
    for (int64_t i = 0; i < n; i++) {                                                                           \
        const STORED *from = (const STORED *)c->x + index[i] * c->numbers;                                      \
        const TAKEN *shift = c->shift, *scale = c->scale;                                                       \
        REAL *restrict to = turn ? spare : x + i * row;                                                         \
        const char *soon = (const char *)((const STORED *)c->x + index[i + 2 < n ? i + 2 : i] * c->numbers);    \
        for (int64_t b = 0; b < c->numbers * (int64_t)sizeof(STORED); b += 64) __builtin_prefetch(soon + b);    \
        if (shift)                                                                                              \
            for (int64_t j = 0; j < c->numbers; j++) to[j] = (REAL)(QUOTIENT);                                  \
        else                                                                                                    \
            for (int64_t j = 0; j < c->numbers; j++) to[j] = (REAL)from[j];                                     \
        for (int64_t j = 0; turn && j < c->numbers; j++) x[i * row + j] = spare[turn[j]];                       \
        for (int64_t j = c->numbers; j < row; j++) x[i * row + j] = 0;                                          \
    }
static void FN(read)(const FN(call) *c, const int64_t *index, int64_t n, const int64_t *turn, int64_t row, REAL *spare,
                     REAL *x) {
    if (c->kind == 0 && c->inverse) {
        READ(uint8_t, float, divided((float)from[j] - shift[j], scale[j], c->inverse[j]))
    } else if (c->kind == 0) {
        READ(uint8_t, float, ((float)from[j] - shift[j]) / scale[j])
    } else if (c->kind == 1) {
        READ(float, float, (from[j] - shift[j]) / scale[j])
    } else {
        READ(double, double, (from[j] - shift[j]) / scale[j])
    }
}
#undef READ
