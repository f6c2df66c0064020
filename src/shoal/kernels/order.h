/* The order of a client's samples, epoch by epoch: what numpy's `Generator(Philox(key)).permuted` draws, bit by bit.
 * Philox 4x64 with ten rounds: Salmon et al., SC 2011. */

typedef struct {
    uint64_t key[2], counter, drawn[4]; /* the other three words of the counter are never reached */
    int at, halves;                     /* which word is next; whether half of one is left */
    uint32_t half;
} stream;

static inline uint64_t high(uint64_t a, uint64_t b) { return (uint64_t)(((unsigned __int128)a * b) >> 64); }

static void draw_four(stream *s) {
    uint64_t c[4] = {++s->counter, 0, 0, 0}, k0 = s->key[0], k1 = s->key[1];
    for (int round = 0; round < 10; round++) {
        const uint64_t high0 = high(0xD2E7470EE14C6C93u, c[0]), low0 = 0xD2E7470EE14C6C93u * c[0];
        const uint64_t high1 = high(0xCA5A826395121157u, c[2]), low1 = 0xCA5A826395121157u * c[2];
        c[0] = high1 ^ c[1] ^ k0, c[1] = low1, c[2] = high0 ^ c[3] ^ k1, c[3] = low0;
        k0 += 0x9E3779B97F4A7C15u, k1 += 0xBB67AE8584CAA73Bu;
    }
    memcpy(s->drawn, c, sizeof c);
    s->at = 0;
}

static uint32_t draw(stream *s) {
    if (s->halves) {
        s->halves = 0;
        return s->half;
    }
    if (s->at == 4) draw_four(s);
    const uint64_t word = s->drawn[s->at++];
    s->halves = 1, s->half = (uint32_t)(word >> 32);
    return (uint32_t)word;
}

/* A number from 0 to `top`, which is above 0: as many bits as it has, again and again until they are not above it. */
static uint32_t draw_up_to(stream *s, uint32_t top) {
    const uint32_t bits = UINT32_MAX >> __builtin_clz(top);
    uint32_t number;
    do number = draw(s) & bits;
    while (number > top);
    return number;
}

static stream stream_of(const uint64_t *key) {
    return (stream){.key = {key[0], key[1]}, .at = 4};
}

/* The places 0 to n - 1 in the order of the next epoch, or as they are. */
static void next_order(stream *s, int64_t n, int shuffle, int64_t *order) {
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = n - 1; shuffle && i > 0; i--) {
        const int64_t j = draw_up_to(s, (uint32_t)i), kept = order[i];
        order[i] = order[j], order[j] = kept;
    }
}

/* Epochs of n places each, for a test against numpy. */
void orders(const uint64_t *key, int64_t n, int64_t epochs, int64_t *order) {
    stream s = stream_of(key);
    for (int64_t e = 0; e < epochs; e++) next_order(&s, n, 1, order + e * n);
}
