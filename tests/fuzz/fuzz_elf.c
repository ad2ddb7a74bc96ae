/* Any bytes as a library: what it declares lies within them, or there is an error with a message. */
#include <stdlib.h>
#include <string.h>

#include "base/process/elf.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *name;
    size_t at = 0;

    if (gr_elf_check(bytes, size) != GRANARY_OK && granary_error_message()[0] == '\0') {
        abort();
    }
    while ((name = gr_elf_symbol(bytes, size, "granary_", &at)) != NULL) {
        if (name < (const char *)bytes || name + strlen(name) >= (const char *)bytes + size) {
            abort();
        }
    }
    return 0;
}
