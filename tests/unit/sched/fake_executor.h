/*
 * An executor for the scheduler's tests: registers at a pool endpoint and answers subtasks without doing anything.
 *
 * What it does with a subtask is told by the name of its node: "crash..." it kills itself; "fail..." EFAILED; "full..."
 * EFULL on the first two attempts; "hang..." it never answers; "lose..." on the first attempt its inputs are reported
 * lost.
 */
#ifndef FAKE_EXECUTOR_H
#define FAKE_EXECUTOR_H

/* Serve until the scheduler says die or the process is killed. Returns 0, or 1 when it could not register in 5 s. */
int fake_executor_run(const char *pool_socket, int node);

#endif
