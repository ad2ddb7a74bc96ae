/* The run is a client of its own store before the others begin and after they have ended, never meanwhile. */
#include "torture/tables/stage.h"

#include <stdlib.h>

#include "granary/graph.h"
#include "torture/common/client.h"
#include "torture/tables/reader.h"
#include "torture/tables/row.h"
#include "torture/tables/verdict.h"
#include "torture/tables/writer.h"

#define PRELOAD 1000u /* rows at the fixed time */

static granary_client *
stage_connect(const struct journal *journal)
{
    granary_client *client = NULL;
    granary_err err = client_connect(journal->board->instance, CLIENT_PATIENCE_MS, &client);

    if (err != GRANARY_OK) {
        board_failed(journal->board, err, "connect");
    }
    return client;
}

bool
stage_set(const struct journal *journal)
{
    struct board *board = journal->board;
    granary_client *client = stage_connect(journal);
    granary_err err = client == NULL ? GRANARY_EUNREACHABLE : GRANARY_OK;

    board->fixed = INT64_MIN;
    for (uint32_t i = 0; err == GRANARY_OK && i < JOURNAL_TABLES; i++) {
        granary_mutable *table = NULL;

        err = granary_mutable_create_frame(client, journal_table(i), row_schema, ROW_COLUMNS, NULL, &table);
        if (err != GRANARY_OK) {
            board_failed(board, err, "create");
        } else if (i == 0) {
            board->fixed = writer_preload(journal, table, PRELOAD);
        }
        granary_mutable_close(table);
    }
    granary_disconnect(client);
    return err == GRANARY_OK && board->fixed != INT64_MIN;
}

/* Snapshots of readers that were killed before they deleted them. */
static void
delete_snapshots(granary_client *client)
{
    granary_object_info *infos = NULL;
    size_t count = 0;

    if (granary_object_list(client, &infos, &count) != GRANARY_OK) {
        return; /* what is left is found */
    }
    for (size_t i = 0; i < count; i++) {
        granary_id *parts = NULL;
        size_t part_count;

        if (granary_sealed_parts(client, infos[i].id, &parts, &part_count) == GRANARY_OK) {
            free(parts);
            (void)granary_object_delete(client, infos[i].id, 0);
        }
    }
    free(infos);
}

static bool
delete_all(const struct journal *journal, granary_client *client, bool alone)
{
    uint64_t graphs = 0;
    granary_err forgotten = granary_graph_delete_all(client, "default", &graphs); /* of a grouper that was killed */

    if (forgotten != GRANARY_OK) {
        board_failed(journal->board, forgotten, "delete graphs");
    }
    for (uint32_t i = 0; i < JOURNAL_TABLES; i++) {
        granary_err err = granary_mutable_delete(client, journal_table(i));

        if (err != GRANARY_OK) {
            board_failed(journal->board, err, "delete");
        }
    }
    delete_snapshots(client);
    return !alone || client_await_empty(client);
}

bool
stage_judge(const struct journal *journal, uint64_t seed, bool alone)
{
    granary_client *client = stage_connect(journal);
    bool right = false;

    if (client != NULL) {
        (void)reader_look_back(journal, client, seed);
        right = verdict_of(journal, stderr) == 0;
        right = delete_all(journal, client, alone) && right;
    }
    granary_disconnect(client);
    return right;
}
