/* Local training of one client in one precision. */

/* A client's work; laid out as `JOB` in calls.py. */
typedef struct {
    const int64_t *index, *label; /* where its samples are stored; their labels */
    const int64_t *turn;          /* where each pixel of an image comes from, if they are turned */
    const int64_t *order, *cuts;  /* batch s is order[cuts[s]..cuts[s + 1]); none: drawn here from the key */
    const REAL *start;            /* the model received */
    REAL *update, *velocity;      /* what is left; a velocity, if there is one, is read and written */
    REAL *now;                    /* in a chain: the model received, which then moves on; else none */
    uint64_t key[2];
    int64_t n, steps, dual, seen; /* samples; batches; the form of the first layer; samples that batches had in all */
    int64_t next, sound;          /* in a chain: who is next, counted from 1; whether the answer was fit to go on from */
    double loss;                  /* the sum over them */
} FN(job);

#define PANEL 32 /* samples whose products with all others are made in one go */

/* Where one thread trains: a network for each form, made when it is needed, and room for a client's samples. */
typedef struct {
    FN(network) net[FORMS];
    int64_t most; /* the largest batch of the call */
    void *room;
    int64_t bytes;
    int lent; /* the room is the caller's */
} FN(bench);

/* What a client needs of a room, in numbers: its samples, a spare one, products and spans of the dual form; the last of
 * them ends at `sums`, what the model received says of the samples and rates at `reals`. */
typedef struct {
    int64_t held, extra, square, sums, seen, bands, reals, bytes;
} FN(needs);

static FN(needs) FN(needed)(const FN(call) *c, int64_t n, int dual, int64_t most) {
    const int extras = c->momentum != 0 || c->decay_w != 0 || c->decay_b != 0 || c->mu != 0;
    const int64_t wide = FN(padded)(c->widths[1]), row = c->stages || c->cells ? c->numbers : FN(padded)(c->widths[0]);
    const int64_t out = c->widths[1];
    FN(needs) w = {.held = FN(padded)(n * row), .extra = FN(padded)(c->numbers), .square = dual ? FN(padded)(n * n) : 0};
    w.bands = c->lam > 0 ? FN(padded)(c->bands) : 0;
    w.seen = c->lam > 0 || c->fusion ? FN(padded)(c->widths[c->cut]) : 0; /* numbers of a sample that are compared */
    const int64_t spans = dual ? w.square + 2 * n * wide + (extras ? n * wide : 0) + 2 * out * row + out * n + PANEL : 0;
    w.sums = FN(padded)(w.held + w.extra + spans), w.reals = w.sums + (n + most) * w.seen + 2 * w.bands;
    w.bytes = FN(padded)(w.reals) * sizeof(REAL) + n * sizeof(int64_t) + (n + out + 2 * most) * sizeof(REAL *);
    return w;
}

/* g = x x' for n rows. */
static void FN(products)(int64_t n, const REAL *x, int64_t row, const REAL **rows, REAL *zeros, REAL *g) {
    for (int64_t i = 0; i < n; i++) rows[i] = x + i * row;
    for (int64_t from = 0; from < n; from += PANEL) {
        const int64_t size = n - from < PANEL ? n - from : PANEL;
        for (int64_t i = from; i < n; i += PANEL) {
            const FN(layer) panel = {.out = size, .row = row, .w = (REAL *)x + from * row, .b = zeros, .z = g + i * n + from};
            FN(dots)(n - i < PANEL ? n - i : PANEL, rows + i, &panel, n);
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i / PANEL * PANEL + PANEL; j < n; j++) g[i * n + j] = g[j * n + i];
}

/* One step of the first layer in the dual form: the span moves, and the share `a` of the weights received. */
static void FN(move_span)(const FN(call) *c, const FN(layer) *first, int64_t n, int64_t size, const int64_t *index,
                          REAL *span, REAL *vspan, double *a, double *va) {
    const int64_t wide = FN(padded)(first->out);
    const REAL lr = (REAL)c->lr;
    if (!vspan) {
        for (int64_t r = 0; r < size; r++) {
            REAL *to = span + index[r] * wide;
            for (int64_t k = 0; k < wide; k += LANES) STORE(to + k) = LOAD(to + k) - lr * LOAD(first->z + r * wide + k);
        }
        return;
    }
    const REAL momentum = (REAL)c->momentum, pull = (REAL)(c->decay_w + c->mu);
    for (int64_t t = 0; t < n * wide; t++) vspan[t] = momentum * vspan[t] + pull * span[t];
    for (int64_t r = 0; r < size; r++) {
        REAL *to = vspan + index[r] * wide;
        for (int64_t k = 0; k < wide; k++) to[k] += first->z[r * wide + k];
    }
    for (int64_t t = 0; t < n * wide; t++) span[t] -= lr * vspan[t];
    *va = c->momentum * *va + c->decay_w * *a + c->mu * (*a - 1);
    *a -= c->lr * *va;
}

/* Batches of an epoch; a last one of a single sample is joined to the one before it if asked. */
static int64_t FN(batches)(const FN(call) *c, int64_t n) {
    const int64_t count = (n + c->batch - 1) / c->batch;
    return count - (c->pairs && count > 1 && n - (count - 1) * c->batch == 1);
}

/* Samples of the largest batch. */
static int64_t FN(largest_batch)(const FN(call) *c, const FN(job) *job) {
    int64_t most = 1;
    for (int64_t s = 0; job->order && s < job->steps; s++)
        most = job->cuts[s + 1] - job->cuts[s] > most ? job->cuts[s + 1] - job->cuts[s] : most;
    if (job->order) return most;
    const int64_t count = FN(batches)(c, job->n), last = job->n - (count - 1) * c->batch;
    return count == 1 || (job->steps >= count && last > c->batch) ? last : c->batch;
}

/* What the batches of a client are: given, or drawn epoch by epoch. */
typedef struct {
    stream draws;
    int64_t *order;
    int64_t in_epoch; /* batches of an epoch */
} FN(schedule);

static int64_t FN(batch)(const FN(call) *c, const FN(job) *job, FN(schedule) *when, int64_t s, const int64_t **index) {
    if (job->order) {
        *index = job->order + job->cuts[s];
        return job->cuts[s + 1] - job->cuts[s];
    }
    const int64_t i = s % when->in_epoch;
    if (!i) next_order(&when->draws, job->n, (int)c->shuffle, when->order);
    *index = when->order + i * c->batch;
    return i + 1 == when->in_epoch ? job->n - i * c->batch : c->batch;
}

static void FN(add_pull)(const REAL *pull, int64_t n, REAL *to) {
    for (int64_t k = 0; k < n; k += LANES) STORE(to + k) += LOAD(pull + k);
}

/* What of the network is compared with the model received, one sample's row of it. */
static const REAL *FN(compared)(const FN(network) *net, int64_t r) {
    const FN(layer) *l = net->layers + net->cut;
    if (net->cut == net->layer_count) return l[-1].z + r * FN(padded)(l[-1].out);
    return net->fusion.kind ? net->fusion.mine[r] : net->cut ? l->act + r * l->row : net->rows[r];
}

/* Outputs of the first layer in the dual form. */
static void FN(span_layer)(FN(network) *net, int64_t n, const REAL *gram, const REAL *z0, const REAL *span, REAL a,
                           const int64_t *index, int64_t size) {
    const FN(layer) *first = net->layers;
    const int64_t wide = FN(padded)(first->out);
    for (int64_t r = 0; r < size; r++) {
        net->rows[r] = gram + index[r] * n;
        for (int64_t k = 0; k < wide; k += LANES)
            STORE(first->z + r * wide + k) = a * LOAD(z0 + index[r] * wide + k) + LOAD(first->b + k);
    }
    FN(product)(size, net->rows, n, span, wide, NULL, first->z, wide, (FN(use)){ADD, 0});
}

/* What the model received says of all samples, before the first step: rows of `seen` numbers. */
static void FN(remember)(FN(network) *net, int64_t most, int64_t n, int64_t *order, const REAL *x, int64_t row,
                         const REAL *gram, const REAL *z0, const REAL *span, int64_t seen, REAL *received) {
    for (int64_t i = 0; i < net->stage_count; i++) FN(use_running)(net->stages + i);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = 0, size; i < n; i += size) {
        size = n - i < most ? n - i : most;
        if (gram) FN(span_layer)(net, n, gram, z0, span, 1, order + i, size);
        else FN(first_layer)(net, x, row, order + i, size, 0);
        FN(other_layers)(net, size);
        for (int64_t r = 0; r < size; r++) memcpy(received + (i + r) * seen, FN(compared)(net, r), seen * sizeof(REAL));
    }
}

/* Whether samples side by side are less work than channels side by side, by the lanes that either leaves empty in the
 * largest batch of the client. Where both leave the same, a residual network or one with group norm has channels side by
 * side: an image is then normed and added up while it is at hand. */
static int FN(fills_vectors)(const FN(call) *c, const FN(job) *job) {
    const int64_t size = FN(largest_batch)(c, job);
    double filled = 0, all = 0; /* lanes, with channels side by side: forward, back, and by the kernel */
    int one_by_one = 0;
    for (int64_t i = 0; i < c->stages; i++) {
        const int64_t *s = c->shapes + STAGE_NUMBERS * i, channels = s[3], maps = s[6];
        const double work = s[2] ? 0 : (double)(s[4] * s[5] * s[7] * s[7]) / (double)(s[9] * s[9]);
        filled += work * (double)((s[0] ? 3 : 2) * channels * maps);
        all += work * (2 * (double)(channels * FN(padded)(maps)) + (s[0] ? (double)(FN(padded)(channels) * maps) : 0));
        one_by_one |= s[1] >= 0 || s[11] == GROUP;
    }
    const double abreast = filled * (double)FN(padded)(size), direct = all * (double)size;
    return one_by_one ? abreast < direct : abreast <= direct;
}

/* Back through all layers but the first, which move; then the gradients by the outputs of the first are there. */
static void FN(back_to_first)(FN(network) *net, int64_t size, const FN(rule) *how) {
    for (int64_t i = net->layer_count - 1; i > 0; i--) {
        FN(layer) *l = net->layers + i, *before = l - 1;
        const int mixed = net->fusion.kind && net->fusion.at == i;
        for (int64_t r = 0; r < size; r++) net->acts[r] = (mixed ? net->fusion.fused : l->act) + r * l->row;
        FN(move)(l, size, net->acts, before->z, net->turned, net->coef, net->g, how);
        if (mixed) FN(unfuse)(&net->fusion, size, before->z, how);
        if (net->pull && net->cut == i) FN(add_pull)(net->pull, size * l->row, before->z);
        for (int64_t t = 0; t < size * l->row; t++) before->z[t] = !l->rectified || l->act[t] > 0 ? before->z[t] : 0;
        FN(move_bias)(l, size, net->g, how);
    }
}

/* One client trains; 1 if there is no memory for it. */
static int FN(train)(const FN(call) *c, FN(bench) *at, FN(job) *job) {
    const int extras = c->momentum != 0 || c->decay_w != 0 || c->decay_b != 0 || c->mu != 0, dual = job->dual != 0;
    const int64_t n = job->n, wide = FN(padded)(c->widths[1]), row = c->stages || c->cells ? c->numbers : FN(padded)(c->widths[0]);
    const int64_t in = c->widths[0], out = c->widths[1];
    const int form = dual ? DUAL : FN(fills_vectors)(c, job) ? ABREAST : DIRECT;
    FN(network) *net = at->net + form;
    if (!net->memory && !FN(build)(net, c, at->most, at->most, form, extras)) {
        FN(tear_down)(net), *net = (FN(network)){0};
        return 1;
    }
    const FN(needs) w = FN(needed)(c, n, dual, at->most);
    const int64_t bands = w.bands, seen = w.seen;
    if (at->bytes < w.bytes) {
        if (!at->lent) free(at->room);
        at->room = room_for(w.bytes), at->bytes = at->room ? w.bytes : 0, at->lent = 0;
        if (!at->room) return 1;
    }
    REAL *x = at->room, *spare = x + w.held, *gram = spare + w.extra, *z0 = gram + w.square;
    REAL *span = z0 + n * wide, *vspan = span + n * wide, *w0 = vspan + (extras ? n * wide : 0), *moved = w0 + out * row;
    REAL *turned = moved + out * row, *zeros = turned + out * n;
    REAL *received = x + w.sums, *pull = c->lam > 0 ? received + n * seen : NULL, *rates = received + (n + at->most) * seen;
    FN(schedule) when = {stream_of(job->key), (int64_t *)(x + FN(padded)(w.reals)), FN(batches)(c, n)};
    const REAL **rows = (const REAL **)(when.order + n), **coef = rows + n, **mine = coef + out, **given = mine + at->most;
    FN(read)(c, job->index, n, job->turn, row, spare, x);
    FN(clear)(net, (REAL)c->gamma);
    memcpy(job->update, job->start, c->size * sizeof(REAL));
    FN(exchange)(net, job->update, c->bias, dual, 0, 0);
    if (extras) FN(anchor)(net, dual);
    if (job->velocity) FN(exchange)(net, job->velocity, c->bias, dual, 1, 0);
    FN(point_at_statistics)(net, job->update + c->trainable);
    if (dual) {
        memset(zeros, 0, PANEL * sizeof(REAL)), memset(w0, 0, out * row * sizeof(REAL));
        memset(z0, 0, (size_t)(w0 - z0) * sizeof(REAL)); /* and both spans */
        for (int64_t k = 0; k < out; k++) memcpy(w0 + k * row, job->start + k * in, in * sizeof(REAL));
        FN(products)(n, x, row, rows, zeros, gram);
        for (int64_t k = 0; k < out; k += PANEL) {
            const FN(layer) part = {.out = out - k < PANEL ? out - k : PANEL, .row = row, .w = w0 + k * row, .b = zeros, .z = z0 + k};
            FN(dots)(n, rows, &part, wide);
        }
    }
    net->pull = pull, net->cut = c->cut;
    for (int64_t i = 0; i < bands; i++) rates[bands + i] = 2 * (rates[i] = i < c->bands ? (REAL)(0.5 / c->bandwidths[i]) : 0);
    if (seen) FN(remember)(net, at->most, n, when.order, x, row, dual ? gram : NULL, z0, span, seen, received);
    const FN(rule) how = {(REAL)c->lr, (REAL)c->momentum, (REAL)c->decay_w, (REAL)c->decay_b, (REAL)c->mu, !extras};
    double a = 1, va = 0;
    FN(layer) *first = net->layers, *last = first + net->layer_count - 1;
    for (int64_t s = 0; s < job->steps; s++) {
        const int64_t *index, size = FN(batch)(c, job, &when, s, &index);
        net->fusion.apart = 1;
        for (int64_t r = 0; c->fusion && r < size; r++) net->fusion.theirs[r] = received + index[r] * seen;
        if (dual) FN(span_layer)(net, n, gram, z0, span, (REAL)a, index, size);
        else FN(first_layer)(net, x, row, index, size, 1);
        FN(other_layers)(net, size);
        for (int64_t r = 0; pull && r < size; r++) mine[r] = FN(compared)(net, r), given[r] = received + index[r] * seen;
        if (pull) FN(discrepancy)(size, given, mine, seen, (REAL)c->lam, rates, bands, pull);
        job->loss += last->out > 1 ? FN(softmax)(size, last->out, FN(padded)(last->out), last->z, job->label, index)
                                   : FN(odds)(size, FN(padded)(last->out), last->z, job->label, index);
        if (pull && net->cut == net->layer_count) FN(add_pull)(pull, size * seen, last->z);
        job->seen += size;
        FN(back_to_first)(net, size, &how);
        if (dual) FN(move_span)(c, first, n, size, index, span, extras ? vspan : NULL, &a, &va);
        else FN(move)(first, size, net->rows, net->flat_back, net->turned, net->coef, net->g, &how);
        if (pull && !net->cut) FN(add_pull)(pull, size * seen, net->flat_back);
        if (c->fusion && !c->cut) FN(unfuse)(&net->fusion, size, net->flat_back, &how);
        FN(move_bias)(first, size, net->g, &how);
        if (net->reader.count) FN(reader_back)(&net->reader, x, index, size, net->flat_back, first->row, &how);
        if (net->stage_count) FN(back_through_stages)(net, size, &how);
    }
    FN(exchange)(net, job->update, c->bias, dual, 0, 1);
    if (job->velocity) FN(exchange)(net, job->velocity, c->bias, dual, 1, 1);
    for (int64_t i = c->size - c->norms; i < c->size; i++) job->update[i] += (REAL)job->steps; /* batches seen */
    for (int64_t i = 0; i < c->size; i++) job->update[i] -= job->start[i];
    if (!dual) return 0;
    FN(turn)(n, out, wide, span, turned);
    for (int64_t k = 0; k < out; k++) coef[k] = turned + k * n;
    FN(product)(out, coef, n, x, row, NULL, moved, row, (FN(use)){WRITE, 0});
    for (int64_t k = 0; k < out; k++)
        for (int64_t j = 0; j < in; j++)
            job->update[k * in + j] = moved[k * row + j] + (REAL)(a - 1) * job->start[k * in + j];
    return 0;
}
#undef PANEL
