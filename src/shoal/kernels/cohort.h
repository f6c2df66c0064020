/* Many clients in one call, in one precision: local training, and tests. */

/* One call of `train_cohort`: jobs are taken in the given sequence, the longest first; of a chain the first is taken. */
typedef struct {
    const FN(call) *c;
    FN(job) *jobs;
    const int64_t *sequence;
    int64_t count, most, taken, failed, begun; /* so many threads have begun */
} FN(training);

/* The model of a chain moves on by a client's update, if all of that are numbers. */
static int FN(move_on)(FN(job) *job, int64_t size) {
    int odd = !isfinite(job->loss);
    for (int64_t i = 0; i < size; i++) odd |= !(job->update[i] - job->update[i] == 0);
    if (odd) return 0;
    for (int64_t i = 0; i < size; i++) job->now[i] += job->update[i];
    return 1;
}

static void FN(train_some)(void *given) {
    FN(training) *t = given;
    FN(bench) at = {.most = t->most};
    const int64_t number = next_piece(&t->begun);
    if (t->c->rooms) at.room = (char *)t->c->rooms + number * t->c->room, at.bytes = t->c->room, at.lent = 1;
    for (int64_t i; !*t->c->stop && (i = next_piece(&t->taken)) < t->count;)
        for (FN(job) *job = t->jobs + t->sequence[i]; job && !*t->c->stop;) {
            if (FN(train)(t->c, &at, job)) {
                __atomic_store_n(&t->failed, 1, __ATOMIC_RELAXED);
                break;
            }
            job->sound = job->now && FN(move_on)(job, t->c->size);
            job = job->sound && job->next ? t->jobs + job->next - 1 : NULL;
        }
    for (int form = 0; form < FORMS; form++) FN(tear_down)(at.net + form);
    if (!at.lent) free(at.room);
}

/* Bytes of the room in which a client of so many samples trains, a whole number of lines of the cache. */
int64_t FN(room_of)(const FN(call) *c, int64_t n, int64_t dual, int64_t most) {
    return (FN(needed)(c, n, (int)dual, most).bytes + LINE - 1) / LINE * LINE;
}

/* Every client trains; no batch is larger than `most`. 1 if there was no memory. */
int FN(train_cohort)(const FN(call) *c, FN(job) *jobs, const int64_t *sequence, int64_t count, int64_t most) {
    FN(training) t = {c, jobs, sequence, count, most, 0, 0, 0};
    in_threads(c->threads < count ? c->threads : count, FN(train_some), &t);
    return (int)t.failed;
}

/* Samples that go through one model; laid out as `PIECE` in calls.py. */
typedef struct {
    const int64_t *index, *turn;
    REAL *model, *out; /* log-probabilities, samples x classes */
    int64_t n, from;   /* pieces before it were cut into so many parts */
} FN(piece);

typedef struct {
    const FN(call) *c;
    const FN(piece) *pieces;
    int64_t count, part, parts, taken, failed; /* a part has so many samples at most; so many parts in all */
} FN(testing);

/* Scores become log-probabilities; `keep` is above 0 where there is a class. */
static void FN(log_softmax)(const REAL *z, int64_t classes, int64_t wide, const REAL *keep, REAL *out) {
    REAL top = z[0];
    for (int64_t k = 1; k < classes; k++) top = z[k] > top ? z[k] : top;
    vec sum = {0};
    for (int64_t k = 0; k < wide; k += LANES) sum += WHERE(LOAD(keep + k) > 0, FN(vexp)(LOAD(z + k) - top));
    const REAL total = (REAL)log((double)FN(sum)(sum));
    for (int64_t k = 0; k < classes; k++) out[k] = z[k] - top - total;
}

/* One thread's share; 1 if there is no memory for it. */
static int FN(test_parts)(FN(testing) *t, FN(network) *net, REAL *x, int64_t *order) {
    const FN(call) *c = t->c;
    const int64_t row = c->stages || c->cells ? c->numbers : FN(padded)(c->widths[0]), classes = c->widths[c->layers];
    const int64_t wide = FN(padded)(classes);
    if (!x || !order || !FN(build)(net, c, t->part, c->stages ? LANES : t->part, c->stages ? ABREAST : DIRECT, 0)) return 1;
    REAL keep[wide];
    for (int64_t k = 0; k < wide; k++) keep[k] = k < classes;
    for (int64_t i = 0; i < t->part; i++) order[i] = i;
    const REAL *loaded = NULL;
    for (int64_t i, number = 0; !*c->stop && (i = next_piece(&t->taken)) < t->parts;) {
        while (number + 1 < t->count && t->pieces[number + 1].from <= i) number++;
        const FN(piece) *p = t->pieces + number;
        const int64_t begin = (i - p->from) * t->part, size = p->n - begin < t->part ? p->n - begin : t->part;
        if (loaded != p->model) {
            FN(clear)(net, (REAL)c->gamma);
            FN(exchange)(net, p->model, c->bias, 0, 0, 0);
            FN(point_at_statistics)(net, p->model + c->trainable);
            for (int64_t s = 0; s < c->stages; s++) FN(use_running)(net->stages + s);
            loaded = p->model;
        }
        FN(read)(c, p->index + begin, size, p->turn, row, x + t->part * row, x);
        FN(first_layer)(net, x, row, order, size, 0);
        FN(other_layers)(net, size);
        const REAL *z = net->layers[c->layers - 1].z;
        for (int64_t r = 0; classes == 1 && r < size; r++) FN(log_odds)(z[r * wide], p->out + 2 * (begin + r));
        for (int64_t r = 0; classes > 1 && r < size; r++)
            FN(log_softmax)(z + r * wide, classes, wide, keep, p->out + (begin + r) * classes);
    }
    return 0;
}

static void FN(test_some)(void *given) {
    FN(testing) *t = given;
    const int64_t row = t->c->stages || t->c->cells ? t->c->numbers : FN(padded)(t->c->widths[0]);
    FN(network) net = {0};
    REAL *x = room_for((t->part * row + t->c->numbers) * sizeof(REAL));
    int64_t *order = malloc(t->part * sizeof(int64_t));
    if (FN(test_parts)(t, &net, x, order)) __atomic_store_n(&t->failed, 1, __ATOMIC_RELAXED);
    FN(tear_down)(&net);
    free(x), free(order);
}

/* Log-probabilities of all pieces, which were cut into parts of `part` samples. 1 if there was no memory. */
int FN(test_cohort)(const FN(call) *c, const FN(piece) *pieces, int64_t count, int64_t part, int64_t parts) {
    FN(testing) t = {c, pieces, count, part, parts, 0, 0};
    in_threads(c->threads < parts ? c->threads : parts, FN(test_some), &t);
    return (int)t.failed;
}

#undef vec
#undef LANES
#undef LOAD
#undef STORE
#undef WHERE
