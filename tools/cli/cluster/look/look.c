/*
 * granary cluster look: what this machine has, and what it is at, for who asks from another one. The store is looked at in
 * shared memory, so a hanging one hangs nobody; the scheduler is asked last. The command ends in any case, for whoever has
 * asked may not be able to end it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/instance.h"
#include "base/process/executor_page.h"
#include "base/process/limits.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/look/clock.h"
#include "cli/cluster/look/facts.h"
#include "cli/scheduler/scheduler.h"
#include "granary/info.h"
#include "granary/inspect.h"

#define LIFE_S    10 /* of the command */
#define CLOCK_S   60 /* ... when it answers questions */
#define WHYS_MOST 16

struct look_self {
    bool clock, why;
    struct facts facts;
    struct gr_instance instance;
};

/* ---- without anybody's help ---- */

static void
look_at_store(struct facts *facts, const char *instance, granary_store_life *ret_life)
{
    granary_inspector *inspector = NULL;
    granary_inspect_session_info *sessions = NULL;
    granary_instance_info info = {.life = GRANARY_STORE_UNKNOWN};
    granary_store_stat stat = {.capacity_bytes = 0};
    size_t count = 0;

    (void)snprintf(facts->store, sizeof facts->store, "none");
    if (granary_inspect_open(instance, &inspector) == GRANARY_OK &&
        granary_inspect_instance(inspector, &info) == GRANARY_OK) {
        (void)snprintf(facts->store, sizeof facts->store, "%s", granary_store_life_name(info.life));
        (void)snprintf(facts->instance, sizeof facts->instance, "%s", info.runtime);
        facts->memory_bytes = (int64_t)info.capacity_bytes;
    }
    if (info.life != GRANARY_STORE_UNKNOWN && granary_inspect_sessions(inspector, &sessions, &count) == GRANARY_OK) {
        for (size_t s = 0; s < count; s++) { /* each has its objects, and the account of the whole store */
            if (granary_inspect_stat(inspector, sessions[s].number, &stat) == GRANARY_OK) {
                facts->used_bytes = (int64_t)(stat.capacity_bytes - stat.free_bytes);
                facts->spilled_bytes = (int64_t)stat.spilled_bytes;
                facts->objects = (int64_t)stat.objects;
            }
        }
    }
    free(sessions);
    granary_inspect_close(inspector);
    *ret_life = info.life;
}

static void
look_at_executors(struct facts *facts, const struct gr_instance *instance)
{
    struct gr_executor_state *pages = NULL;
    size_t count = 0;

    if (gr_executor_pages_read(instance->runtime, &pages, &count) == GRANARY_OK) {
        for (size_t i = 0; i < count; i++) {
            bool lives = gr_process_start_time((pid_t)pages[i].pid) == pages[i].start_time;

            facts->executors += lives;
            facts->busy += lives && pages[i].subtask != 0;
        }
    }
    free(pages);
}

/* ---- of the scheduler ---- */

/* What a fragment waits for here, line by line. */
static void
tell_why(granary_client *client, const char *key)
{
    char *text = NULL;
    char *rest = NULL;

    if (granary_why(client, key, &text) == GRANARY_OK) {
        for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
            (void)printf(FACTS_WHY "%s %s\n", key, line);
        }
    }
    free(text);
}

static void
look_at_graphs(struct look_self *self, const struct cli *cli)
{
    static const char *const fields[] = {"key", "state"};
    const granary_connect_options options = {.instance = cli->instance, .session = cli->session, .tag = "look"};
    const granary_query query = {.subject = "graphs", .fields = fields, .field_count = 2, .limit = 10000};
    granary_client *client = NULL;
    granary_table *table = NULL;

    if (granary_connect(&options, &client) == GRANARY_OK && granary_info(client, &query, &table) == GRANARY_OK) {
        for (size_t row = 0; row < granary_table_rows(table); row++) {
            const char *key = granary_table_text(table, row, "key");

            if (strncmp(key, FACTS_FRAGMENT, strlen(FACTS_FRAGMENT)) == 0 &&
                strcmp(granary_table_text(table, row, "state"), "running") == 0 && self->facts.running++ < WHYS_MOST &&
                self->why) {
                tell_why(client, key);
            }
        }
        self->facts.whole = true;
    }
    granary_table_free(table);
    granary_disconnect(client);
}

static int
run_look(struct cli *cli)
{
    struct look_self *self = cli->self;
    granary_store_life life = GRANARY_STORE_UNKNOWN;
    granary_err err;

    (void)alarm(self->clock ? CLOCK_S : LIFE_S); /* ends the process */
    if (self->clock) {
        clock_answer();
        return GRANARY_OK;
    }
    (void)snprintf(self->facts.version, sizeof self->facts.version, "%s", granary_version());
    self->facts.processors = gr_usable_cpus();
    (void)getloadavg(&self->facts.load, 1);
    err = gr_instance_resolve(cli->instance, &self->instance);
    if (err != GRANARY_OK) {
        return err;
    }
    look_at_store(&self->facts, cli->instance, &life);
    look_at_executors(&self->facts, &self->instance);
    facts_print(&self->facts);
    (void)fflush(stdout);
    if (life != GRANARY_STORE_SERVING) {
        self->facts.whole = true;
    } else if (scheduler_trouble(&self->instance) == NULL) {
        look_at_graphs(self, cli);
    }
    facts_print(&self->facts); /* what is told last counts */
    return GRANARY_OK;
}

static const struct gr_option look_self_options[] = {
    {"clock", 0, NULL, "answer each byte of stdin with this machine's clock", GR_OPTION_FLAG(struct look_self, clock)},
    {"why", 0, NULL, "tell what each fragment waits for that runs here", GR_OPTION_FLAG(struct look_self, why)},
    {0}};

const struct command cluster_look = {.options = look_self_options, COMMAND_ZERO(struct look_self), .run = run_look};
