/*
 * content: the values of a table's rows at a time: those that were appended, with what was written over them since.
 */
#ifndef MUTABLE_CONTENT_H
#define MUTABLE_CONTENT_H

#include "data/frame.h"
#include "mutable/frame/runs.h"

/* Rows [from, to) of a run's chunk have values of a note, from its row `at` on. */
struct patch {
    size_t run;
    uint32_t from;
    uint32_t to;
    size_t note; /* of content.notes: the later one counts */
    int64_t at;
};

struct content_note {
    struct note_view view;
    granary_frame *frame;
};

struct content {
    const granary_mutable *table;
    struct runs runs;
    struct patch *patches; /* by run and note */
    size_t patch_count;
    size_t patch_room;
    struct content_note *notes;
    size_t note_count;
    size_t note_room;
};

/* Look at rows of a table, which is locked, that are later than a time, as they are at another one; content_close() follows
 * success. Errors: as runs_collect() */
granary_err content_open(const granary_mutable *table, int64_t after, int64_t time, struct content *ret_content);
void content_close(struct content *content);

/* Whether anything was written over rows of a run. */
bool content_is_patched(const struct content *content, size_t run);

/*
 * Runs [first, last), as a copy.
 *
 * ret_frame  to be closed with granary_frame_close()
 * Errors     ECORRUPT a chunk is gone, or is none of the table's · as granary_object_get() · ENOMEM
 */
granary_err content_frame(const struct content *content, size_t first, size_t last, granary_frame **ret_frame);

#endif
