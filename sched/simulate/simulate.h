/*
 * The scheduler's core under virtual time. The task manager with its planner, execution graphs and reservations is
 * the real one. Executors, a store and clients are played, and faults come from a seed. What must hold is checked
 * after every event.
 */
#ifndef SIMULATE_SIMULATE_H
#define SIMULATE_SIMULATE_H

/* `granary simulate`: argv as of a program. Returns an exit status: 0, 1 something did not hold, 2 usage. */
int simulate_main(int argc, char **argv);

#endif
