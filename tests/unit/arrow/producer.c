#include "producer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int alive;

int
produced_alive(void)
{
    return atomic_load(&alive);
}

static void *
allocate(size_t size)
{
    void *bytes = calloc(1, size > 0 ? size : 1);

    if (bytes == NULL) {
        abort();
    }
    return bytes;
}

/* ---- schemas ---- */

static void
schema_release(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL) {
            schema->children[i]->release(schema->children[i]);
        }
        free(schema->children[i]);
    }
    if (schema->dictionary != NULL) {
        if (schema->dictionary->release != NULL) {
            schema->dictionary->release(schema->dictionary);
        }
        free(schema->dictionary);
    }
    free(schema->children);
    free((void *)(uintptr_t)schema->format);
    free((void *)(uintptr_t)schema->name);
    schema->release = NULL;
    atomic_fetch_sub(&alive, 1);
}

void
produce_schema(struct ArrowSchema *schema, const char *format, const char *name, size_t children)
{
    *schema = (struct ArrowSchema){.format = strdup(format),
                                   .name = name == NULL ? NULL : strdup(name),
                                   .flags = ARROW_FLAG_NULLABLE,
                                   .n_children = (int64_t)children,
                                   .children = allocate(children * sizeof *schema->children),
                                   .release = schema_release};
    for (size_t i = 0; i < children; i++) {
        schema->children[i] = allocate(sizeof **schema->children);
    }
    atomic_fetch_add(&alive, 1);
}

void
produce_coded_schema(struct ArrowSchema *schema, const char *format, const char *name, const char *values)
{
    produce_schema(schema, format, name, 0);
    schema->dictionary = allocate(sizeof *schema->dictionary);
    produce_schema(schema->dictionary, values, "", 0);
}

/* ---- arrays ---- */

/* n_buffers may have been changed to what is not there. */
struct owned {
    size_t buffers;
    size_t children;
};

static void
array_release(struct ArrowArray *array)
{
    struct owned *owned = array->private_data;

    for (size_t i = 0; i < owned->children; i++) {
        if (array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
        free(array->children[i]);
    }
    if (array->dictionary != NULL) {
        if (array->dictionary->release != NULL) {
            array->dictionary->release(array->dictionary);
        }
        free(array->dictionary);
    }
    for (size_t i = 0; i < owned->buffers; i++) {
        free((void *)(uintptr_t)array->buffers[i]);
    }
    free((void *)array->buffers);
    free(array->children);
    free(owned);
    array->release = NULL;
    atomic_fetch_sub(&alive, 1);
}

void
produce_array(struct ArrowArray *array, int64_t length, int64_t offset, int64_t null_count, size_t buffers,
              size_t children)
{
    struct owned *owned = allocate(sizeof *owned);

    *owned = (struct owned){buffers, children};
    *array = (struct ArrowArray){.length = length,
                                 .null_count = null_count,
                                 .offset = offset,
                                 .n_buffers = (int64_t)buffers,
                                 .n_children = (int64_t)children,
                                 .buffers = allocate(buffers * sizeof *array->buffers),
                                 .children = allocate(children * sizeof *array->children),
                                 .release = array_release,
                                 .private_data = owned};
    for (size_t i = 0; i < children; i++) {
        array->children[i] = allocate(sizeof **array->children);
    }
    atomic_fetch_add(&alive, 1);
}

void *
produce_buffer(struct ArrowArray *array, size_t number, const void *bytes, size_t size)
{
    void *copy = size == SIZE_MAX ? NULL : allocate(size);

    if (copy != NULL && size > 0) {
        memcpy(copy, bytes, size);
    }
    array->buffers[number] = copy;
    return copy;
}

void
produce_bits(struct ArrowArray *array, size_t number, const char *bits)
{
    size_t count = strlen(bits);
    uint8_t *bytes = produce_buffer(array, number, NULL, 0);

    free(bytes);
    bytes = allocate((count + 7) / 8);
    for (size_t i = 0; i < count; i++) {
        bytes[i / 8] = (uint8_t)(bytes[i / 8] | (bits[i] == '1') << i % 8);
    }
    array->buffers[number] = bytes;
}

void
produce_dictionary(struct ArrowArray *array)
{
    array->dictionary = allocate(sizeof *array->dictionary);
}

void
produce_batch(struct ArrowSchema *schema, struct ArrowArray *array, const char *format, const char *name, int64_t rows)
{
    produce_schema(schema, "+s", "", 1);
    produce_schema(schema->children[0], format, name, 0);
    produce_array(array, rows, 0, 0, 1, 1);
}

/* ---- streams ---- */

struct producer {
    int64_t *sizes;
    size_t count;
    size_t at;
    size_t fail_at;
    int number;
    int64_t next;
};

static int
stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema)
{
    const struct producer *producer = stream->private_data;

    if (producer->fail_at == SIZE_MAX - 1) {
        return producer->number;
    }
    produce_schema(schema, "+s", "", 1);
    produce_schema(schema->children[0], "l", "n", 0);
    return 0;
}

static int
stream_next(struct ArrowArrayStream *stream, struct ArrowArray *array)
{
    struct producer *producer = stream->private_data;
    int64_t *values;
    int64_t rows;

    if (producer->at == producer->fail_at) {
        return producer->number;
    }
    *array = (struct ArrowArray){.release = NULL};
    if (producer->at == producer->count) {
        return 0;
    }
    rows = producer->sizes[producer->at++];
    produce_array(array, rows, 0, 0, 1, 1);
    produce_array(array->children[0], rows, 0, 0, 2, 0);
    values = produce_buffer(array->children[0], 1, NULL, 0);
    free(values);
    array->children[0]->buffers[1] = values = allocate((size_t)rows * sizeof *values);
    for (int64_t i = 0; i < rows; i++) {
        values[i] = producer->next++;
    }
    return 0;
}

static const char *
stream_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the disk is gone";
}

static void
stream_release(struct ArrowArrayStream *stream)
{
    struct producer *producer = stream->private_data;

    free(producer->sizes);
    free(producer);
    stream->release = NULL;
    atomic_fetch_sub(&alive, 1);
}

void
produce_stream(struct ArrowArrayStream *stream, const int64_t *sizes, size_t count, size_t fail_at, int number)
{
    struct producer *producer = allocate(sizeof *producer);

    *producer = (struct producer){
        .sizes = allocate(count * sizeof *sizes), .count = count, .fail_at = fail_at, .number = number};
    if (count > 0) {
        memcpy(producer->sizes, sizes, count * sizeof *sizes);
    }
    *stream = (struct ArrowArrayStream){.get_schema = stream_schema,
                                        .get_next = stream_next,
                                        .get_last_error = stream_error,
                                        .release = stream_release,
                                        .private_data = producer};
    atomic_fetch_add(&alive, 1);
}
