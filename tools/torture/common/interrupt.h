/* ^C, SIGTERM or a terminal that closes end a run in good order: what it started ends, and nothing is left. */
#ifndef TORTURE_INTERRUPT_H
#define TORTURE_INTERRUPT_H

#include <stdbool.h>

/* From now on they are noted. Calls that they come upon go on, but for sleeps. */
void interrupt_catch(void);
bool interrupted(void);

#endif
