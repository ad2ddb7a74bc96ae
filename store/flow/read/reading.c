/* Reading jobs: a large object is cut into parts, small ones of one file are gathered. */
#include "store/flow/read/reading.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "store/flow/read/restore.h"
#include "store/segment/depot.h"

#define SMALL      ((uint64_t)256 << 10) /* an object of a few frames shares a job with others */
#define BATCH      16u                   /* ... with so many at most, so that there is work for every thread */
#define PART_LEAST ((uint64_t)4 << 20)

struct part {
    struct restore *restore;
    uint64_t from; /* in the object's image */
    uint64_t size;
    struct level_cost cost;
    granary_err err;
    char message[512];
};

struct reading {
    struct job job;
    unsigned count;
    struct part parts[];
};

static void
part_run(struct part *part)
{
    const struct restore *restore = part->restore;
    struct level_object object = restore->object;

    object.offset += part->from - restore->from;
    part->err =
        restore->depot->ops->read(restore->depot->self, restore->file, &object, part->from, part->size, &part->cost);
    if (part->err != GRANARY_OK) {
        (void)snprintf(part->message, sizeof part->message, "%s", granary_error_message());
    }
}

static void
reading_run(struct job *job)
{
    struct reading *reading = list_owner(job, struct reading, job);

    for (unsigned i = 0; i < reading->count; i++) {
        part_run(&reading->parts[i]);
    }
}

static void
reading_done(struct job *job)
{
    struct reading *reading = list_owner(job, struct reading, job);

    for (unsigned i = 0; i < reading->count; i++) {
        const struct part *part = &reading->parts[i];
        struct restore *restore = part->restore;

        restore->cost.frames += part->cost.frames;
        restore->cost.bytes += part->cost.bytes;
        /* Damage weighs more than what may pass. */
        if (part->err != GRANARY_OK && restore->err != GRANARY_ECORRUPT) {
            restore->err = part->err;
            (void)snprintf(restore->message, sizeof restore->message, "%s", part->message);
        }
        restore->parts--;
        if (restore->parts == 0) {
            restore_finished(restore);
        }
    }
    free(reading);
}

static struct reading *
reading_create(unsigned room)
{
    struct reading *reading = malloc(sizeof *reading + room * sizeof reading->parts[0]);

    if (reading != NULL) {
        reading->job = (struct job){.run = reading_run, .done = reading_done};
        reading->count = 0;
    }
    return reading;
}

static void
add_part(struct reading *reading, struct restore *restore, uint64_t from, uint64_t size)
{
    struct part *part = &reading->parts[reading->count++];

    part->restore = restore;
    part->from = from;
    part->size = size;
    part->cost = (struct level_cost){0};
    part->err = GRANARY_OK;
    restore->parts++;
}

void
reading_flush(struct store *store)
{
    if (store->restores->batch != NULL) {
        workers_submit(store->workers, WORKER_READ, &store->restores->batch->job);
        store->restores->batch = NULL;
    }
}

static bool
start_small(struct restore *restore)
{
    struct store *store = restore->session->store;

    if (store->restores->batch == NULL && (store->restores->batch = reading_create(BATCH)) == NULL) {
        return false;
    }
    add_part(store->restores->batch, restore, restore->from, restore->footprint);
    if (store->restores->batch->count == BATCH) {
        reading_flush(store);
    }
    return true;
}

static bool
start_large(struct restore *restore)
{
    struct store *store = restore->session->store;
    uint64_t share = restore->footprint / (2 * workers_readers(store->workers));
    uint64_t size = (share < PART_LEAST ? PART_LEAST : share) / LEVEL_FRAME * LEVEL_FRAME;
    struct reading *readings[64];
    unsigned count = 0;

    for (uint64_t done = 0; done < restore->footprint; done += size) {
        uint64_t left = restore->footprint - done;

        readings[count] = reading_create(1);
        if (readings[count] == NULL) {
            while (count > 0) {
                free(readings[--count]);
            }
            restore->parts = 0;
            return false;
        }
        add_part(readings[count++], restore, restore->from + done, left < size ? left : size);
    }
    for (unsigned i = 0; i < count; i++) {
        workers_submit(store->workers, WORKER_READ, &readings[i]->job);
    }
    return true;
}

bool
reading_start(struct restore *restore)
{
    return restore->footprint <= SMALL ? start_small(restore) : start_large(restore);
}
