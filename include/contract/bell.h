/* bell: a futex on which processes sleep until another one makes something happen in shared memory. */
#ifndef GRANARY_CONTRACT_BELL_H
#define GRANARY_CONTRACT_BELL_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Somebody sleeps on the bell (a futex) until something has happened. Who sleeps reads the bell, sets `waited`, then looks
 * whether it has; who made it happen looks at `waited` behind a full fence, clears it, and rings. So one of the two sees
 * the other, and a sleeper who was killed costs one ring. tests/model/bell.pml is the model.
 */
struct gr_bell {
    _Atomic uint32_t waited;
    _Atomic uint32_t bell;
};

#endif
