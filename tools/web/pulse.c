/* One request waits at the scheduler; /proc tells of a process that is stopped or gone. */
#include "web/pulse.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/scheduler/scheduler.h"
#include "granary/info.h"

#define WAIT_MS   500  /* for a change */
#define PACE_MS   200  /* between two: nobody reads faster */
#define RETRY_MS  300  /* after a failure */
#define SILENT_MS 2000 /* without an answer to a request that waits WAIT_MS at most */
#define END_MS    1000

struct pulse {
    struct gr_instance instance;
    void (*changed)(void *context);
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t turned; /* what follows has changed */
    bool watched, stopping, ended;
    int64_t asked_ns; /* 0: no request is under way */
    uint64_t version;
};

/* With the lock: wait so long, or until the end. */
static void
rest(struct pulse *pulse, int ms)
{
    int64_t deadline_ns = gr_deadline_ns(ms);

    while (!pulse->stopping && gr_now_ns() < deadline_ns) {
        (void)gr_cond_wait_ns(&pulse->turned, &pulse->lock, deadline_ns);
    }
}

/* Without the lock. */
static granary_err
ask(const struct pulse *pulse, granary_client **client, uint64_t since, uint64_t *ret_version)
{
    static const char *const fields[] = {"key"};
    const granary_connect_options options = {
        .instance = pulse->instance.runtime, .tag = "web", .timeout_ms = WAIT_MS, .reconnect_ms = -1};
    const granary_query query = {.subject = "graphs",
                                 .fields = fields,
                                 .field_count = 1,
                                 .limit = 1,
                                 .since_version = since,
                                 .timeout_ms = WAIT_MS};
    granary_table *table = NULL;
    const char *trouble = scheduler_trouble(&pulse->instance);
    granary_err err = trouble != NULL ? gr_fail(GRANARY_EUNREACHABLE, "%s", trouble) : GRANARY_OK;

    if (err == GRANARY_OK && *client == NULL) {
        err = granary_connect(&options, client);
    }
    if (err == GRANARY_OK) {
        err = granary_info(*client, &query, &table);
    }
    if (err == GRANARY_OK) {
        *ret_version = granary_table_version(table);
    } else if (err != GRANARY_ETIMEDOUT) {
        granary_disconnect(*client);
        *client = NULL;
    }
    granary_table_free(table);
    return err;
}

static void
beat(struct pulse *pulse, granary_client **client)
{
    uint64_t version = pulse->version;
    granary_err err;

    pulse->asked_ns = gr_now_ns();
    (void)pthread_mutex_unlock(&pulse->lock);
    err = ask(pulse, client, version, &version);
    (void)pthread_mutex_lock(&pulse->lock);
    pulse->asked_ns = 0;
    if (err == GRANARY_OK && version != pulse->version) {
        pulse->version = version;
        (void)pthread_mutex_unlock(&pulse->lock);
        pulse->changed(pulse->context);
        (void)pthread_mutex_lock(&pulse->lock);
    }
    rest(pulse, err == GRANARY_OK || err == GRANARY_ETIMEDOUT ? PACE_MS : RETRY_MS);
}

static void *
run(void *context)
{
    struct pulse *pulse = context;
    granary_client *client = NULL;

    (void)pthread_mutex_lock(&pulse->lock);
    while (!pulse->stopping) {
        if (pulse->watched) {
            beat(pulse, &client);
        } else {
            granary_disconnect(client); /* the store counts it no more */
            client = NULL;
            (void)pthread_cond_wait(&pulse->turned, &pulse->lock);
        }
    }
    (void)pthread_mutex_unlock(&pulse->lock);
    granary_disconnect(client);
    (void)pthread_mutex_lock(&pulse->lock);
    pulse->ended = true;
    (void)pthread_cond_broadcast(&pulse->turned);
    (void)pthread_mutex_unlock(&pulse->lock);
    return NULL;
}

granary_err
pulse_create(const struct gr_instance *instance, void (*changed)(void *context), void *context,
             struct pulse **ret_pulse)
{
    struct pulse *pulse = calloc(1, sizeof *pulse);
    pthread_t thread;

    if (pulse == NULL) {
        return gr_no_memory("the scheduler's pulse");
    }
    pulse->instance = *instance;
    pulse->changed = changed;
    pulse->context = context;
    (void)pthread_mutex_init(&pulse->lock, NULL);
    (void)pthread_cond_init(&pulse->turned, NULL);
    if (pthread_create(&thread, NULL, run, pulse) != 0) {
        free(pulse);
        return gr_fail(GRANARY_ENOMEM, "no resources for a thread");
    }
    (void)pthread_detach(thread);
    *ret_pulse = pulse;
    return GRANARY_OK;
}

bool
pulse_destroy(struct pulse *pulse)
{
    int64_t deadline_ns = gr_deadline_ns(END_MS);
    bool ended;

    if (pulse == NULL) {
        return true;
    }
    (void)pthread_mutex_lock(&pulse->lock);
    pulse->stopping = true;
    (void)pthread_cond_broadcast(&pulse->turned);
    while (!pulse->ended && gr_now_ns() < deadline_ns) {
        (void)gr_cond_wait_ns(&pulse->turned, &pulse->lock, deadline_ns);
    }
    ended = pulse->ended;
    (void)pthread_mutex_unlock(&pulse->lock);
    if (ended) {
        (void)pthread_cond_destroy(&pulse->turned);
        (void)pthread_mutex_destroy(&pulse->lock);
        free(pulse);
    }
    return ended;
}

void
pulse_watch(struct pulse *pulse, bool watched)
{
    (void)pthread_mutex_lock(&pulse->lock);
    if (pulse->watched != watched) {
        pulse->watched = watched;
        (void)pthread_cond_broadcast(&pulse->turned);
    }
    (void)pthread_mutex_unlock(&pulse->lock);
}

struct heartbeat
pulse_read(struct pulse *pulse)
{
    const char *trouble = scheduler_trouble(&pulse->instance);
    struct heartbeat beat = {.state = "answers"};

    (void)pthread_mutex_lock(&pulse->lock);
    beat.version = pulse->version;
    beat.silent_ms = pulse->asked_ns == 0 ? 0 : (gr_now_ns() - pulse->asked_ns) / 1000000;
    (void)pthread_mutex_unlock(&pulse->lock);
    if (trouble != NULL) {
        beat.state = strstr(trouble, "stopped") != NULL ? "stopped" : "gone";
    } else if (beat.silent_ms > SILENT_MS) {
        beat.state = "silent";
    }
    return beat;
}
