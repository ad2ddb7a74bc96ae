/* Any text as a statement over two files: translated into a graph that passes the check of graphs, or refused. The
 * working directory becomes that of the files: give libFuzzer absolute paths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/builder.h"
#include "fuzz.h"
#include "granary/sql.h"
#include "graph/graph.h"

static void
make_files(void)
{
    static char directory[] = "/tmp/granary-fuzz-sql-XXXXXX";
    static const char *const files[][2] = {
        {"a.csv", "id,x,name,day\n1,2,one,2020-01-01\n"},
        {"b.csv", "id,y,name\n1,2,one\n"},
    };

    if (mkdtemp(directory) == NULL || chdir(directory) != 0) {
        abort();
    }
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(files[i][0], "w");

        if (file == NULL || fputs(files[i][1], file) < 0 || fclose(file) != 0) {
            abort();
        }
    }
}

static void
remove_files(void)
{
    char directory[128];

    if (getcwd(directory, sizeof directory) != NULL) {
        (void)unlink("a.csv");
        (void)unlink("b.csv");
        (void)rmdir(directory);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static bool ready;
    granary_graph *graph = NULL;
    Granary__Graph *message = NULL;
    struct gr_graph *checked = NULL;

    if (!ready) {
        make_files();
        (void)atexit(remove_files);
        ready = true;
    }
    if (granary_sql_graph(NULL, size > 0 ? (const char *)bytes : "", size, &graph) == GRANARY_OK) {
        if (gr_builder_finish(graph, &message) != GRANARY_OK) {
            abort();
        }
        if (gr_graph_create(message, &checked) != GRANARY_OK) {
            (void)fprintf(stderr, "%s\n", granary_error_message());
            abort(); /* *takes* the message when it is good */
        }
        gr_graph_destroy(checked);
    }
    granary_graph_destroy(graph);
    return 0;
}
