/*
 * A hostile writer: bytes of what writers share are changed at random under every kind of read. A read gives anything that
 * a table can hold, or an error; it does not crash, and what is whole again is read as before.
 */
#include <stdlib.h>
#include <string.h>

#include "data/layout/directory.h"
#include "integration/store/fixture.h"
#include "mutable/write.h"
#include "mutable_tools.h"
#include "unit/data/frames.h"

#define ROUNDS 2000 /* or GRANARY_RANDOM_OPERATIONS; GRANARY_RANDOM_SEED says which */

/* Memory that writers and readers share. */
struct place {
    void *bytes;
    uint64_t size;
};

/* What of a writer's table may lie: bytes of its log, slab, lane and page. */
enum { PLACES = 4, FRAME_PLACES = PLACES + 2 };

static struct place
place_of(const granary_mutable *table, size_t which)
{
    const struct table_writer *writer = table->writer;

    switch (which) {
    case 0:
        return (struct place){writer->log.block.data, writer->log.next % GR_LOG_SLOTS * sizeof(struct gr_mutable_slot)};
    case 1:
        return (struct place){writer->slab.object.data, writer->slab.used};
    case 2:
        return (struct place){writer->shared, sizeof *writer->shared};
    case 3:
        return (struct place){&table->page.page->sealed, offsetof(struct gr_mutable, lane) - sizeof(uint64_t[2])};
    case 4:
        return (struct place){writer->rows.object.data, writer->rows.object.size};
    default:
        return (struct place){writer->rows.object.meta,
                              sizeof(struct gr_directory) + 2 * sizeof(struct gr_directory_column)};
    }
}

/* A table, and how it is read by a handle that has learnt nothing yet. */
struct victim {
    granary_mutable *(*make)(granary_client *client);
    size_t places;
    granary_err (*look)(granary_client *client, granary_mutable *table);
};

/* ---- frames ---- */

/* 60 rows, of which some were written over, and 3 deleted. */
static granary_mutable *
make_frame(granary_client *client)
{
    const int32_t offsets[] = {0, 3, 3, 8};
    const int64_t numbers[] = {1, 2, 3};
    const granary_column columns[] = {
        {.name = "n", .dtype = GRANARY_INT64, .rows = 3, .values = numbers},
        {.name = "s", .dtype = GRANARY_STRING, .rows = 3, .values = "onethree", .offsets = offsets},
    };
    const granary_rows some = {.from = 4, .to = 7};
    granary_mutable *table = NULL;

    assert_ok(granary_mutable_create_frame(client, "lies", columns, 2, NULL, &table));
    for (int i = 0; i < 20; i++) {
        assert_ok(granary_mutable_append(table, columns, 2, 3, NULL, NULL));
    }
    for (int64_t i = 0; i < 5; i++) {
        const granary_rows few = {.from = i, .to = i + 3};

        assert_ok(granary_mutable_write_rows(table, &few, columns, 2, NULL, NULL));
    }
    assert_ok(granary_mutable_delete_rows(table, &some, NULL, NULL, NULL));
    return table;
}

static granary_err
frame_look(granary_client *client, granary_mutable *table)
{
    granary_frame *frame = NULL;
    granary_err err = granary_mutable_read_frame(table, GRANARY_NOW, &frame);

    (void)client;
    for (int64_t row = 0; err == GRANARY_OK && row < granary_frame_rows(frame); row++) {
        size_t length;

        (void)granary_column_text(granary_frame_column(frame, 1), row, &length);
    }
    granary_frame_close(frame);
    return err;
}

static void
frame_is_whole(granary_client *client, granary_mutable *table)
{
    static const char *const texts[] = {"one", "", "three"};
    granary_frame *frame = NULL;

    (void)client;
    assert_ok(granary_mutable_read_frame(table, GRANARY_NOW, &frame));
    assert_int_equal(granary_frame_rows(frame), 57);
    for (int64_t row = 7; row < 60; row++) {
        assert_string_equal(text_at(frame, "s", row - 3), texts[row % 3]);
    }
    granary_frame_close(frame);
}

/* ---- tensors ---- */

enum { LENGTH = 6 };

/* 6 x 6 elements in 3 x 3 chunks: some written as a whole, some in boxes, some one by one, and one put as an object. */
static granary_mutable *
make_tensor(granary_client *client)
{
    const granary_mutable_tensor shape = {
        .dtype = GRANARY_INT32, .dims = 2, .shape = {LENGTH, LENGTH}, .chunk = {2, 2}, .fill = "7"};
    const int32_t value = 3, values[] = {1, 2, 3, 4};
    const int64_t rows[] = {5, 0, 5}, columns[] = {4, 1, 4};
    const granary_tensor one = {.dtype = GRANARY_INT32, .values = &value};
    const granary_tensor square = {.dtype = GRANARY_INT32, .dims = 2, .shape = {2, 2}, .values = values};
    const granary_tensor three = {.dtype = GRANARY_INT32, .dims = 1, .shape = {3}, .values = values};
    const granary_index whole[] = {{.slice = {0, 2, 1}}, {.slice = {2, 4, 1}}};
    const granary_index box[] = {{.slice = {0, LENGTH, 2}}, {.slice = {1, 4, 1}}};
    const granary_index points[] = {{.kind = GRANARY_INDEX_LIST, .list = rows, .count = 3},
                                    {.kind = GRANARY_INDEX_LIST, .list = columns, .count = 3}};
    const uint64_t chunk = 8;
    granary_mutable *table = NULL;
    granary_id id;

    assert_ok(granary_mutable_create_tensor(client, "lies", &shape, NULL, &table));
    assert_ok(granary_tensor_put(client, &square, &id));
    assert_ok(granary_mutable_put_chunks(table, &chunk, &id, 1, NULL, NULL));
    assert_ok(granary_object_delete(client, id, 0));
    for (int i = 0; i < 3; i++) {
        assert_ok(granary_mutable_write(table, whole, 2, &square, NULL, NULL));
        assert_ok(granary_mutable_write(table, box, 2, &one, NULL, NULL));
        assert_ok(granary_mutable_write(table, points, 2, &three, NULL, NULL));
    }
    return table;
}

/* All of it, which is copied, and a chunk, which may be mapped. */
static granary_err
tensor_look(granary_client *client, granary_mutable *table)
{
    const granary_index chunk[] = {{.slice = {0, 2, 1}}, {.slice = {2, 4, 1}}};
    int32_t seen[LENGTH * LENGTH];
    granary_mutable_part part;
    granary_err err = granary_mutable_view(table, GRANARY_NOW, NULL, 0, &part);

    if (err == GRANARY_OK) {
        memcpy(seen, part.tensor.values, sizeof seen);
        granary_mutable_release(client, &part);
        err = granary_mutable_view(table, GRANARY_NOW, chunk, 2, &part);
    }
    if (err == GRANARY_OK) {
        memcpy(seen, part.tensor.values, 4 * sizeof *seen);
        granary_mutable_release(client, &part);
    }
    return err;
}

static void
tensor_is_whole(granary_client *client, granary_mutable *table)
{
    static const int32_t want[LENGTH][LENGTH] = {
        {7, 2, 3, 3, 7, 7}, {7, 7, 3, 4, 7, 7}, {7, 3, 3, 3, 7, 7},
        {7, 7, 7, 7, 7, 7}, {7, 3, 3, 3, 1, 2}, {7, 7, 7, 7, 3, 4},
    };
    granary_mutable_part part;

    assert_ok(granary_mutable_view(table, GRANARY_NOW, NULL, 0, &part));
    assert_memory_equal(part.tensor.values, want, sizeof want);
    granary_mutable_release(client, &part);
}

/* ---- reads ---- */

/* Every read that leaves the table as it is. */
static granary_err
look_around(granary_client *client, const struct victim *victim)
{
    granary_mutable_info info;
    granary_mutable *reader = NULL;
    granary_id id;
    granary_err err = granary_mutable_open(client, "lies", &reader);

    if (err != GRANARY_OK) {
        return err;
    }
    err = victim->look(client, reader);
    if (granary_mutable_snapshot(reader, GRANARY_NOW, NULL, &id) == GRANARY_OK) {
        granary_mutable *kept = NULL;

        if (granary_sealed_open(client, id, &kept) == GRANARY_OK) {
            (void)victim->look(client, kept);
            granary_mutable_close(kept);
        }
        assert_ok(granary_object_delete(client, id, 0));
    }
    granary_mutable_close(reader);
    (void)granary_mutable_describe(client, "lies", &info);
    return err;
}

/* The page may say that the table was sealed: then it is, for ever. */
static bool
is_for_ever(size_t place)
{
    return place == 3;
}

static void
lie_and_look(void **state, const struct victim *victim, void (*check)(granary_client *, granary_mutable *))
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = victim->make(client);
    struct course course = {.seed = setting("GRANARY_RANDOM_SEED", 15)};
    const size_t rounds = setting("GRANARY_RANDOM_OPERATIONS", ROUNDS);
    size_t refused = 0;

    for (size_t round = 0; round < rounds; round++) {
        const size_t which = round % victim->places;
        const struct place place = place_of(table, which);
        struct garbled garbled;

        if (!is_for_ever(which)) {
            garble(&garbled, place.bytes, place.size, &course);
            refused += look_around(client, victim) != GRANARY_OK;
            restore(&garbled);
        }
    }
    assert_true(refused > rounds / 50);
    check(client, table);
    granary_mutable_close(table);
    granary_disconnect(client);
}

static const struct victim frame_victim = {make_frame, FRAME_PLACES, frame_look};
static const struct victim tensor_victim = {make_tensor, PLACES, tensor_look};

static void
a_writer_of_rows_that_lies_harms_no_reader(void **state)
{
    lie_and_look(state, &frame_victim, frame_is_whole);
}

static void
a_writer_of_elements_that_lies_harms_no_reader(void **state)
{
    lie_and_look(state, &tensor_victim, tensor_is_whole);
}

/* What is sealed, or the base of a history that was given up, is of what lies, and is read in turn. */
static void
lie_and_end(void **state, const struct victim *victim)
{
    granary_client *client = fixture_connect(state);
    struct course course = {.seed = setting("GRANARY_RANDOM_SEED", 16)};
    const size_t rounds = setting("GRANARY_RANDOM_OPERATIONS", ROUNDS) / 10;
    size_t ended = 0;

    for (size_t round = 0; round < rounds; round++) {
        const granary_retain retain = {.time = GRANARY_NOW};
        granary_mutable *table = victim->make(client), *other = NULL;
        const struct place place = place_of(table, round % victim->places);
        struct garbled garbled;

        garble(&garbled, place.bytes, place.size, &course);
        if (granary_mutable_open(client, "lies", &other) == GRANARY_OK) {
            granary_err err = round % 2 == 0 ? granary_mutable_retain(other, &retain, NULL)
                                             : granary_mutable_seal(other, GRANARY_NOW, NULL);

            ended += err == GRANARY_OK;
            granary_mutable_close(other);
        }
        (void)look_around(client, victim);
        restore(&garbled);
        (void)look_around(client, victim);
        granary_mutable_close(table);
        assert_ok(granary_mutable_delete(client, "lies"));
    }
    assert_true(ended > rounds / 10);
    granary_disconnect(client);
}

static void
lies_about_rows_are_sealed_and_given_up(void **state)
{
    lie_and_end(state, &frame_victim);
}

static void
lies_about_elements_are_sealed_and_given_up(void **state)
{
    lie_and_end(state, &tensor_victim);
}

/* ---- chunks that there are not ---- */

/* A write of a whole chunk, whatever its number. */
static void
write_chunk(granary_mutable *table, uint64_t chunk)
{
    const granary_write_options options = {.time = 0};
    struct gr_mutable_note *note;
    struct write write;
    granary_err err = write_begin(&write, table, &options);

    assert_ok(err);
    err = write_note(&write, GR_NOTE_WHOLE, sizeof *note + 16, &note);
    assert_ok(err);
    note->chunk = chunk;
    note->count = 4;
    assert_ok(write_end(&write, err, NULL));
}

/* One behind the last, also where there is none. */
static void
a_note_of_no_chunk_is_refused(void **state)
{
    static const granary_mutable_tensor shapes[] = {
        {.dtype = GRANARY_INT32, .dims = 2, .shape = {6, 6}, .chunk = {2, 2}},
        {.dtype = GRANARY_INT32, .dims = 2, .shape = {0, 6}, .chunk = {2, 2}},
    };
    const uint64_t chunks[] = {9, 0};
    granary_client *client = fixture_connect(state);

    for (size_t i = 0; i < 2; i++) {
        granary_mutable *table = NULL;
        granary_mutable_part part;
        granary_mutable_info info;
        granary_id id;

        assert_ok(granary_mutable_create_tensor(client, "none", &shapes[i], NULL, &table));
        write_chunk(table, chunks[i]);
        assert_err(granary_mutable_view(table, GRANARY_NOW, NULL, 0, &part), GRANARY_ECORRUPT);
        assert_err(granary_mutable_snapshot(table, GRANARY_NOW, NULL, &id), GRANARY_ECORRUPT);
        assert_err(granary_mutable_describe(client, "none", &info), GRANARY_ECORRUPT);
        assert_err(granary_mutable_retain(table, &(granary_retain){.time = GRANARY_NOW}, NULL), GRANARY_ECORRUPT);
        assert_err(granary_mutable_seal(table, GRANARY_NOW, NULL), GRANARY_ECORRUPT);
        granary_mutable_close(table);
        assert_ok(granary_mutable_delete(client, "none"));
    }
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_writer_of_rows_that_lies_harms_no_reader, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_writer_of_elements_that_lies_harms_no_reader, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(lies_about_rows_are_sealed_and_given_up, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(lies_about_elements_are_sealed_and_given_up, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_note_of_no_chunk_is_refused, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
