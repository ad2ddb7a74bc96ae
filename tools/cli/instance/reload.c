/* Texts of settings are compared with those that run; a row of `live` knows how to change one. */
#include "cli/instance/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process/limits.h"
#include "base/text/buf.h"
#include "base/text/size.h"
#include "cli/instance/logs.h"
#include "cli/instance/processes.h"
#include "cli/instance/supervisor/pressure.h"
#include "client/budget.h"
#include "granary/granary.h"
#include "granary/pool.h"
#include "object/limits.h"

#define ASK_MS   5000
#define BUILT_IN "what is built in"
#define POOL_MS  2000 /* an order to executors goes on after that */

struct reload {
    struct settings settings;     /* of the last reading */
    char *running[SETTINGS_MOST]; /* what runs: all values of a row, a line each; NULL: what is built in */
    char *kept[SETTINGS_MOST];    /* texts that the supervisor's options point to */
};

/* All values of a row of the table. ret_text NULL: what is built in. Errors: ENOMEM */
static granary_err
join(const struct settings *settings, const struct gr_option *option, char **ret_text)
{
    *ret_text = NULL;
    for (unsigned i = 0; i < settings->count; i++) {
        const struct setting *row = &settings->rows[i];

        for (unsigned v = 0; row->option == option && v < row->count; v++) {
            char *before = *ret_text;

            if (asprintf(ret_text, "%s%s%s", before == NULL ? "" : before, before == NULL ? "" : " ", row->values[v]) <
                0) {
                *ret_text = before;
                return gr_fail(GRANARY_ENOMEM, "out of memory");
            }
            free(before);
        }
    }
    return GRANARY_OK;
}

granary_err
reload_create(const struct settings *settings, struct reload **ret_reload)
{
    struct reload *reload = calloc(1, sizeof *reload);
    granary_err err = reload == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (unsigned i = 0; err == GRANARY_OK && settings_options[i].name != NULL; i++) {
        err = join(settings, &settings_options[i], &reload->running[i]);
    }
    if (err == GRANARY_OK) {
        settings_again(settings, &reload->settings);
        *ret_reload = reload;
    } else {
        reload_destroy(reload);
    }
    return err;
}

void
reload_destroy(struct reload *reload)
{
    if (reload == NULL) {
        return;
    }
    settings_clear(&reload->settings);
    for (unsigned i = 0; i < SETTINGS_MOST; i++) {
        free(reload->running[i]);
        free(reload->kept[i]);
    }
    free(reload);
}

/* ---- what can change ---- */

static granary_err
connect_store(const struct supervisor *self, granary_client **ret_client)
{
    granary_connect_options options = {
        .instance = self->options->instance.runtime, .tag = "supervisor", .timeout_ms = ASK_MS, .reconnect_ms = ASK_MS};

    return granary_connect(&options, ret_client);
}

static granary_err
set_limits(const struct supervisor *self, const struct gr_limits *limits)
{
    granary_client *client = NULL;
    granary_err err = connect_store(self, &client);

    err = err == GRANARY_OK ? gr_store_limits(client, limits) : err;
    granary_disconnect(client);
    return err;
}

#define AS_IT_IS                                                                                                       \
    {                                                                                                                  \
        UINT64_MAX, UINT64_MAX, UINT64_MAX                                                                             \
    }

/* A size as text; missing: what it is then. */
static uint64_t
size_of(const char *text, uint64_t missing)
{
    uint64_t bytes = missing;

    return text != NULL && gr_size_parse(text, &bytes) != GRANARY_OK ? missing : bytes;
}

/* The store has it: a scheduler that does not hear of it plans as before, until it is started anew. */
void
reload_tell_budget(struct supervisor *self)
{
    granary_client *client = NULL;
    granary_err err = connect_store(self, &client);

    err = err == GRANARY_OK ? gr_sched_budget(client, size_of(self->memory, 0), ASK_MS) : err;
    granary_disconnect(client);
    if (err != GRANARY_OK) {
        gr_log_warn("RELOAD", "the scheduler plans with the memory it was started with: %s", granary_error_message());
    }
}

static granary_err
apply_memory(struct supervisor *self, const struct settled *settled)
{
    struct gr_limits limits = AS_IT_IS;
    granary_err err;

    limits.memory_bytes = size_of(settled->options.memory, gr_memory_default());
    err = set_limits(self, &limits);
    if (err == GRANARY_OK) {
        (void)snprintf(self->memory, sizeof self->memory, "%llu", (unsigned long long)limits.memory_bytes);
        pressure_set_budget(&self->pressure, limits.memory_bytes);
        self->memory_changed = true;
        reload_tell_budget(self);
    }
    return err;
}

static granary_err
apply_disk_quota(struct supervisor *self, const struct settled *settled)
{
    struct gr_limits limits = AS_IT_IS;

    limits.disk_bytes = size_of(settled->options.disk_quota, 0);
    return set_limits(self, &limits);
}

static granary_err
apply_user_memory(struct supervisor *self, const struct settled *settled)
{
    struct gr_limits limits = AS_IT_IS;

    limits.user_bytes = size_of(settled->options.user_memory, 0);
    return set_limits(self, &limits);
}

/* The newest of the pool's executors leave, as many as are too many. */
static granary_err
drain(granary_client *client, int many)
{
    granary_executor_info *infos = NULL;
    uint32_t numbers[1024];
    size_t count = 0, chosen = 0;
    granary_err err = granary_executor_list(client, &infos, &count);

    for (size_t i = err == GRANARY_OK ? count : 0; i > 0 && chosen < (size_t)many && chosen < 1024; i--) {
        if (process_is_pooled(infos[i - 1].pid)) {
            numbers[chosen++] = infos[i - 1].number;
        }
    }
    free(infos);
    return err == GRANARY_OK && chosen > 0 ? granary_pool_drain(client, numbers, chosen, POOL_MS) : err;
}

static int
executors_of(const struct settled *settled)
{
    return settled->options.executors < 0 ? gr_usable_cpus() : settled->options.executors;
}

static granary_err
apply_executors(struct supervisor *self, const struct settled *settled)
{
    int more = executors_of(settled) - self->options->executors;
    granary_client *client = NULL;
    granary_err err = connect_store(self, &client);

    if (err == GRANARY_OK && more != 0) {
        err = more > 0 ? granary_pool_add(client, (uint32_t)more, -1, POOL_MS) : drain(client, -more);
    }
    granary_disconnect(client);
    if (err == GRANARY_OK || err == GRANARY_ETIMEDOUT) { /* it goes on */
        self->current.executors = executors_of(settled);
        return GRANARY_OK;
    }
    return err;
}

static granary_err
apply_log(struct supervisor *self, const struct settled *settled)
{
    logs_set_level(&self->options->instance, settled->options.log);
    return GRANARY_OK;
}

static granary_err
apply_log_size(struct supervisor *self, const struct settled *settled)
{
    (void)settled;
    (void)self;
    return GRANARY_OK; /* the supervisor's own: it has them now */
}

static granary_err
apply_pressure(struct supervisor *self, const struct settled *settled)
{
    pressure_end(&self->pressure);
    if (self->options->instance.shared[0] == '\0' &&
        (settled->pressure < 0 ? self->options->foreground : settled->pressure)) {
        pressure_open(&self->pressure, &self->options->instance, size_of(self->memory, 0));
    }
    return GRANARY_OK;
}

/* Those that change while all runs. member: a text that daemons which start later are given. */
static const struct {
    const char *name;
    granary_err (*apply)(struct supervisor *self, const struct settled *settled);
    size_t member; /* of supervisor_options; 0: none */
} live[] = {
    {"memory", apply_memory, offsetof(struct supervisor_options, memory)},
    {"disk-quota", apply_disk_quota, offsetof(struct supervisor_options, disk_quota)},
    {"user-memory", apply_user_memory, offsetof(struct supervisor_options, user_memory)},
    {"executors", apply_executors, 0},
    {"log", apply_log, offsetof(struct supervisor_options, log)},
    {"log-size", apply_log_size, 0},
    {"log-files", apply_log_size, 0},
    {"pressure", apply_pressure, 0},
};
#define LIVE (sizeof live / sizeof live[0])

/* The options have the text from now on, and the one before goes. */
static void
keep(struct reload *reload, struct supervisor *self, unsigned option, size_t member, const char *text)
{
    char *copy = text == NULL ? NULL : strdup(text);

    if (member != 0 && (text == NULL || copy != NULL)) {
        memcpy((char *)&self->current + member, &copy, sizeof copy);
        free(reload->kept[option]);
        reload->kept[option] = copy;
    } else {
        free(copy);
    }
}

static void
keep_numbers(struct supervisor *self, const struct settled *settled)
{
    self->current.log_size = settled->options.log_size;
    self->current.log_files = settled->options.log_files;
}

/* One setting that is not what runs: changed, if it can be. A line tells. */
static void
change(struct reload *reload, struct supervisor *self, unsigned option, char *text, struct gr_buf *answer)
{
    const struct settled *settled = &reload->settings.settled;
    const char *name = settings_options[option].name;

    for (size_t i = 0; i < LIVE; i++) {
        if (strcmp(live[i].name, name) != 0) {
            continue;
        }
        if (live[i].apply(self, settled) != GRANARY_OK) {
            gr_buf_addf(answer, "failed\t%s\t%s\n", name, granary_error_message());
            gr_log_warn("RELOAD", "%s: %s", name, granary_error_message());
            free(text);
            return;
        }
        keep(reload, self, option, live[i].member, text);
        gr_buf_addf(answer, "applied\t%s\t%s\n", name, text == NULL ? BUILT_IN : text);
        gr_log_info("RELOAD", "%s=%s", name, text == NULL ? BUILT_IN : text);
        free(reload->running[option]);
        reload->running[option] = text;
        return;
    }
    gr_buf_addf(answer, "restart\t%s\t%s\n", name, text == NULL ? BUILT_IN : text);
    free(text);
}

static bool
differ(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one != other : strcmp(one, other) != 0;
}

/* Renamed: who reads it has all of it. */
static void
write_answer(const struct supervisor *self, const struct gr_buf *answer)
{
    char path[PATH_MAX], made[PATH_MAX];
    int fd;

    (void)snprintf(path, sizeof path, "%s/" RELOAD_FILE, self->options->instance.runtime);
    (void)snprintf(made, sizeof made, "%s.new", path);
    fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && gr_write_all(fd, answer->bytes, answer->size) == GRANARY_OK) {
        (void)rename(made, path);
    }
    gr_fd_close(&fd);
}

void
reload_run(struct reload *reload, struct supervisor *self)
{
    struct gr_buf answer = {0};
    granary_err err = reload == NULL ? gr_fail(GRANARY_EUNSUPPORTED, "a private instance has no settings")
                                     : settings_read(&reload->settings, &self->options->instance);

    if (err != GRANARY_OK) {
        gr_buf_addf(&answer, "error\t\t%s\n", granary_error_message());
        gr_log_warn("RELOAD", "%s", granary_error_message());
    }
    for (unsigned i = 0; err == GRANARY_OK && settings_options[i].name != NULL; i++) {
        char *text = NULL;

        if (join(&reload->settings, &settings_options[i], &text) == GRANARY_OK && differ(text, reload->running[i])) {
            change(reload, self, i, text, &answer);
        } else {
            free(text);
        }
    }
    if (err == GRANARY_OK) {
        keep_numbers(self, &reload->settings.settled);
    }
    write_answer(self, &answer);
    gr_buf_free(&answer);
}
