/* What a fuzz target has: libFuzzer, or run_corpus.c, calls it with each input. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What has to hold for every input: else the fuzzer keeps it. */
static inline void
must(bool holds)
{
    if (!holds) {
        abort();
    }
}

#endif
