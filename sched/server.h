/*
 * The scheduler's server: one thread and one loop over two ZeroMQ endpoints, the executors' pidfds, a signal descriptor
 * and the clock. A turn: apply what has arrived to the task manager, send what executors are to do, keep what must be
 * kept in one commit, answer the clients. What nobody waits for is committed a little later, with what comes meanwhile.
 *
 * Subtasks are sent before the commit. Object ids come from the submission's key. So when a crash loses a submission
 * that nobody was told is accepted, its work is at worst done again. Answers wait for the commit.
 */
#ifndef SCHED_SERVER_H
#define SCHED_SERVER_H

#include "base/instance.h"
#include "sched/manager/manager.h"
#include "state/state.h"

struct server;

/*
 * Bind the endpoints, open the state, and take over the graphs in it.
 *
 * Errors: of the endpoints and of the state, see state.h
 */
granary_err server_create(const struct gr_instance *instance, const struct state_ops *state,
                          const struct manager_options *options, struct server **ret_server);
/* Of this scheduler: higher than those of all before it. */
uint64_t server_epoch(const struct server *server);
/* Removes the sockets. */
void server_destroy(struct server *server);

/*
 * Run until stop_fd is readable.
 * Errors: ESTATE another scheduler has taken over: it finds what this one has kept, and nothing later · ENOMEM
 */
granary_err server_run(struct server *server, int stop_fd);

#endif
