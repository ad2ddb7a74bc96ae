/* ELF files: enough to say whether this machine could load a shared object, and what it declares, before it is loaded.
 */
#ifndef BASE_PROCESS_ELF_H
#define BASE_PROCESS_ELF_H

#include <stddef.h>

#include "granary/types.h"

/* Errors: EINVAL it is no shared object, or for another machine, or cut short: the message says which */
granary_err gr_elf_check(const void *bytes, size_t size);

/*
 * The symbols a shared object defines for others, one after the other.
 *
 * at       0 for the first; moved on
 * Returns  the next whose name begins with prefix, within bytes; NULL: there is none
 */
const char *gr_elf_symbol(const void *bytes, size_t size, const char *prefix, size_t *at);

#endif
