/* A writer, a reader and a grouper of torture/tables; all they noted is judged by the verdict there. */
#include <stdlib.h>

#include "torture/tables/grouper.h"
#include "torture/tables/journal.h"
#include "torture/tables/reader.h"
#include "torture/tables/stage.h"
#include "torture/tables/writer.h"
#include "torture/work/work.h"

#define ROUND_ROWS 100000u
#define PACE_NS    4000000u /* between two appends: memory is for others, too */

enum { WRITER, READER, GROUPER };

static bool
create(struct work *work)
{
    struct journal *journal = calloc(1, sizeof *journal);

    work->own = journal;
    if (journal == NULL || !journal_create(journal, work->site->directory, work->site->instance, 1, 2, ROUND_ROWS)) {
        return false;
    }
    journal->pace_ns = PACE_NS;
    journal->board->outages = true; /* until somebody says `granary up` */
    return true;
}

static void
destroy(struct work *work)
{
    if (work->own != NULL) {
        journal_destroy(work->own);
        free(work->own);
    }
}

static bool
set(struct work *work, granary_client *client)
{
    (void)client;
    journal_clear(work->own);
    return stage_set(work->own);
}

static void
run(struct work *work, granary_client *client, unsigned number, uint64_t seed)
{
    const struct journal *journal = work->own;

    (void)client;
    switch (number) {
    case WRITER:
        writer_run(journal, 0, seed);
        break;
    case READER:
        reader_run(journal, 0, seed);
        break;
    default:
        grouper_run(journal, 1, seed);
        break;
    }
}

static void
stop(struct work *work)
{
    atomic_store(&((struct journal *)work->own)->board->stop, true);
}

static size_t
judge(struct work *work, granary_client *client, FILE *out)
{
    struct journal *journal = work->own;
    const struct read *read = NULL;
    uint64_t failed, away;
    bool right;

    (void)client;
    (void)out;
    atomic_fetch_add(&work->board->done, atomic_load(&journal->hands[0]->count));
    for (unsigned i = 0; i < journal->readers; i++) {
        for (read = NULL; (read = diary_next(journal->diaries[i], read)) != NULL;) {
            atomic_fetch_add(&work->board->special, 1);
        }
    }
    right = stage_judge(journal, work->pack.seed, false);
    failed = atomic_load(&journal->board->failed);
    away = atomic_load(&journal->board->away);
    atomic_fetch_add(&work->board->failed, failed - journal->failed_told);
    atomic_fetch_add(&work->board->undone, away - journal->away_told);
    journal->failed_told = failed;
    journal->away_told = away;
    return !right;
}

const struct work_kind work_tables = {.special = "reads",
                                      .create = create,
                                      .destroy = destroy,
                                      .set = set,
                                      .stop = stop,
                                      .run = run,
                                      .judge = judge,
                                      .by_itself = true};
