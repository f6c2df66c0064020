/* Local SGD of small networks, compiled once for every instruction set; the loader takes the best that the processor has. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define WIDE_ROWS 12 /* rows of two vectors that registers hold */
#define MOST_PIXELS 14 /* the same where the other factor needs few registers */
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#define WIDE_ROWS 6
#define MOST_PIXELS 6
#else
#define VECTOR_BYTES 16
#define WIDE_ROWS 6
#define MOST_PIXELS 6
#endif

#define REAL float
#define LOWEST 3e38f
#define SINGLE 1
#define FN(name) name##_f32
#include "dense.h"
#include "conv.h"
#include "train.h"
#undef REAL
#undef LOWEST
#undef SINGLE
#undef FN

#define REAL double
#define LOWEST 1e308
#define SINGLE 0
#define FN(name) name##_f64
#include "dense.h"
#include "conv.h"
#include "train.h"

/* 64 bits that stand for an array of 32-bit words, to know it again: sixteen lanes, each a bijection of every word. */
uint64_t content(const uint32_t *words, int64_t count) {
    uint32_t lane[16];
    for (uint32_t q = 0; q < 16; q++) lane[q] = q + 1;
    int64_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int q = 0; q < 16; q++) {
            lane[q] = (lane[q] ^ words[i + q]) * 0x9E3779B1u;
            lane[q] ^= lane[q] >> 15;
        }
    for (int q = 0; i < count; i++, q++) lane[q] = (lane[q] ^ words[i]) * 0x85EBCA77u;
    uint64_t h = (uint64_t)count;
    for (int q = 0; q < 16; q++) {
        h = (h ^ lane[q]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    return h;
}

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
