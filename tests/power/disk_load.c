/* From the bytes of a trace to operations on files, each with the point from which on it is durable. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "power/disk_private.h"

#define TRACE_MOST ((size_t)1 << 30)

/* The file an inode stands for now; a file that is made may get the inode of one that is gone. */
struct inode {
    uint64_t number;
    int file;
};

static int
file_of(const struct inode *inodes, size_t count, uint64_t number)
{
    for (size_t i = count; i-- > 0;) {
        if (inodes[i].number == number) {
            return inodes[i].file;
        }
    }
    return -1;
}

static const char *
take_text(char **to, const char **from, size_t size)
{
    char *text = *to;

    memcpy(text, *from, size);
    text[size] = '\0';
    *to += size + 1;
    *from += size;
    return text;
}

static size_t
count_records(const char *bytes, size_t size)
{
    size_t count = 0;

    for (size_t at = 0; at + sizeof(struct trace_record) <= size; count++) {
        struct trace_record record;

        memcpy(&record, bytes + at, sizeof record);
        at += sizeof record + record.path_size + record.other_size + (record.kind == TRACE_WRITE ? record.size : 0);
    }
    return count;
}

static bool
is_about_file(enum trace_kind kind)
{
    return kind == TRACE_WRITE || kind == TRACE_SIZE || kind == TRACE_RESERVE;
}

/* False: it cannot be understood. */
static bool
read_records(struct disks *disks)
{
    struct inode *inodes = calloc(disks->count + 1, sizeof *inodes);
    const char *at = disks->trace;
    char *texts = disks->texts;
    bool ok = true;

    for (size_t i = 0; i < disks->count && ok; i++) {
        struct operation *op = &disks->operations[i];
        struct trace_record record;

        memcpy(&record, at, sizeof record);
        at += sizeof record;
        *op = (struct operation){.kind = (enum trace_kind)record.kind, .task = record.task, .at = record.at};
        op->path = take_text(&texts, &at, record.path_size);
        op->other = take_text(&texts, &at, record.other_size);
        if (op->kind == TRACE_WRITE) {
            op->size = record.size;
            op->bytes = at;
            at += record.size;
        }
        op->durable_at = SIZE_MAX;
        if (op->kind == TRACE_CREATE) {
            inodes[disks->file_count] = (struct inode){record.inode, (int)disks->file_count};
            disks->file_count++;
        }
        op->file = record.inode == 0 ? -1 : file_of(inodes, disks->file_count, record.inode);
        if (op->kind == TRACE_MAPPED && op->file >= 0) {
            disks->contents[op->file].mapped = true;
        }
        if (op->kind == TRACE_UNKNOWN || (is_about_file(op->kind) && op->file < 0)) {
            (void)fprintf(stderr, "crash_states: record %zu of the trace (%s) is not understood\n", i, op->path);
            ok = false;
        }
    }
    free(inodes);
    return ok;
}

static bool
is_in(const char *path, const char *directory)
{
    const char *slash = strrchr(path, '/');
    size_t size = slash == NULL ? 0 : (size_t)(slash - path);

    return strlen(directory) == size && strncmp(path, directory, size) == 0;
}

static bool
covers(const struct operation *sync, const struct operation *op)
{
    if (is_about_file(op->kind)) {
        return sync->file == op->file;
    }
    return sync->file < 0 && op->kind <= TRACE_RMDIR && is_in(op->path, sync->path);
}

/* What a sync that ended covers is durable behind its end. */
static void
find_durable(struct disks *disks, unsigned lies)
{
    for (size_t end = 0; end < disks->count; end++) {
        size_t begin = end;

        if (disks->operations[end].kind != TRACE_SYNC_END) {
            continue;
        }
        while (disks->operations[begin].kind != TRACE_SYNC_BEGIN ||
               disks->operations[begin].task != disks->operations[end].task) {
            begin--;
        }
        if ((disks->operations[begin].file >= 0 ? lies & DISK_NO_FILE_SYNC : lies & DISK_NO_DIRECTORY_SYNC) != 0) {
            continue;
        }
        for (size_t i = 0; i < begin; i++) {
            if (disks->operations[i].durable_at == SIZE_MAX &&
                covers(&disks->operations[begin], &disks->operations[i])) {
                disks->operations[i].durable_at = end + 1;
            }
        }
    }
}

struct disks *
disks_load(const char *trace_path, unsigned lies)
{
    struct disks *disks = calloc(1, sizeof *disks);
    size_t size = 0;

    if (disks == NULL || gr_file_read(trace_path, TRACE_MOST, &disks->trace, &size) != GRANARY_OK) {
        (void)fprintf(stderr, "crash_states: %s: %s\n", trace_path, granary_error_message());
        disks_free(disks);
        return NULL;
    }
    disks->count = count_records(disks->trace, size);
    disks->operations = calloc(disks->count + 1, sizeof *disks->operations);
    disks->contents = calloc(disks->count + 1, sizeof *disks->contents);
    disks->entries = calloc(disks->count + 1, sizeof *disks->entries);
    disks->chosen = calloc(disks->count + 1, sizeof *disks->chosen);
    disks->torn = calloc(disks->count + 1, sizeof *disks->torn);
    disks->texts = malloc(size + 2 * disks->count + 1);
    if (disks->operations == NULL || disks->contents == NULL || disks->entries == NULL || disks->chosen == NULL ||
        disks->torn == NULL || disks->texts == NULL || !read_records(disks)) {
        disks_free(disks);
        return NULL;
    }
    find_durable(disks, lies);
    return disks;
}

void
disks_free(struct disks *disks)
{
    if (disks == NULL) {
        return;
    }
    for (size_t i = 0; disks->contents != NULL && i < disks->file_count; i++) {
        free(disks->contents[i].bytes);
    }
    free(disks->operations);
    free(disks->contents);
    free(disks->entries);
    free(disks->chosen);
    free(disks->torn);
    free(disks->texts);
    free(disks->trace);
    free(disks);
}
