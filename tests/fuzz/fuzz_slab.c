/*
 * A mutable table whose shared memory somebody hostile writes: any bytes as what is done with it, and as what is changed in its logs,
 * slabs, chunks, bases, pieces and page in between. Every read, write, seal, flush and restore ends, with values that hold together,
 * or with an error that has a message.
 */
#include <string.h>

#include "base/error.h"
#include "choices.h"
#include "data/frame.h"
#include "fuzz.h"
#include "granary/mutable.h"
#include "mutable/memory.h"

enum { STEPS = 40, ROWS = 40, SIDE = 6, ELEMENTS = SIDE * SIDE };

struct play {
    struct choices choices;
    granary_client *client;
    granary_mutable *table; /* NULL: it cannot be opened */
    int64_t time;           /* of an earlier read */
    bool is_tensor;
    bool is_durable;
};

static volatile uint64_t touched; /* somewhere to put what is read */

static bool
told(granary_err err)
{
    must(err == GRANARY_OK || granary_error_message()[0] != '\0');
    return err == GRANARY_OK;
}

/* ---- hostile writes ---- */

struct place {
    unsigned char *bytes;
    uint64_t size;
};

static struct place
choose_place(struct play *play)
{
    struct gr_mutable *page = memory_pages();
    const struct thing *thing;
    unsigned which = choose(&play->choices, 8);

    if (which == 0) {
        return (struct place){(unsigned char *)page, offsetof(struct gr_mutable, lane)};
    }
    if (which == 1) {
        return (struct place){(unsigned char *)&page->lane[choose(&play->choices, 2)], sizeof page->lane[0]};
    }
    thing = memory_thing(memory_count() - 1 - choose(&play->choices, memory_count() < 65536 ? memory_count() : 65536));
    return which == 2 || which == 3 ? (struct place){thing->meta, thing->meta_size}
                                    : (struct place){thing->data, thing->data_size};
}

static void
spoil(struct play *play)
{
    static const uint64_t odd[] = {0,
                                   1,
                                   2,
                                   64,
                                   INT32_MAX,
                                   UINT32_MAX,
                                   INT64_MAX,
                                   UINT64_MAX,
                                   INT64_MAX - 1,
                                   (uint64_t)INT64_MIN,
                                   (uint64_t)1 << 60,
                                   (uint64_t)3 << 60};
    const struct place place = choose_place(play);
    uint64_t at, word;

    if (place.bytes == NULL || place.size < sizeof word) {
        return;
    }
    at = choose(&play->choices, place.size < 65536 ? (uint32_t)place.size : 65536) & ~(uint64_t)3;
    at = at > place.size - sizeof word ? place.size - sizeof word : at;
    memcpy(&word, place.bytes + at, sizeof word);
    switch (choose(&play->choices, 5)) {
    case 0:
        word ^= (uint64_t)1 << choose(&play->choices, 64);
        break;
    case 1:
        word = CHOOSE_FROM(&play->choices, odd);
        break;
    case 2:
        word += (uint64_t)choose_byte(&play->choices) - 128;
        break;
    case 3: /* half of it */
        word = (word & UINT32_MAX) | (uint64_t)choose(&play->choices, 65536) << 32;
        break;
    default: /* of another word nearby */
        memcpy(&word, place.bytes + (at > 64 ? at - 16 * (1 + choose(&play->choices, 4)) : 0), sizeof word);
        break;
    }
    memcpy(place.bytes + at, &word, sizeof word);
}

/* ---- rows ---- */

static void
columns_make(struct play *play, granary_column *columns, int64_t rows, int64_t *numbers, int32_t *offsets)
{
    static const char text[ROWS * 3] = "rows of a table whose writer cannot be trusted";

    for (int64_t i = 0; i < rows; i++) {
        numbers[i] = choose_byte(&play->choices);
        offsets[i + 1] = offsets[i] + (int32_t)(i % 3);
    }
    columns[0] = (granary_column){.name = "n", .dtype = GRANARY_INT64, .rows = rows, .values = numbers};
    columns[1] =
        (granary_column){.name = "s", .dtype = GRANARY_STRING, .rows = rows, .values = text, .offsets = offsets};
}

static void
append(struct play *play)
{
    const int64_t rows = choose(&play->choices, ROWS) + 1;
    granary_write_options options = {.token = choose(&play->choices, 8) == 0 ? 7 : 0};
    int64_t numbers[ROWS];
    int32_t offsets[ROWS + 1] = {0};
    granary_column columns[2];

    columns_make(play, columns, rows, numbers, offsets);
    (void)told(granary_mutable_append(play->table, columns, 2, rows, &options, NULL));
}

static granary_rows
choose_rows(struct play *play)
{
    const int64_t from = choose(&play->choices, 128);

    return (granary_rows){.from = from, .to = from + choose(&play->choices, 8)};
}

static void
write_rows(struct play *play)
{
    const granary_rows rows = choose_rows(play);
    int64_t numbers[ROWS];
    int32_t offsets[ROWS + 1] = {0};
    granary_column columns[2];

    columns_make(play, columns, rows.to - rows.from, numbers, offsets);
    (void)told(granary_mutable_write_rows(play->table, &rows, columns, 1 + choose(&play->choices, 2), NULL, NULL));
}

static void
delete_rows(struct play *play)
{
    const granary_rows rows = choose_rows(play);

    (void)told(granary_mutable_delete_rows(play->table, &rows, NULL, NULL, NULL));
}

static void
look_at_rows(granary_mutable *table, int64_t after, int64_t *ret_time)
{
    granary_frame *frame = NULL;
    int64_t time, number;
    uint64_t changes;

    if (told(granary_mutable_read_since(table, after, GRANARY_NOW, &frame, &time, &changes))) {
        const int64_t rows = granary_frame_rows(frame);

        must(gr_frame_check(frame) == GRANARY_OK);
        for (int64_t row = 0; row < rows; row++) {
            size_t length;
            const char *text = granary_column_text(granary_frame_column(frame, 1), row, &length);

            touched += length == 0 ? 0 : (uint64_t)(text[0] + text[length - 1]);
            touched += ((const uint64_t *)granary_frame_column(frame, 0)->values)[row];
        }
        if (rows > 0 && after == GRANARY_NOW) {
            (void)told(granary_mutable_numbers(table, time, rows - 1, 1, &number));
        }
        *ret_time = time;
    }
    granary_frame_close(frame);
}

/* ---- elements ---- */

static void
write_elements(struct play *play)
{
    static const int32_t values[ELEMENTS] = {1, 2, 3, 4};
    const int64_t row = choose(&play->choices, SIDE), column = choose(&play->choices, SIDE);
    const int64_t rows[] = {row, 0, row}, columns[] = {column, 1, column};
    const granary_tensor one = {.dtype = GRANARY_INT32, .values = values};
    const granary_index whole[] = {{.slice = {row / 2 * 2, row / 2 * 2 + 2, 1}},
                                   {.slice = {column / 2 * 2, column / 2 * 2 + 2, 1}}};
    const granary_index box[] = {{.slice = {row, SIDE, 2}}, {.slice = {0, column + 1, 1}}};
    const granary_index points[] = {{.kind = GRANARY_INDEX_LIST, .list = rows, .count = 3},
                                    {.kind = GRANARY_INDEX_LIST, .list = columns, .count = 3}};
    const granary_index *const indexes[] = {whole, box, points};

    (void)told(granary_mutable_write(play->table, CHOOSE_FROM(&play->choices, indexes), 2, &one, NULL, NULL));
}

static void
look_at_elements(granary_client *client, granary_mutable *table)
{
    const granary_index chunk[] = {{.slice = {0, 2, 1}}, {.slice = {2, 4, 1}}};

    for (size_t indexes = 0; indexes <= 2; indexes += 2) {
        granary_mutable_part part;

        if (told(granary_mutable_view(table, GRANARY_NOW, chunk, indexes, &part))) {
            const int32_t *values = part.tensor.values;

            for (int i = 0; i < (indexes == 0 ? ELEMENTS : 4); i++) {
                touched += (uint64_t)values[i];
            }
            granary_mutable_release(client, &part);
        }
    }
}

/* ---- what is done ---- */

static void
look(struct play *play, granary_mutable *table, int64_t after)
{
    if (play->is_tensor) {
        look_at_elements(play->client, table);
    } else {
        look_at_rows(table, after, &play->time);
    }
}

static void
read_all(struct play *play)
{
    look(play, play->table, GRANARY_NOW);
}

static void
read_new(struct play *play)
{
    look(play, play->table, play->time);
}

static void
change(struct play *play)
{
    if (play->is_tensor) {
        write_elements(play);
    } else if (choose(&play->choices, 3) == 0) {
        delete_rows(play);
    } else {
        write_rows(play);
    }
}

static void
write_more(struct play *play)
{
    if (play->is_tensor) {
        write_elements(play);
    } else {
        append(play);
    }
}

static void
snapshot(struct play *play)
{
    granary_mutable *kept = NULL;
    granary_id id;

    if (told(granary_mutable_snapshot(play->table, GRANARY_NOW, NULL, &id)) &&
        told(granary_sealed_open(play->client, id, &kept))) {
        look(play, kept, GRANARY_NOW);
        granary_mutable_close(kept);
    }
}

static void
retain(struct play *play)
{
    const granary_retain all = {.time = GRANARY_NOW}, some = {.writes = 2};

    (void)told(granary_mutable_retain(play->table, choose(&play->choices, 2) == 0 ? &all : &some, NULL));
}

static void
open_again(struct play *play)
{
    granary_mutable_close(play->table);
    play->table = NULL;
    (void)told(granary_table_open(play->client, "t", &play->table));
}

static void
seal(struct play *play)
{
    (void)told(granary_mutable_seal(play->table, GRANARY_NOW, NULL));
    open_again(play);
}

static void
flush(struct play *play)
{
    (void)told(granary_mutable_flush(play->table));
}

/* Somebody may have changed what is on disk, too. */
static void
restart(struct play *play)
{
    granary_mutable_close(play->table);
    play->table = NULL;
    memory_restart();
    spoil(play);
    if (!told(granary_table_open(play->client, "t", &play->table)) && play->is_durable) {
        (void)told(granary_mutable_recover(play->client, "t"));
        (void)told(granary_table_open(play->client, "t", &play->table));
    }
}

static void
describe(struct play *play)
{
    granary_mutable_info info;

    (void)told(granary_mutable_describe(play->client, "t", &info));
}

static bool
begin(struct play *play)
{
    static const granary_column columns[] = {{.name = "n", .dtype = GRANARY_INT64},
                                             {.name = "s", .dtype = GRANARY_STRING}};
    static const granary_mutable_tensor tensor = {
        .dtype = GRANARY_INT32, .dims = 2, .shape = {SIDE, SIDE}, .chunk = {2, 2}, .fill = "7"};
    const uint8_t kind = choose_byte(&play->choices);
    const granary_mutable_options options = {.durability =
                                                 (kind & 2) != 0 ? GRANARY_DURABLE_COMMIT : GRANARY_DURABLE_NONE};

    play->client = memory_begin();
    play->is_tensor = (kind & 1) != 0;
    play->is_durable = (kind & 2) != 0;
    return told(play->is_tensor ? granary_mutable_create_tensor(play->client, "t", &tensor, &options, &play->table)
                                : granary_mutable_create_frame(play->client, "t", columns, 2, &options, &play->table));
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void (*const steps[])(struct play *) = {
        write_more, write_more, change,     change, read_all, read_all, read_new, snapshot, retain, seal,  flush,
        restart,    describe,   open_again, spoil,  spoil,    spoil,    spoil,    spoil,    spoil,  spoil, spoil};
    struct play play = {.choices = {.bytes = bytes, .left = size}};

    must(begin(&play));
    for (unsigned i = 0; i < STEPS && play.table != NULL && play.choices.left > 0; i++) {
        CHOOSE_FROM(&play.choices, steps)(&play);
    }
    if (play.table != NULL) {
        read_all(&play);
    }
    granary_mutable_close(play.table);
    memory_end();
    return 0;
}
