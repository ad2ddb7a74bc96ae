/*
 * The executors' connections: who is at the other end of pool.sock: they, and
 * the pool that starts them. An executor is a process, known by pid and start
 * time; the kernel tells which process a connection belongs to, so nobody speaks for another. Its pidfd tells its end.
 *
 * Executors outlive schedulers. A scheduler that takes over expects those that an earlier one knew (links_expect). As
 * each registers, it learns what the executor has at hand, and which reports nobody has kept.
 */
#ifndef SCHED_LINKS_H
#define SCHED_LINKS_H

#include "base/instance.h"
#include "message/zmq.h"
#include "sched/manager/manager.h"

struct links;

/* NULL: out of memory. manager and instance are borrowed. epoch: this scheduler's. */
struct links *links_create(struct manager *manager, const struct gr_instance *instance, uint64_t epoch);
void links_destroy(struct links *links);
/* From now on messages go out by this socket. */
void links_open(struct links *links, struct gr_zmq_socket *socket);

/* An executor an earlier scheduler knew. One that is gone by now is forgotten. */
void links_expect(struct links *links, int64_t pid, uint64_t start_time, uint32_t slot);
/* Those that have not registered yet may be at work: their pages tell, and what they are at is waited for. */
void links_note_busy(struct links *links);
/* How many of them live, have not registered yet, and are not known to be at work. */
size_t links_expected(const struct links *links);

/* The highest epoch that executors say they have seen. */
uint64_t links_epoch_seen(const struct links *links);

/* Tell a peer that it is not known. Its bytes could not be read; or its connection broke, and ZeroMQ made another
 * one, which the scheduler does not know. It registers again. */
void links_tell_unknown(const struct links *links, const struct gr_zmq_peer *peer);

/* A message that came by the socket. */
void links_message(struct links *links, const struct gr_zmq_peer *peer, int64_t peer_pid,
                   const Granary__FromExecutor *report);

/* A message of another version came by the socket: its sender is told of ours, which every version understands, and
 * ends. */
void links_refuse(const struct links *links, const struct gr_zmq_peer *peer);

/* Send a ToExecutor; bytes get the epoch. One that cannot be sent to is killed: it is unknown what it got. */
void links_send(struct links *links, uint32_t executor, struct gr_buf *bytes);
/* CANCEL asks its user code to stop, KILL ends its process. */
void links_give_up(struct links *links, const struct action *action);
/* Look after those that run something with limits, now and then. */
void links_watch(struct links *links, int64_t now_ns);
/* Everything reported so far is kept: tell those who wait for that. */
void links_acknowledge(struct links *links);

/* The pidfds of all: writes at most `room`, returns how many there are. */
size_t links_fds(const struct links *links, int *fds, size_t room);
/* A pidfd is readable. The executor is gone at once, or when the pool has told how it ended, but soon: links_expire()
 */
void links_process_ended(struct links *links, int pidfd);
void links_expire(struct links *links, int64_t now_ns);
int64_t links_deadline(const struct links *links); /* when that or links_watch() is due; INT64_MAX: never */

#endif
