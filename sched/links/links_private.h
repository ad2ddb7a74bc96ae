/* What the files of links.h share. */
#ifndef SCHED_LINKS_PRIVATE_H
#define SCHED_LINKS_PRIVATE_H

#include "sched/links/links.h"

#define SLOT_ANY UINT32_MAX

struct link {
    uint32_t number; /* 0: expected, not registered yet */
    bool pull;       /* part of another program */
    struct gr_zmq_peer peer;
    int64_t pid;
    uint64_t start_time;
    uint32_t slot;     /* or, of those embedded in one program, which of them */
    uint64_t reported; /* FromExecutor.sequence of the last report */
    uint64_t acknowledged;
    int pidfd;
    uint64_t busy; /* number 0: subtask it is at, and waited for; 0: none */
    uint32_t busy_attempt;
    int64_t gone_ns; /* its process has ended: until when we wait to be told why; 0: it lives */
};

struct links {
    struct manager *manager;
    const struct gr_instance *instance;
    struct gr_zmq_socket *socket;
    int64_t watch_at_ns;           /* when executors are to be looked at; INT64_MAX: never */
    struct gr_zmq_peer supervisor; /* of the executors; size 0: none has said anything */
    uint64_t epoch, epoch_seen;
    struct link *items;
    size_t count, room;
    uint32_t last_number;
};

/* NULL: there is none. All links are valid until one comes or goes. */
struct link *link_of_peer(struct links *links, const struct gr_zmq_peer *peer);
struct link *link_of_process(struct links *links, int64_t pid, uint64_t start_time, uint32_t slot);

/* A process that lives now. NULL: it does not, or no memory; logged. */
struct link *link_add(struct links *links, int64_t pid, uint64_t start_time, uint32_t slot);
bool link_has_ended(const struct link *link); /* its process */
/* Its process has ended. */
void link_gone(struct links *links, struct link *link);
/* It leaves by its own wish. */
void link_remove(struct links *links, struct link *link);
/* Send what does no harm when it is lost, with the executor about to leave or to register anew. Frees bytes. */
void link_tell(const struct links *links, const struct gr_zmq_peer *peer, struct gr_buf *bytes);
/* Tell it by which number it is registered. */
void link_tell_number(const struct links *links, const struct link *link);

#endif
