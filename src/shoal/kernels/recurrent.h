/* The recurrent front of a network, in one precision: LSTM and GRU layers over a sequence of words.
 *
 * What does not wait for the word before is one product over all words of the batch: the inputs' share of the gates,
 * the gradients by the inputs, those of the weights. A word that is nothing but zeros, as padding is, adds nothing to any
 * of them and is left out. Rows of a step lie together, steps one after the other.
 */

typedef struct {
    int gru;                      /* else it is an LSTM */
    int64_t in, hidden, gates, biases; /* biases: none, one, or torch's two */
    int64_t columns, row;         /* gates x hidden in whole vectors; numbers from one row of gates to the next */
    int64_t wide;                 /* hidden in whole vectors */
    REAL *wi, *wi0, *vi, *wh, *wh0, *vh; /* in panels: in x gates, hidden x gates */
    REAL *b[2], *b0[2], *vb[2];
    REAL *turned_h, *turned_i;    /* the other way round, gates x hidden and gates x in */
    REAL *z, *u;                  /* gates; in a GRU also the share of the state before */
    REAL *h, *c, *tc;             /* states with that before the first word, zeros; cells; tanh of cells */
    REAL *back, *dh, *dc;         /* gradients by states; what of them comes from the step after */
    int64_t weights;              /* numbers that belong to the model or its rule, all in front */
    REAL *memory;
} FN(cell);

/* Memory for a layer, `shape` is gru, in, hidden, biases; words x rows up to `most`; 0 if there is none. */
static int FN(lay_cell)(FN(cell) *s, const int64_t *shape, int64_t words, int64_t most, int extras) {
    s->gru = (int)shape[0], s->in = shape[1], s->hidden = shape[2], s->biases = shape[3], s->gates = s->gru ? 3 : 4;
    s->columns = FN(padded)(s->gates * s->hidden), s->wide = FN(padded)(s->hidden);
    s->row = s->columns + (s->columns / LANES % 2 ? 0 : LANES); /* an odd number of vectors: rows meet in few cache sets */
    const int64_t forms = extras ? 3 : 1, states = words * most * s->wide, first = most * s->wide;
    s->weights = forms * (s->in + s->hidden + 2) * s->columns;
    const int64_t turned = s->gates * s->hidden * (s->wide + FN(padded)(s->in)), sums = words * most * s->row + 2 * LANES;
    const int64_t bytes = (s->weights + turned + 2 * sums + 4 * states + 4 * first) * sizeof(REAL);
    REAL *at = s->memory = room_for(bytes);
    if (!at) return 0;
    memset(at, 0, bytes);
#define TAKE(count) (at += (count), at - (count))
    REAL **wi[] = {&s->wi, &s->wi0, &s->vi}, **wh[] = {&s->wh, &s->wh0, &s->vh}, **b[] = {s->b, s->b0, s->vb};
    for (int64_t i = 0; i < forms; i++) {
        *wi[i] = TAKE(s->in * s->columns), *wh[i] = TAKE(s->hidden * s->columns);
        for (int k = 0; k < 2; k++) b[i][k] = TAKE(s->columns);
    }
    s->turned_h = TAKE(s->gates * s->hidden * s->wide), s->turned_i = TAKE(s->gates * s->hidden * FN(padded)(s->in));
    s->z = TAKE(sums), s->u = TAKE(sums);
    s->h = TAKE(states + first), s->c = TAKE(states + first), s->tc = TAKE(states), s->back = TAKE(states);
    s->dh = TAKE(first), s->dc = TAKE(first);
#undef TAKE
    return 1;
}

/* Numbers of a layer as torch keeps them, into or out of it; with `speed` its momentum. */
static REAL *FN(carry_cell)(FN(cell) *s, REAL *p, int speed, int out) {
    const int64_t count = s->gates * s->hidden;
    FN(carry_panels)(s->in, count, speed ? s->vi : s->wi, p, out), p += count * s->in;
    FN(carry_panels)(s->hidden, count, speed ? s->vh : s->wh, p, out), p += count * s->hidden;
    for (int64_t i = 0; i < s->biases; i++, p += count) {
        REAL *b = speed ? s->vb[i] : s->b[i];
        memcpy(out ? p : b, out ? b : p, count * sizeof(REAL));
    }
    return p;
}

static void FN(anchor_cell)(FN(cell) *s) {
    memcpy(s->wi0, s->wi, s->in * s->columns * sizeof(REAL)), memcpy(s->wh0, s->wh, s->hidden * s->columns * sizeof(REAL));
    for (int i = 0; i < 2; i++) memcpy(s->b0[i], s->b[i], s->columns * sizeof(REAL));
}

/* The layers, and room for lists of rows: words x batch of each. */
typedef struct {
    FN(cell) *cells;
    int64_t count, words, most;
    const REAL **given, **sums;
    REAL **to;
} FN(reader);

static int FN(lay_reader)(FN(reader) *s, int64_t count, const int64_t *shapes, int64_t words, int64_t most, int extras) {
    const int64_t rows = words * most;
    *s = (FN(reader)){.count = count, .words = words, .most = most, .cells = calloc(count + 1, sizeof(FN(cell)))};
    s->given = malloc((3 * rows + 1) * sizeof(REAL *));
    if (!s->cells || !s->given) return 0;
    s->sums = s->given + rows, s->to = (REAL **)s->sums + rows;
    for (int64_t i = 0; i < count; i++)
        if (!FN(lay_cell)(s->cells + i, shapes + 4 * i, words, most, extras)) return 0;
    return 1;
}

static void FN(drop_reader)(FN(reader) *s) {
    for (int64_t i = 0; s->cells && i < s->count; i++) free(s->cells[i].memory);
    free(s->cells), free(s->given);
}

static int FN(nothing)(const REAL *x, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const FN(whole) other = (FN(whole))(LOAD(x + i) != 0);
        for (int64_t k = 0; k < LANES; k++)
            if (other[k]) return 0;
    }
    for (; i < n; i++)
        if (x[i] != 0) return 0;
    return 1;
}

/* What a layer is given, row by row, and where the sums of its gates are; how many there are. */
static int64_t FN(list_inputs)(FN(reader) *s, int64_t layer, const REAL *x, const int64_t *index, int64_t size) {
    const FN(cell) *l = s->cells + layer;
    int64_t count = 0;
    for (int64_t t = 0; t < s->words; t++)
        for (int64_t r = 0; r < size; r++) {
            const REAL *from = layer ? l[-1].h + ((t + 1) * s->most + r) * l[-1].wide : x + (index[r] * s->words + t) * l->in;
            if (!layer && FN(nothing)(from, l->in)) continue;
            s->given[count] = from, s->sums[count++] = l->z + (t * s->most + r) * l->row;
        }
    return count;
}

/* `size` rows of each of some steps, `wide` numbers apart. */
static void FN(list_rows)(const FN(reader) *s, const REAL **list, const REAL *from, int64_t wide, int64_t steps, int64_t size) {
    for (int64_t t = 0; t < steps; t++)
        for (int64_t r = 0; r < size; r++) *list++ = from + (t * s->most + r) * wide;
}

/* Some samples through all layers. */
static void FN(read_words)(FN(reader) *s, const REAL *x, const int64_t *index, int64_t size) {
    for (int64_t i = 0; i < s->count; i++) {
        FN(cell) *l = s->cells + i;
        for (int64_t t = 0; t < s->words; t++)
            for (int64_t r = 0; r < size; r++) {
                const int64_t at = (t * s->most + r) * l->row;
                for (int64_t k = 0; k < l->columns; k += LANES) {
                    STORE(l->z + at + k) = LOAD(l->b[0] + k) + (l->gru ? (vec){0} : LOAD(l->b[1] + k));
                    if (l->gru) STORE(l->u + at + k) = LOAD(l->b[1] + k);
                }
            }
        const int64_t count = FN(list_inputs)(s, i, x, index, size);
        FN(add_product)(count, s->given, l->in, l->wi, l->columns, (REAL *const *)s->sums);
        for (int64_t t = 0; t < s->words; t++) {
            REAL *z = l->z + t * s->most * l->row, *u = l->u + t * s->most * l->row;
            REAL *h = l->h + t * s->most * l->wide, *c = l->c + t * s->most * l->wide, *tc = l->tc + t * s->most * l->wide;
            const int64_t next = s->most * l->wide;
            FN(list_rows)(s, s->given, h, l->wide, 1, size);
            FN(list_rows)(s, s->sums, l->gru ? u : z, l->row, 1, size);
            if (t) FN(add_product)(size, s->given, l->hidden, l->wh, l->columns, (REAL *const *)s->sums);
            for (int64_t r = 0; r < size; r++, z += l->row, u += l->row, h += l->wide, c += l->wide, tc += l->wide)
                if (l->gru) FN(gru)(l->hidden, z, u, h, h + next);
                else FN(lstm)(l->hidden, z, c, c + next, tc, h + next);
        }
    }
}

/* Where the states after the last word are. */
static const REAL *FN(last_state)(const FN(reader) *s, int64_t r) {
    const FN(cell) *l = s->cells + s->count - 1;
    return l->h + (s->words * s->most + r) * l->wide;
}

/* Back through the words of one layer: sums of gates become gradients by them. */
static void FN(unread)(FN(reader) *s, FN(cell) *l, int64_t size) {
    FN(turn_panels)(l->hidden, l->gates * l->hidden, l->wh, l->turned_h);
    memset(l->dh, 0, s->most * l->wide * sizeof(REAL)), memset(l->dc, 0, s->most * l->wide * sizeof(REAL));
    for (int64_t t = s->words - 1; t >= 0; t--) {
        REAL *z = l->z + t * s->most * l->row, *u = l->u + t * s->most * l->row;
        const int64_t at = t * s->most * l->wide;
        FN(list_rows)(s, s->given, l->gru ? u : z, l->row, 1, size);
        for (int64_t r = 0; r < size; r++) {
            REAL *dh = l->dh + r * l->wide, *dc = l->dc + r * l->wide;
            const int64_t mine = at + r * l->wide;
            for (int64_t k = 0; k < l->wide; k += LANES) STORE(dh + k) += LOAD(l->back + mine + k);
            if (l->gru) FN(gru_back)(l->hidden, z + r * l->row, u + r * l->row, l->h + mine, dh, dc);
            else FN(lstm_back)(l->hidden, z + r * l->row, l->c + mine, l->tc + mine, dh, dc);
            if (l->gru) memcpy(dh, dc, l->wide * sizeof(REAL));
            else memset(dh, 0, l->wide * sizeof(REAL));
            s->to[r] = dh;
        }
        if (t) FN(add_product)(size, s->given, l->gates * l->hidden, l->turned_h, l->wide, s->to);
    }
}

static void FN(move_cell_bias)(FN(cell) *l, int i, int64_t rows, const REAL *const *sums, const FN(rule) *how) {
    REAL g[l->columns];
    for (int64_t k = 0; k < l->columns; k += LANES) {
        vec sum = {0};
        for (int64_t r = 0; r < rows; r++) sum += LOAD(sums[r] + k);
        STORE(g + k) = sum;
    }
    FN(step)(l->b[i], l->b0[i], l->vb[i], g, l->columns, how->decay_b, how);
}

/* One batch back through all layers, which then move; `back` are the gradients by the last states. */
static void FN(reader_back)(FN(reader) *s, const REAL *x, const int64_t *index, int64_t size, const REAL *back, int64_t row,
                            const FN(rule) *how) {
    FN(cell) *last = s->cells + s->count - 1;
    const int64_t end = (s->words - 1) * s->most, all = s->words * size;
    memset(last->back, 0, end * last->wide * sizeof(REAL));
    for (int64_t r = 0; r < size; r++)
        memcpy(last->back + (end + r) * last->wide, back + r * row, last->wide * sizeof(REAL));
    for (int64_t i = s->count - 1; i >= 0; i--) {
        FN(cell) *l = s->cells + i;
        const REAL *own = l->gru ? l->u : l->z; /* gradients by the share of the state before */
        FN(unread)(s, l, size);
        if (i) {
            memset(l[-1].back, 0, s->words * s->most * l[-1].wide * sizeof(REAL));
            FN(turn_panels)(l->in, l->gates * l->hidden, l->wi, l->turned_i);
            FN(list_rows)(s, s->sums, l->z, l->row, s->words, size);
            FN(list_rows)(s, (const REAL **)s->to, l[-1].back, l[-1].wide, s->words, size);
            FN(add_product)(all, s->sums, l->gates * l->hidden, l->turned_i, l[-1].wide, s->to);
        }
        FN(list_rows)(s, s->given, l->h + s->most * l->wide, l->wide, s->words - 1, size);
        FN(list_rows)(s, s->sums, own + s->most * l->row, l->row, s->words - 1, size);
        FN(move_panels)(l->hidden, l->columns, l->wh, l->wh0, l->vh, all - size, s->given, s->sums, how->decay_w, how);
        const int64_t count = FN(list_inputs)(s, i, x, index, size);
        FN(move_panels)(l->in, l->columns, l->wi, l->wi0, l->vi, count, s->given, s->sums, how->decay_w, how);
        for (int k = 0; k < l->biases; k++) {
            FN(list_rows)(s, s->sums, k ? own : l->z, l->row, s->words, size);
            FN(move_cell_bias)(l, k, all, s->sums, how);
        }
    }
}
