/* granary ls, stat: objects and the account, from shared memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/order.h"
#include "cli/look/failure.h"
#include "cli/look/named.h"
#include "cli/print/listing.h"
#include "cli/print/show.h"

#define PAGE 4096 /* objects asked for at once */

/* ---- objects as rows ---- */

/* What objects are shown with. */
struct shelf {
    struct look look;
    struct named named;
    struct failures failures;
};

/* An instance that is damaged has still objects to be listed. */
static void
read_names(struct shelf *shelf)
{
    if (named_read(&shelf->look, &shelf->named) != GRANARY_OK) {
        cli_note("names are left out: %s", granary_error_message());
    }
}

static void
shelf_end(struct cli *cli)
{
    struct shelf *shelf = cli->self;

    named_fini(&shelf->named);
    failures_close(&shelf->failures);
}

struct row {
    granary_object_info info;
    struct shelf *shelf;
    bool failed; /* it is an error: */
    granary_err err;
    char message[SHOW_TEXT];
};

static struct row *
row_of(struct shelf *shelf, const granary_object_info *info, struct row *row)
{
    *row = (struct row){.info = *info, .shelf = shelf};
    row->failed = failures_read(&shelf->failures, &shelf->look, info, &row->err, row->message);
    return row;
}

static const char *
row_names(const void *self, char buffer[SHOW_TEXT])
{
    const struct row *row = self;

    return named_text(&row->shelf->named, row->info.id, buffer);
}

static void
write_names(const void *self, struct json *json)
{
    const struct row *row = self;

    named_json(&row->shelf->named, row->info.id, json);
}

static const char *
row_state(const void *self, char buffer[SHOW_TEXT])
{
    (void)buffer;
    return show_state(((const struct row *)self)->info.state);
}

static const char *
row_levels(const void *self, char buffer[SHOW_TEXT])
{
    return granary_levels_format(((const struct row *)self)->info.levels, buffer, SHOW_TEXT);
}

/* Where it lies. */
static void
write_place(const void *self, struct json *json)
{
    const granary_object_info *info = &((const struct row *)self)->info;

    if (info->state == GRANARY_OBJECT_ALIAS) {
        json_id(json, "target", info->target);
    } else {
        json_unsigned(json, info->state == GRANARY_OBJECT_SPILLED ? "spill_file" : "segment", info->segment);
        json_unsigned(json, "offset", info->offset);
    }
}

static void
write_error(const void *self, struct json *json)
{
    const struct row *row = self;

    if (row->failed) {
        json_text(json, "error", granary_error_name(row->err));
        json_text(json, "message", row->message);
    }
}

/* The moment, the names and the error, which are all that a line ends with. */
static const char *
row_rest(const void *self, char buffer[SHOW_TEXT])
{
    const struct row *row = self;
    char names[SHOW_TEXT];
    char shown[SHOW_TEXT];
    char time[32];

    (void)row_names(row, names);
    (void)snprintf(buffer, SHOW_TEXT, "%s%s%s%s%s%s%s", show_time(row->info.sealed_at_ms, time),
                   names[0] == '\0' ? "" : "  ", names, row->failed ? "  " : "",
                   row->failed ? granary_error_name(row->err) : "", row->failed ? ": " : "",
                   row->failed ? show_text(row->message, shown) : "");
    return buffer;
}

static const struct column object_columns[] = {{"id", "id", -32, COLUMN(struct row, info.id)},
                                               {"names", NULL, 0, .write = write_names},
                                               {"state", NULL, 0, .show = row_state},
                                               {"data_bytes", "bytes", 12, COLUMN(struct row, info.data_size)},
                                               {NULL, "where", -8, .show = row_state},
                                               {"meta_bytes", NULL, 0, COLUMN(struct row, info.meta_size)},
                                               {"pins", "pins", 4, COLUMN(struct row, info.pins)},
                                               {"on_disk", NULL, 0, COLUMN(struct row, info.on_disk)},
                                               {"numa_node", NULL, 0, COLUMN(struct row, info.numa_node)},
                                               {"sealed_at_ms", NULL, 0, COLUMN(struct row, info.sealed_at_ms)},
                                               {"levels", NULL, 0, .show = row_levels},
                                               {"importance", NULL, 0, COLUMN(struct row, info.importance)},
                                               {"next_use", NULL, 0, COLUMN(struct row, info.next_use)},
                                               {"persistent", NULL, 0, COLUMN(struct row, info.persistent)},
                                               {"counted", NULL, 0, COLUMN(struct row, info.counted)},
                                               {"dropped", NULL, 0, COLUMN(struct row, info.dropped)},
                                               {"damaged", NULL, 0, COLUMN(struct row, info.damaged)},
                                               {"serial", NULL, 0, COLUMN(struct row, info.serial)},
                                               {"offset", NULL, 0, .write = write_place},
                                               {"error", NULL, 0, .write = write_error},
                                               {NULL, "sealed               names", 0, .show = row_rest},
                                               {0}};

/* All of one, a line a fact. */
static void
print_object(const struct row *row)
{
    const granary_object_info *info = &row->info;
    char shown[SHOW_TEXT];
    char text[GRANARY_ID_TEXT + 1];
    char levels[64];
    char time[32];

    granary_id_format(info->id, text);
    (void)printf("id        %s\n", text);
    if (row_names(row, shown)[0] != '\0') {
        (void)printf("names     %s\n", shown);
    }
    (void)printf("where     %s\n", show_state(info->state));
    if (info->state == GRANARY_OBJECT_ALIAS) {
        granary_id_format(info->target, text);
        (void)printf("target    %s\n", text);
        return;
    }
    (void)printf("data      %" PRIu64 " bytes\nmetadata  %" PRIu64 " bytes\npins      %u\non disk   %s\nnode      %d\n"
                 "sealed    %s\nlevels    %s\n%-9s %u, byte %" PRIu64 "\n",
                 info->data_size, info->meta_size, info->pins, info->on_disk ? "yes" : "no", info->numa_node,
                 show_time(info->sealed_at_ms, time), granary_levels_format(info->levels, levels, sizeof levels),
                 info->state == GRANARY_OBJECT_SPILLED ? "file" : "segment", info->segment, info->offset);
    if (info->importance != 0 || info->next_use != 0) {
        (void)printf("weight    importance %d, next use %d\n", info->importance, info->next_use);
    }
    if (info->persistent || info->counted || info->dropped || info->damaged) {
        (void)printf("flags    %s%s%s%s\n", info->persistent ? " persistent" : "", info->counted ? " counted" : "",
                     info->dropped ? " dropped" : "", info->damaged ? " damaged" : "");
    }
    if (row->failed) {
        (void)printf("error     %s: %s\n", granary_error_name(row->err), show_text(row->message, shown));
    }
}

/* ---- ls ---- */

struct ls {
    struct shelf shelf;
    granary_object_filter filter;
    granary_object_info *infos;
    size_t count;
    size_t room;
    uint64_t limit; /* 0: all, oldest first */
    uint64_t cursor;
};

static unsigned
state_bit(const char *name)
{
    for (int state = GRANARY_OBJECT_SEALED; state <= GRANARY_OBJECT_ALIAS; state++) {
        if (strcmp(name, show_state((granary_object_state)state)) == 0) {
            return 1u << state;
        }
    }
    return 0;
}

static granary_err
take_state(void *target, char *text)
{
    unsigned bit = state_bit(text);

    ((struct ls *)target)->filter.states |= bit;
    return bit != 0 ? GRANARY_OK : gr_fail(GRANARY_EINVAL, "'%s' is none of memory, disk, deleting, alias", text);
}

static granary_err
take_level(void *target, char *text)
{
    granary_levels levels = 0;
    granary_err err = granary_levels_parse(text, &levels);

    ((struct ls *)target)->filter.levels |= levels;
    return err;
}

static granary_err
collect(struct ls *ls)
{
    granary_err err;

    do {
        uint64_t left = ls->limit == 0 ? PAGE : ls->limit - ls->count;
        size_t count = 0;

        if (ls->count + PAGE > ls->room) {
            size_t room = ls->room == 0 ? PAGE : ls->room * 2;
            granary_object_info *more = realloc(ls->infos, room * sizeof *more);

            if (more == NULL) {
                return gr_fail(GRANARY_ENOMEM, "list of %zu objects: out of memory", room);
            }
            ls->infos = more;
            ls->room = room;
            gr_order_expect(more, room * sizeof *more);
        }
        left = left < PAGE ? left : PAGE;
        err = ls->shelf.look.client != NULL
                  ? granary_object_list_page(ls->shelf.look.client, &ls->filter, &ls->cursor, (size_t)left,
                                             ls->infos + ls->count, &count)
                  : granary_inspect_objects(ls->shelf.look.inspector, ls->shelf.look.session, &ls->filter, &ls->cursor,
                                            (size_t)left, ls->infos + ls->count, &count);
        ls->count += err == GRANARY_OK ? count : 0;
    } while (err == GRANARY_OK && ls->cursor != 0 && (ls->limit == 0 || ls->count < ls->limit));
    return err;
}

/* Oldest first, and by id within a millisecond; as they came when only some were asked for. */
static granary_err
order_list(const struct ls *ls, struct gr_ordered **ret_list)
{
    struct gr_ordered *list = malloc((ls->count + 1) * sizeof *list);
    bool good = list != NULL;

    for (size_t i = 0; i < ls->count && good; i++) {
        const granary_object_info *info = &ls->infos[i];
        uint64_t words[2];

        gr_id_words(info->id, words);
        list[i] = (struct gr_ordered){
            .keys = {(uint64_t)info->sealed_at_ms, gr_order_of_bytes(words[0]), gr_order_of_bytes(words[1])},
            .item = info};
    }
    good = good && (ls->limit != 0 || gr_order(list, ls->count));
    *ret_list = list;
    return good ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "list of %zu objects: out of memory", ls->count);
}

/* The same object; its state may have changed between two looks. */
static bool
is_same(const granary_object_info *a, const granary_object_info *b)
{
    return a->serial == b->serial && gr_id_equal(a->id, b->id);
}

static void
print_list(struct ls *ls, const struct gr_ordered *list)
{
    struct listing listing;
    struct row row;

    listing_begin(&listing, object_columns, ls->shelf.look.cli->json);
    for (size_t i = 0; i < ls->count; i++) {
        if (i == 0 || !is_same(list[i].item, list[i - 1].item)) { /* a page may be split while it is read */
            listing_row(&listing, row_of(&ls->shelf, list[i].item, &row));
        }
    }
    listing_end(&listing);
}

static int
run_ls(struct cli *cli)
{
    struct ls *ls = cli->self;
    struct gr_ordered *list = NULL;
    bool there = false;
    granary_err err = GRANARY_OK;
    int status = look_session(&ls->shelf.look, &there);

    if (status != 0) {
        return status;
    }
    ls->filter.prefix = cli->count > 0 ? cli->arguments[0] : NULL;
    if (there) {
        read_names(&ls->shelf);
        err = collect(ls);
    }
    if (err == GRANARY_OK) {
        err = order_list(ls, &list);
    }
    if (err == GRANARY_OK) {
        print_list(ls, list);
        if (ls->cursor != 0) {
            (void)fprintf(stderr, "granary: ls: there may be more: --cursor %" PRIu64 "\n", ls->cursor);
        }
    }
    free(list);
    return err;
}

static void
ls_end(struct cli *cli)
{
    free(((struct ls *)cli->self)->infos);
    shelf_end(cli);
}

static const struct gr_option ls_options[] = {
    {"state", 0, "STATE",
     "list only objects in this state: memory, disk, deleting or alias; may be given several times",
     GR_OPTION_TAKE(take_state)},
    {"level", 0, "LEVELS", "list only objects with a copy at one of these levels", GR_OPTION_TAKE(take_level)},
    {"least", 0, "SIZE", "list only objects of this size or more", GR_OPTION_SIZE(struct ls, filter.least_size, 0)},
    {"most", 0, "SIZE", "list only objects of this size or less", GR_OPTION_SIZE(struct ls, filter.most_size, 0)},
    {"pinned", 0, NULL, "list only pinned objects", GR_OPTION_FLAG(struct ls, filter.pinned)},
    {"owner", 0, "TEXT", "list only objects that this owner refers to", GR_OPTION_TEXT(struct ls, filter.owner)},
    {"limit", 0, "N", "list at most N objects, in no order; the cursor for the next ones is printed on stderr",
     GR_OPTION_NUMBER(struct ls, limit, 0, UINT64_MAX)},
    {"cursor", 0, "CURSOR", "continue where a listing with --limit ended",
     GR_OPTION_NUMBER(struct ls, cursor, 0, UINT64_MAX)},
    {0}};

const struct command command_ls = {
    .options = ls_options, .access = &look_access_or_join, COMMAND_ZERO(struct ls), .run = run_ls, .end = ls_end};

/* ---- stat ---- */

struct stat {
    struct shelf shelf;
    bool nodes;
};

static void
print_account(const struct look *look, const granary_store_stat *stat)
{
    enum { TIMES, NUMBER, BYTES };
    const struct {
        const char *name;
        uint64_t value;
        bool bytes;
        int shown; /* so much of the name, to people: a size behind it tells the unit */
    } rows[] = {
#define ACCOUNT(name, member, unit, part, summary)                                                                     \
    {#member, stat->member, (unit) == BYTES, (int)(sizeof #member - ((unit) == BYTES ? sizeof "_bytes" : 1))},
#include "contract/account.def"
#undef ACCOUNT
#define COUNTER(name, unit, summary) {#name, stat->name, (unit) == BYTES, (int)sizeof #name - 1},
#include "contract/counters.def"
#undef COUNTER
    };
    struct json json = {0};
    char name[64];
    char size[32];

    if (look->cli->json) {
        json_open(&json, NULL, '{');
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (look->cli->json) {
            bool says_so = strstr(rows[i].name, "bytes") != NULL; /* the unit is in the name */

            (void)snprintf(name, sizeof name, "%s%s", rows[i].name, rows[i].bytes && !says_so ? "_bytes" : "");
            json_unsigned(&json, name, rows[i].value);
        } else if (rows[i].bytes) {
            (void)printf("%-16.*s %20" PRIu64 "  %s\n", rows[i].shown, rows[i].name, rows[i].value,
                         cli_format_size(rows[i].value, size));
        } else {
            (void)printf("%-16s %20" PRIu64 "\n", rows[i].name, rows[i].value);
        }
    }
    if (look->cli->json && look->client == NULL) { /* a client is told neither */
        json_text(&json, "store", granary_store_life_name(look->info.life));
        json_unsigned(&json, "epoch", look->info.epoch);
    }
    if (look->cli->json) {
        json_close(&json);
    }
}

/* What lies on a NUMA node. */
struct node {
    unsigned number;
    uint64_t segments;
    uint64_t size;
    uint64_t resident;
    uint64_t objects;
    uint64_t object_bytes;
    uint64_t huge; /* segments */
};

#define NODES 256

static const struct column node_columns[] = {{"node", "node", 4, COLUMN(struct node, number)},
                                             {"segments", "segments", 8, COLUMN(struct node, segments)},
                                             {"size_bytes", "bytes", 16, COLUMN(struct node, size)},
                                             {"resident_bytes", "resident", 16, COLUMN(struct node, resident)},
                                             {"objects", "objects", 10, COLUMN(struct node, objects)},
                                             {"object_bytes", "live", 16, COLUMN(struct node, object_bytes)},
                                             {"huge_segments", "huge", 6, COLUMN(struct node, huge)},
                                             {0}};

static void
print_nodes(const struct look *look, struct node nodes[NODES])
{
    struct listing listing;

    listing_begin(&listing, node_columns, look->cli->json);
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].number = i;
        if (nodes[i].segments > 0) {
            listing_row(&listing, &nodes[i]);
        }
    }
    listing_end(&listing);
}

static int
stat_nodes(struct look *look)
{
    struct node nodes[NODES] = {{0}};
    granary_segment_info *segments = NULL;
    size_t count = 0;
    granary_err err = granary_inspect_segments(look->inspector, &segments, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        struct node *node = &nodes[segments[i].node < NODES ? segments[i].node : NODES - 1];

        node->segments++;
        node->size += segments[i].size_bytes;
        node->resident += segments[i].resident_bytes;
        node->objects += segments[i].objects;
        node->object_bytes += segments[i].object_bytes;
        node->huge += segments[i].huge;
    }
    free(segments);
    print_nodes(look, nodes);
    return 0;
}

/* Before there is a session, nothing is used and nothing was counted. */
static int
stat_account(struct look *look)
{
    granary_store_stat stat = {.capacity_bytes = look->info.capacity_bytes, .free_bytes = look->info.capacity_bytes};
    granary_err err = GRANARY_OK;
    bool there;
    int status = look_session(look, &there);

    if (status == 0 && there) {
        err = look->client != NULL ? granary_store_stat_get(look->client, &stat)
                                   : granary_inspect_stat(look->inspector, look->session, &stat);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (status == 0) {
        print_account(look, &stat);
    }
    return status;
}

static int
stat_object(struct shelf *shelf, const char *text)
{
    struct look *look = &shelf->look;
    granary_object_info info;
    struct row row;
    granary_id id;
    granary_err err;
    int status = look_find(look, text, &id);

    if (status != 0) {
        return status;
    }
    err = look->client != NULL ? granary_object_info_get(look->client, id, &info)
                               : granary_inspect_object(look->inspector, look->session, id, &info);
    if (err != GRANARY_OK) {
        return cli_fail_plain(err);
    }
    read_names(shelf);
    (void)row_of(shelf, &info, &row);
    if (look->cli->json) {
        listing_one(object_columns, true, &row);
    } else {
        print_object(&row);
    }
    return 0;
}

static int
open_stat(struct cli *cli)
{
    bool nodes = ((struct stat *)cli->self)->nodes;

    if (nodes && cli->count > 0) {
        return cli_fail(
            gr_fail(GRANARY_EINVAL, "--nodes tells of the whole instance: leave out '%s'", cli->arguments[0]), "stat");
    }
    return nodes ? look_access.open(cli) : look_access_or_join.open(cli);
}

static void
close_stat(struct cli *cli)
{
    look_access.close(cli);
}

static int
run_stat(struct cli *cli)
{
    struct stat *stat = cli->self;

    return stat->nodes      ? stat_nodes(&stat->shelf.look)
           : cli->count > 0 ? stat_object(&stat->shelf, cli->arguments[0])
                            : stat_account(&stat->shelf.look);
}

static const struct access stat_access = {.options = look_options, .open = open_stat, .close = close_stat};
static const struct gr_option stat_options[] = {{"nodes", 'n', NULL,
                                                 "show what lies on each NUMA node, and how much memory it takes",
                                                 GR_OPTION_FLAG(struct stat, nodes)},
                                                {0}};

const struct command command_stat = {
    .options = stat_options, .access = &stat_access, COMMAND_ZERO(struct stat), .run = run_stat, .end = shelf_end};
