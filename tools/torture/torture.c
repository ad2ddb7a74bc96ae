/* The kinds of `granary torture`, and what each promises. */
#include "torture/torture.h"

const struct command_row torture_rows[] = {
    {"store", NULL, NULL, "Torment a private store and its clients; exit status 1 if anything was lost or wrong.",
     &torture_store},
    {"sched", NULL, NULL,
     "Run random graphs while executors, schedulers and the store are killed; exit status 1 if anything was lost or "
     "wrong.",
     &torture_sched},
    {"whole", NULL, NULL,
     "Torment a private instance, every process of it, under mixed load; exit status 1 if anything was lost, wrong "
     "or leaked. The run ends with the first that is.",
     &torture_whole},
    {"soak", NULL, NULL,
     "A light, steady load for long, with clients and executors killed now and then: what the instance takes of the "
     "machine after the first five minutes (a twelfth of a shorter run) is what it may take at the end; exit status "
     "1 if it takes more, or if anything was lost or wrong.",
     &torture_soak},
    {"nth", NULL, NULL,
     "Let one thing fail in one process of a private instance: the first, the second, ... until all have had their "
     "turn. Each time the work must succeed or end with an error that says why, the instance must serve on, and "
     "leave nothing behind. A table at the end tells what came of it; exit status 1 if anything was wrong.",
     &torture_nth},
    {0}};
