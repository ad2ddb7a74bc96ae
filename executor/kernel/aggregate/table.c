/* The end of a table of groups: what it owns is given back, what lies in bytes that were read is not. */
#include "kernel/aggregate/table.h"
#include "contract/int128.h"

#include <stdlib.h>
#include <string.h>

static void
group_part_fini(struct group_part *part)
{
    for (size_t i = 0; part->more != NULL && i < part->other_count; i++) {
        exact_sum_fini(&part->more[i]);
    }
    if (!part->borrowed) {
        free(part->counts);
        free(part->ints);
        free(part->starts);
    }
    free(part->others);
    free(part->more);
    gr_column_free(&part->values);
    *part = (struct group_part){0};
}

void
group_table_fini(struct group_table *table)
{
    for (size_t p = 0; table->parts != NULL && p < table->part_count; p++) {
        group_part_fini(&table->parts[p]);
    }
    free(table->parts);
    gr_frame_destroy(table->keys);
    for (size_t i = 0; i < table->file_count; i++) {
        gr_frame_destroy(table->files[i]);
    }
    free(table->files);
    *table = (struct group_table){0};
}
