/* Libraries that cannot be used, one for each BAD_... that is defined. */
#include <granary/call.h>

GRANARY_FUNCTION(fine)
{
    (void)call;
    return GRANARY_OK;
}

/* not declared */
granary_err plain(granary_call *call);
GRANARY_EXPORTED granary_err
plain(granary_call *call)
{
    (void)call;
    return GRANARY_OK;
}

extern const granary_function_info granary_function_future;
GRANARY_EXPORTED const granary_function_info granary_function_future = {.abi = 99, .name = "future", .run = plain};

#ifdef BAD_SYMBOL
extern int nobody_has_this(void);
int uses(void);
GRANARY_EXPORTED int
uses(void)
{
    return nobody_has_this();
}
#endif

#ifdef BAD_CONSTRUCTOR
__attribute__((constructor)) static void
begin(void)
{
    volatile uintptr_t nowhere = 16;

    *(volatile int *)nowhere = 1;
}
#endif
