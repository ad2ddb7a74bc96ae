/* A function with a mistake: it crashes. docs/tutorial.md shows what becomes of its call. */
#include <granary/call.h>

GRANARY_FUNCTION(stumble, .summary = "read through a pointer that points nowhere")
{
    const volatile int *nowhere = NULL;

    return call == NULL ? GRANARY_EINVAL : *nowhere;
}
