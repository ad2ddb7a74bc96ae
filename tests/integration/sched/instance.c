#include "instance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/guard.h"

static int
run_granary(const char *command, const char *directory, const char *options)
{
    const char *bin = getenv("GRANARY_BIN");
    char line[400];

    (void)snprintf(line, sizeof line, "GRANARY_LOG=error %s/granary %s --instance %s %s >/dev/null 2>&1",
                   bin != NULL ? bin : "bin", command, directory, options);
    return system(line);
}

void
instance_start(char *directory, const char *options, granary_client **ret_client)
{
    assert_non_null(mkdtemp(directory));
    assert_true(guard_start(directory));
    assert_int_equal(run_granary("up", directory, options), 0);
    assert_int_equal(granary_connect(&(granary_connect_options){.instance = directory}, ret_client), GRANARY_OK);
}

void
instance_stop(const char *directory, granary_client *client)
{
    granary_disconnect(client);
    assert_int_equal(run_granary("down", directory, ""), 0);
    assert_int_not_equal(access(directory, F_OK), 0);
}
