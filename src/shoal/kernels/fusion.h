/* Feature fusion (FedFusion) in one precision: a layer is given the features that the network has of a sample, `mine`,
 * mixed with those that the model received has of it, `theirs`. Features are channels of so many pixels. Either
 * gamma theirs + (1 - gamma) mine, with one gamma, one for each channel or one that stays as it is, or at every pixel a
 * layer from both, mine first. In tests both are the same. */

typedef struct {
    int64_t kind, at;                   /* before which layer it stands */
    int64_t channels, pixels, row;      /* rows of features are so long */
    int64_t gammas;                     /* that are trained */
    REAL *gamma, *gamma0, *velocity, *g;
    REAL *wide, *sums;                  /* the gamma of every number of a row; the gradient by it */
    FN(layer) mix;
    REAL *both, *back, *spare, *turned; /* what the layer is given, and gradients by it: batch x pixel x channel */
    REAL *fused;                        /* batch x row */
    const REAL **mine, **theirs, **given, **coef; /* rows of the batch and of `both` */
    int apart;                          /* whether theirs are rows of their own */
    void *memory;
    int64_t bytes;
} FN(fusion);

/* Memory for a batch of up to `most` samples of `numbers` features; 0 if there is none. */
static int FN(lay_fusion)(FN(fusion) *f, int64_t kind, int64_t at, int64_t channels, int64_t numbers, int64_t gammas,
                          int64_t most, int extras) {
    const int64_t row = FN(padded)(numbers), pixels = numbers / channels, layered = kind == LAYERED;
    const int64_t in = FN(padded)(2 * channels), out = FN(padded)(channels), lines = layered ? most * pixels : 0;
    const int64_t weights = layered ? channels * in : 0, ends = layered ? out : 0, some = FN(padded)(gammas);
    const int64_t spare = FN(padded)(WIDE_ROWS * in > out ? WIDE_ROWS * in : out), copies = extras ? 3 : 1;
    *f = (FN(fusion)){.kind = kind, .at = at, .channels = channels, .pixels = pixels, .row = row, .gammas = gammas};
    f->bytes = (copies * (weights + ends) + 4 * some + 2 * row + 2 * lines * in + lines * out + layered * spare +
                FN(padded)(channels * lines) + most * row) * (int64_t)sizeof(REAL);
    REAL *p = f->memory = room_for(f->bytes);
    f->mine = malloc((2 * most + lines + channels) * sizeof(REAL *));
    if (!f->memory || !f->mine) return 0;
    f->theirs = f->mine + most, f->given = f->theirs + most, f->coef = f->given + lines;
#define TAKE(count) (p += (count), p - (count))
    f->gamma = TAKE(some), f->gamma0 = TAKE(some), f->velocity = TAKE(some), f->g = TAKE(some);
    f->wide = TAKE(row), f->sums = TAKE(row), f->fused = TAKE(most * row);
    if (layered) {
        f->mix = (FN(layer)){.in = 2 * channels, .out = channels, .row = in, .biased = 1};
        f->mix.w = TAKE(weights), f->mix.b = TAKE(ends), f->mix.z = TAKE(lines * out);
        if (extras) f->mix.w0 = TAKE(weights), f->mix.v = TAKE(weights), f->mix.b0 = TAKE(ends), f->mix.vb = TAKE(ends);
        f->both = TAKE(lines * in), f->back = TAKE(lines * in), f->spare = TAKE(spare);
        f->turned = TAKE(FN(padded)(channels * lines));
    }
#undef TAKE
    return 1;
}

static void FN(drop_fusion)(FN(fusion) *f) { free(f->memory), free(f->mine); }

/* As after `lay_fusion`, for another client; a gamma that stays has this value. */
static void FN(clear_fusion)(FN(fusion) *f, REAL gamma) {
    if (!f->kind) return;
    memset(f->memory, 0, f->bytes), f->apart = 0;
    for (int64_t t = 0; t < f->channels * f->pixels; t++) f->wide[t] = gamma;
}

/* The gamma of every number. */
static void FN(spread)(FN(fusion) *f) {
    for (int64_t t = 0; f->gammas && t < f->channels * f->pixels; t++)
        f->wide[t] = f->gamma[f->gammas == 1 ? 0 : t / f->pixels];
}

/* Its numbers lie between those of the layers before it and behind it; what comes after them. */
static REAL *FN(carry_fusion)(FN(fusion) *f, REAL *p, int speed, int out) {
    FN(layer) *l = &f->mix;
    if (f->kind == LAYERED)
        for (int64_t k = 0; k < l->out; k++, p += l->in) {
            REAL *mine = (speed ? l->v : l->w) + k * l->row;
            memcpy(out ? p : mine, out ? mine : p, l->in * sizeof(REAL));
        }
    REAL *rest = f->kind == LAYERED ? speed ? l->vb : l->b : speed ? f->velocity : f->gamma;
    const int64_t count = f->kind == LAYERED ? l->out : f->gammas;
    memcpy(out ? p : rest, out ? rest : p, count * sizeof(REAL));
    if (!out && !speed) FN(spread)(f);
    return p + count;
}

/* The numbers as they are now are those received. */
static void FN(anchor_fusion)(FN(fusion) *f) {
    if (f->kind) memcpy(f->gamma0, f->gamma, f->gammas * sizeof(REAL));
    if (f->kind != LAYERED) return;
    memcpy(f->mix.w0, f->mix.w, f->mix.out * f->mix.row * sizeof(REAL));
    memcpy(f->mix.b0, f->mix.b, f->mix.out * sizeof(REAL));
}

/* Rows of features become rows of mixed ones. */
static void FN(fuse)(FN(fusion) *f, int64_t size, const REAL **rows) {
    for (int64_t r = 0; r < size; r++) f->mine[r] = rows[r];
    for (int64_t r = 0; r < size; r++) {
        const REAL *mine = f->mine[r], *theirs = f->apart ? f->theirs[r] : mine;
        REAL *to = f->fused + r * f->row, *both = f->both + r * f->pixels * f->mix.row;
        if (f->kind == MIXED)
            for (int64_t t = 0; t < f->row; t++) to[t] = f->wide[t] * theirs[t] + (1 - f->wide[t]) * mine[t];
        else
            for (int64_t i = 0; i < f->pixels; i++, both += f->mix.row)
                for (int64_t k = 0; k < f->channels; k++)
                    both[k] = mine[k * f->pixels + i], both[f->channels + k] = theirs[k * f->pixels + i];
        rows[r] = to;
    }
    if (f->kind == MIXED) return;
    const int64_t lines = size * f->pixels, out = FN(padded)(f->channels);
    for (int64_t i = 0; i < lines; i++) f->given[i] = f->both + i * f->mix.row;
    FN(dots)(lines, f->given, &f->mix, out);
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < f->channels; k++)
            f->fused[i / f->pixels * f->row + k * f->pixels + i % f->pixels] = f->mix.z[i * out + k];
}

/* Gradients by mixed features become those by mine; what mixes them moves. */
static void FN(unfuse)(FN(fusion) *f, int64_t size, REAL *back, const FN(rule) *how) {
    if (f->kind == MIXED) {
        memset(f->sums, 0, f->row * sizeof(REAL));
        for (int64_t r = 0; r < size; r++) {
            const REAL *mine = f->mine[r], *theirs = f->theirs[r];
            REAL *d = back + r * f->row;
            for (int64_t t = 0; t < f->row; t++) f->sums[t] += d[t] * (theirs[t] - mine[t]), d[t] *= 1 - f->wide[t];
        }
        if (!f->gammas) return;
        memset(f->g, 0, f->gammas * sizeof(REAL));
        for (int64_t t = 0; t < f->channels * f->pixels; t++) f->g[f->gammas == 1 ? 0 : t / f->pixels] += f->sums[t];
        FN(step)(f->gamma, f->gamma0, f->velocity, f->g, f->gammas, how->decay_b, how);
        FN(spread)(f);
        return;
    }
    const int64_t lines = size * f->pixels, out = FN(padded)(f->channels);
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < f->channels; k++)
            f->mix.z[i * out + k] = back[i / f->pixels * f->row + k * f->pixels + i % f->pixels];
    FN(move)(&f->mix, lines, f->given, f->back, f->turned, f->coef, f->spare, how);
    FN(move_bias)(&f->mix, lines, f->spare, how);
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < f->channels; k++)
            back[i / f->pixels * f->row + k * f->pixels + i % f->pixels] = f->back[i * f->mix.row + k];
}
