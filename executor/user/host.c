/* What a host has is made in order and given back in reverse; what was not made is all zero. */
#include "executor/user/host.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

granary_err
host_create(struct host *host, const char *instance, int node, int slot, bool embedded)
{
    granary_err err;
    cpu_set_t cpus;

    *host = (struct host){.guard = {.directory = -1}, .pid = getpid(), .embedded = embedded, .node = node, .cpus = 1};
    libraries_init(&host->libraries);
    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
        host->cpus = CPU_COUNT(&cpus);
    }
    err = gr_instance_resolve(instance, &host->instance);
    if (err == GRANARY_OK) {
        capture_init(&host->capture, &host->instance);
    }
    if (err == GRANARY_OK && !embedded) {
        /* What was printed before a crash should be in the file. */
        (void)setvbuf(stdout, NULL, _IOLBF, 0);
        (void)setenv("GRANARY_INSTANCE", host->instance.runtime, 1); /* for what functions start */
        err = guard_create(&host->guard);
    }
    if (err == GRANARY_OK) {
        err = page_create(&host->page, &host->instance, node, slot);
    }
    if (err == GRANARY_OK && !embedded && host->page.path[0] == '\0') {
        gr_log_warn("EXECUTOR-PAGE", "slot=%d: nobody can see what it does: %s", slot, granary_error_message());
    }
    return err;
}

/* Fini functions are user code, too. */
static void
forget_reusables(struct host *host, const char *session)
{
    if (host->reusables.first == NULL) {
        return;
    }
    if (!host->embedded) {
        guard_begin(&host->guard, "a fini function", NULL, 0, NULL);
    }
    reusables_forget(&host->reusables, session);
    if (!host->embedded) {
        (void)guard_end(&host->guard);
    }
}

void
host_session_ended(void *host, const char *session)
{
    forget_reusables(host, session);
}

void
host_destroy(struct host *host)
{
    if (host->cpus == 0) { /* it was never made */
        return;
    }
    forget_reusables(host, NULL);
    libraries_fini(&host->libraries);
    parts_destroy(&host->parts);
    if (!host->embedded) {
        guard_destroy(&host->guard);
    }
    page_destroy(&host->page);
}
