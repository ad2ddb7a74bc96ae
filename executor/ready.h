/* Telling a parent, through a pipe it gave us, that we are ready or why not: "READY\n" or "ERROR <exit> <message>\n".
 */
#ifndef EXECUTOR_READY_H
#define EXECUTOR_READY_H

#include "granary/types.h"

/* Say it once and close the descriptor; *fd becomes -1. -1 is fine: nobody asked. */
void ready_say(int *fd);
/* The error's exit status and the thread's message (or the error's fixed sentence, when there is none). */
void ready_say_error(int *fd, granary_err err);

#endif
