/*
 * Rows that nobody wants. The statistics of a row group may exclude all of it, and then its Bloom filters. Where they do
 * not, and the file has a page index, the statistics of pages are asked next, for each column that a condition is on: its pages exclude rows by
 * themselves, since each part of a condition that is tried is on one column. A page index that is damaged is not used.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/file/paths/regular.h"
#include "tile/file/parquet_bloom.h"
#include "tile/file/parquet_cuts.h"
#include "tile/source/choose.h"

#define INDEX_MOST (16 << 20) /* bytes: a larger one is not looked at */
#define GAP_LEAST  2048       /* rows: fewer are read with those around them */
#define SPANS_MOST 16         /* of a row group */

/* ---- row groups ---- */

/* What the statistics tell, as zone maps have it. */
static granary_err
tell_group(struct tiling *t, const struct cuts *cuts, const struct gr_parquet_group *group,
           Granary__FrameInfo **ret_info)
{
    size_t count = cuts->step->type->schema.count;
    Granary__FrameInfo *info = gr_region_alloc(t->scratch, sizeof *info);
    Granary__ColumnInfo *columns = gr_region_zalloc(t->scratch, count + 1, sizeof *columns);
    Granary__ColumnInfo **list = gr_region_zalloc(t->scratch, count + 1, sizeof *list);

    if (info == NULL || columns == NULL || list == NULL) {
        return tile_no_memory();
    }
    granary__frame_info__init(info);
    info->rows = group->rows;
    info->n_columns = count;
    info->columns = list;
    for (size_t c = 0; c < count; c++) {
        const struct gr_parquet_column *column = &cuts->columns[c];
        const struct gr_parquet_leaf *leaf = &cuts->leaves[column->leaf];
        struct gr_parquet_bounds bounds = {.nulls = -1};

        granary__column_info__init(&columns[c]);
        list[c] = &columns[c];
        if (column->readable) {
            bounds = gr_parquet_bounds(leaf, &group->chunks[column->leaf].stats, group->rows);
        }
        columns[c].name = (char *)(uintptr_t)column->name;
        columns[c].dtype = (uint32_t)leaf->dtype;
        columns[c].nulls = bounds.nulls;
        columns[c].zone = bounds.known;
        columns[c].nan = bounds.has_nan;
        memcpy(&columns[c].min, &bounds.min, sizeof columns[c].min);
        memcpy(&columns[c].max, &bounds.max, sizeof columns[c].max);
    }
    *ret_info = info;
    return GRANARY_OK;
}

/* Which row groups are wanted, as a whole. */
static granary_err
want_groups(struct tiling *t, size_t i, struct cuts *cuts, size_t *ret_count)
{
    const Granary__FrameInfo **infos = gr_region_zalloc(t->scratch, cuts->group_count + 1, sizeof *infos);
    bool *chosen = gr_region_zalloc(t->scratch, cuts->group_count + 1, sizeof *chosen);
    granary_err err = infos == NULL || chosen == NULL ? tile_no_memory() : GRANARY_OK;

    for (size_t g = cuts->first; err == GRANARY_OK && g < cuts->end; g++) {
        Granary__FrameInfo *info = NULL;

        err = tell_group(t, cuts, &cuts->groups[g], &info);
        infos[g] = info;
    }
    if (cuts->file->is_recast) {
        memset(chosen, true, cuts->group_count);
    } else if (err == GRANARY_OK) {
        err = zone_choose(t, i, &cuts->step->type->schema, infos + cuts->first, cuts->end - cuts->first,
                          chosen + cuts->first);
    }
    for (size_t g = cuts->first; err == GRANARY_OK && g < cuts->end; g++) {
        struct span *span = gr_region_alloc(t->scratch, sizeof *span);

        if (span == NULL) {
            return tile_no_memory();
        }
        *span = (struct span){.from = g == cuts->first ? cuts->from : 0,
                              .to = g + 1 == cuts->end ? cuts->to : cuts->groups[g].rows};
        cuts->wanted[g] = (struct spans){.spans = span, .count = chosen[g]};
        *ret_count += chosen[g];
    }
    return err;
}

/* ---- pages ---- */

/* The index of one column of a row group. */
struct index {
    uint8_t *bytes; /* of the column index, in which bounds lie */
    struct gr_parquet_place *places;
    size_t count;
    struct gr_parquet_stats *stats;
    bool *all_null;
};

static void
index_free(struct index *index)
{
    free(index->bytes);
    free(index->places);
    free(index->stats);
    free(index->all_null);
}

/* NULL: out of memory, or it cannot be read. */
static uint8_t *
fetch(int fd, int64_t at, int32_t size)
{
    uint8_t *bytes = size > 0 && size <= INDEX_MOST ? malloc((size_t)size) : NULL;

    if (bytes != NULL && gr_pread_all(fd, bytes, (size_t)size, at) != GRANARY_OK) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

/* false: there is none that can be used. */
static bool
index_read(int fd, const struct gr_parquet_chunk *chunk, int64_t rows, struct index *index)
{
    uint8_t *places = fetch(fd, chunk->offset_index_at, chunk->offset_index_size);
    bool good = places != NULL && gr_parquet_offset_index(places, (size_t)chunk->offset_index_size, chunk, rows,
                                                          &index->places, &index->count) == GRANARY_OK;

    free(places);
    index->bytes = good ? fetch(fd, chunk->column_index_at, chunk->column_index_size) : NULL;
    return index->bytes != NULL && gr_parquet_column_index(index->bytes, (size_t)chunk->column_index_size, index->count,
                                                           &index->stats, &index->all_null) == GRANARY_OK;
}

/* Take rows [from, to) out of the spans, which have room for one more. */
static void
exclude(struct spans *spans, int64_t from, int64_t to)
{
    size_t count = 0;
    struct span cut = {.from = 0};

    for (size_t s = 0; s < spans->count; s++) {
        struct span span = spans->spans[s];

        if (span.from < from && span.to > to) { /* it becomes two */
            cut = (struct span){.from = to, .to = span.to};
            span.to = from;
        } else if (span.from < from) {
            span.to = span.to < from ? span.to : from;
        } else if (span.from < to) {
            span.from = span.to < to ? span.to : to;
        }
        if (span.from < span.to) {
            spans->spans[count++] = span;
        }
    }
    if (cut.to > 0) {
        size_t at = count;

        for (; at > 0 && spans->spans[at - 1].from > cut.from; at--) {
            spans->spans[at] = spans->spans[at - 1];
        }
        spans->spans[at] = cut;
        count++;
    }
    spans->count = count;
}

static int64_t
page_rows(const struct index *index, size_t page, int64_t rows)
{
    return (page + 1 < index->count ? index->places[page + 1].first_row : rows) - index->places[page].first_row;
}

/*
 * Whether pages that are said to have nothing but nulls have so many. Polars says it of pages without bounds, too, as of
 * floats with a nan. Their own counts tell, or else that of the row group; it has counts of the row group for each page, too.
 * A list without items is none: there the index tells nothing.
 */
static bool
nulls_are_there(const struct gr_parquet_leaf *leaf, const struct index *index, int64_t nulls, int64_t rows)
{
    int64_t said = 0;
    bool counted = true;

    for (size_t p = 0; p < index->count; p++) {
        int64_t all = page_rows(index, p, rows);
        int64_t of_page = index->stats[p].nulls;

        if (leaf->repeats > 0 || of_page > all || (index->all_null[p] && of_page >= 0 && of_page < all)) {
            return false;
        }
        said += index->all_null[p] ? all : 0;
        counted = counted && of_page >= 0;
    }
    return counted || nulls < 0 || said <= nulls;
}

/* What the index tells of one column's pages; of others nothing is known. */
static granary_err
tell_pages(struct tiling *t, const struct cuts *cuts, size_t g, size_t c, const struct index *index,
           const Granary__FrameInfo ***ret_infos)
{
    size_t count = cuts->step->type->schema.count;
    size_t leaf = cuts->columns[c].leaf;
    int64_t rows = cuts->groups[g].rows;
    bool believed = nulls_are_there(&cuts->leaves[leaf], index, cuts->groups[g].chunks[leaf].stats.nulls, rows);
    const Granary__FrameInfo **infos = gr_region_zalloc(t->scratch, index->count, sizeof *infos);
    Granary__FrameInfo *made = gr_region_zalloc(t->scratch, index->count, sizeof *made);
    Granary__ColumnInfo *columns = gr_region_zalloc(t->scratch, index->count + 1, sizeof *columns);
    Granary__ColumnInfo **lists = gr_region_zalloc(t->scratch, index->count * count, sizeof *lists);

    if (infos == NULL || made == NULL || columns == NULL || lists == NULL) {
        return tile_no_memory();
    }
    granary__column_info__init(&columns[index->count]); /* of the others */
    columns[index->count].nulls = -1;
    for (size_t p = 0; p < index->count; p++) {
        int64_t all = page_rows(index, p, rows);
        struct gr_parquet_bounds bounds = gr_parquet_bounds(&cuts->leaves[leaf], &index->stats[p], all);

        granary__frame_info__init(&made[p]);
        granary__column_info__init(&columns[p]);
        columns[p].dtype = (uint32_t)cuts->leaves[leaf].dtype;
        columns[p].nulls = index->all_null[p] && believed ? all : bounds.nulls;
        columns[p].zone = bounds.known && !index->all_null[p];
        columns[p].nan = bounds.has_nan;
        memcpy(&columns[p].min, &bounds.min, sizeof columns[p].min);
        memcpy(&columns[p].max, &bounds.max, sizeof columns[p].max);
        made[p].rows = all;
        made[p].n_columns = count;
        made[p].columns = lists + p * count;
        for (size_t k = 0; k < count; k++) {
            made[p].columns[k] = &columns[k == c ? p : index->count];
        }
        infos[p] = &made[p];
    }
    *ret_infos = infos;
    return GRANARY_OK;
}

static granary_err
want_by_index(struct tiling *t, size_t i, struct cuts *cuts, size_t g, size_t c, const struct index *index)
{
    struct spans *spans = &cuts->wanted[g];
    int64_t rows = cuts->groups[g].rows;
    const Granary__FrameInfo **infos = NULL;
    bool *chosen = gr_region_zalloc(t->scratch, index->count, sizeof *chosen);
    struct span *more = gr_region_alloc(t->scratch, (spans->count + index->count + 1) * sizeof *more);
    granary_err err = chosen == NULL || more == NULL ? tile_no_memory() : tell_pages(t, cuts, g, c, index, &infos);

    err = err == GRANARY_OK ? zone_choose(t, i, &cuts->step->type->schema, infos, index->count, chosen) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(more, spans->spans, spans->count * sizeof *more);
    spans->spans = more;
    for (size_t p = 0; p < index->count; p++) {
        if (!chosen[p]) {
            exclude(spans, index->places[p].first_row, p + 1 < index->count ? index->places[p + 1].first_row : rows);
        }
    }
    return GRANARY_OK;
}

/* Small gaps are not worth a chunk of their own. */
static void
join_spans(struct spans *spans)
{
    size_t count = spans->count;

    for (int64_t gap = GAP_LEAST; count > 0 && (gap == GAP_LEAST || count > SPANS_MOST); gap *= 2) {
        size_t made = 1;

        for (size_t s = 1; s < count; s++) {
            if (spans->spans[s].from - spans->spans[made - 1].to < gap) {
                spans->spans[made - 1].to = spans->spans[s].to;
            } else {
                spans->spans[made++] = spans->spans[s];
            }
        }
        count = made;
    }
    spans->count = count;
}

static granary_err
want_pages(struct tiling *t, size_t i, struct cuts *cuts, size_t g, const bool *used, int fd)
{
    granary_err err = GRANARY_OK;

    for (size_t c = 0; err == GRANARY_OK && c < cuts->step->type->schema.count; c++) {
        const struct gr_parquet_chunk *chunk = &cuts->groups[g].chunks[cuts->columns[c].leaf];
        struct index index = {.count = 0};

        if (used[c] && cuts->columns[c].readable && chunk->offset_index_size > 0 && chunk->column_index_size > 0 &&
            index_read(fd, chunk, cuts->groups[g].rows, &index)) {
            err = want_by_index(t, i, cuts, g, c, &index);
        }
        index_free(&index);
    }
    join_spans(&cuts->wanted[g]);
    return err;
}

/* The file as it was looked at, once more. fd: -1, and pages are not asked, when it has changed: that is told by those who
 * read it. */
static int
open_again(const struct gr_file *file)
{
    struct stat info;
    int fd;

    if (gr_regular_open(file->path, &fd, &info) == GRANARY_OK && info.st_size != file->file_bytes) {
        gr_fd_close(&fd);
    }
    return fd;
}

static int64_t
rows_wanted(const struct cuts *cuts)
{
    int64_t rows = 0;

    for (size_t g = cuts->first; g < cuts->end; g++) {
        for (size_t s = 0; s < cuts->wanted[g].count; s++) {
            rows += cuts->wanted[g].spans[s].to - cuts->wanted[g].spans[s].from;
        }
    }
    return rows;
}

/* Row groups that a condition may want after all, by their Bloom filters. *ret_out: so many are left out. */
static granary_err
want_by_blooms(struct tiling *t, size_t i, struct cuts *cuts, int fd, size_t *ret_out)
{
    const struct gr_expr *where = zone_only_condition(t, i);
    struct zone_test *test = NULL;
    granary_err err = where == NULL ? GRANARY_OK : zone_test_create(where, &cuts->step->type->schema, &test);

    for (size_t g = cuts->first; test != NULL && g < cuts->end; g++) {
        if (cuts->wanted[g].count > 0 && bloom_excludes(test, cuts, g, fd)) {
            cuts->wanted[g].count = 0;
            (*ret_out)++;
        }
    }
    zone_test_destroy(test);
    return err;
}

/* What is left out is told to people; and the step's rows are not to be recalled as all of it. */
static void
tell(struct tiling *t, size_t i, const struct cuts *cuts, const struct left_out *out)
{
    const char *name = cuts->step->origin->name;
    struct gr_buf *fired = t->steps->fired;

    if (out->skipped_groups + out->bloom_groups > 0 || out->skipped_rows > 0) {
        t->steps->steps[i].spare = t->steps->steps[i].wished = false;
    }
    if (cuts->file->of_many) { /* a line for each would be too many */
        t->left_out.groups += out->groups;
        t->left_out.skipped_groups += out->skipped_groups;
        t->left_out.bloom_groups += out->bloom_groups;
        t->left_out.rows += out->rows;
        t->left_out.skipped_rows += out->skipped_rows;
        return;
    }
    if (out->skipped_groups > 0 && fired != NULL) {
        gr_buf_addf(fired, "  zone-map: '%s' skips %zu of %zu row groups\n", name, out->skipped_groups, out->groups);
    }
    if (out->bloom_groups > 0 && fired != NULL) {
        gr_buf_addf(fired, "  bloom: '%s' skips %zu of %zu row groups\n", name, out->bloom_groups,
                    out->groups - out->skipped_groups);
    }
    if (out->skipped_rows > 0 && fired != NULL) {
        gr_buf_addf(fired, "  page-index: '%s' skips %lld of %lld rows\n", name, (long long)out->skipped_rows,
                    (long long)out->rows);
    }
}

granary_err
parquet_want(struct tiling *t, size_t i, struct cuts *cuts)
{
    bool *used = gr_region_zalloc(t->scratch, cuts->step->type->schema.count + 1, sizeof *used);
    struct left_out out = {.groups = cuts->end - cuts->first};
    size_t groups = 0;
    bool any = false;
    int fd = -1;
    granary_err err;

    cuts->wanted = gr_region_zalloc(t->scratch, cuts->group_count + 1, sizeof *cuts->wanted);
    if (used == NULL || cuts->wanted == NULL) {
        return tile_no_memory();
    }
    err = want_groups(t, i, cuts, &groups);
    out.skipped_groups = out.groups - groups;
    if (!cuts->file->is_recast) {
        zone_columns(t, i, &cuts->step->type->schema, used);
    }
    for (size_t c = 0; c < cuts->step->type->schema.count; c++) {
        any = any || used[c];
    }
    fd = err == GRANARY_OK && any ? open_again(cuts->file) : -1;
    if (fd >= 0) {
        err = want_by_blooms(t, i, cuts, fd, &out.bloom_groups);
    }
    out.rows = rows_wanted(cuts);
    for (size_t g = cuts->first; err == GRANARY_OK && fd >= 0 && g < cuts->end; g++) {
        if (cuts->wanted[g].count > 0) {
            err = want_pages(t, i, cuts, g, used, fd);
        }
    }
    gr_fd_close(&fd);
    if (err == GRANARY_OK) {
        out.skipped_rows = out.rows - rows_wanted(cuts);
        tell(t, i, cuts, &out);
    }
    return err;
}
