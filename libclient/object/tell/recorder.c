/* What the instance's flight recorder (contract/shm.h, struct gr_events) says of an object that is not there. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/id.h"
#include "object/client.h"
#include "object/tell/events.h"

/* Mapped read-only; NULL: it is not there, or another user's, or makes no sense. */
static const struct gr_events *
recorder_map(const granary_client *client, uint64_t *ret_bytes)
{
    char name[sizeof client->instance.shm_prefix + 8];
    const struct gr_events *recorder = MAP_FAILED;
    struct stat file = {.st_size = 0};
    uint64_t bytes;
    int fd;

    (void)snprintf(name, sizeof name, "%sevents", client->instance.shm_prefix);
    fd = gr_shm_open(name, O_RDONLY);
    if (fd >= 0 && fstat(fd, &file) == 0 && (uint64_t)file.st_size >= sizeof *recorder) {
        recorder = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_SHARED, fd, 0);
    }
    gr_fd_close(&fd);
    if (recorder == MAP_FAILED) {
        return NULL;
    }
    bytes = (uint64_t)file.st_size;
    if (atomic_load(&recorder->magic) != GR_EVENTS_MAGIC || !gr_shm_known(recorder->version) ||
        recorder->entries == 0 || (recorder->entries & (recorder->entries - 1)) != 0 || recorder->entries > bytes ||
        gr_events_bytes(recorder->entries) > bytes) {
        (void)munmap((void *)(uintptr_t)recorder, bytes);
        return NULL;
    }
    *ret_bytes = bytes;
    return recorder;
}

bool
gr_client_was_deleted(granary_client *client, granary_id id)
{
    uint64_t bytes = 0;
    const struct gr_events *recorder = recorder_map(client, &bytes);
    bool deleted = false;
    uint64_t words[2];
    uint64_t end;

    if (recorder == NULL) {
        return false;
    }
    gr_id_words(id, words);
    end = atomic_load(&recorder->next);
    for (uint64_t n = end; n > 0 && end - n < recorder->entries && !deleted; n--) {
        struct gr_event_copy event;

        deleted = gr_event_read(recorder, recorder->entries, n - 1, &event) && event.kind == GR_EVENT_DELETE &&
                  event.session == client->control->session && event.id[0] == words[0] && event.id[1] == words[1];
    }
    (void)munmap((void *)(uintptr_t)recorder, bytes);
    return deleted;
}
