/* A get of an object in memory makes no system call: strace counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration/store/fixture.h"

/* System calls of get_loop with count gets, as `strace -f -c` counts them; -1: strace cannot be used here. */
static long
count_calls(const struct daemon *daemon, const char *count)
{
    char program[512];
    char table[128];
    char line[256];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 32);
    long calls = -1;
    FILE *file;
    pid_t child;

    assert_true(length > 0);
    program[length] = '\0';
    (void)strcpy(strrchr(program, '/') + 1, "get_loop");
    (void)snprintf(table, sizeof table, "%s/strace", daemon->directory);
    child = fork();
    if (child == 0) {
        (void)execlp("strace", "strace", "-f", "-c", "-o", table, program, daemon->directory, count, (char *)NULL);
        _exit(127);
    }
    if (fixture_wait(child) != 0 || (file = fopen(table, "r")) == NULL) {
        return -1;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        /* 100.00    0.001234          10       123         4 total */
        if (strstr(line, " total") != NULL) {
            assert_int_equal(sscanf(line, "%*f %*f %*d %ld", &calls), 1);
        }
    }
    (void)fclose(file);
    return calls;
}

static void
a_million_gets_make_no_system_call(void **state)
{
    long few = count_calls(*state, "0");
    long many;

    if (few < 0) {
        print_message("strace is not here, or may not trace: skipped\n");
        skip();
    }
    few = count_calls(*state, "0"); /* the objects are there now, as for the next */
    many = count_calls(*state, "1000000");
    assert_true(few > 0);
    assert_true(many > 0);
    assert_in_range(many, 1, (unsigned long)few + 20); /* mapping the segment, printing */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_million_gets_make_no_system_call, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests_name("system calls", tests, NULL, NULL);
}
