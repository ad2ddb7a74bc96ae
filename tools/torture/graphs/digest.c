/* Each column is hashed value by value, so that it does not matter where the rows are cut. */
#include "torture/graphs/digest.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "contract/dtypes.h"
#include "granary/frame.h"

#define COLUMNS_MOST 64u

struct digest {
    uint64_t high, low;
};

/* Of a frame: where it is cut tells nothing, for that follows from how many executors there were. */
struct frame_digest {
    struct digest columns[COLUMNS_MOST];
    uint64_t rows;
    bool any;
};

static void
add_word(struct digest *digest, uint64_t word)
{
    digest->high = (digest->high ^ word) * 0x9e3779b97f4a7c15ull;
    digest->high ^= digest->high >> 32;
    digest->low = (digest->low + word) * 0xd6e8feb86659fd93ull;
    digest->low ^= digest->low >> 29;
}

static void
add_bytes(struct digest *digest, const void *bytes, size_t size)
{
    const char *at = bytes;
    uint64_t word = 0;

    add_word(digest, size);
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        add_word(digest, word);
    }
    word = 0;
    memcpy(&word, at, size);
    add_word(digest, word);
}

/* 0: strings. */
static size_t
value_size(granary_dtype dtype)
{
    static const size_t sizes[] = {
#define ROW(name, type, bytes, ...) [GRANARY_##name] = bytes,
        GR_DTYPES(ROW)
#undef ROW
    };

    return dtype == GRANARY_BOOL ? 1 : sizes[(unsigned)dtype & 0xff]; /* bits */
}

static bool
is_null(const granary_column *column, int64_t row)
{
    return column->validity != NULL && (column->validity[row >> 3] >> (row & 7) & 1) == 0;
}

static void
add_rows(struct digest *digest, const granary_column *column, int64_t from, int64_t end)
{
    size_t size = value_size(column->dtype);

    for (int64_t row = from; row < end; row++) {
        const char *values = column->values;

        if (is_null(column, row)) {
            add_word(digest, UINT64_MAX);
        } else if (((unsigned)column->dtype & 0xff) == GRANARY_LIST) {
            add_word(digest, (uint64_t)(column->offsets[row + 1] - column->offsets[row]));
            add_rows(digest, granary_column_items(column), column->offsets[row], column->offsets[row + 1]);
        } else if (size == 0) {
            size_t length = 0;
            const char *text = granary_column_text(column, row, &length);

            add_bytes(digest, text, length);
        } else if (column->dtype == GRANARY_BOOL) {
            add_word(digest, (uint64_t)((unsigned char)values[row >> 3] >> (row & 7) & 1));
        } else {
            add_bytes(digest, values + (size_t)row * size, size);
        }
    }
}

static void
add_frame(struct frame_digest *digest, const granary_frame *frame)
{
    size_t count = granary_frame_columns(frame);

    for (size_t i = 0; i < count && i < COLUMNS_MOST; i++) {
        const granary_column *column = granary_frame_column(frame, i);

        if (!digest->any) {
            add_bytes(&digest->columns[i], column->name, strlen(column->name));
            add_word(&digest->columns[i], (uint64_t)column->dtype);
        }
        add_rows(&digest->columns[i], column, 0, column->rows);
    }
    digest->rows += (uint64_t)granary_frame_rows(frame);
    digest->any = true;
}

/* A frame's chunk goes to `frame`, another one's to `digest`. */
static granary_err
digest_chunk(granary_client *client, granary_id id, int timeout_ms, struct frame_digest *frame_digest,
             struct digest *digest)
{
    granary_frame *frame = NULL;
    granary_view view;
    granary_err err = granary_object_get(client, id, timeout_ms, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_frame_open(&view, &frame);
    if (err == GRANARY_OK) {
        add_frame(frame_digest, frame);
        granary_frame_close(frame);
    } else if (err == GRANARY_ETYPE) { /* a tensor: its file is the same for the same values */
        add_bytes(digest, view.data, view.data_size);
        err = GRANARY_OK;
    }
    granary_object_release(client, &view);
    return err;
}

static size_t
write_digest(const struct digest *digest, char *text)
{
    return (size_t)snprintf(text, DIGEST_CHUNK + 1, "%016" PRIx64 "%016" PRIx64, digest->high, digest->low);
}

granary_err
digest_result(granary_client *client, const char *key, int timeout_ms, char ret_text[static DIGEST_MOST])
{
    struct frame_digest frame = {.any = false};
    granary_result result;
    granary_err err = granary_graph_result(client, key, "result", &result);
    size_t length = 0;

    if (err != GRANARY_OK) {
        return err;
    }
    ret_text[0] = '\0';
    for (size_t i = 0; i < result.chunk_count && err == GRANARY_OK && length + DIGEST_CHUNK < DIGEST_MOST; i++) {
        struct digest digest = {.high = i};

        err = digest_chunk(client, result.chunks[i], timeout_ms, &frame, &digest);
        if (err == GRANARY_OK && !frame.any) {
            length += write_digest(&digest, ret_text + length);
        }
    }
    if (err == GRANARY_OK && frame.any) {
        struct digest digest = {.high = frame.rows};

        for (size_t i = 0; i < COLUMNS_MOST; i++) {
            add_word(&digest, frame.columns[i].high);
            add_word(&digest, frame.columns[i].low);
        }
        (void)write_digest(&digest, ret_text);
    }
    granary_result_free(&result);
    return err;
}
