/* alloc.any. What is allocated comes from libc and goes back to it: free() stays as it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"

/* malloc() and its like under names that nobody stands before: dlsym() itself allocates.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): they are libc's names */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

#define NO_MEMORY() (FAULT_AT(alloc_any) == GR_FAULT_ERRNO)

EXPORTED void *
malloc(size_t size)
{
    return NO_MEMORY() ? NULL : __libc_malloc(size);
}

EXPORTED void *
calloc(size_t count, size_t size)
{
    return NO_MEMORY() ? NULL : __libc_calloc(count, size);
}

EXPORTED void *
realloc(void *old, size_t size)
{
    return NO_MEMORY() ? NULL : __libc_realloc(old, size);
}

EXPORTED void *
reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return NO_MEMORY() ? NULL : __libc_realloc(old, bytes);
}

EXPORTED void *
aligned_alloc(size_t alignment, size_t size)
{
    return NO_MEMORY() ? NULL : __libc_memalign(alignment, size);
}

EXPORTED int
posix_memalign(void **ret_bytes, size_t alignment, size_t size)
{
    void *bytes = NO_MEMORY() ? NULL : __libc_memalign(alignment, size);

    if (bytes == NULL) {
        return ENOMEM;
    }
    *ret_bytes = bytes;
    return 0;
}

EXPORTED char *
strdup(const char *text)
{
    return NO_MEMORY() ? NULL : NEXT(strdup)(text);
}

EXPORTED char *
strndup(const char *text, size_t size)
{
    return NO_MEMORY() ? NULL : NEXT(strndup)(text, size);
}
