/* Memory for numbers. A vector lies in one line of the cache; what is large lies in large pages where the system has them:
 * a matrix of 25 MB is read at twice the speed. */

#if defined(__linux__)
#include <sys/mman.h>
#endif

#define LINE 64
#define LARGE_PAGE ((size_t)2 << 20)

static void *room_for(int64_t bytes) {
    const size_t by = (size_t)bytes < 2 * LARGE_PAGE ? LINE : LARGE_PAGE;
    void *memory = aligned_alloc(by, ((size_t)bytes + by - 1) / by * by + (bytes ? 0 : by));
#if defined(MADV_HUGEPAGE)
    if (memory && by == LARGE_PAGE) madvise(memory, (size_t)bytes, MADV_HUGEPAGE); /* a wish: it may be refused */
#endif
    return memory;
}
