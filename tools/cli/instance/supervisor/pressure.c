/* Each alarm takes an eighth of what is in use from the budget, down to an eighth of all; calm gives it back in steps. */
#include "cli/instance/supervisor/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "granary/store.h"
#include "object/limits.h"

/* Some process waited for 200 ms of 2 s. Users who are not root may set windows of 2 s alone. */
#define TRIGGER  "some 200000 2000000"
#define TOO_MUCH 10.0 /* percent, of the average over ten seconds */
#define LOOK_NS  2000000000
#define CALM_NS  20000000000 /* so long without an alarm, and the budget begins to grow */
#define SHARE    8u
#define ASK_MS   5000

/* This process's own; $GRANARY_PRESSURE_FILE is for tests. */
static bool
cgroup_file(char path[PATH_MAX])
{
    const char *wish = getenv("GRANARY_PRESSURE_FILE");
    char *text = NULL;
    size_t size;
    char *group;

    path[0] = '\0';
    if (wish != NULL) {
        (void)snprintf(path, PATH_MAX, "%s", wish);
        return true;
    }
    if (gr_file_read("/proc/self/cgroup", 1 << 16, &text, &size) == GRANARY_OK &&
        (group = strstr(text, "0::/")) != NULL) {
        group += strlen("0::");
        group[strcspn(group, "\n")] = '\0';
        (void)snprintf(path, PATH_MAX, "/sys/fs/cgroup%s/memory.pressure", group);
    }
    free(text);
    return false;
}

static bool
set_trigger(struct pressure *pressure, const char *path)
{
    pressure->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (pressure->fd >= 0 && write(pressure->fd, TRIGGER, sizeof TRIGGER) < 0) {
        gr_fd_close(&pressure->fd);
    }
    return pressure->fd >= 0;
}

void
pressure_open(struct pressure *pressure, const struct gr_instance *instance, uint64_t budget)
{
    static const char machine[] = "/proc/pressure/memory";
    char path[PATH_MAX];
    bool is_test = cgroup_file(path);

    *pressure = (struct pressure){
        .fd = -1, .next_ns = INT64_MAX, .calm_ns = INT64_MAX, .full = budget, .budget = budget, .instance = instance};
    pressure->is_trigger =
        !is_test && ((path[0] != '\0' && set_trigger(pressure, path)) || set_trigger(pressure, machine));
    if (!pressure->is_trigger) {
        pressure->fd = open(is_test ? path : machine, O_RDONLY | O_CLOEXEC);
        pressure->next_ns = pressure->fd < 0 ? INT64_MAX : 0;
    }
    if (pressure->fd < 0) {
        gr_log_warn("PRESSURE", "the kernel does not tell of memory pressure: %s", strerror(errno));
    } else {
        gr_log_info("PRESSURE", "watched by=%s", pressure->is_trigger ? "trigger" : "average");
    }
}

/* Returns whether the store has it. */
static bool
give_budget(struct pressure *pressure, uint64_t budget, uint64_t *ret_used)
{
    granary_connect_options options = {
        .instance = pressure->instance->runtime, .tag = "supervisor", .timeout_ms = ASK_MS, .reconnect_ms = ASK_MS};
    struct gr_limits limits = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    granary_client *client = NULL;
    granary_store_stat stat;
    granary_err err = granary_connect(&options, &client);

    err = err == GRANARY_OK ? granary_store_stat_get(client, &stat) : err;
    if (err == GRANARY_OK && ret_used != NULL) {
        uint64_t used = stat.capacity_bytes - stat.free_bytes;
        uint64_t least = pressure->full / SHARE;

        budget = used < budget ? used : budget;
        budget = budget - budget / SHARE;
        budget = budget < least ? least : budget;
        *ret_used = used;
    }
    limits.memory_bytes = budget;
    err = err == GRANARY_OK ? gr_store_limits(client, &limits) : err;
    granary_disconnect(client);
    if (err != GRANARY_OK) {
        gr_log_warn("PRESSURE", "the budget stays: %s", granary_error_message());
        return false;
    }
    pressure->budget = budget;
    return true;
}

static void
alarm_now(struct pressure *pressure)
{
    uint64_t used = 0;

    pressure->calm_ns = gr_now_ns() + CALM_NS;
    if (pressure->budget > pressure->full / SHARE && give_budget(pressure, pressure->budget, &used)) {
        gr_log_warn("PRESSURE-ON", "budget=%llu of=%llu used=%llu", (unsigned long long)pressure->budget,
                    (unsigned long long)pressure->full, (unsigned long long)used);
    }
}

/* It is over for some time: an eighth more. */
static void
grow(struct pressure *pressure)
{
    uint64_t more = pressure->budget + pressure->full / SHARE;

    if (give_budget(pressure, more < pressure->full ? more : pressure->full, NULL) &&
        pressure->budget == pressure->full) {
        pressure->calm_ns = INT64_MAX;
        gr_log_info("PRESSURE-OFF", "budget=%llu", (unsigned long long)pressure->budget);
    } else {
        pressure->calm_ns = gr_now_ns() + CALM_NS / SHARE;
    }
}

/* "some avg10=0.35 ..." */
static bool
is_high(const struct pressure *pressure)
{
    char text[256];
    ssize_t n = pread(pressure->fd, text, sizeof text - 1, 0);
    const char *at;

    text[n > 0 ? n : 0] = '\0';
    at = strstr(text, "some avg10=");
    return at != NULL && strtod(at + strlen("some avg10="), NULL) >= TOO_MUCH;
}

void
pressure_set_budget(struct pressure *pressure, uint64_t budget)
{
    pressure->full = pressure->budget = budget;
    pressure->calm_ns = INT64_MAX;
}

void
pressure_turn(struct pressure *pressure, short events)
{
    int64_t now_ns = gr_now_ns();
    bool look = !pressure->is_trigger && now_ns >= pressure->next_ns;

    if (pressure->fd < 0) {
        return;
    }
    if ((events & POLLERR) != 0) { /* the cgroup is gone */
        pressure_close(pressure);
        return;
    }
    if ((events & POLLPRI) != 0 || (look && is_high(pressure))) {
        alarm_now(pressure);
    } else if (now_ns >= pressure->calm_ns) {
        grow(pressure);
    }
    if (!pressure->is_trigger) {
        pressure->next_ns = gr_now_ns() + LOOK_NS;
    }
}

void
pressure_close(struct pressure *pressure)
{
    gr_fd_close(&pressure->fd);
    pressure->next_ns = pressure->calm_ns = INT64_MAX;
}

void
pressure_end(struct pressure *pressure)
{
    if (pressure->budget < pressure->full) {
        (void)give_budget(pressure, pressure->full, NULL);
    }
    pressure_close(pressure);
}
