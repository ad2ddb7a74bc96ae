/* granary fsck: whether an instance fits together. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/look/look.h"
#include "cli/print/listing.h"

struct fsck {
    struct look look;
    bool verify;
    bool quiet; /* no notes */
    struct json json;
};

/* Nothing is printed before it is certain that there is a result. */
static void
begin_json(struct fsck *fsck)
{
    if (fsck->json.depth == 0) {
        json_open(&fsck->json, NULL, '{');
        json_open(&fsck->json, "findings", '[');
    }
}

static const char *const kinds[] = {[GRANARY_FINDING_DAMAGE] = "damage", [GRANARY_FINDING_NOTE] = "note"};

static void
write_id(const void *row, struct json *json)
{
    const granary_finding *finding = row;

    if (memcmp(&finding->id, &(granary_id){{0}}, sizeof finding->id) != 0) {
        json_id(json, "id", finding->id);
    }
}

static const struct column finding_columns[] = {{"kind", "", -6, COLUMN(granary_finding, kind), COLUMN_WORDS(kinds)},
                                                {"code", "", -16, COLUMN(granary_finding, code)},
                                                {"session", NULL, 0, COLUMN(granary_finding, session)},
                                                {"id", NULL, 0, .write = write_id},
                                                {"number", NULL, 0, COLUMN(granary_finding, number)},
                                                {"text", "", 0, COLUMN(granary_finding, text)},
                                                {0}};

static void
print_finding(void *context, const granary_finding *finding)
{
    struct fsck *fsck = context;

    if (fsck->look.cli->json) {
        begin_json(fsck);
        listing_object(&fsck->json, NULL, finding_columns, finding);
    } else if (finding->kind == GRANARY_FINDING_DAMAGE || !fsck->quiet) {
        listing_one(finding_columns, false, finding);
    }
}

static const struct column summary_columns[] = {
    {"sessions", NULL, 0, COLUMN(granary_check_summary, sessions)},
    {"index_pages", NULL, 0, COLUMN(granary_check_summary, pages)},
    {"objects", NULL, 0, COLUMN(granary_check_summary, objects)},
    {"segments", NULL, 0, COLUMN(granary_check_summary, segments)},
    {"clients", NULL, 0, COLUMN(granary_check_summary, clients)},
    {"holds", NULL, 0, COLUMN(granary_check_summary, holds)},
    {"leases", NULL, 0, COLUMN(granary_check_summary, leases)},
    {"tables", NULL, 0, COLUMN(granary_check_summary, tables)},
    {"spill_files", NULL, 0, COLUMN(granary_check_summary, spill_files)},
    {"spill_records", NULL, 0, COLUMN(granary_check_summary, spill_records)},
    {"verified_bytes", NULL, 0, COLUMN(granary_check_summary, verified_bytes)},
    {"damages", NULL, 0, COLUMN(granary_check_summary, damages)},
    {"notes", NULL, 0, COLUMN(granary_check_summary, notes)},
    {0}};

static void
print_summary(struct fsck *fsck, const granary_check_summary *summary)
{
    if (fsck->look.cli->json) {
        begin_json(fsck);
        json_close(&fsck->json); /* findings */
        listing_members(&fsck->json, summary_columns, summary);
        json_text(&fsck->json, "store", granary_store_life_name(fsck->look.info.life));
        json_close(&fsck->json);
        return;
    }
    (void)printf("%s: %" PRIu64 " object%s in %" PRIu64 " session%s, %" PRIu64 " segment%s, %" PRIu64
                 " spill file%s, %" PRIu64 " hold%s, %" PRIu64 " lease%s",
                 summary->damages == 0 ? "clean" : "DAMAGED", summary->objects, cli_plural(summary->objects),
                 summary->sessions, cli_plural(summary->sessions), summary->segments, cli_plural(summary->segments),
                 summary->spill_files, cli_plural(summary->spill_files), summary->holds, cli_plural(summary->holds),
                 summary->leases, cli_plural(summary->leases));
    if (summary->tables > 0) {
        (void)printf(", %" PRIu64 " table%s", summary->tables, cli_plural(summary->tables));
    }
    if (fsck->verify) {
        (void)printf(", %" PRIu64 " bytes verified", summary->verified_bytes);
    }
    (void)printf("; %" PRIu64 " damage%s, %" PRIu64 " note%s\n", summary->damages, cli_plural(summary->damages),
                 summary->notes, cli_plural(summary->notes));
}

/* The instance may be named as an argument, too. */
static int
choose_instance(struct cli *cli)
{
    if (cli->count > 0 && cli->instance != NULL) {
        return gr_fail(GRANARY_EINVAL, "two instances: '%s' and '%s'", cli->instance, cli->arguments[0]);
    }
    cli->instance = cli->count > 0 ? cli->arguments[0] : cli->instance;
    return 0;
}

static int
run_fsck(struct cli *cli)
{
    struct fsck *fsck = cli->self;
    granary_check_summary summary;
    granary_err err = granary_inspect_check(fsck->look.inspector, fsck->verify ? GRANARY_CHECK_VERIFY : 0,
                                            print_finding, fsck, &summary);

    if (err != GRANARY_OK) {
        return err;
    }
    print_summary(fsck, &summary);
    return summary.damages == 0 ? 0 : granary_error_exit_status(GRANARY_ECORRUPT);
}

static const struct gr_option fsck_options[] = {
    {"verify", 'v', NULL, "read all spill files, too, and compare every checksum", GR_OPTION_FLAG(struct fsck, verify)},
    {"quiet", 'q', NULL, "print no notes: they tell what a killed store may leave, and what the next one repairs",
     GR_OPTION_FLAG(struct fsck, quiet)},
    {0}};

const struct command command_fsck = {.options = fsck_options,
                                     .access = &look_access,
                                     COMMAND_ZERO(struct fsck),
                                     .prepare = choose_instance,
                                     .run = run_fsck};
