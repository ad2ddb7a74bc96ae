/* Commits and cuts of a page in plain memory: one by one, and with threads whose whole history is checked afterwards. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mutable/core/lane.h"

#define WRITERS 3
#define READERS 2
#define COMMITS 60000
#define CUTS    500

static const uint64_t page_id[2] = {1, 2};

static struct gr_mutable *
make_page(uint32_t lanes)
{
    struct gr_mutable *page = aligned_alloc(64, sizeof *page);

    assert_non_null(page);
    memset(page, 0, sizeof *page);
    mutable_page_init(page, page_id);
    atomic_store(&page->lanes, lanes);
    return page;
}

static void
a_commit_is_seen_from_its_time_on(void **state)
{
    struct gr_mutable *page = make_page(2);
    uint64_t counts[GR_MUTABLE_LANES];

    (void)state;
    assert_int_equal(mutable_newest(page), INT64_MIN);
    assert_int_equal(lane_enter(&page->lane[0]), 0);
    assert_true(lane_commit(page, &page->lane[0], 2, 10));
    assert_true(lane_commit(page, &page->lane[1], 1, 12));
    assert_int_equal(mutable_newest(page), 12);
    assert_int_equal(mutable_cut(page, 10, counts), 2);
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 1);
    assert_int_equal(mutable_frontier(page), 10);
    free(page);
}

static void
a_cut_is_final(void **state)
{
    struct gr_mutable *page = make_page(1);
    uint64_t counts[GR_MUTABLE_LANES];

    (void)state;
    (void)mutable_cut(page, 20, counts);
    assert_false(lane_commit(page, &page->lane[0], 1, 19));
    assert_false(lane_commit(page, &page->lane[0], 1, 20));
    assert_true(lane_commit(page, &page->lane[0], 1, 21));
    (void)mutable_cut(page, 15, counts); /* an earlier one does not lower it */
    assert_int_equal(mutable_frontier(page), 20);
    assert_false(lane_commit(page, &page->lane[0], 2, 18));
    assert_int_equal(counts[0], 1);
    free(page);
}

/* What lane_commit() has done when its writer stops before the last exchange. */
static void
stop_pending(struct gr_lane *lane, uint64_t count, int64_t time)
{
    atomic_store(&lane->pending_time, time);
    atomic_store(&lane->word, GR_LANE(count, GR_LANE_PENDING));
}

static void
a_stopped_writer_is_revoked_and_its_lane_goes_on(void **state)
{
    struct gr_mutable *page = make_page(1);
    struct gr_lane *lane = &page->lane[0];
    uint64_t counts[GR_MUTABLE_LANES];

    (void)state;
    assert_true(lane_commit(page, lane, 3, 5));
    stop_pending(lane, 3, 9);
    (void)mutable_cut(page, 8, counts); /* before it: left alone */
    assert_int_equal(GR_LANE_STATE(atomic_load(&lane->word)), GR_LANE_PENDING);
    (void)mutable_cut(page, 9, counts);
    assert_int_equal(GR_LANE_STATE(atomic_load(&lane->word)), GR_LANE_REVOKED);
    assert_int_equal(counts[0], 3);
    assert_int_equal(lane_enter(lane), 3);
    assert_false(lane_commit(page, lane, 4, 9));
    assert_true(lane_commit(page, lane, 4, 10));
    stop_pending(lane, 4, 30);
    assert_int_equal(lane_enter(lane), 4); /* pending, and of a writer that is dead: it never was */
    (void)mutable_cut(page, 40, counts);
    assert_int_equal(counts[0], 4);
    free(page);
}

static void
a_page_that_lies_is_survived(void **state)
{
    struct gr_mutable *page = make_page(UINT32_MAX);
    uint64_t counts[GR_MUTABLE_LANES];

    (void)state;
    atomic_store(&page->lane[0].word, UINT64_MAX);
    atomic_store(&page->lane[1].word, GR_LANE(UINT64_MAX >> 2, GR_LANE_PENDING));
    assert_int_equal(mutable_cut(page, INT64_MAX, counts), GR_MUTABLE_LANES);
    assert_false(lane_commit(page, &page->lane[2], 1, INT64_MAX));
    free(page);
}

/* ---- threads ---- */

struct history {
    struct gr_mutable *page;
    int64_t slots[WRITERS][COMMITS]; /* times: slot s of a lane is of its commit s */
    pthread_barrier_t start;
    _Atomic uint32_t writing;
};

struct writer {
    struct history *history;
    uint32_t lane;
    uint32_t seed;
    uint64_t committed, refused;
};

struct cut {
    int64_t time;
    uint64_t seen[WRITERS]; /* slots at or before the time */
};

struct reader {
    struct history *history;
    uint32_t seed;
    size_t cuts;
    struct cut cut[CUTS];
};

static uint32_t
random_of(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void *
write_slots(void *argument)
{
    struct writer *writer = argument;
    struct history *history = writer->history;
    struct gr_lane *lane = &history->page->lane[writer->lane];

    (void)pthread_barrier_wait(&history->start);
    while (writer->committed < COMMITS) {
        /* Around the frontier, before it and behind it, in no order. */
        int64_t time = mutable_frontier(history->page) + (int64_t)(random_of(&writer->seed) % 16) - 4;

        history->slots[writer->lane][writer->committed] = time;
        if (lane_commit(history->page, lane, writer->committed + 1, time)) {
            writer->committed++;
        } else {
            writer->refused++;
        }
    }
    atomic_fetch_sub(&history->writing, 1);
    return NULL;
}

static uint64_t
count_until(const struct history *history, uint32_t lane, uint64_t slots, int64_t time)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < slots; i++) {
        count += history->slots[lane][i] <= time;
    }
    return count;
}

static void *
read_cuts(void *argument)
{
    struct reader *reader = argument;
    struct history *history = reader->history;
    uint64_t counts[GR_MUTABLE_LANES];

    (void)pthread_barrier_wait(&history->start);
    do {
        struct cut *cut = &reader->cut[reader->cuts++];

        cut->time = mutable_frontier(history->page) + (int64_t)(random_of(&reader->seed) % 8) - 2;
        (void)mutable_cut(history->page, cut->time, counts);
        for (uint32_t i = 0; i < WRITERS; i++) {
            cut->seen[i] = count_until(history, i, counts[i], cut->time);
        }
    } while (reader->cuts < CUTS && atomic_load(&history->writing) > 0);
    return NULL;
}

/* What each cut saw is what there is at its time when all is over. */
static void
every_cut_of_threads_is_final(void **state)
{
    struct history *history = calloc(1, sizeof *history);
    struct reader *readers = calloc(READERS, sizeof *readers);
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS + READERS];
    size_t cuts = 0;

    (void)state;
    assert_non_null(history);
    assert_non_null(readers);
    history->page = make_page(WRITERS);
    atomic_store(&history->page->frontier, 0);
    atomic_store(&history->writing, WRITERS);
    assert_int_equal(pthread_barrier_init(&history->start, NULL, WRITERS + READERS), 0);
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.history = history, .lane = i, .seed = i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, write_slots, &writers[i]), 0);
    }
    for (uint32_t i = 0; i < READERS; i++) {
        readers[i].history = history;
        readers[i].seed = 100 + i;
        assert_int_equal(pthread_create(&threads[WRITERS + i], NULL, read_cuts, &readers[i]), 0);
    }
    for (uint32_t i = 0; i < WRITERS + READERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (uint32_t i = 0; i < READERS; i++) {
        for (size_t k = 0; k < readers[i].cuts; k++) {
            const struct cut *cut = &readers[i].cut[k];

            for (uint32_t lane = 0; lane < WRITERS; lane++) {
                assert_int_equal(cut->seen[lane], count_until(history, lane, COMMITS, cut->time));
            }
        }
        cuts += readers[i].cuts;
    }
    assert_true(cuts >= READERS);
    (void)pthread_barrier_destroy(&history->start);
    free(history->page);
    free(history);
    free(readers);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_is_seen_from_its_time_on),
        cmocka_unit_test(a_cut_is_final),
        cmocka_unit_test(a_stopped_writer_is_revoked_and_its_lane_goes_on),
        cmocka_unit_test(a_page_that_lies_is_survived),
        cmocka_unit_test(every_cut_of_threads_is_final),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
