/*
 * A connection to the scheduler that is made anew when another one has come; what was told and not yet heard of is
 * told again.
 */
#include "executor/pool/link.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/process/daemon.h"
#include "contract/versions.h"
#include "executor/link/endpoint.h"
#include "topology/topology.h"

#define DEATHS_MAX 64 /* the last ones are told again to another scheduler */
/* How often it looks for another scheduler: while there is one, and while there is none. */
#define LOOK_MS 1000
#define SEEK_MS 20

struct pool_link {
    struct gr_instance instance;
    struct gr_dealer *socket;
    struct endpoint endpoint;
    int scheduler;       /* pidfd; -1: none */
    bool seeking;        /* that one ended, and no other has bound the endpoint yet */
    uint64_t start_time; /* ours */
    uint64_t epoch;      /* the highest seen */
    Granary__Death deaths[DEATHS_MAX];
    size_t death_count; /* ever: a ring */
    uint32_t slots;
    uint32_t slots_of_node[TOPOLOGY_NODES_MAX];
    size_t nodes;
};

/* Say how things are, with these deaths. What cannot be sent is said to the next scheduler. */
static void
say(struct pool_link *link, Granary__Death **deaths, size_t death_count)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    Granary__Pool pool = GRANARY__POOL__INIT;
    size_t size;
    uint8_t *bytes;

    if (link->socket == NULL || link->nodes == 0) { /* nothing is known yet */
        return;
    }
    message.version = GR_WIRE_OLDEST;
    message.pool = &pool;
    pool.pid = getpid();
    pool.start_time = link->start_time;
    pool.deaths = deaths;
    pool.n_deaths = death_count;
    pool.slots = link->slots;
    pool.slots_of_node = link->slots_of_node;
    pool.n_slots_of_node = link->nodes;
    size = granary__from_executor__get_packed_size(&message);
    bytes = malloc(size);
    if (bytes == NULL) {
        gr_log_error("OUT-OF-MEMORY", "deaths=%zu are not told", death_count);
        return;
    }
    (void)granary__from_executor__pack(&message, bytes);
    if (gr_dealer_send(link->socket, bytes, size) != GRANARY_OK) {
        gr_log_warn("SCHEDULER-SEND", "%s", granary_error_message());
    }
    free(bytes);
}

/* The process that is the scheduler now, if any. */
static void
find_scheduler(struct pool_link *link)
{
    char path[160];

    gr_fd_close(&link->scheduler);
    (void)snprintf(path, sizeof path, "%s/sched.lock", link->instance.runtime);
    link->scheduler = gr_daemon_holder_open(path);
}

/* To whoever is the scheduler: everything. */
static granary_err
connect_anew(struct pool_link *link)
{
    Granary__Death *deaths[DEATHS_MAX];
    size_t count = link->death_count < DEATHS_MAX ? link->death_count : DEATHS_MAX;
    granary_err err;

    gr_dealer_close(link->socket);
    link->socket = NULL;
    find_scheduler(link);
    link->seeking = false;
    (void)endpoint_look(link->instance.pool_socket, &link->endpoint);
    err = gr_dealer_open(link->instance.pool_socket, &link->socket);
    for (size_t i = 0; i < count; i++) {
        deaths[i] = &link->deaths[i];
    }
    say(link, deaths, count);
    return err;
}

granary_err
pool_link_open(const char *instance, struct pool_link **ret_link)
{
    struct pool_link *link = calloc(1, sizeof *link);
    granary_err err;

    if (link == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a connection to the scheduler");
    }
    link->scheduler = -1;
    link->start_time = gr_process_start_time(getpid());
    err = gr_instance_resolve(instance, &link->instance);
    if (err == GRANARY_OK) {
        err = connect_anew(link);
    }
    if (err != GRANARY_OK) {
        pool_link_close(link);
        return err;
    }
    *ret_link = link;
    return GRANARY_OK;
}

void
pool_link_close(struct pool_link *link)
{
    if (link != NULL) {
        gr_dealer_close(link->socket);
        gr_fd_close(&link->scheduler);
        free(link);
    }
}

struct gr_dealer *
pool_link_socket(const struct pool_link *link)
{
    return link->socket;
}

void
pool_link_slots(struct pool_link *link, uint32_t slots, const uint32_t *of_node, size_t nodes)
{
    nodes = nodes < TOPOLOGY_NODES_MAX ? nodes : TOPOLOGY_NODES_MAX;
    if (slots != link->slots || nodes != link->nodes ||
        memcmp(of_node, link->slots_of_node, nodes * sizeof *of_node) != 0) {
        link->slots = slots;
        link->nodes = nodes;
        memcpy(link->slots_of_node, of_node, nodes * sizeof *of_node);
        say(link, NULL, 0);
    }
}

void
pool_link_death(struct pool_link *link, pid_t pid, uint64_t start_time, int status)
{
    Granary__Death *death = &link->deaths[link->death_count++ % DEATHS_MAX];

    granary__death__init(death);
    death->pid = pid;
    death->start_time = start_time;
    death->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    death->status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    say(link, &death, 1);
}

int
pool_link_fd(const struct pool_link *link)
{
    return link->scheduler;
}

int
pool_link_patience_ms(const struct pool_link *link)
{
    return link->seeking || link->scheduler < 0 ? SEEK_MS : LOOK_MS;
}

void
pool_link_look(struct pool_link *link)
{
    struct pollfd scheduler = {.fd = link->scheduler, .events = POLLIN};

    if (link->scheduler >= 0 && poll(&scheduler, 1, 0) > 0) {
        gr_fd_close(&link->scheduler);
        link->seeking = true;
    }
    if (link->scheduler < 0) {
        find_scheduler(link);
    }
    if (link->socket == NULL || endpoint_changed(link->instance.pool_socket, &link->endpoint)) {
        gr_log_info("SCHEDULER-CHANGED", "telling it of %u slots", link->slots);
        if (connect_anew(link) != GRANARY_OK) {
            gr_log_warn("SCHEDULER-CONNECT", "%s", granary_error_message());
        }
    }
}

Granary__ToExecutor *
pool_link_next(struct pool_link *link)
{
    const void *bytes;
    size_t size;

    while (link->socket != NULL && gr_dealer_receive(link->socket, &bytes, &size) == GRANARY_OK && bytes != NULL) {
        Granary__ToExecutor *unpacked = granary__to_executor__unpack(NULL, size, bytes);

        if (unpacked == NULL || !gr_wire_known(unpacked->version)) {
            gr_log_warn("SCHEDULER-PROTOCOL", "a message that cannot be read, or of another version");
        } else if (unpacked->epoch < link->epoch) {
            gr_log_warn("SCHEDULER-OLD", "epoch=%llu after %llu: it is not obeyed", (unsigned long long)unpacked->epoch,
                        (unsigned long long)link->epoch);
        } else {
            link->epoch = unpacked->epoch;
            if (unpacked->pool != NULL) {
                return unpacked;
            }
        }
        if (unpacked != NULL) {
            granary__to_executor__free_unpacked(unpacked, NULL);
        }
    }
    return NULL;
}
