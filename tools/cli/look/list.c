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

/* ---- one object ---- */

static void
print_info_json(struct json *json, struct failures *failures, const struct look *look, const struct named *named,
                const granary_object_info *info)
{
    char levels[64];
    char message[SHOW_TEXT];
    granary_err err;

    json_open(json, NULL, '{');
    json_id(json, "id", info->id);
    named_json(named, info->id, json);
    json_text(json, "state", show_state(info->state));
    json_unsigned(json, "data_bytes", info->data_size);
    json_unsigned(json, "meta_bytes", info->meta_size);
    json_unsigned(json, "pins", info->pins);
    json_bool(json, "on_disk", info->on_disk);
    json_signed(json, "numa_node", info->numa_node);
    json_signed(json, "sealed_at_ms", info->sealed_at_ms);
    json_text(json, "levels", granary_levels_format(info->levels, levels, sizeof levels));
    json_signed(json, "importance", info->importance);
    json_signed(json, "next_use", info->next_use);
    json_bool(json, "persistent", info->persistent);
    json_bool(json, "counted", info->counted);
    json_bool(json, "dropped", info->dropped);
    json_bool(json, "damaged", info->damaged);
    json_unsigned(json, "serial", info->serial);
    if (info->state == GRANARY_OBJECT_ALIAS) {
        json_id(json, "target", info->target);
    } else {
        json_unsigned(json, info->state == GRANARY_OBJECT_SPILLED ? "spill_file" : "segment", info->segment);
        json_unsigned(json, "offset", info->offset);
    }
    if (failures_read(failures, look, info, &err, message)) {
        json_text(json, "error", granary_error_name(err));
        json_text(json, "message", message);
    }
    json_close(json);
}

static void
print_info(struct failures *failures, const struct look *look, const struct named *named,
           const granary_object_info *info)
{
    char message[SHOW_TEXT];
    char shown[SHOW_TEXT];
    granary_err err;
    char text[GRANARY_ID_TEXT + 1];
    char target[GRANARY_ID_TEXT + 1];
    char levels[64];
    char time[32];

    granary_id_format(info->id, text);
    (void)printf("id        %s\n", text);
    if (named_text(named, info->id, shown)[0] != '\0') {
        (void)printf("names     %s\n", shown);
    }
    (void)printf("where     %s\n", show_state(info->state));
    if (info->state == GRANARY_OBJECT_ALIAS) {
        granary_id_format(info->target, target);
        (void)printf("target    %s\n", target);
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
    if (failures_read(failures, look, info, &err, message)) {
        (void)printf("error     %s: %s\n", granary_error_name(err), show_text(message, shown));
    }
}

/* An instance that is damaged has still objects to be listed. */
static void
read_names(const struct look *look, struct named *ret_named)
{
    if (named_read(look, ret_named) != GRANARY_OK) {
        cli_note("names are left out: %s", granary_error_message());
    }
}

/* ---- ls ---- */

struct ls {
    struct look look;
    struct named named;
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
        err = ls->look.client != NULL
                  ? granary_object_list_page(ls->look.client, &ls->filter, &ls->cursor, (size_t)left,
                                             ls->infos + ls->count, &count)
                  : granary_inspect_objects(ls->look.inspector, ls->look.session, &ls->filter, &ls->cursor,
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
print_row(struct failures *failures, const struct ls *ls, const granary_object_info *info)
{
    char id[GRANARY_ID_TEXT + 1];
    char sealed[32];
    char names[SHOW_TEXT];
    char message[SHOW_TEXT];
    char shown[SHOW_TEXT];
    granary_err err;
    bool failed = failures_read(failures, &ls->look, info, &err, message);

    granary_id_format(info->id, id);
    (void)named_text(&ls->named, info->id, names);
    (void)printf("%s  %12" PRIu64 "  %-8s  %4u  %s%s%s%s%s%s%s\n", id, info->data_size, show_state(info->state),
                 info->pins, show_time(info->sealed_at_ms, sealed), names[0] == '\0' ? "" : "  ", names,
                 failed ? "  " : "", failed ? granary_error_name(err) : "", failed ? ": " : "",
                 failed ? show_text(message, shown) : "");
}

static void
print_list(const struct ls *ls, const struct gr_ordered *list)
{
    struct failures failures = {.tried = false};
    struct json json = {0};

    if (ls->look.cli->json) {
        json_open(&json, NULL, '[');
    } else {
        (void)printf("%-32s  %12s  %-8s  %4s  %-19s  %s\n", "id", "bytes", "where", "pins", "sealed", "names");
    }
    for (size_t i = 0; i < ls->count; i++) {
        const granary_object_info *info = list[i].item;

        if (i > 0 && is_same(info, list[i - 1].item)) {
            continue; /* a page was split while it was read */
        }
        if (ls->look.cli->json) {
            print_info_json(&json, &failures, &ls->look, &ls->named, info);
        } else {
            print_row(&failures, ls, info);
        }
    }
    failures_close(&failures);
    if (ls->look.cli->json) {
        json_close(&json);
    }
}

int
command_ls(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"state", 0, "STATE", "only those in memory, disk, deleting or alias; may be given again",
         GR_OPTION_TAKE(take_state)},
        {"level", 0, "LEVELS", "only those with a copy at one of these levels", GR_OPTION_TAKE(take_level)},
        {"least", 0, "SIZE", "only those of so many bytes or more", GR_OPTION_SIZE(struct ls, filter.least_size, 0)},
        {"most", 0, "SIZE", "only those of so many bytes or less", GR_OPTION_SIZE(struct ls, filter.most_size, 0)},
        {"pinned", 0, NULL, "only those that are pinned", GR_OPTION_FLAG(struct ls, filter.pinned)},
        {"owner", 0, "TEXT", "only those that this owner refers to", GR_OPTION_TEXT(struct ls, filter.owner)},
        {"limit", 0, "N", "print at most N, in no order; stderr tells the cursor for the next ones",
         GR_OPTION_NUMBER(struct ls, limit, 0, UINT64_MAX)},
        {"cursor", 0, "CURSOR", "go on where a listing with --limit ended",
         GR_OPTION_NUMBER(struct ls, cursor, 0, UINT64_MAX)},
        {0}};
    static const struct arguments arguments = {
        .options = options, .usage = "[PREFIX]", .doc = "List the objects of the session, oldest first.", .most = 1};
    struct ls ls = {.look = {.cli = cli}};
    int first = look_arguments(&arguments, &ls, &ls.look, argc, argv);
    struct gr_ordered *list = NULL;
    bool there = false;
    granary_err err = GRANARY_OK;
    int status;

    ls.filter.prefix = first < argc ? argv[first] : NULL;
    status = look_open_or_join(&ls.look);
    if (status == 0) {
        status = look_session(&ls.look, &there);
    }
    if (status == 0 && there) {
        read_names(&ls.look, &ls.named);
        err = collect(&ls);
    }
    if (err == GRANARY_OK) {
        err = order_list(&ls, &list);
    }
    if (err != GRANARY_OK) {
        status = cli_fail(err, "ls");
    }
    if (status == 0) {
        print_list(&ls, list);
        if (ls.cursor != 0) {
            (void)fprintf(stderr, "granary: ls: there may be more: --cursor %" PRIu64 "\n", ls.cursor);
        }
    }
    free(list);
    free(ls.infos);
    named_fini(&ls.named);
    look_close(&ls.look);
    return status;
}

/* ---- stat ---- */

struct stat {
    struct look look;
    bool nodes;
};

static void
print_account(const struct look *look, const granary_store_stat *stat)
{
    enum { TIMES, BYTES };
    const struct {
        const char *name;
        uint64_t value;
        bool bytes;
    } rows[] = {
        {"capacity", stat->capacity_bytes, true},
        {"free", stat->free_bytes, true},
        {"reserved", stat->reserved_bytes, true},
        {"writing", stat->writing_bytes, true},
        {"sealed", stat->sealed_bytes, true},
        {"retiring", stat->retiring_bytes, true},
        {"pooled", stat->pooled_bytes, true},
        {"spilled", stat->spilled_bytes, true},
        {"disk", stat->disk_bytes, true},
        {"remote", stat->remote_bytes, true},
        {"index", stat->index_bytes, true},
        {"objects", stat->objects, false},
        {"objects_spilled", stat->objects_spilled, false},
        {"clients", stat->clients, false},
#define COUNTER(name, unit, summary) {#name, stat->name, (unit) == BYTES},
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
            (void)printf("%-16s %20" PRIu64 "  %s\n", rows[i].name, rows[i].value,
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
        return cli_fail(err, "stat");
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
        return cli_fail(err, "stat");
    }
    if (status == 0) {
        print_account(look, &stat);
    }
    return status;
}

static int
stat_object(struct look *look, const char *text)
{
    struct failures failures = {.tried = false};
    struct named named = {.holds = NULL};
    struct json json = {0};
    granary_object_info info;
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
    read_names(look, &named);
    if (look->cli->json) {
        print_info_json(&json, &failures, look, &named, &info);
    } else {
        print_info(&failures, look, &named, &info);
    }
    named_fini(&named);
    failures_close(&failures);
    return 0;
}

int
command_stat(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {{"nodes", 'n', NULL,
                                                "what lies on each NUMA node, and how much memory is behind it",
                                                GR_OPTION_FLAG(struct stat, nodes)},
                                               {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "[ID]",
        .doc = "Print the store's account and the session's counters, or what is known of one object.",
        .most = 1};
    struct stat stat = {.look = {.cli = cli}};
    int first = look_arguments(&arguments, &stat, &stat.look, argc, argv);
    const char *id = first < argc ? argv[first] : NULL;
    int status;

    if (stat.nodes && id != NULL) {
        return cli_fail(gr_fail(GRANARY_EINVAL, "--nodes tells of the whole instance: leave out '%s'", id), "stat");
    }
    status = stat.nodes ? look_open(&stat.look) : look_open_or_join(&stat.look);
    if (status != 0) {
        return status;
    }
    status = stat.nodes ? stat_nodes(&stat.look) : id != NULL ? stat_object(&stat.look, id) : stat_account(&stat.look);
    look_close(&stat.look);
    return status;
}
