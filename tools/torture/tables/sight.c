/* Rows are counted by their writer's life. Those of one append must follow each other within it, from first to last. */
#include "torture/tables/sight.h"

#include <stdlib.h>

#include "torture/tables/row.h"

/* How far a life has come. */
struct progress {
    uint32_t place;  /* of its sight, and 1; 0: none of its rows was seen */
    uint32_t next;   /* row of the append that is to follow; 0: another append */
    uint64_t number; /* of the append */
    uint32_t rows;
};

struct eye {
    struct sighting sighting;
    struct sight sights[SIGHT_LIVES];
    struct progress progress[SIGHT_LIVES];
};

struct eye *
eye_open(void)
{
    struct eye *eye = calloc(1, sizeof *eye);

    if (eye != NULL) {
        eye->sighting.sights = eye->sights;
    }
    return eye;
}

void
eye_close(struct eye *eye)
{
    free(eye);
}

static void
note_flaw(struct eye *eye, enum flaw flaw, uint32_t life, uint64_t number)
{
    if (eye->sighting.flaw == FLAW_NONE) {
        eye->sighting.flaw = flaw;
        eye->sighting.flaw_life = life;
        eye->sighting.flaw_number = number;
    }
}

static void
take_row(struct eye *eye, const struct origin *origin, uint32_t index)
{
    struct progress *progress = &eye->progress[origin->life];
    bool first = progress->place == 0;

    if (first) {
        progress->place = ++eye->sighting.count;
        eye->sights[progress->place - 1] = (struct sight){.life = origin->life};
    }
    if (index != progress->next ||
        (index > 0 && (origin->number != progress->number || origin->rows != progress->rows))) {
        note_flaw(eye, FLAW_HALF, origin->life, index > 0 ? origin->number : progress->number);
    }
    if (index == 0 && !first && origin->number <= progress->number) {
        note_flaw(eye, FLAW_ORDER, origin->life, origin->number);
    }
    progress->number = origin->number;
    progress->rows = origin->rows;
    progress->next = index + 1 == origin->rows ? 0 : index + 1;
    eye->sights[progress->place - 1].appends += index == 0;
    eye->sights[progress->place - 1].sum += row_check(origin, index);
}

/* The frame has ended: so must have every append. And nothing is known of the next frame. */
static void
forget_progress(struct eye *eye)
{
    for (uint32_t i = 0; i < eye->sighting.count; i++) {
        struct progress *progress = &eye->progress[eye->sights[i].life];

        if (progress->next != 0) {
            note_flaw(eye, FLAW_HALF, eye->sights[i].life, progress->number);
        }
        *progress = (struct progress){0};
    }
}

const struct sighting *
eye_look(struct eye *eye, const granary_frame *frame, uint32_t table)
{
    const granary_column *columns[ROW_COLUMNS];

    eye->sighting.count = 0;
    eye->sighting.flaw = FLAW_NONE;
    if (!row_columns(frame, columns)) {
        note_flaw(eye, FLAW_COLUMNS, 0, 0);
        return &eye->sighting;
    }
    for (int64_t at = 0; at < granary_frame_rows(frame); at++) {
        struct origin origin;
        uint32_t index;

        if (row_read(columns, table, at, &origin, &index) && origin.life < SIGHT_LIVES) {
            take_row(eye, &origin, index);
        } else {
            note_flaw(eye, FLAW_ROW, origin.life, origin.number);
        }
    }
    forget_progress(eye);
    return &eye->sighting;
}
