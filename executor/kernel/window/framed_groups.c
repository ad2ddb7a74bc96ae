/*
 * Every aggregate over every frame: the rows of each frame are listed one frame after the other, and grouped as a
 * groupby does it. This costs as much as all frames have rows, so that it is left to aggregates for which there is no
 * better way. Lists are cut into runs, so that memory holds few of the frames at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/group/tables.h"
#include "kernel/window/frames.h"

#define RUN_ROWS ((size_t)1 << 20)

struct listing {
    struct framed *f;
    int64_t *rows; /* of the frames of this run */
    uint32_t *numbers;
    size_t count;
    size_t room;
    uint32_t frames;
    int64_t *picks;       /* by row of the frame: which result */
    int64_t results;      /* of the runs before */
    granary_frame **made; /* of each run, one column */
    size_t made_count;
    size_t made_room;
};

static granary_err
make_room(struct listing *listing, size_t more)
{
    size_t room = listing->room == 0 ? 1024 : listing->room;
    void *rows;
    void *numbers;

    if (listing->count + more <= listing->room) {
        return GRANARY_OK;
    }
    while (room < listing->count + more) {
        room *= 2;
    }
    rows = realloc(listing->rows, room * sizeof *listing->rows);
    listing->rows = rows != NULL ? rows : listing->rows;
    numbers = realloc(listing->numbers, room * sizeof *listing->numbers);
    listing->numbers = numbers != NULL ? numbers : listing->numbers;
    listing->room = rows != NULL && numbers != NULL ? room : listing->room;
    return rows == NULL || numbers == NULL ? gr_no_memory("window") : GRANARY_OK;
}

/* The arguments of the listed rows, as columns named by their texts. */
static granary_err
gather_arguments(const struct listing *listing, granary_frame **ret_frame)
{
    const struct gr_window *window = listing->f->job.window;
    const granary_column *columns[] = {listing->f->columns->value, listing->f->columns->second};
    const char *names[] = {window->aggregate.column, window->aggregate.second};
    size_t count = names[1] != NULL && strcmp(names[0], names[1]) != 0 ? 2 : 1;
    granary_frame *frame = gr_frame_create(count, (int64_t)listing->count);
    granary_err err = frame == NULL ? gr_no_memory("window") : GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        struct gr_column column;

        err = gr_column_take(columns[i], listing->rows, (int64_t)listing->count, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, i, names[i], &column);
        }
    }
    return gr_frame_give(frame, err, ret_frame);
}

static granary_err
group_run(const struct listing *listing, granary_frame **ret_result)
{
    const struct gr_window *window = listing->f->job.window;
    Granary__Attr *aggregate = gr_attr_new_map("aggregate", (char *const[]){window->aggregate.name},
                                               (char *const[]){window->aggregate_text}, 1);
    Granary__Attr *keys =
        gr_attr_new_strings("keys", &window->aggregate.name, 1); /* one tells that there are several groups */
    const struct gr_group_params params = {.keys = keys, .aggregate = aggregate};
    granary_frame *arguments = NULL;
    struct group_table table = {0};
    struct group_plan plan = {0};
    granary_err err = aggregate == NULL || keys == NULL ? gr_no_memory("window") : group_plan_init(&params, &plan);

    if (err == GRANARY_OK) {
        err = gather_arguments(listing, &arguments);
        if (err == GRANARY_OK) {
            err = group_map_numbered(&plan, arguments, listing->numbers, listing->frames, &table);
        }
        if (err == GRANARY_OK) {
            table.ordered = true;
            err = group_result(&plan, &table, ret_result);
            group_table_fini(&table);
        }
        group_plan_fini(&plan);
    }
    gr_frame_destroy(arguments);
    granary__attr__free_unpacked(aggregate, NULL); /* of NULL nothing */
    granary__attr__free_unpacked(keys, NULL);
    return err;
}

/* The results of the frames that are listed. */
static granary_err
end_run(struct listing *listing)
{
    granary_err err;

    if (listing->frames == 0) {
        return GRANARY_OK;
    }
    if (listing->made_count == listing->made_room) {
        size_t room = 2 * listing->made_room + 8;
        void *made = realloc(listing->made, room * sizeof(granary_frame *));

        if (made == NULL) {
            return gr_no_memory("window");
        }
        listing->made = made;
        listing->made_room = room;
    }
    err = group_run(listing, &listing->made[listing->made_count]);
    if (err == GRANARY_OK) {
        listing->made_count++;
        listing->results += listing->frames;
        listing->frames = 0;
        listing->count = 0;
    }
    return err;
}

/* A frame's rows; *ret_result: which of the results is its own, -1: it has no value. */
static granary_err
list_frame(struct listing *listing, const struct frame_pieces *pieces, int64_t *ret_result)
{
    const struct framed *f = listing->f;
    size_t before = listing->count;
    bool any = false;
    granary_err err = make_room(listing, (size_t)pieces_rows(pieces));

    *ret_result = -1;
    if (err != GRANARY_OK) {
        return err;
    }
    for (int p = 0; p < pieces->count; p++) {
        for (int64_t i = pieces->from[p]; i < pieces->to[p]; i++) {
            int64_t row = window_row(f->job.rows, i);

            listing->rows[listing->count] = row;
            listing->numbers[listing->count++] = listing->frames + 1;
            any = any || !window_is_missing(&f->job.value, row);
        }
    }
    if (!any) {
        listing->count = before;
        return GRANARY_OK;
    }
    *ret_result = listing->results + listing->frames++;
    return listing->count >= RUN_ROWS ? end_run(listing) : GRANARY_OK;
}

static granary_err
list_partition(struct listing *listing)
{
    struct framed *f = listing->f;
    struct frame_pieces before = {.count = -1};
    int64_t result = -1;
    granary_err err = bounds_find(f);

    for (int64_t i = f->span.begin; i < f->span.end && err == GRANARY_OK; i++) {
        struct frame_pieces pieces = frame_at(f, i);

        if (!pieces_equal(&pieces, &before)) {
            err = list_frame(listing, &pieces, &result);
            before = pieces;
        }
        listing->picks[window_row(f->job.rows, i)] = result;
    }
    return err;
}

/* All results, one for each row. */
static granary_err
take_results(const struct listing *listing, granary_dtype dtype, struct gr_column *ret_column)
{
    struct gr_run *runs = calloc(listing->made_count + 1, sizeof *runs);
    struct gr_column all = {0};
    granary_err err = runs == NULL ? gr_no_memory("window") : GRANARY_OK;

    for (size_t r = 0; r < listing->made_count && err == GRANARY_OK; r++) {
        const granary_column *column = &listing->made[r]->columns[0].view;

        runs[r] = (struct gr_run){column, 0, column->rows};
    }
    if (err == GRANARY_OK) {
        err = gr_column_concat(runs, listing->made_count, dtype, &all);
    }
    if (err == GRANARY_OK) {
        err = gr_column_take(&all.view, listing->picks, listing->f->job.rows->count, ret_column);
        gr_column_free(&all);
    }
    free(runs);
    return err;
}

granary_err
framed_groups(struct framed *f, granary_dtype dtype, struct gr_column *ret_column)
{
    const struct window_rows *rows = f->job.rows;
    size_t size = (size_t)(rows->count + 1) * sizeof(int64_t);
    struct listing listing = {.f = f, .picks = scratch_alloc(size)};
    granary_err err = listing.picks == NULL ? gr_no_memory("window") : GRANARY_OK;

    if (err == GRANARY_OK) {
        memset(listing.picks, 0xff, size);
    }
    for (size_t p = 0; p < rows->partitions && err == GRANARY_OK; p++) {
        int64_t begin = p == 0 ? 0 : rows->ends[p - 1];

        f->span = (struct window_span){begin, rows->ends[p], begin};
        if (rows->left_out == NULL || !rows->left_out[p]) {
            err = list_partition(&listing);
        }
    }
    if (err == GRANARY_OK) {
        err = end_run(&listing);
    }
    if (err == GRANARY_OK) {
        err = take_results(&listing, dtype, ret_column);
    }
    for (size_t r = 0; r < listing.made_count; r++) {
        gr_frame_destroy(listing.made[r]);
    }
    free(listing.made);
    free(listing.rows);
    free(listing.numbers);
    scratch_free(listing.picks);
    return err;
}
