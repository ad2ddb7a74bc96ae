/* Runs a fuzz target on files and on the files of directories. */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "fuzz.h"

/* Exactly so many bytes, so that a sanitizer sees each one too many. */
static bool
run_bytes(const char *bytes, size_t size)
{
    char *exact = malloc(size > 0 ? size : 1);

    if (exact == NULL) {
        return false;
    }
    if (size > 0) {
        memcpy(exact, bytes, size);
    }
    (void)LLVMFuzzerTestOneInput((const uint8_t *)exact, size);
    free(exact);
    return true;
}

static uint64_t
next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Some bytes changed, taken out, or doubled; room for twice the size. Returns the new size. */
static size_t
damage(char *bytes, size_t size, uint64_t *random)
{
    for (uint64_t times = 1 + next_random(random) % 4; times > 0 && size > 0; times--) {
        size_t at = (size_t)(next_random(random) % size);
        size_t many = (size_t)(1 + next_random(random) % 8);

        many = many < size - at ? many : size - at;
        switch (next_random(random) % 4) {
        case 0:
            bytes[at] = (char)next_random(random);
            break;
        case 1:
            bytes[at] = (char)(bytes[at] ^ 1 << next_random(random) % 8);
            break;
        case 2:
            memmove(bytes + at, bytes + at + many, size - at - many);
            size -= many;
            break;
        default:
            memmove(bytes + at + many, bytes + at, size - at);
            size += many;
            break;
        }
    }
    return size;
}

static int
run_file(const char *path)
{
    const char *wish = getenv("GRANARY_FUZZ_RUNS");
    long runs = wish == NULL ? 20 : atol(wish);
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
    char *bytes;
    char *damaged;
    size_t size;
    bool done;

    if (gr_file_read(path, 1 << 26, &bytes, &size) != GRANARY_OK) {
        (void)fprintf(stderr, "%s\n", granary_error_message());
        return -1;
    }
    done = run_bytes(bytes, size);
    damaged = malloc(2 * size + 64);
    for (long i = 0; done && damaged != NULL && i < runs; i++) {
        memcpy(damaged, bytes, size);
        done = run_bytes(damaged, damage(damaged, size, &random));
    }
    done = done && damaged != NULL;
    free(damaged);
    free(bytes);
    return done ? 1 : -1;
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
