/*
 * Memory for the time of a call that stays warm. A page touched for the first time costs ten times a kept one. So the
 * thread keeps what kernels need again and again. Not zeroed, 64-byte aligned.
 */
#ifndef KERNEL_CORE_SCRATCH_H
#define KERNEL_CORE_SCRATCH_H

#include <stddef.h>

/* NULL: out of memory. */
void *scratch_alloc(size_t size);
/* By the thread that took it; NULL is fine. Up to 512 MiB a thread are kept. */
void scratch_free(void *memory);

#endif
