/* Private instances live below the user's runtime directory, or below /tmp. */
#include "cli/instance/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

granary_err
private_start(struct supervisor_options *options, const struct gr_instance *meant,
              char ret_directory[PRIVATE_DIRECTORY], pid_t *ret_pid)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    granary_err err;

    if (base == NULL || base[0] != '/' || strlen(base) > 60 || access(base, W_OK) != 0) {
        base = "/tmp";
    }
    (void)snprintf(ret_directory, PRIVATE_DIRECTORY, "%s/granary-run-XXXXXX", base);
    if (mkdtemp(ret_directory) == NULL) {
        return gr_fail_errno("%s", ret_directory);
    }
    err = gr_instance_resolve(ret_directory, &options->instance);
    if (err == GRANARY_OK && meant != NULL && meant->shared[0] != '\0') {
        memcpy(options->instance.shared, meant->shared, sizeof meant->shared);
        memcpy(options->instance.store_socket, meant->store_socket, sizeof meant->store_socket);
    }
    if (err == GRANARY_OK) {
        options->die_with_parent = true;
        options->state = "memory";
        err = supervisor_start(options, ret_pid);
    }
    if (err != GRANARY_OK) {
        gr_remove_tree(ret_directory);
    }
    return err;
}

void
private_stop(const struct supervisor_options *options, pid_t *pid)
{
    if (*pid > 0) {
        (void)supervisor_stop(&options->instance, NULL);
        (void)waitpid(*pid, NULL, 0);
        *pid = 0;
    }
}
