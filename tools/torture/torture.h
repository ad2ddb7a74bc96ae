/*
 * granary torture store: many clients do random things to a private store while clients and store are killed; then
 * their histories are checked. granary torture mutable: the same with tables that change, their writers and readers.
 * granary torture sched: random graphs while executors, schedulers and the store are
 * killed; their results are those of a calm run. granary torture whole: both, and every process is killed. granary
 * torture soak: gently, for long. granary torture nth: one fault, at each place in turn.
 */
#ifndef TORTURE_TORTURE_H
#define TORTURE_TORTURE_H

#include "cli/command/command.h"

/* The kinds by name. Each ends with status 0 only when nothing at all was wrong. */
extern const struct command_row torture_rows[];
extern const struct command torture_store, torture_mutable, torture_sched, torture_whole, torture_soak, torture_nth;

#endif
