/*
 * granary torture store: many clients do random things to a private store while clients and store are killed; then
 * their histories are checked. granary torture sched: random graphs while executors, schedulers and the store are
 * killed; their results are those of a calm run. granary torture whole: both, and every process is killed. granary
 * torture soak: gently, for long. granary torture nth: one fault, at each place in turn.
 */
#ifndef TORTURE_TORTURE_H
#define TORTURE_TORTURE_H

/* `granary torture store`: argv[0] is "store". Returns an exit status: 0 only when nothing at all was wrong. */
int torture_store(int argc, char **argv);
/* `granary torture sched`. */
int torture_sched(int argc, char **argv);
/* `granary torture nth`. */
int torture_nth(int argc, char **argv);
/* `granary torture whole`. */
int torture_whole(int argc, char **argv);
/* `granary torture soak`. */
int torture_soak(int argc, char **argv);

#endif
