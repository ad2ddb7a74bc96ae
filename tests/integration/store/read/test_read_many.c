/* Many chunks in one call, packed as the reader likes it: what one lacks is told, and spoils nothing else. */
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "granary/read.h"
#include "granary/session.h"
#include "integration/store/fixture.h"
#include "read_tools.h"
#include "support/allocations.h"
#include "unit/data/frames.h"

#define ALL GRANARY_SLICE_ALL
#define MIB ((uint64_t)1 << 20)

/* ---- codecs ---- */

/* What an LZ4 frame holds; to be freed. */
static char *
unpack(const granary_chunk *chunk)
{
    size_t from = chunk->data_size, to = chunk->raw_size;
    char *raw = malloc(to + 1);
    LZ4F_dctx *context;
    size_t left;

    assert_false(LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)));
    left = LZ4F_decompress(context, raw, &to, chunk->data, &from, NULL);
    assert_int_equal(left, 0);
    assert_int_equal(from, chunk->data_size);
    assert_int_equal(to, chunk->raw_size);
    (void)LZ4F_freeDecompressionContext(context);
    return raw;
}

static void
check_packed(granary_client *client, uint64_t n, uint64_t size, bool passed_through)
{
    const granary_read_options options = {
        .accept = (const char *const[]){"zstd", "lz4", "none"}, .accept_count = 3, .checksum = true};
    granary_chunk chunk = read_part(client, n, (granary_selection){.kind = GRANARY_SELECT_ALL}, &options);
    char *raw;

    assert_string_equal(chunk.codec, "lz4");
    assert_int_equal(chunk.raw_size, size);
    assert_true(chunk.passed_through == passed_through);
    assert_true(chunk.checksum == gr_hash64(chunk.data, chunk.data_size));
    raw = unpack(&chunk);
    assert_true(fixture_content_is(raw, n, size));
    free(raw);
    granary_chunk_release(client, &chunk, 1);
}

/* The reader's order counts, not the strength of a codec; what is packed on disk is handed on as it is. */
static void
the_readers_order_counts(void **state)
{
    static const uint64_t sizes[] = {1, 100, 256 << 10, (256 << 10) + 1, (3 << 20) + 77};
    const granary_read_options plain = {.accept = (const char *const[]){"none", "lz4"}, .accept_count = 2};
    const granary_read_options gzip = {.accept = (const char *const[]){"gzip"}, .accept_count = 1};
    granary_chunk_request requests[2] = {{.id = fixture_id(0)}, {.id = fixture_id(1)}};
    granary_client *client = fixture_connect(state);
    granary_chunk chunks[2];
    granary_chunk chunk;
    char *raw;

    for (uint64_t n = 0; n < 5; n++) {
        char *bytes = malloc(sizes[n]);

        fixture_fill(bytes, n, sizes[n]);
        assert_ok(granary_object_put(client, fixture_id(n), bytes, sizes[n], "metadata", n % 2 == 0 ? 8 : 0, 0));
        check_packed(client, n, sizes[n], false);
        chunk = read_part(client, n, (granary_selection){.kind = GRANARY_SELECT_ALL}, &plain);
        assert_string_equal(chunk.codec, "none");
        assert_true(chunk.mapped && chunk.raw_size == sizes[n] && chunk.checksum == 0);
        assert_memory_equal(chunk.data, bytes, sizes[n]);
        granary_chunk_release(client, &chunk, 1);
        read_spill(client, n);
        check_packed(client, n, sizes[n], true);
        check_packed(client, n, sizes[n], true);
        free(bytes);
    }
    assert_err(granary_chunk_read_many(client, requests, 2, &gzip, chunks), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "gzip"));
    assert_non_null(strstr(granary_error_message(), "none, lz4"));
    assert_int_equal(chunks[1].err, GRANARY_EUNSUPPORTED);
    granary_chunk_release(client, chunks, 2);

    /* A part comes as a file of its own, packed. */
    read_put_tensor(client, 9, 2, (const int64_t[]){100, 100});
    chunk = read_part(
        client, 9,
        (granary_selection){.kind = GRANARY_SELECT_ELEMENTS, .dims = {{0, 100, 50}, {99, 0, 0}}, .dim_count = 2},
        &(granary_read_options){.accept = (const char *const[]){"lz4"}, .accept_count = 1});
    raw = unpack(&chunk);
    assert_memory_equal(raw, "\x93NUMPY", 6);
    assert_true(((int64_t *)(void *)(raw + 128))[1] == 9000000 + 50 * 100 + 99);
    free(raw);
    granary_chunk_release(client, &chunk, 1);
    chunk = read_part(client, 0, (granary_selection){.kind = GRANARY_SELECT_BYTES, .rows = {-1, 0, 0}}, NULL);
    assert_int_equal(chunk.data_size, 1);
    granary_chunk_release(client, &chunk, 1);
    read_refuse(client, 3, (granary_selection){.kind = GRANARY_SELECT_BYTES, .rows = {0, 10, 2}}, GRANARY_EINVAL);
    granary_disconnect(client);
}

/* ---- batches ---- */

/* What is missing is told, and the others are what they are, in order. */
static void
one_missing_does_not_spoil_the_rest(void **state)
{
    enum { COUNT = 9 };
    granary_client *client = fixture_connect(state);
    granary_chunk_request requests[COUNT];
    granary_chunk chunks[COUNT];

    /* Small ones that share a spill file, and others in memory: the same selection means the same of both. */
    for (uint64_t n = 0; n < COUNT; n++) {
        if (n != 4) {
            assert_ok(fixture_put(client, n, 1000, 0));
        }
        if (n % 2 == 1) {
            read_spill(client, n);
        }
        requests[n] = (granary_chunk_request){.id = fixture_id(n),
                                              .select = {.kind = GRANARY_SELECT_BYTES, .rows = {100, -100, 1}}};
    }
    requests[6].select.kind = GRANARY_SELECT_ROWS;
    assert_ok(granary_object_delete(client, fixture_id(8), 0));
    assert_err(granary_chunk_read_many(client, requests, COUNT, NULL, chunks), GRANARY_ENOENT);
    for (uint64_t n = 0; n < COUNT; n++) {
        char want[1000];

        fixture_fill(want, n, 1000);
        if (n == 4 || n == 8) {
            assert_int_equal(chunks[n].err, GRANARY_ENOENT);
            assert_int_equal(chunks[n].state, n == 4 ? GRANARY_CHUNK_MISSING : GRANARY_CHUNK_DELETED);
            assert_non_null(strstr(chunks[n].message, n == 4 ? "not found" : "deleted"));
            assert_null(chunks[n].data);
        } else if (n == 6) {
            assert_int_equal(chunks[n].err, GRANARY_ETYPE);
            assert_int_equal(chunks[n].state, GRANARY_CHUNK_FAILED);
        } else {
            assert_int_equal(chunks[n].err, GRANARY_OK);
            assert_int_equal(chunks[n].data_size, 800);
            assert_memory_equal(chunks[n].data, want + 100, 800);
        }
    }
    granary_chunk_release(client, chunks, COUNT);
    requests[4].id = fixture_id(100);
    assert_err(granary_chunk_read_many(client, &requests[4], 1, &(granary_read_options){.timeout_ms = 20}, chunks),
               GRANARY_ETIMEDOUT);
    assert_int_equal(chunks[0].state, GRANARY_CHUNK_MISSING);
    assert_non_null(strstr(granary_error_message(), "not there in time, which was 0."));
    granary_chunk_release(client, chunks, 1);

    /* An error in the place of an object is the error of who reads it, spilled as well. */
    assert_ok(granary_object_put_error(client, fixture_id(50), GRANARY_ETYPE, "no number"));
    read_refuse(client, 50, (granary_selection){.kind = GRANARY_SELECT_ALL}, GRANARY_ETYPE);
    read_spill(client, 50);
    read_refuse(client, 50, (granary_selection){.kind = GRANARY_SELECT_BYTES, .rows = ALL}, GRANARY_ETYPE);
    assert_non_null(strstr(granary_error_message(), "no number"));
    assert_ok(granary_object_put(client, fixture_id(51), NULL, 0, NULL, 0, 0));
    assert_ok(granary_alias(client, fixture_id(52), fixture_id(0)));
    requests[0].id = fixture_id(52);
    assert_ok(granary_chunk_read_many(client, requests, 1, NULL, chunks));
    assert_memory_equal(&chunks[0].id, &(granary_id[]){fixture_id(0)}[0], sizeof(granary_id));
    assert_int_equal(chunks[0].data_size, 800);
    granary_chunk_release(client, chunks, 1);
    granary_chunk_release(client, (granary_chunk[]){read_part(client, 51, (granary_selection){.kind = 0}, NULL)}, 1);
    granary_disconnect(client);
}

/* Whichever allocation fails, the call says so or needs it not, and what it did read is right. */
static void
memory_may_be_short(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_frame *frame = frame_of_everything();
    const char *accept[] = {"zstd", "lz4"};
    const char *columns[] = {frame->columns[3].view.name};
    const int64_t indices[] = {3, -1, 3};
    const granary_selection rows = {.kind = GRANARY_SELECT_ROWS, .rows = {1, 4, 1}};
    const granary_selection some = {
        .kind = GRANARY_SELECT_INDICES, .indices = indices, .index_count = 3, .columns = columns, .column_count = 1};
    const granary_selection grid = {.kind = GRANARY_SELECT_ELEMENTS, .dims = {{0, 9, 2}, {3, 5, 1}}, .dim_count = 2};
    const granary_chunk_request requests[] = {
        {.id = fixture_id(1), .select = rows},
        {.id = fixture_id(1), .select = some},
        {.id = fixture_id(2), .select = rows},
        {.id = fixture_id(2), .select = some},
        {.id = fixture_id(3), .select = grid},
        {.id = fixture_id(4), .select = grid},
        {.id = fixture_id(9)},
    };
    enum { COUNT = sizeof requests / sizeof requests[0] };
    granary_chunk chunks[COUNT];
    long failed = 0;

    for (uint64_t n = 1; n <= 2; n++) {
        read_put_frame(client, n, frame);
        read_put_tensor(client, n + 2, 2, (const int64_t[]){10, 10});
    }
    read_spill(client, 2);
    read_spill(client, 4);
    for (int packed = 0; packed < 2; packed++) {
        const granary_read_options options = {.accept = packed ? accept : NULL, .accept_count = 2};
        bool through = false;

        for (long step = 0; !through; step++) {
            assert_true(step < 2000);
            allocations_left = step;
            (void)granary_chunk_read_many(client, requests, COUNT, &options, chunks);
            through = allocations_left >= 0;
            allocations_left = -1;
            for (int i = 0; i < COUNT - 1; i++) {
                assert_true(chunks[i].err == GRANARY_OK || (chunks[i].err == GRANARY_ENOMEM && !through));
                failed += chunks[i].err != GRANARY_OK;
                assert_true(chunks[i].err != GRANARY_OK || packed || chunks[i].kind != GRANARY_CHUNK_TENSOR ||
                            ((const int64_t *)chunks[i].tensor.values)[2] == (i == 4 ? 3000023 : 4000023));
            }
            assert_true(chunks[COUNT - 1].err == GRANARY_ENOENT || !through);
            granary_chunk_release(client, chunks, COUNT);
        }
    }
    assert_true(failed > 20);
    gr_frame_destroy(frame);
    granary_disconnect(client);
}

/* Of chunks that are read together only the first one that has no room is waited for; others are read nonetheless. */
static void
many_chunks_wait_for_room_once(void **state)
{
    granary_client *client = fixture_connect(state);
    const granary_session_options options = {.quota_bytes = 4 * MIB};
    const granary_chunk_request requests[] = {{.id = fixture_id(0)},
                                              {.id = fixture_id(50)},
                                              {.id = fixture_id(51)},
                                              {.id = fixture_id(52)},
                                              {.id = fixture_id(1)}};
    const granary_connect_options limit = {.instance = ((struct daemon *)*state)->directory, .session = "limited"};
    granary_client *limited;
    granary_chunk chunks[5];

    assert_ok(granary_session_create(client, "limited", &options));
    assert_ok(granary_connect(&limit, &limited));
    for (uint64_t n = 50; n < 52; n++) {
        assert_ok(fixture_put(limited, n, 3 * MIB / 2, 0));
    }
    assert_ok(fixture_put(limited, 52, MIB / 4, 0));
    for (uint64_t n = 0; n < 3; n++) {
        assert_ok(fixture_put(limited, n, MIB, 0));
        assert_ok(granary_object_pin(limited, fixture_id(n), GRANARY_PIN_CLIENT));
    }
    assert_err(granary_chunk_read_many(limited, requests, 5, NULL, chunks), GRANARY_EFULL);
    assert_int_equal(chunks[0].err, GRANARY_OK);
    assert_int_equal(chunks[1].err, GRANARY_EFULL);
    assert_non_null(strstr(chunks[1].message, "quota"));
    assert_int_equal(chunks[2].err, GRANARY_EFULL);
    assert_non_null(strstr(chunks[2].message, "read fewer at a time"));
    assert_int_equal(chunks[3].err, GRANARY_OK); /* it is smaller */
    assert_int_equal(chunks[4].err, GRANARY_OK);
    granary_chunk_release(limited, chunks, 5);
    granary_disconnect(limited);
    granary_disconnect(client);
}

int
main(void)
{
#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)
    const struct CMUnitTest tests[] = {
        STORE_TEST(the_readers_order_counts),
        STORE_TEST(one_missing_does_not_spoil_the_rest),
        STORE_TEST(memory_may_be_short),
        STORE_TEST(many_chunks_wait_for_room_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
