/* Runs a fuzz target on files and on the files of directories. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "fuzz.h"

static int
run_file(const char *path)
{
    char *bytes;
    char *exact;
    size_t size;

    if (gr_file_read(path, 1 << 26, &bytes, &size) != GRANARY_OK) {
        (void)fprintf(stderr, "%s\n", granary_error_message());
        return -1;
    }
    exact = malloc(size > 0 ? size : 1); /* not a byte more, so that a sanitizer sees each one too many */
    if (exact == NULL) {
        free(bytes);
        return -1;
    }
    memcpy(exact, bytes, size);
    free(bytes);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)exact, size);
    free(exact);
    return 1;
}

/* How many inputs were run; negative when one could not be read. */
static int
run(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int count = 0;

    if (dir == NULL) {
        return errno == ENOTDIR ? run_file(path) : -1;
    }
    while (count >= 0 && (entry = readdir(dir)) != NULL) {
        char below[4096];
        int done;

        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        done = run(below);
        count = done < 0 ? done : count + done;
    }
    (void)closedir(dir);
    return count;
}

int
main(int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++) {
        int done = run(argv[i]);

        if (done < 0) {
            (void)fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        count += done;
    }
    (void)printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
