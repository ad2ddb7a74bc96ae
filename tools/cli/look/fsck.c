/* granary fsck, snapshot: whether an instance fits together, and a copy of one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/look/look.h"
#include "cli/print/json.h"
#include "cli/print/show.h"

/* ---- snapshot ---- */

int
command_snapshot(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {
        .usage = "DIR",
        .doc = "Copy an instance's shared memory and spill files into a new directory, for fsck and "
               "every other command with --copy. A copy of one moment needs a store that is stopped or dead.",
        .least = 1,
        .most = 1};
    struct look look = {.cli = cli};
    int first = look_arguments(&arguments, NULL, &look, argc, argv);
    granary_err err;
    int status;

    status = look_open(&look);
    if (status != 0) {
        return status;
    }
    err = granary_inspect_snapshot(look.inspector, argv[first]);
    if (err != GRANARY_OK) {
        status = cli_fail(err, "snapshot");
    }
    look_close(&look);
    return status;
}

/* ---- fsck ---- */

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

static void
print_finding(void *context, const granary_finding *finding)
{
    struct fsck *fsck = context;
    const char *kind = finding->kind == GRANARY_FINDING_DAMAGE ? "damage" : "note";
    char text[SHOW_TEXT];

    if (fsck->look.cli->json) {
        begin_json(fsck);
        json_open(&fsck->json, NULL, '{');
        json_text(&fsck->json, "kind", kind);
        json_text(&fsck->json, "code", finding->code);
        json_unsigned(&fsck->json, "session", finding->session);
        if (memcmp(&finding->id, &(granary_id){{0}}, sizeof finding->id) != 0) {
            json_id(&fsck->json, "id", finding->id);
        }
        json_unsigned(&fsck->json, "number", finding->number);
        json_text(&fsck->json, "text", finding->text);
        json_close(&fsck->json);
    } else if (finding->kind == GRANARY_FINDING_DAMAGE || !fsck->quiet) {
        (void)printf("%-6s  %-16s  %s\n", kind, finding->code, show_text(finding->text, text));
    }
}

static void
print_summary(struct fsck *fsck, const granary_check_summary *summary)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"sessions", summary->sessions},
                {"index_pages", summary->pages},
                {"objects", summary->objects},
                {"segments", summary->segments},
                {"clients", summary->clients},
                {"holds", summary->holds},
                {"leases", summary->leases},
                {"spill_files", summary->spill_files},
                {"spill_records", summary->spill_records},
                {"verified_bytes", summary->verified_bytes},
                {"damages", summary->damages},
                {"notes", summary->notes}};

    if (fsck->look.cli->json) {
        begin_json(fsck);
        json_close(&fsck->json); /* findings */
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            json_unsigned(&fsck->json, rows[i].name, rows[i].value);
        }
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
    if (fsck->verify) {
        (void)printf(", %" PRIu64 " bytes verified", summary->verified_bytes);
    }
    (void)printf("; %" PRIu64 " damage%s, %" PRIu64 " note%s\n", summary->damages, cli_plural(summary->damages),
                 summary->notes, cli_plural(summary->notes));
}

int
command_fsck(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"verify", 'v', NULL, "also read all spill files and compare every checksum",
         GR_OPTION_FLAG(struct fsck, verify)},
        {"quiet", 'q', NULL, "no notes: what a store that died may leave, and the next one puts right",
         GR_OPTION_FLAG(struct fsck, quiet)},
        {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "[INSTANCE]",
        .doc =
            "Check that objects, index, segments, ledger, account and spill files of an instance fit together, whether "
            "its store serves, is stopped, or is dead. Nothing is changed. Exit status 8 when something is damaged.",
        .most = 1};
    struct fsck fsck = {.look = {.cli = cli}};
    int first = look_arguments(&arguments, &fsck, &fsck.look, argc, argv);
    granary_check_summary summary;
    granary_err err;
    int status;

    if (first < argc && cli->instance != NULL) {
        return cli_fail(gr_fail(GRANARY_EINVAL, "two instances: '%s' and '%s'", cli->instance, argv[first]), "fsck");
    }
    cli->instance = first < argc ? argv[first] : cli->instance;
    status = look_open(&fsck.look);
    if (status != 0) {
        return status;
    }
    err = granary_inspect_check(fsck.look.inspector, fsck.verify ? GRANARY_CHECK_VERIFY : 0, print_finding, &fsck,
                                &summary);
    if (err != GRANARY_OK) {
        status = cli_fail(err, "fsck");
    } else {
        print_summary(&fsck, &summary);
        status = summary.damages == 0 ? 0 : granary_error_exit_status(GRANARY_ECORRUPT);
    }
    look_close(&fsck.look);
    return status;
}
