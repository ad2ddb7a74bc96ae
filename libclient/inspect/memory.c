/* Data segments: what the root says, what lies in /dev/shm, and which objects lie in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "inspect/inspector.h"

struct tally {
    granary_segment_info *infos; /* in order of numbers */
    size_t count;
};

static int
by_number(const void *left, const void *right)
{
    const granary_segment_info *a = left;
    const granary_segment_info *b = right;

    return a->number < b->number ? -1 : a->number > b->number;
}

static granary_err
tally_slot(void *context, const struct slot_copy *slot)
{
    struct tally *tally = context;
    granary_segment_info key = {.number = (uint32_t)(slot->where_meta >> 32)};
    enum gr_slot_state state = GR_WORD_STATE(slot->word);
    granary_segment_info *info;
    uint64_t bytes;

    if ((state == GR_SLOT_SEALED || state == GR_SLOT_RETIRING || state == GR_SLOT_DELETING) &&
        slot_footprint(slot, &bytes)) {
        info = bsearch(&key, tally->infos, tally->count, sizeof key, by_number);
        if (info != NULL) {
            info->objects++;
            info->object_bytes += bytes;
        }
    }
    return GRANARY_OK;
}

static granary_err
add_files(const granary_inspector *inspector, struct tally *tally)
{
    struct file_entry *entries;
    size_t count;
    granary_err err = files_list(inspector, &entries, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        granary_segment_info key = {.number = entries[i].number};
        granary_segment_info *info = bsearch(&key, tally->infos, tally->count, sizeof key, by_number);

        if (info != NULL && strcmp(entries[i].kind, "data") == 0 && entries[i].session == info->session) {
            info->file_bytes = entries[i].size;
            info->resident_bytes = entries[i].resident;
        }
    }
    free(entries);
    return GRANARY_OK;
}

granary_err
granary_inspect_segments_sized(granary_inspector *inspector, granary_segment_info **ret_infos, size_t *ret_count,
                               size_t info_size)
{
    struct segment_copy *segments;
    struct tally tally = {.infos = NULL};
    uint32_t *sessions = NULL;
    size_t session_count = 0;
    size_t segment_count;
    granary_err err = root_segments(inspector, &segments, &segment_count);

    if (err != GRANARY_OK) {
        return err;
    }
    tally.infos = calloc(segment_count + 1, sizeof *tally.infos);
    if (tally.infos == NULL) {
        free(segments);
        return gr_fail(GRANARY_ENOMEM, "no memory to list segments");
    }
    for (size_t i = 0; i < segment_count; i++) {
        const struct segment_copy *segment = &segments[i];

        if (segment->state <= GR_SEGMENT_IDLE) {
            tally.infos[tally.count++] = (granary_segment_info){.number = segment->number,
                                                                .session = segment->session,
                                                                .state = (granary_segment_state)segment->state,
                                                                .writer = segment->writer,
                                                                .size_bytes = segment->size,
                                                                .sealed_bytes = segment->sealed_total,
                                                                .node = segment->node,
                                                                .huge = (segment->flags & GR_SEGMENT_HUGE) != 0,
                                                                .spoiled = (segment->flags & GR_SEGMENT_SPOILED) != 0,
                                                                .since_ms = segment->since_ms};
        }
    }
    free(segments);
    qsort(tally.infos, tally.count, sizeof *tally.infos, by_number);
    err = add_files(inspector, &tally);
    if (err == GRANARY_OK) {
        err = sessions_list(inspector, &sessions, &session_count);
    }
    for (size_t i = 0; i < session_count; i++) {
        /* What a damaged session holds is left out. */
        (void)index_walk(inspector, sessions[i], tally_slot, &tally);
    }
    free(sessions);
    return gr_sized_give_list(err, tally.infos, sizeof *tally.infos, tally.count, ret_infos, info_size, ret_count);
}
