/* The training loop of the native kernel in one precision: stages of convolution if there are any, then layers. */

/* A network with its numbers: `x` are samples as the first layer takes them, else the stages make rows of `flat`. */
typedef struct {
    FN(stage) *stages;
    FN(layer) *layers;
    int64_t stage_count, layer_count;
    REAL *flat, *flat_back;     /* what the stages hand to the layers, and the gradients by it: batch x first row;
                                   neither is there without stages */
    REAL *g, *turned;
    const REAL **rows, **coef, **acts;
    void *memory;
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
    for (int64_t i = 0; i < net->layer_count; i++) {
        FN(layer) *l = net->layers + i;
        p = FN(carry_layer)(l, speed ? l->v : l->w, speed ? l->vb : l->b, p, bias[i], i > 0 || !dual, out);
    }
}

/* Memory for a network and one batch; 0 if there is none. */
static int FN(build)(FN(network) *net, int64_t stages, const int64_t *shapes, const double *norms, int64_t layers,
                     const int64_t *widths, const uint8_t *bias, int64_t most, int dual, int extras) {
    int64_t numbers = 0, widest = 1, grads = 1;
    net->stage_count = stages, net->layer_count = layers;
    net->stages = calloc(stages + 1, sizeof(FN(stage))), net->layers = calloc(layers, sizeof(FN(layer)));
    if (!net->stages || !net->layers) return 0;
#define MOST(a, b) ((a) > (b) ? (a) : (b))
    for (int64_t i = 0; i < stages; i++) {
        FN(stage) *s = net->stages + i;
        numbers += FN(measure)(s, shapes + 10 * i, norms + 2 * i, !i, most);
        grads = MOST(grads, s->size + 2 * s->op);
    }
    for (int64_t i = 0; i < layers; i++) {
        const int64_t row = FN(padded)(widths[i]), out = FN(padded)(widths[i + 1]);
        widest = MOST(widest, out), grads = MOST(grads, MOST(WIDE_ROWS * row, out));
        numbers += (extras ? 3 : 1) * (widths[i + 1] * row + out) + out + most * (row + out);
    }
#undef MOST
    const int64_t row = FN(padded)(widths[0]);
    numbers += grads + widest * most + (stages ? 2 * most * row : 0);
    REAL *at = net->memory = calloc(numbers, sizeof(REAL));
    net->rows = malloc((2 * most + widest) * sizeof(REAL *));
    if (!net->memory || !net->rows) return 0;
    net->coef = net->rows + most, net->acts = net->coef + widest;
#define TAKE(count) (at += (count), at - (count))
    for (int64_t i = 0; i < stages; i++) at = FN(settle)(net->stages + i, at, !i, most);
    for (int64_t i = 0; i < layers; i++) {
        FN(layer) *l = net->layers + i;
        l->in = widths[i], l->out = widths[i + 1], l->row = FN(padded)(l->in);
        const int64_t out = FN(padded)(l->out), size = i > 0 || !dual ? l->out * l->row : 0;
        l->w = TAKE(size), l->b = TAKE(out), l->biased = bias[i];
        if (extras) l->w0 = TAKE(size), l->v = TAKE(size), l->b0 = TAKE(out), l->vb = TAKE(out);
        l->act = i ? TAKE(most * l->row) : NULL, l->z = TAKE(most * out);
    }
    net->g = TAKE(grads), net->turned = TAKE(widest * most);
    if (stages) net->flat = TAKE(most * row), net->flat_back = TAKE(most * row);
#undef TAKE
    return 1;
}

/* The numbers as they are now are those received. */
static void FN(anchor)(FN(network) *net, int dual) {
    for (int64_t i = 0; i < net->stage_count; i++) {
        FN(stage) *s = net->stages + i;
        memcpy(s->kernel0, s->kernel, s->size * sizeof(REAL));
        memcpy(s->b0, s->b, s->op * sizeof(REAL));
        memcpy(s->scale0, s->scale, s->op * sizeof(REAL));
        memcpy(s->shift0, s->shift, s->op * sizeof(REAL));
    }
    for (int64_t i = 0; i < net->layer_count; i++) {
        FN(layer) *l = net->layers + i;
        if (i || !dual) memcpy(l->w0, l->w, l->out * l->row * sizeof(REAL));
        memcpy(l->b0, l->b, l->out * sizeof(REAL));
    }
}

static void FN(tear_down)(FN(network) *net) {
    free(net->memory), free(net->rows), free(net->stages), free(net->layers);
}

/* Train on the batches order[cuts[s]..cuts[s+1]). `params` (the trainable numbers), `statistics` (running means and
 * variances of batch norm) and, if given, `velocity` are read and written. With `gram` the first layer is in the dual
 * form: `z0` (samples x padded out) is read, `span` (likewise) and `scale` are written, and the first layer's
 * weights in `params` are left alone. Returns 0, or 1 without memory. */
int FN(train)(const REAL *x, const int64_t *label, int64_t n, int64_t stages, const int64_t *shapes,
              const double *norms, int64_t layers, const int64_t *widths, const uint8_t *bias, REAL *params,
              REAL *statistics, REAL *velocity, const int64_t *order, const int64_t *cuts, int64_t steps, double lr,
              double momentum, double decay_w, double decay_b, double mu, const REAL *gram, const REAL *z0, REAL *span,
              double *scale, double *loss) {
    const int extras = momentum != 0 || decay_w != 0 || decay_b != 0 || mu != 0, dual = gram != NULL;
    const int64_t wide0 = FN(padded)(widths[1]), row0 = FN(padded)(widths[0]);
    const int64_t pad = !dual && !stages && row0 != widths[0] ? n * row0 : 0;
    int64_t most = 1;
    for (int64_t s = 0; s < steps; s++)
        if (cuts[s + 1] - cuts[s] > most) most = cuts[s + 1] - cuts[s];
    FN(network) net = {0};
    REAL *more = calloc(pad + (dual && extras ? n * wide0 : 0) + 1, sizeof(REAL)), *xp = more, *vspan = more + pad;
    if (!more || !FN(build)(&net, stages, shapes, norms, layers, widths, bias, most, dual, extras)) {
        free(more), FN(tear_down)(&net);
        return 1;
    }
    FN(exchange)(&net, params, bias, dual, 0, 0);
    if (extras) FN(anchor)(&net, dual);
    if (velocity) FN(exchange)(&net, velocity, bias, dual, 1, 0);
    for (int64_t i = 0; i < stages; i++) {
        FN(stage) *s = net.stages + i;
        if (s->norm) s->means = statistics, s->variances = statistics + s->o, statistics += 2 * s->o;
    }
    for (int64_t i = 0; pad && i < n; i++) memcpy(xp + i * row0, x + i * widths[0], widths[0] * sizeof(REAL));
    const REAL *samples = pad ? xp : x, **rows = net.rows, **acts = net.acts;
    const FN(rule) how = {(REAL)lr, (REAL)momentum, (REAL)decay_w, (REAL)decay_b, (REAL)mu, !extras};
    double a = 1, va = 0, losses = 0;
    FN(layer) *first = net.layers, *last = first + layers - 1;
    for (int64_t s = 0; s < steps; s++) {
        const int64_t *index = order + cuts[s], size = cuts[s + 1] - cuts[s];
        if (dual) {
            for (int64_t r = 0; r < size; r++) {
                rows[r] = gram + index[r] * n;
                for (int64_t k = 0; k < wide0; k += LANES)
                    STORE(first->z + r * wide0 + k) = (REAL)a * LOAD(z0 + index[r] * wide0 + k) + LOAD(first->b + k);
            }
            FN(product)(size, rows, n, span, wide0, NULL, first->z, wide0, 1);
        } else {
            if (stages) FN(lay)(net.stages, x, index, size);
            for (int64_t i = 0; i < stages; i++)
                FN(forward)(net.stages + i, size, i + 1 < stages ? net.stages + i + 1 : NULL, net.flat, row0);
            for (int64_t r = 0; r < size; r++) rows[r] = stages ? net.flat + r * row0 : samples + index[r] * row0;
            FN(dots)(size, rows, first, wide0);
        }
        for (int64_t i = 1; i < layers; i++) {
            FN(layer) *l = first + i, *before = l - 1;
            for (int64_t t = 0; t < size * l->row; t++) { /* a row of l is as long as a padded output of the one before */
                const REAL z = before->z[t];
                l->act[t] = z > 0 || z != z ? z : 0;
            }
            for (int64_t r = 0; r < size; r++) acts[r] = l->act + r * l->row;
            FN(dots)(size, acts, l, FN(padded)(l->out));
        }
        losses += FN(softmax)(size, last->out, FN(padded)(last->out), last->z, label, index);
        for (int64_t i = layers - 1; i > 0; i--) {
            FN(layer) *l = first + i, *before = l - 1;
            for (int64_t r = 0; r < size; r++) acts[r] = l->act + r * l->row;
            FN(move)(l, size, acts, before->z, net.turned, net.coef, net.g, &how);
            for (int64_t t = 0; t < size * l->row; t++) before->z[t] = l->act[t] > 0 ? before->z[t] : 0;
            FN(move_bias)(l, size, net.g, &how);
        }
        if (!dual) {
            FN(move)(first, size, rows, net.flat_back, net.turned, net.coef, net.g, &how);
        } else if (how.plain) {
            for (int64_t r = 0; r < size; r++) {
                REAL *to = span + index[r] * wide0;
                for (int64_t k = 0; k < wide0; k += LANES)
                    STORE(to + k) = LOAD(to + k) - how.lr * LOAD(first->z + r * wide0 + k);
            }
        } else {
            const double pull = decay_w + mu;
            for (int64_t t = 0; t < n * wide0; t++) vspan[t] = how.momentum * vspan[t] + (REAL)pull * span[t];
            for (int64_t r = 0; r < size; r++) {
                REAL *to = vspan + index[r] * wide0;
                for (int64_t k = 0; k < wide0; k++) to[k] += first->z[r * wide0 + k];
            }
            for (int64_t t = 0; t < n * wide0; t++) span[t] -= how.lr * vspan[t];
            va = momentum * va + decay_w * a + mu * (a - 1);
            a -= lr * va;
        }
        FN(move_bias)(first, size, net.g, &how);
        for (int64_t i = stages - 1; i >= 0; i--)
            FN(backward)(net.stages + i, size, i + 1 < stages ? net.stages + i + 1 : NULL, net.flat_back, row0, net.g, &how);
    }
    FN(exchange)(&net, params, bias, dual, 0, 1);
    if (velocity) FN(exchange)(&net, velocity, bias, dual, 1, 1);
    if (dual) *scale = a;
    *loss = losses;
    free(more), FN(tear_down)(&net);
    return 0;
}

#undef vec
#undef LANES
#undef LOAD
#undef STORE
#undef WHERE
