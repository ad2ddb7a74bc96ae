/*
 * inspect, from inside: files of an instance, and what the contract says lies in them, as copies in our own memory.
 *
 * A copy may be of several moments; each record in it is of one (see file_read_records()). Numbers in a copy are not
 * believed: whoever uses one as an index or a size checks it first.
 */
#ifndef INSPECT_INSPECTOR_H
#define INSPECT_INSPECTOR_H

#include <limits.h>
#include <stdbool.h>

#include "contract/shm.h"
#include "granary/inspect.h"

struct granary_inspector {
    char directory[PATH_MAX]; /* where the files lie: /dev/shm, or the copy */
    char prefix[48];          /* what their names begin with there: "granary.1000.0a1b2c3d."; "" in our own copies */
    char about[160];          /* for messages: the runtime directory, or the copy */
    bool copy;
};

/* ---- files ---- */

struct file {
    int fd; /* -1: none */
    uint64_t size;
    uint64_t resident; /* bytes with memory behind them */
    char name[96];     /* without the prefix: "s1.index" */
};

#define FILE_NONE ((struct file){.fd = -1})

/*
 * Copy a regular file, holes and all, into a new one of mode 0600, through a buffer of FILE_COPY bytes. One that is not
 * there any more, or no regular file, is passed over. Errors: EEXIST, errno's
 */
#define FILE_COPY ((size_t)1 << 20)
granary_err file_copy(int from_dir, const char *from_name, int to_dir, const char *to_name, char *buffer);

/* Errors: ENOENT it is not there · EPERM · ECORRUPT it is no regular file */
granary_err file_open(const struct granary_inspector *inspector, const char *name, struct file *ret_file);
void file_close(struct file *file);

/* Whether what the file says of itself is this release's version of shared memory. Errors: EVERSION */
granary_err file_check_version(const struct file *file, uint32_t version);

/* The name of a session's file: file_name(name, 1, "lease", 7) is "s1.lease7". */
#define NO_NUMBER UINT32_MAX
void file_name(char ret_name[96], uint32_t session, const char *kind, uint32_t number);

/* Errors: ECORRUPT, naming the file, when it ends before that */
granary_err file_read(const struct file *file, uint64_t at, void *bytes, size_t size);

/*
 * Read an array of records, each as it was at one moment: a record is taken when two reads of it were equal. The store
 * writes a record's word first or last, so equal means whole. One that never stands still is taken as it was last seen.
 */
granary_err file_read_records(const struct file *file, uint64_t at, void *records, size_t record_size, size_t count);

/* A file of the instance, as its name tells. */
struct file_entry {
    char name[96]; /* without the prefix */
    uint32_t session;
    uint32_t number;
    char kind[16]; /* "root", "events", "control", "index", "ledger", "counters", "data", "lease", ...; "" for another's
                      file */
    uint64_t size;
    uint64_t resident;
};

/* All files of the instance, in order of names; to be freed with free(). */
granary_err files_list(const struct granary_inspector *inspector, struct file_entry **ret_entries, size_t *ret_count);

/* ---- the root ---- */

struct client_copy {
    uint32_t number;
    uint32_t session;
    uint32_t pid;
    uint32_t uid;
    uint64_t start_time;
    uint64_t ring_tail;
    int64_t since_ms;
    char tag[32];
};

struct segment_copy {
    uint32_t place; /* in the root's table */
    uint32_t number;
    unsigned state; /* gr_segment_state, or nonsense */
    uint64_t size;
    uint32_t session;
    uint32_t writer;
    uint64_t sealed_total;
    uint32_t flags;
    uint32_t node;
    int64_t since_ms;
};

/* What the root says of the instance. Errors: EUNREACHABLE there is no root · ECORRUPT · EVERSION */
granary_err root_read(const struct granary_inspector *inspector, granary_instance_info *ret_info);

/* Records in use, in order of places; to be freed with free(). */
granary_err
root_clients(const struct granary_inspector *inspector, struct client_copy **ret_clients, size_t *ret_count);
granary_err
root_segments(const struct granary_inspector *inspector, struct segment_copy **ret_segments, size_t *ret_count);

/* The next numbers that were not given yet. */
struct root_limits {
    uint32_t session;
    uint32_t client;
    uint32_t segment;
    uint32_t file;
    uint64_t token;
};
granary_err root_limits(const struct granary_inspector *inspector, struct root_limits *ret_limits);

/* ---- a session's control page ---- */

struct control_copy {
    uint32_t session;
    char name[64];
    uint32_t state; /* gr_control_state, or nonsense */
    uint32_t depth; /* at most GR_INDEX_MAX_DEPTH */
    uint32_t flags;
    uint64_t epoch;
    uint64_t quota_bytes;
    uint64_t used_bytes;
    int64_t idle_ms;
    int64_t created_ms;
    int64_t last_used_ms;
    uint32_t uid;
    bool store_sleeping;
    bool account_settled; /* account is one consistent set */
    uint64_t account_version;
    uint64_t account[GR_ACCOUNT_COUNT];
    uint64_t counters[GR_COUNTER_COUNT];
};

/* Errors: ENOENT there is no such session · ECORRUPT · EVERSION */
granary_err control_read(const struct granary_inspector *inspector, uint32_t session, struct control_copy *ret_control);

/* Numbers of the sessions that have a control page, ascending; to be freed with free(). */
granary_err sessions_list(const struct granary_inspector *inspector, uint32_t **ret_sessions, size_t *ret_count);

/* ---- a session's index ---- */

struct slot_copy {
    uint64_t word;
    uint64_t id[2];
    uint64_t offset;
    uint64_t data_size;
    uint64_t where_meta;
    uint64_t flags;
    uint64_t stamp;
};
_Static_assert(sizeof(struct slot_copy) == sizeof(struct gr_slot), "read as they lie");

struct page_copy {
    uint64_t word;
    uint64_t prefix;
};
_Static_assert(sizeof(struct page_copy) == sizeof(struct gr_page_record), "read as they lie");

/* A page that counts: what its hashes have in common, and the generation it was made as. */
struct index_page {
    uint32_t page;
    uint32_t generation;
    uint32_t prefix;
    uint32_t depth;
    uint32_t position; /* the prefix's bits mirrored: pages in this order stay in order when one is split */
};

struct index {
    struct file file;
    unsigned depth;
    uint64_t *directory;       /* 2^depth entries */
    struct page_copy *records; /* GR_INDEX_MAX_PAGES */
    struct index_page *pages;  /* in order of positions */
    size_t page_count;
};

#define INDEX_NONE ((struct index){.file = {.fd = -1}})

/*
 * Read the directory and find out which pages count, as an adopting store does. LIVE pages count, and BUILDING ones
 * where no LIVE one is. For entries that neither covers, the directory decides.
 *
 * Errors  ENOENT · ECORRUPT
 */
granary_err index_read(const struct granary_inspector *inspector, uint32_t session, struct index *ret_index);
void index_release(struct index *index);

/* Errors: ECORRUPT the file ends before that page */
granary_err index_read_page(const struct index *index, uint32_t page, struct slot_copy ret_slots[GR_PAGE_SLOTS]);

/* Whether the slot holds an object or an alias, deleted ones among them; if so, what is public of it. */
bool slot_describe(const struct slot_copy *slot, granary_object_info *ret_info);

/* Bytes a slot's object takes in a segment; false when its sizes are impossible. */
bool slot_footprint(const struct slot_copy *slot, uint64_t *ret_bytes);

/* Call each for every slot of a session that is not EMPTY, TOMB or MOVED; what it returns ends the walk unless OK. */
typedef granary_err slot_fn(void *context, const struct slot_copy *slot);
granary_err index_walk(const struct granary_inspector *inspector, uint32_t session, slot_fn *each, void *context);

/* ---- lease pages ---- */

struct hazard_copy {
    uint64_t serial;
    uint32_t count;
};

struct lease_page_copy {
    uint32_t client;
    uint32_t pid;
    bool leaving;
    uint64_t start_time;
    char tag[32];
    uint64_t ring_head;
    uint64_t ring_tail;
    uint32_t waiting;
    uint32_t wait_kind;
    granary_id wait_id;
    uint64_t wait_bytes;
    int64_t wait_since_ms;
    size_t hazard_count;
    struct hazard_copy hazards[GR_HAZARD_SETS * GR_HAZARD_WAYS];
};

/* Errors: ENOENT · ECORRUPT. Its client can write anything there: only the sizes are certain. */
granary_err lease_page_read(const struct granary_inspector *inspector, uint32_t session, uint32_t client,
                            struct lease_page_copy *ret_page);

/* ---- the ledger ---- */

struct ledger_copy {
    uint64_t word;
    uint64_t id[2];
    uint64_t other[2];
    uint64_t since_ms;
    uint32_t client;
    uint16_t scope;
    uint16_t flags;
    uint32_t pid;
    uint32_t reserved;
    char text[GR_LEDGER_TEXT];
    uint64_t padding;
};
_Static_assert(sizeof(struct ledger_copy) == sizeof(struct gr_ledger_record), "read as they lie");

#define LEDGER_KIND(word)  ((unsigned)((word)&0xff))
#define LEDGER_TOKEN(word) ((word) >> 8)

/* Records in use, in order of tokens; to be freed with free(). No ledger file is no records. Errors: ECORRUPT */
granary_err ledger_read(const struct granary_inspector *inspector, uint32_t session, struct ledger_copy **ret_records,
                        size_t *ret_count);

/* ---- little helps ---- */

/* Copy text that may lack its NUL. */
void copy_text(char *to, size_t to_size, const char *from, size_t from_size);

/* Whether the process that had this pid and start time lives; *ret_stopped: by a signal. */
bool process_alive(uint32_t pid, uint64_t start_time, bool *ret_stopped);

#endif
