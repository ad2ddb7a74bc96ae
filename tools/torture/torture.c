/* The kinds of `granary torture`, and what each promises. */
#include "torture/torture.h"

#define STATUS "The exit status is 1 when anything was lost or wrong."

const struct command_row torture_rows[] = {
    {"store", NULL, "kill a store and its clients; check every object's history",
     "Kill and stop a private store and its clients while they work on shared objects.\v"
     "Afterwards, the history of each object must be one that can be true. " STATUS,
     &torture_store},
    {"mutable", NULL, "kill writers and readers of mutable tables, and the store; check every read",
     "Kill and stop writers and readers of mutable tables, and their private store.\v"
     "After each round, all that was written, answered and read must fit together. " STATUS,
     &torture_mutable},
    {"sched", NULL, "kill executors, schedulers and the store; check every result",
     "Run random graphs while executors, schedulers and the store are killed and stopped.\v"
     "Each result must be that of a calm run. " STATUS,
     &torture_sched},
    {"whole", NULL, "kill processes of every kind; check histories, results and leaks",
     "Kill and stop processes of every kind in a private instance under mixed load.\v"
     "The run ends with the first thing that is lost, wrong or leaked; then the exit status is 1.",
     &torture_whole},
    {"soak", NULL, "a light load for long; check that nothing grows",
     "Keep a private instance under a light load for long, and check that it does not grow.\v"
     "Clients and executors are killed now and then. What the instance takes of the machine after five minutes (a "
     "twelfth "
     "of a shorter run) is what it may take at the end. The exit status is 1 when it takes more, or when anything was "
     "lost or wrong.",
     &torture_soak},
    {"nth", NULL, "let one thing fail after the other, at each place in turn",
     "Let one thing fail in one process of a private instance: the first, then the second, and so on.\v"
     "Each time the work must succeed or end with an error that says why. The instance must serve on, and leave "
     "nothing "
     "behind. A table at the end has the outcomes. " STATUS,
     &torture_nth},
    {0}};
