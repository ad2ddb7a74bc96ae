/* Whether a call is to go wrong; calls.c and allocations.c stand before libc's functions and ask. */
#ifndef PRELOAD_FAULTS_H
#define PRELOAD_FAULTS_H

#include <dlfcn.h>

#include "base/fault/points.h"

typedef enum gr_fault_action meet_function(enum gr_fault_point point);

/* caller: the address that the call returns to. ERRNO comes with errno set. */
enum gr_fault_action fault_at(enum gr_fault_point point, const void *caller);

#define EXPORTED       __attribute__((visibility("default")))
#define FAULT_AT(name) fault_at(GR_FAULT_##name, __builtin_return_address(0))
/* The function behind ours, looked up at the first call. */
#define NEXT(function)                                                                                                 \
    (__extension__({                                                                                                   \
        static __typeof__(&function) next_;                                                                            \
        __typeof__(&function) found_ = __atomic_load_n(&next_, __ATOMIC_RELAXED);                                      \
        if (found_ == NULL) {                                                                                          \
            *(void **)(void *)&found_ = dlsym(RTLD_NEXT, #function);                                                   \
            __atomic_store_n(&next_, found_, __ATOMIC_RELAXED);                                                        \
        }                                                                                                              \
        found_;                                                                                                        \
    }))

#endif
