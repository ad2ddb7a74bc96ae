/*
 * A ring in one array, written once a run; a subtask remembers the place of its last record. Nothing behind `count` is
 * read, so the array, of 104 bytes a run, need not be zero: it takes memory as it fills.
 */

#include "sched/history/records.h"

#include <stdlib.h>
#include <string.h>

struct records {
    uint64_t count;    /* ever */
    uint64_t capacity; /* of the ring */
    struct record ring[];
};

struct records *
records_create(uint64_t capacity)
{
    struct records *records = malloc(sizeof *records + capacity * sizeof records->ring[0]);

    if (records != NULL) {
        records->count = 0;
        records->capacity = capacity;
    }
    return records;
}

void
records_destroy(struct records *records)
{
    if (records != NULL) {
        for (uint64_t i = records_first(records); i < records->count; i++) {
            free(records->ring[i % records->capacity].texts);
        }
        free(records);
    }
}

uint32_t
records_add(struct records *records, const struct record *record)
{
    uint32_t place = (uint32_t)(records->count % records->capacity);

    if (records->count++ >= records->capacity) {
        free(records->ring[place].texts);
    }
    records->ring[place] = *record;
    return place;
}

char *
record_texts(const char *log, const char *message)
{
    size_t log_size = strlen(log) + 1;
    size_t message_size = strlen(message) + 1;
    char *texts = log_size + message_size == 2 ? NULL : malloc(log_size + message_size);

    if (texts != NULL) {
        memcpy(texts, log, log_size);
        memcpy(texts + log_size, message, message_size);
    }
    return texts;
}

const struct record *
records_get(const struct records *records, uint32_t place, uint64_t number)
{
    return place < records->capacity && place < records->count && records->ring[place].number == number
               ? &records->ring[place]
               : NULL;
}

uint64_t
records_first(const struct records *records)
{
    return records->count > records->capacity ? records->count - records->capacity : 0;
}

uint64_t
records_end(const struct records *records)
{
    return records->count;
}

const struct record *
records_at(const struct records *records, uint64_t position)
{
    return &records->ring[position % records->capacity];
}

const char *
record_log(const struct record *record)
{
    return record->texts != NULL ? record->texts : "";
}

const char *
record_message(const struct record *record)
{
    return record->texts != NULL ? record->texts + strlen(record->texts) + 1 : "";
}
