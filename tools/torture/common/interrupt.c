/* A handler that notes the signal, and nothing else: loops ask for it. */
#include "torture/common/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t noted;

static void
note(int signal)
{
    (void)signal;
    noted = 1;
}

void
interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
}

bool
interrupted(void)
{
    return noted != 0;
}
