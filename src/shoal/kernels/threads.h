/* Threads that share the work of one call: each takes the next piece until none is left. */

#include <pthread.h>

#define MOST_THREADS 256
#define STACK (8 << 20) /* of a thread: what the first one has on most systems */

/* Numbers too small to be normal count as zero, here as in torch's workers: they would take a hundred times as long. */
static unsigned long flush_denormals(void) {
#if defined(__SSE__)
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    return before;
#elif defined(__aarch64__)
    unsigned long before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | (1ul << 24)));
    return before;
#else
    return 0;
#endif
}

static void denormals_as(unsigned long before) {
#if defined(__SSE__)
    _mm_setcsr((unsigned)before);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(before));
#else
    (void)before;
#endif
}

typedef struct {
    void (*work)(void *);
    void *call;
} errand;

static void *begin(void *given) {
    const errand *e = given;
    flush_denormals();
    e->work(e->call);
    return NULL;
}

/* `work` in so many threads, this one among them; fewer where the system gives no more. */
static void in_threads(int64_t threads, void (*work)(void *), void *call) {
    pthread_t others[MOST_THREADS];
    pthread_attr_t roomy;
    errand e = {work, call};
    int64_t begun = 0;
    pthread_attr_init(&roomy);
    pthread_attr_setstacksize(&roomy, STACK);
    while (begun < threads - 1 && begun < MOST_THREADS && !pthread_create(others + begun, &roomy, begin, &e)) begun++;
    pthread_attr_destroy(&roomy);
    const unsigned long before = flush_denormals();
    work(call);
    denormals_as(before);
    for (int64_t i = 0; i < begun; i++) pthread_join(others[i], NULL);
}

static int64_t next_piece(int64_t *taken) { return __atomic_fetch_add(taken, 1, __ATOMIC_RELAXED); }
