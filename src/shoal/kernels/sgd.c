/* Local SGD of small networks, compiled once for every instruction set; the loader takes the best that the processor has. */

#define _GNU_SOURCE

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define WIDE_ROWS 12 /* rows of two vectors that registers hold */
#define MOST_PIXELS 14 /* the same where the other factor needs few registers */
#define FEW_MAPS 4     /* maps and pixels whose sums they hold */
#define FEW_PIXELS 6
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#define WIDE_ROWS 6
#define MOST_PIXELS 6
#define FEW_MAPS 2
#define FEW_PIXELS 5
#else
#define VECTOR_BYTES 16
#define WIDE_ROWS 6
#define MOST_PIXELS 6
#define FEW_MAPS 2
#define FEW_PIXELS 5
#endif

#define MANY (1 << 18) /* weights that are better read once: more than a core's cache holds */

/* How a client trains: the first layer as it is, or in the dual form; or stages with samples side by side. */
enum { DIRECT, DUAL, ABREAST, FORMS };

/* What follows a convolution. */
enum { NO_NORM, BATCH, GROUP };
/* How features are mixed with those of the model received (fusion.h). */
enum { UNMIXED, MIXED, LAYERED };

/* What becomes of a sum: it is written, or begins at what is there, or what is there takes a step against it. */
enum use { WRITE, ADD, STEP };

#include "bytes.h"
#include "memory.h"
#include "order.h"
#include "threads.h"

#define REAL float
#define LOWEST 3e38f
#define SINGLE 1
#define FN(name) name##_f32
#include "dense.h"
#include "stage.h"
#include "conv.h"
#include "maps.h"
#include "images.h"
#include "abreast.h"
#include "planes.h"
#include "gemm.h"
#include "gates.h"
#include "recurrent.h"
#include "mmd.h"
#include "fusion.h"
#include "network.h"
#include "train.h"
#include "cohort.h"
#undef REAL
#undef LOWEST
#undef SINGLE
#undef FN

#define REAL double
#define LOWEST 1e308
#define SINGLE 0
#define FN(name) name##_f64
#include "dense.h"
#include "stage.h"
#include "conv.h"
#include "maps.h"
#include "images.h"
#include "abreast.h"
#include "planes.h"
#include "gemm.h"
#include "gates.h"
#include "recurrent.h"
#include "mmd.h"
#include "fusion.h"
#include "network.h"
#include "train.h"
#include "cohort.h"

/* How much this processor can do: 0, 1 with AVX2, 2 with AVX-512. */
int level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
               ? 2
               : 1;
#else
    return 0;
#endif
}
