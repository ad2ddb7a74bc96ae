/* Finding an instance, and its root: what stands above the sessions. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/memory/grow.h"
#include "base/sized.h"
#include "inspect/inspector.h"

/* ---- opening ---- */

/* Whether a name is "granary.<uid>.<tag>.root"; the length of what is before "root". */
static bool
is_root_name(const char *name, size_t *ret_length)
{
    const char *at = name;

    if (strncmp(at, "granary.", 8) != 0) {
        return false;
    }
    at += 8;
    at += strspn(at, "0123456789");
    if (*at++ != '.' || strspn(at, "0123456789abcdef") != 8 || strcmp(at + 8, ".root") != 0) {
        return false;
    }
    *ret_length = (size_t)(at + 9 - name);
    return *ret_length < sizeof((struct granary_inspector *)0)->prefix;
}

/* The prefix of the instance's files in a copy, whatever the uid of its store; "" when there is no root. */
static void
find_prefix(const char *directory, char ret_prefix[48])
{
    struct dirent *entry;
    bool found = false;
    DIR *dir = opendir(directory);

    while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
        size_t length;

        if (is_root_name(entry->d_name, &length)) {
            memcpy(ret_prefix, entry->d_name, length);
            ret_prefix[length] = '\0';
            found = true;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

static granary_err
finish_open(struct granary_inspector *inspector, granary_inspector **ret_inspector)
{
    granary_instance_info info;
    granary_err err = root_read(inspector, &info);

    /* A damaged root is for granary_inspect_check() to tell of. */
    if (err != GRANARY_OK && err != GRANARY_ECORRUPT) {
        free(inspector);
        return err;
    }
    *ret_inspector = inspector;
    return GRANARY_OK;
}

granary_err
granary_inspect_open(const char *name, granary_inspector **ret_inspector)
{
    struct granary_inspector *inspector;
    struct gr_instance instance;
    granary_err err = gr_instance_resolve(name, &instance);
    struct stat runtime;
    const char *tag;

    if (err == GRANARY_OK) {
        err = gr_instance_check_own(instance.runtime);
    }
    if (err == GRANARY_OK) {
        err = gr_instance_check_store(&instance);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    inspector = calloc(1, sizeof *inspector);
    if (inspector == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to inspect an instance");
    }
    (void)snprintf(inspector->directory, sizeof inspector->directory, "/dev/shm");
    (void)snprintf(inspector->prefix, sizeof inspector->prefix, "%s", instance.shm_prefix + 1);
    (void)snprintf(inspector->about, sizeof inspector->about, "%s", instance.runtime);
    /* In system mode the store has a uid of its own, and so have its directory and its files. */
    tag = strchr(instance.shm_prefix + strlen("/granary."), '.');
    if (tag != NULL && stat(instance.runtime, &runtime) == 0) {
        (void)snprintf(inspector->prefix, sizeof inspector->prefix, "granary.%u%s", (unsigned)runtime.st_uid, tag);
    }
    return finish_open(inspector, ret_inspector);
}

granary_err
granary_inspect_open_copy(const char *directory, granary_inspector **ret_inspector)
{
    struct granary_inspector *inspector = calloc(1, sizeof *inspector);

    if (inspector == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to inspect a copy");
    }
    if (strlen(directory) >= sizeof inspector->directory - 128) {
        free(inspector);
        return gr_fail(GRANARY_EINVAL, "%.64s...: path too long", directory);
    }
    (void)snprintf(inspector->directory, sizeof inspector->directory, "%s", directory);
    (void)snprintf(inspector->about, sizeof inspector->about, "%.159s", directory);
    inspector->copy = true;
    find_prefix(directory, inspector->prefix);
    return finish_open(inspector, ret_inspector);
}

void
granary_inspect_close(granary_inspector *inspector)
{
    free(inspector);
}

/* ---- the root ---- */

static granary_err
root_open(const struct granary_inspector *inspector, struct file *ret_file)
{
    struct file file = FILE_NONE;
    uint64_t magic;
    uint32_t version;
    granary_err err = file_open(inspector, "root", &file);

    if (err == GRANARY_ENOENT) {
        return gr_fail(GRANARY_EUNREACHABLE,
                       inspector->copy ? "%s: no copy of an instance is there"
                                       : "%s: no instance is there: start one with `granary up`",
                       inspector->about);
    }
    if (err == GRANARY_OK) {
        err = file_read(&file, offsetof(struct gr_root, magic), &magic, sizeof magic);
    }
    if (err == GRANARY_OK) {
        err = file_read(&file, offsetof(struct gr_root, version), &version, sizeof version);
    }
    if (err == GRANARY_OK && magic != GR_ROOT_MAGIC) {
        err =
            gr_fail(GRANARY_ECORRUPT, "root: %s",
                    magic == 0 ? "not complete: its store died while it made it" : "its first bytes are not a root's");
    }
    if (err == GRANARY_OK) {
        err = file_check_version(&file, version);
    }
    if (err != GRANARY_OK) {
        file_close(&file);
        return err;
    }
    *ret_file = file;
    return GRANARY_OK;
}

static void
read_boot_id(char ret_text[40])
{
    char *bytes;
    size_t size;

    ret_text[0] = '\0';
    if (gr_file_read("/proc/sys/kernel/random/boot_id", 4096, &bytes, &size) == GRANARY_OK) {
        (void)snprintf(ret_text, 40, "%.*s", (int)strcspn(bytes, "\n"), bytes);
        free(bytes);
    }
}

bool
process_alive(uint32_t pid, uint64_t start_time, bool *ret_stopped)
{
    char text[GR_PROCESS_STAT];
    const char *state = pid == 0 ? NULL : gr_process_stat((pid_t)pid, text);
    bool alive = state != NULL && strchr("ZX", state[0]) == NULL;

    *ret_stopped = alive && (state[0] == 'T' || state[0] == 't');
    return alive && (start_time == 0 || gr_process_start_time((pid_t)pid) == start_time);
}

static granary_store_life
life_of(const struct granary_inspector *inspector, uint32_t state, const char *boot_id, uint32_t pid,
        uint64_t start_time)
{
    char boot[40];
    bool stopped;

    if (state == GR_CONTROL_CLOSED) {
        return GRANARY_STORE_CLOSED;
    }
    if (inspector->copy) {
        return GRANARY_STORE_UNKNOWN;
    }
    read_boot_id(boot);
    if (boot[0] != '\0' && boot_id[0] != '\0' && strcmp(boot, boot_id) != 0) {
        return GRANARY_STORE_REBOOTED;
    }
    if (!process_alive(pid, start_time, &stopped)) {
        return GRANARY_STORE_DEAD;
    }
    return stopped ? GRANARY_STORE_STOPPED
                   : (state == GR_CONTROL_ADOPTING ? GRANARY_STORE_ADOPTING : GRANARY_STORE_SERVING);
}

/* All of the root before its tables, to be freed; the tables are memory that nobody touches. */
static granary_err
read_head(const struct granary_inspector *inspector, struct gr_root **ret_root)
{
    struct file file = FILE_NONE;
    struct gr_root *root = aligned_alloc(_Alignof(struct gr_root), sizeof *root);
    granary_err err =
        root == NULL ? gr_fail(GRANARY_ENOMEM, "root: no memory for a copy") : root_open(inspector, &file);

    if (err == GRANARY_OK) {
        err = file_read_records(&file, 0, root, offsetof(struct gr_root, clients), 1);
    }
    file_close(&file);
    if (err != GRANARY_OK) {
        free(root);
        return err;
    }
    *ret_root = root;
    return GRANARY_OK;
}

granary_err
root_read(const struct granary_inspector *inspector, granary_instance_info *ret_info)
{
    struct gr_root *root;
    char boot_id[40];
    granary_err err = read_head(inspector, &root);

    if (err != GRANARY_OK) {
        return err;
    }
    *ret_info = (granary_instance_info){
        .pid = root->store_pid,
        .uid = root->uid,
        .epoch = root->epoch,
        .started_ms = (int64_t)root->started_ms,
        .capacity_bytes = root->capacity,
        .disk_quota_bytes = root->disk_quota,
        .group = root->group == UINT32_MAX ? -1 : (int64_t)root->group,
        .rung = (int)root->rung,
        .serial_limit = root->serial_limit,
        .stamp_limit = root->stamp_limit,
    };
    copy_text(ret_info->runtime, sizeof ret_info->runtime, root->runtime, sizeof root->runtime);
    copy_text(ret_info->spill_dir, sizeof ret_info->spill_dir, root->spill_dir, sizeof root->spill_dir);
    copy_text(ret_info->remote_dir, sizeof ret_info->remote_dir, root->remote_dir, sizeof root->remote_dir);
    copy_text(boot_id, sizeof boot_id, root->boot_id, sizeof root->boot_id);
    ret_info->life = life_of(inspector, root->state, boot_id, root->store_pid, root->store_start_time);
    free(root);
    return GRANARY_OK;
}

granary_err
root_limits(const struct granary_inspector *inspector, struct root_limits *ret_limits)
{
    struct gr_root *root;
    granary_err err = read_head(inspector, &root);

    if (err == GRANARY_OK) {
        *ret_limits = (struct root_limits){
            .session = root->next_session,
            .client = root->next_client,
            .segment = root->next_segment,
            .file = root->next_file,
            .token = root->next_token,
        };
        free(root);
    }
    return err;
}

/* Read a table of the root. ret_bytes: to be freed. */
static granary_err
read_table(const struct granary_inspector *inspector, uint64_t at, size_t record_size, size_t count, void **ret_bytes)
{
    struct file file = FILE_NONE;
    granary_err err = root_open(inspector, &file);
    void *bytes = aligned_alloc(64, record_size * count);

    if (err == GRANARY_OK && bytes == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "root: no memory for a table of %zu records", count);
    }
    if (err == GRANARY_OK) {
        err = file_read_records(&file, at, bytes, record_size, count);
    }
    file_close(&file);
    if (err != GRANARY_OK) {
        free(bytes);
        return err;
    }
    *ret_bytes = bytes;
    return GRANARY_OK;
}

/* Those of a root; of one that an earlier release made, the directories that it names. */
static granary_err
read_places(const struct granary_inspector *inspector, struct gr_spill_place **ret_places)
{
    granary_instance_info info;
    granary_err err = root_read(inspector, &info);

    if (err != GRANARY_OK) {
        return err;
    }
    err = read_table(inspector, offsetof(struct gr_root, places), sizeof **ret_places, GR_SPILL_DIRS + 1,
                     (void **)ret_places);
    if (err == GRANARY_ECORRUPT) {
        *ret_places = aligned_alloc(_Alignof(struct gr_spill_place), (GR_SPILL_DIRS + 1) * sizeof **ret_places);
        if (*ret_places == NULL) {
            return gr_fail(GRANARY_ENOMEM, "root: no memory for its directories");
        }
        memset(*ret_places, 0, (GR_SPILL_DIRS + 1) * sizeof **ret_places);
        memcpy((*ret_places)[0].path, info.spill_dir, sizeof info.spill_dir);
        memcpy((*ret_places)[GR_SPILL_DIRS].path, info.remote_dir, sizeof info.remote_dir);
        err = GRANARY_OK;
    }
    return err;
}

granary_err
granary_inspect_spill_dirs_sized(granary_inspector *inspector, granary_spill_dir_info **ret_infos, size_t *ret_count,
                                 size_t info_size)
{
    granary_spill_dir_info *infos = calloc(GR_SPILL_DIRS + 1, sizeof *infos);
    struct gr_spill_place *places = NULL;
    size_t count = 0;
    granary_err err =
        infos == NULL ? gr_fail(GRANARY_ENOMEM, "no memory to list directories") : read_places(inspector, &places);

    for (size_t i = 0; i <= GR_SPILL_DIRS && err == GRANARY_OK; i++) {
        const struct gr_spill_place *place = &places[i];

        if (place->path[0] == '/') {
            granary_spill_dir_info *info = &infos[count++];

            *info = (granary_spill_dir_info){.level = i < GR_SPILL_DIRS ? GRANARY_LEVEL_DISK : GRANARY_LEVEL_REMOTE,
                                             .failed = (granary_err)place->failed,
                                             .failures = place->failures,
                                             .bytes = place->bytes,
                                             .quota_bytes = place->quota,
                                             .bytes_per_s = place->speed};
            copy_text(info->path, sizeof info->path, place->path, sizeof place->path);
        }
    }
    free(places);
    return gr_sized_give_list(err, infos, sizeof *infos, count, ret_infos, info_size, ret_count);
}

granary_err
root_clients(const struct granary_inspector *inspector, struct client_copy **ret_clients, size_t *ret_count)
{
    struct gr_client_record *records = NULL;
    struct client_copy *clients;
    size_t count = 0;
    granary_err err =
        read_table(inspector, offsetof(struct gr_root, clients), sizeof *records, GR_MAX_CLIENTS, (void **)&records);

    if (err != GRANARY_OK) {
        return err;
    }
    clients = calloc(GR_MAX_CLIENTS, sizeof *clients);
    if (clients == NULL) {
        free(records);
        return gr_fail(GRANARY_ENOMEM, "no memory to list clients");
    }
    for (size_t i = 0; i < GR_MAX_CLIENTS; i++) {
        const struct gr_client_record *record = &records[i];

        if (record->word != 0) {
            struct client_copy *client = &clients[count++];

            *client = (struct client_copy){.number = (uint32_t)record->word,
                                           .session = record->session,
                                           .pid = record->pid,
                                           .uid = record->uid,
                                           .start_time = record->start_time,
                                           .ring_tail = record->ring_tail,
                                           .since_ms = (int64_t)record->since_ms};
            copy_text(client->tag, sizeof client->tag, record->tag, sizeof record->tag);
        }
    }
    free(records);
    *ret_clients = clients;
    *ret_count = count;
    return GRANARY_OK;
}

granary_err
root_segments(const struct granary_inspector *inspector, struct segment_copy **ret_segments, size_t *ret_count)
{
    struct gr_segment_record *records = NULL;
    struct segment_copy *segments = NULL;
    size_t count = 0;
    size_t room = 0;
    granary_err err =
        read_table(inspector, offsetof(struct gr_root, segments), sizeof *records, GR_MAX_SEGMENTS, (void **)&records);

    for (size_t i = 0; i < GR_MAX_SEGMENTS && err == GRANARY_OK; i++) {
        const struct gr_segment_record *record = &records[i];

        if (GR_WORD_STATE(record->word) == (enum gr_slot_state)GR_SEGMENT_FREE) {
            continue;
        }
        if (!gr_grow(&segments, &room, count, sizeof *segments)) {
            err = gr_fail(GRANARY_ENOMEM, "no memory to list segments");
            break;
        }
        segments[count++] = (struct segment_copy){.place = (uint32_t)i,
                                                  .number = (uint32_t)(record->word >> 8),
                                                  .state = (unsigned)(record->word & 0xff),
                                                  .size = record->size,
                                                  .session = record->session,
                                                  .writer = record->writer,
                                                  .sealed_total = record->sealed_total,
                                                  .flags = record->flags,
                                                  .node = record->node,
                                                  .since_ms = (int64_t)record->since_ms};
    }
    free(records);
    if (err != GRANARY_OK) {
        free(segments);
        return err;
    }
    *ret_segments = segments;
    *ret_count = count;
    return GRANARY_OK;
}

/* ---- the public side ---- */

const char *
granary_store_life_name(granary_store_life life)
{
    static const char *const names[] = {[GRANARY_STORE_UNKNOWN] = "unknown",   [GRANARY_STORE_SERVING] = "serving",
                                        [GRANARY_STORE_ADOPTING] = "adopting", [GRANARY_STORE_CLOSED] = "closed",
                                        [GRANARY_STORE_STOPPED] = "stopped",   [GRANARY_STORE_DEAD] = "dead",
                                        [GRANARY_STORE_REBOOTED] = "rebooted"};

    return (unsigned)life < sizeof names / sizeof names[0] ? names[life] : names[GRANARY_STORE_UNKNOWN];
}

granary_err
granary_inspect_instance_sized(granary_inspector *inspector, granary_instance_info *ret_info, size_t info_size)
{
    struct file_entry *entries = NULL;
    granary_instance_info info;
    size_t count = 0;
    granary_err err = root_read(inspector, &info);

    if (err == GRANARY_OK) {
        err = files_list(inspector, &entries, &count);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        if (entries[i].kind[0] != '\0') {
            info.shm_files++;
            info.shm_bytes += entries[i].resident;
        }
    }
    free(entries);
    gr_sized_give(ret_info, info_size, &info, sizeof info);
    return GRANARY_OK;
}
