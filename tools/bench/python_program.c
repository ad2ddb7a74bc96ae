/* Benchmarks that are programs of Python: written to a directory of their own, and run with the package that lies beside this program. */
#include <stdlib.h>
#include <unistd.h>

#include "bench/bench.h"

int
bench_python_program(const struct bench_options *options, const char *text, const struct bench_line *lines,
                     size_t count, const char *needs)
{
    char directory[] = "/tmp/granary-bench-python-XXXXXX";
    struct results results = {.count = 0};
    char programs[PATH_MAX], path[64], command[3 * PATH_MAX];
    FILE *file;

    if (!bench_programs(programs) || mkdtemp(directory) == NULL) {
        (void)fprintf(stderr, "granary: bench: a directory below /tmp could not be made\n");
        return 1;
    }
    (void)snprintf(path, sizeof path, "%s/bench_package.py", directory);
    file = fopen(path, "we");
    if (file != NULL) {
        (void)fputs(text, file);
        (void)fclose(file);
    }
    (void)snprintf(command, sizeof command,
                   "cd %s && PYTHONPATH='%s/../python' GRANARY_BIN='%s' exec /usr/bin/python3 bench_package.py %s",
                   directory, programs, programs, options->quick ? "quick" : "full");
    bench_take_lines(&results, command, lines, count);
    spawn_remove_directory(directory);
    if (results.count == 0) {
        (void)fprintf(stderr, "granary: bench: the Python package did not run: %s\n", needs);
        return 1;
    }
    results_print(&results, options->json, stdout);
    return 0;
}
