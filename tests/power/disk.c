#include "power/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "power/disk_private.h"

static const char *const kind_names[] = {
    [TRACE_CREATE] = "create",      [TRACE_MKDIR] = "mkdir",     [TRACE_RENAME] = "rename",
    [TRACE_UNLINK] = "unlink",      [TRACE_RMDIR] = "rmdir",     [TRACE_WRITE] = "write",
    [TRACE_SIZE] = "truncate",      [TRACE_RESERVE] = "reserve", [TRACE_SYNC_BEGIN] = "sync begins",
    [TRACE_SYNC_END] = "sync ends", [TRACE_MAPPED] = "mmap",     [TRACE_UNKNOWN] = "unknown",
    [TRACE_NOTE] = "note",
};

/* ---- the tree ---- */

static void
content_size(struct content *content, uint64_t size)
{
    if (size > content->room) {
        size_t room = (size_t)size * 2;

        content->bytes = realloc(content->bytes, room);
        if (content->bytes == NULL) {
            abort();
        }
        content->room = room;
    }
    if (size > content->size) {
        memset(content->bytes + content->size, 0, (size_t)size - content->size);
    }
    content->size = (size_t)size;
}

static struct entry *
find_entry(struct disks *disks, const char *path)
{
    for (size_t i = 0; i < disks->entry_count; i++) {
        if (strcmp(disks->entries[i].path, path) == 0) {
            return &disks->entries[i];
        }
    }
    return NULL;
}

static void
set_entry(struct disks *disks, const char *path, int file)
{
    struct entry *entry = find_entry(disks, path);

    if (entry == NULL) {
        entry = &disks->entries[disks->entry_count++];
    }
    *entry = (struct entry){path, file};
}

static void
drop_entry(struct disks *disks, const char *path)
{
    struct entry *entry = find_entry(disks, path);

    if (entry != NULL) {
        *entry = disks->entries[--disks->entry_count];
    }
}

/* A write of which some sectors are missing; where the file was not as long before, they are zeros. */
static void
apply_torn(struct content *content, const struct operation *op, uint64_t random)
{
    uint64_t end = op->at + op->size;
    uint64_t sectors = (op->size + SECTOR - 1) / SECTOR;
    uint64_t kept = random % (sectors + 1);
    bool prefix = (random >> 32) % 2 == 0;

    if (prefix && (random >> 33) % 2 == 0) {
        end = op->at + (kept * SECTOR < op->size ? kept * SECTOR : op->size);
    }
    if (end > content->size) {
        content_size(content, end);
    }
    for (uint64_t i = 0; i < sectors; i++) {
        uint64_t from = i * SECTOR;
        uint64_t size = op->size - from < SECTOR ? op->size - from : SECTOR;
        uint64_t chance = gr_hash64_seeded(&i, sizeof i, random);

        if (prefix ? i < kept : chance % 2 == 0) {
            memcpy(content->bytes + op->at + from, op->bytes + from, (size_t)size);
        }
    }
}

static void
apply(struct disks *disks, const struct operation *op, bool torn, uint64_t random)
{
    struct content *content = op->file >= 0 ? &disks->contents[op->file] : NULL;

    switch (op->kind) {
    case TRACE_CREATE:
    case TRACE_MKDIR:
        set_entry(disks, op->path, op->file);
        break;
    case TRACE_RENAME:
        drop_entry(disks, op->path);
        set_entry(disks, op->other, op->file);
        break;
    case TRACE_UNLINK:
    case TRACE_RMDIR:
        drop_entry(disks, op->path);
        break;
    case TRACE_SIZE:
        content_size(content, op->at);
        break;
    case TRACE_RESERVE:
        content_size(content, op->at > content->size ? op->at : content->size);
        break;
    case TRACE_WRITE:
        if (torn) {
            apply_torn(content, op, random);
        } else {
            if (op->at + op->size > content->size) {
                content_size(content, op->at + op->size);
            }
            memcpy(content->bytes + op->at, op->bytes, (size_t)op->size);
        }
        break;
    default:
        break;
    }
}

static void
clear(struct disks *disks)
{
    disks->entry_count = 0;
    for (size_t i = 0; i < disks->file_count; i++) {
        disks->contents[i].size = 0;
    }
}

/* ---- choosing ---- */

static bool
is_change(const struct operation *op)
{
    return op->kind <= TRACE_RESERVE;
}

/* Of the `count` operations that may be on the disk, or not. */
static void
pick(struct disks *disks, uint64_t variant, size_t count, uint64_t seed)
{
    uint64_t random = gr_hash64_seeded(&variant, sizeof variant, seed);
    uint64_t often = 1 + random % 3; /* of four */
    uint64_t step = (variant - 4) / 2;

    for (size_t i = 0; i < count; i++) {
        uint64_t chance = gr_hash64_seeded(&i, sizeof i, random);
        bool chosen;

        disks->torn[i] = false;
        if (variant == 0 || variant == 2) {
            chosen = variant == 2;
        } else if (variant % 2 == 0 && step < 2 * count) {
            chosen = step < count ? i != step : i == step - count;
        } else if (variant % 2 == 0 && count <= 12) {
            chosen = ((step - 2 * count) >> i & 1) != 0;
        } else {
            chosen = chance % 4 < often;
            disks->torn[i] = (chance >> 8) % 3 == 0;
        }
        disks->chosen[i] = chosen;
    }
}

static uint64_t
hash_disk(struct disks *disks)
{
    uint64_t all = disks->notes_before;

    for (size_t i = 0; i < disks->entry_count; i++) {
        const struct entry *entry = &disks->entries[i];
        const struct content *content = entry->file >= 0 ? &disks->contents[entry->file] : NULL;
        uint64_t hash = gr_hash64_seeded(entry->path, strlen(entry->path), entry->file >= 0);

        /* Entries have no order. */
        all += content == NULL ? hash : gr_hash64_seeded(content->bytes, content->size, hash);
    }
    return all;
}

void
disks_choose(struct disks *disks, uint64_t number, uint64_t seed, struct disk *ret_disk)
{
    size_t points = disks_points(disks);
    size_t point = (size_t)(number % points);
    size_t next = 0;

    *ret_disk = (struct disk){.number = number, .point = point, .last = "nothing"};
    disks->point = point;
    disks->notes_before = 0;
    for (size_t i = 0; i < point; i++) {
        ret_disk->pending += is_change(&disks->operations[i]) && disks->operations[i].durable_at > point;
        disks->notes_before += disks->operations[i].kind == TRACE_NOTE;
    }
    pick(disks, number / points, ret_disk->pending, gr_hash64_seeded(&point, sizeof point, seed));
    clear(disks);
    for (size_t i = 0; i < point; i++) {
        const struct operation *op = &disks->operations[i];

        if (!is_change(op)) {
            continue;
        }
        if (op->durable_at <= point) {
            apply(disks, op, false, 0);
            continue;
        }
        if (disks->chosen[next]) {
            bool torn = disks->torn[next] && op->kind == TRACE_WRITE;

            apply(disks, op, torn, gr_hash64_seeded(&number, sizeof number, seed + i));
            ret_disk->applied++;
            ret_disk->torn += torn;
        }
        next++;
    }
    if (point > 0) {
        const struct operation *last = &disks->operations[point - 1];

        (void)snprintf(disks->last, sizeof disks->last, "%s %s", kind_names[last->kind], last->path);
        ret_disk->last = disks->last;
    }
    ret_disk->hash = hash_disk(disks);
}

/* ---- on a real file system ---- */

static bool
write_file(const char *path, const char *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && gr_write_all(fd, bytes, size) == GRANARY_OK;

    gr_fd_close(&fd);
    return ok;
}

/* Whether everything above a path is there. */
static bool
is_reachable(struct disks *disks, const char *path)
{
    char above[PATH_MAX];
    const struct entry *entry;

    (void)snprintf(above, sizeof above, "%s", path);
    while (strrchr(above, '/') != NULL) {
        *strrchr(above, '/') = '\0';
        entry = find_entry(disks, above);
        if (entry == NULL || entry->file >= 0) {
            return false;
        }
    }
    return true;
}

static int
by_path(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

bool
disks_write(struct disks *disks, const char *root, size_t garbage)
{
    char path[PATH_MAX];
    bool ok = true;

    qsort(disks->entries, disks->entry_count, sizeof *disks->entries, by_path);
    for (size_t i = 0; i < disks->entry_count && ok; i++) {
        const struct entry *entry = &disks->entries[i];

        if (!is_reachable(disks, entry->path)) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", root, entry->path);
        if (entry->file < 0) {
            ok = mkdir(path, 0700) == 0;
        } else if (disks->contents[entry->file].mapped) {
            static char noise[32768];

            for (size_t j = 0; j < sizeof noise; j++) {
                noise[j] = (char)(gr_hash64(&j, sizeof j) + garbage);
            }
            ok = write_file(path, noise, garbage < sizeof noise ? garbage : sizeof noise);
        } else {
            ok = write_file(path, disks->contents[entry->file].bytes, disks->contents[entry->file].size);
        }
    }
    if (!ok) {
        perror(path);
    }
    return ok;
}

static bool
explain_file(struct disks *disks, const char *root, const char *path)
{
    const struct entry *entry = find_entry(disks, path);
    char full[PATH_MAX];
    char *bytes = NULL;
    size_t size = 0;
    bool same;

    (void)snprintf(full, sizeof full, "%s/%s", root, path);
    if (entry != NULL && entry->file >= 0 && disks->contents[entry->file].mapped) {
        return true;
    }
    same = entry != NULL && entry->file >= 0 && gr_file_read(full, SIZE_MAX, &bytes, &size) == GRANARY_OK &&
           size == disks->contents[entry->file].size && memcmp(bytes, disks->contents[entry->file].bytes, size) == 0;
    free(bytes);
    if (!same) {
        (void)fprintf(stderr, "crash_states: %s is not what the trace makes of it\n", full);
    }
    return same;
}

static bool
explain_directory(struct disks *disks, const char *root, const char *below)
{
    char full[PATH_MAX], path[PATH_MAX];
    struct dirent *found;
    bool ok = true;
    DIR *dir;

    (void)snprintf(full, sizeof full, "%s/%s", root, below);
    dir = opendir(full);
    while (dir != NULL && (found = readdir(dir)) != NULL) {
        if (found->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s%s%s", below, *below == '\0' ? "" : "/", found->d_name);
        if (found->d_type == DT_DIR) {
            ok = explain_directory(disks, root, path) && ok;
        } else if (found->d_type == DT_REG) {
            ok = explain_file(disks, root, path) && ok;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return ok && dir != NULL;
}

bool
disks_explain(struct disks *disks, const char *root)
{
    clear(disks);
    for (size_t i = 0; i < disks->count; i++) {
        apply(disks, &disks->operations[i], false, 0);
    }
    return explain_directory(disks, root, "");
}

size_t
disks_points(const struct disks *disks)
{
    return disks->count + 1;
}

const char *
disks_note(const struct disks *disks, size_t *index)
{
    while (*index < disks->point) {
        const struct operation *op = &disks->operations[(*index)++];

        if (op->kind == TRACE_NOTE) {
            return op->path;
        }
    }
    return NULL;
}
