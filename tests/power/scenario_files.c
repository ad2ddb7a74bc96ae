/*
 * Files that SQL writes, one after the other under one name, in several formats. Somebody syncs the folder when the first ones are there.
 * After a power cut each is one that was written, whole, and never half of one; before the folder was synced it may not be there.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "power/scenario.h"

enum { VERSIONS = 3 };

extern char **environ;

static const char *const endings[] = {"csv", "ndjson", "arrow", "parquet"};
#define ENDINGS (sizeof endings / sizeof endings[0])

static void
path_of(const struct stage *stage, const char *folder, const char *ending, char path[static 128])
{
    (void)snprintf(path, 128, "%s/%s/out.%s", stage->root, folder, ending);
}

/* A command, or one of granary's programs. */
static bool
run(const char *const *argv)
{
    char program[400];
    pid_t child;
    int status = -1;

    (void)snprintf(program, sizeof program, "%s%s", strcmp(argv[0], "granary") == 0 ? getenv("GRANARY_BIN") : "",
                   strcmp(argv[0], "granary") == 0 ? "/granary" : argv[0]);

    return posix_spawnp(&child, program, NULL, NULL, (char *const *)(uintptr_t)argv, environ) == 0 &&
           waitpid(child, &status, 0) == child && status == 0;
}

/* Rows of a version: more than one write has, for some. */
static bool
copy(struct stage *stage, const char *folder, int version, const char *ending)
{
    char path[128], statement[400];
    const char *const argv[] = {"granary", "sql", "--no-recall", statement, NULL};

    path_of(stage, folder, ending, path);
    (void)snprintf(
        statement, sizeof statement,
        "COPY (SELECT %d AS version, g AS i, repeat('text ', 1 + g %% 7) AS s FROM generate_series(1, %d) t(g)) "
        "TO '%s'",
        version, 300 * version, path);
    return run(argv) || stage_fail(stage, "it failed: %s", statement);
}

static bool
read_file(const struct stage *stage, const char *folder, const char *ending, char **text, size_t *size)
{
    char path[128];

    path_of(stage, folder, ending, path);
    return gr_file_read(path, (size_t)1 << 24, text, size) == GRANARY_OK;
}

/* What a version's file is: kept beside what is recorded, for the checks. */
static struct {
    char *bytes;
    size_t size;
} right[VERSIONS][ENDINGS];

static bool
write_all(struct stage *stage, const char *folder)
{
    for (int version = 1; version <= VERSIONS; version++) {
        for (size_t e = 0; e < ENDINGS; e++) {
            stage_note(stage, "begin %d %zu", version, e);
            if (!copy(stage, "f", version, endings[e])) {
                return false;
            }
            if (!read_file(stage, "f", endings[e], &right[version - 1][e].bytes, &right[version - 1][e].size)) {
                return stage_fail(stage, "%s was not written", endings[e]);
            }
        }
        if (version == 1) {
            if (!run((const char *const[]){"sync", folder, stage->root, NULL})) {
                return stage_fail(stage, "sync %s failed", folder);
            }
            stage_note(stage, "synced");
        }
    }
    return true;
}

/* The instance lies elsewhere: nobody looks for what it leaves. */
static bool
record_files(struct stage *stage)
{
    char folder[64], instance[64];
    bool ok;

    (void)snprintf(folder, sizeof folder, "%s/f", stage->root);
    (void)snprintf(instance, sizeof instance, "%s.i", stage->root);
    (void)setenv("GRANARY_INSTANCE", instance, 1);
    if (!run((const char *const[]){"mkdir", folder, NULL}) || /* seen by the recorder */
        !run((const char *const[]){"granary", "up", "--executors", "1", "--memory", "16M", NULL})) {
        return stage_fail(stage, "%s or an instance is not to be had", folder);
    }
    ok = write_all(stage, folder);
    ok = run((const char *const[]){"granary", "down", NULL}) && ok;
    gr_remove_tree(instance);
    return ok;
}

static bool
check_file(struct stage *stage, size_t e, int begun, bool synced)
{
    char *text = NULL;
    size_t size = 0;
    bool whole = !read_file(stage, "f", endings[e], &text, &size) && !synced;

    for (int version = 0; !whole && text != NULL && version < begun; version++) {
        whole = size == right[version][e].size && memcmp(text, right[version][e].bytes, size) == 0;
    }
    free(text);
    return whole || stage->lying || stage_fail(stage, "out.%s: %zu bytes, which are of no version", endings[e], size);
}

static bool
check_files(struct stage *stage, const struct disks *disks)
{
    int begun[ENDINGS] = {0};
    const char *note;
    size_t index = 0, e;
    int version;
    bool ok = true, synced = false;

    while ((note = disks_note(disks, &index)) != NULL) {
        if (sscanf(note, "begin %d %zu", &version, &e) == 2) {
            begun[e] = version;
        }
        synced = synced || strcmp(note, "synced") == 0;
    }
    for (e = 0; ok && e < ENDINGS; e++) {
        ok = check_file(stage, e, begun[e], synced);
    }
    return ok;
}

const struct scenario scenario_files = {.name = "files", .record = record_files, .check = check_files};
