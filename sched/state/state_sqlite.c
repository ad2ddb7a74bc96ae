/*
 * State in an SQLite file. A turn's changes are one transaction, begun by the first of them and ended by commit(). With
 * WAL and synchronous=NORMAL that outlives this process and costs no fsync; sync() then syncs the log itself, as
 * synchronous=FULL would after every commit.
 */
#include "state/state.h"

#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"

#define APPLICATION_ID 0x6772616e /* "gran" */
#define SCHEMA_VERSION 2

enum statement { GET, SCAN, SCAN_KEYS, PUT, MV, DELETE, DELETE_ALL, STATEMENTS };

static const char *const statement_text[STATEMENTS] = {
    [GET] = "SELECT value, version FROM entry WHERE space = ?1 AND key = ?2",
    [SCAN] = "SELECT key, version, value FROM entry WHERE space = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
    [SCAN_KEYS] = "SELECT key, version FROM entry WHERE space = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
    [PUT] = ("INSERT INTO entry (space, key, version, value) VALUES (?1, ?2, 1, ?3) "
             "ON CONFLICT (space, key) DO UPDATE SET version = version + 1, value = excluded.value"),
    [MV] = "UPDATE entry SET space = ?3, key = ?4, version = version + 1 WHERE space = ?1 AND key = ?2",
    [DELETE] = "DELETE FROM entry WHERE space = ?1 AND key = ?2",
    [DELETE_ALL] = "DELETE FROM entry WHERE space = ?1 AND key >= ?2 AND key < ?3",
};

struct sqlite {
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS];
    char *path;
    bool in_turn; /* a transaction is open */
    int log_fd;   /* the syncing thread's; -1: not open */
    /* A sync of the log failed: what the kernel has of it may count as written, and never be. */
    atomic_bool log_doubtful;
};

static granary_err
fail_sqlite(const struct sqlite *self, int code)
{
    const char *why = self->db != NULL ? sqlite3_errmsg(self->db) : sqlite3_errstr(code);

    switch (code & 0xff) {
    case SQLITE_FULL:
        return gr_fail(GRANARY_EFULL, "state %s: disk full (%s): make room on its file system", self->path, why);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return gr_fail(GRANARY_EPERM, "state %s: %s: make the file and its directory writable for this user",
                       self->path, why);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return gr_fail(
            GRANARY_ECORRUPT,
            "state %s: damaged (%s): restore a copy, or move the file away to start without the graphs in it",
            self->path, why);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return gr_fail(GRANARY_EBUSY, "state %s: another process writes it (%s): end that process", self->path, why);
    case SQLITE_NOMEM:
        return gr_fail(GRANARY_ENOMEM, "state %s: out of memory", self->path);
    case SQLITE_CANTOPEN:
        return gr_fail(GRANARY_EPERM,
                       "state %s: cannot be opened (%s): check that its directory exists and is writable", self->path,
                       why);
    case SQLITE_TOOBIG:
        return gr_fail(GRANARY_EINVAL, "state %s: value too large", self->path);
    default:
        return gr_fail(
            GRANARY_EIO,
            "state %s: %s: see that its disk works and has room, and that no limit (ulimit -f) stops the file",
            self->path, why);
    }
}

static granary_err
execute(struct sqlite *self, const char *text)
{
    int code = sqlite3_exec(self->db, text, NULL, NULL, NULL);

    return code == SQLITE_OK ? GRANARY_OK : fail_sqlite(self, code);
}

/* The one integer a pragma answers with. */
static granary_err
pragma_int(struct sqlite *self, const char *text, int *ret_value)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(self->db, text, -1, &statement, NULL);

    if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        *ret_value = sqlite3_column_int(statement, 0);
        code = SQLITE_OK;
    }
    (void)sqlite3_finalize(statement);
    return code == SQLITE_OK ? GRANARY_OK : fail_sqlite(self, code);
}

/* An empty file becomes ours; a file that is not of this schema is refused. */
static granary_err
check_schema(struct sqlite *self)
{
    int application = 0;
    int version = 0;
    int tables = 0;
    granary_err err = pragma_int(self, "PRAGMA application_id", &application);

    if (err == GRANARY_OK) {
        err = pragma_int(self, "PRAGMA user_version", &version);
    }
    if (err == GRANARY_OK) {
        err = pragma_int(self, "SELECT count(*) FROM sqlite_master", &tables);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (application == 0 && version == 0 && tables == 0) {
        char text[512];

        (void)sqlite3_snprintf(sizeof text, text,
                               "BEGIN IMMEDIATE; PRAGMA application_id = %d; PRAGMA user_version = %d;"
                               "CREATE TABLE entry (space TEXT NOT NULL, key BLOB NOT NULL, version INTEGER NOT NULL,"
                               " value BLOB NOT NULL, PRIMARY KEY (space, key)); COMMIT",
                               APPLICATION_ID, SCHEMA_VERSION);
        return execute(self, text);
    }
    if (application != APPLICATION_ID) {
        return gr_fail(GRANARY_EINVAL, "state %s: a database of another program: choose another path", self->path);
    }
    if (version != SCHEMA_VERSION) {
        return gr_fail(GRANARY_EVERSION,
                       "state %s: schema version %d, but this granary reads %d: run the version that wrote it, or move "
                       "the file away to start without the graphs in it",
                       self->path, version, SCHEMA_VERSION);
    }
    return GRANARY_OK;
}

static void
sqlite_close(void *handle)
{
    struct sqlite *self = handle;

    for (int i = 0; i < STATEMENTS; i++) {
        (void)sqlite3_finalize(self->statements[i]);
    }
    (void)sqlite3_close(self->db); /* rolls back what is open */
    if (self->path != NULL) {
        gr_fd_close(&self->log_fd);
    }
    free(self->path);
    *self = (struct sqlite){0};
}

/* Before SQLite opens it: the log and what belongs to it get the file's mode. */
static granary_err
make_private(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    granary_err err = GRANARY_OK;

    /* What cannot be opened is SQLite's to tell. */
    if (fd >= 0 && fchmod(fd, 0600) < 0) {
        err = gr_fail_errno("state %s", path);
    }
    gr_fd_close(&fd);
    return err;
}

static granary_err
sqlite_open(void *handle, const char *path)
{
    struct sqlite *self = handle;
    granary_err err;
    int code;

    self->log_fd = -1;
    self->path = strdup(path);
    if (self->path == NULL) {
        return gr_fail(GRANARY_ENOMEM, "state: out of memory");
    }
    err = make_private(path);
    if (err != GRANARY_OK) {
        return err;
    }
    if (FAULT_FAILS(state_open)) {
        return gr_fail_errno("state %s", path);
    }
    code = sqlite3_open_v2(path, &self->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) {
        return fail_sqlite(self, code);
    }
    (void)sqlite3_extended_result_codes(self->db, 1);
    (void)sqlite3_busy_timeout(self->db, 2000); /* an operator may be looking at it */
    if (sqlite3_db_readonly(self->db, "main") == 1) {
        return gr_fail(GRANARY_EPERM, "state %s: read-only: make the file and its directory writable for this user",
                       path);
    }
    /* A log that is begun anew is cut: to overwrite what is no longer in the page cache reads each block first. */
    err = execute(self, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;"
                        "PRAGMA journal_size_limit = 0");
    if (err == GRANARY_OK) {
        err = check_schema(self);
    }
    for (int i = 0; err == GRANARY_OK && i < STATEMENTS; i++) {
        code =
            sqlite3_prepare_v3(self->db, statement_text[i], -1, SQLITE_PREPARE_PERSISTENT, &self->statements[i], NULL);
        err = code == SQLITE_OK ? GRANARY_OK : fail_sqlite(self, code);
    }
    return err == GRANARY_OK ? gr_sync_above(path) : err;
}

static granary_err
turn_begin(struct sqlite *self)
{
    granary_err err = GRANARY_OK;

    if (FAULT_FAILS(state_change)) {
        return gr_fail_errno("state %s", self->path);
    }
    if (!self->in_turn) {
        err = execute(self, "BEGIN IMMEDIATE");
        self->in_turn = err == GRANARY_OK;
    } else if (sqlite3_get_autocommit(self->db) != 0) {
        /* A full disk ends a transaction by itself; what follows must not be kept without what came before. */
        err = gr_fail(GRANARY_EIO, "state %s: an earlier change of this turn failed", self->path);
    }
    return err;
}

static sqlite3_stmt *
bind_key(struct sqlite *self, enum statement which, const char *space, const void *key, size_t key_size)
{
    sqlite3_stmt *statement = self->statements[which];

    (void)sqlite3_bind_text(statement, 1, space, -1, SQLITE_STATIC);
    /* A null pointer would bind NULL, which is no key and compares with nothing. */
    (void)sqlite3_bind_blob(statement, 2, key_size > 0 ? key : "", (int)key_size, SQLITE_STATIC);
    return statement;
}

static granary_err
statement_run(struct sqlite *self, sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    granary_err err = code == SQLITE_DONE ? GRANARY_OK : fail_sqlite(self, code);

    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    return err;
}

/* The version of an entry, 0 when there is none; the value is added to value unless that is NULL. */
static granary_err
lookup(struct sqlite *self, const char *space, const void *key, size_t key_size, struct gr_buf *value,
       uint64_t *ret_version)
{
    sqlite3_stmt *statement = bind_key(self, GET, space, key, key_size);
    bool fails = FAULT_FAILS(state_read);
    granary_err err = fails ? gr_fail_errno("state %s", self->path) : GRANARY_OK;
    int code = fails ? SQLITE_OK : sqlite3_step(statement);

    if (code == SQLITE_ROW) {
        *ret_version = (uint64_t)sqlite3_column_int64(statement, 1);
        if (value != NULL) {
            const void *bytes = sqlite3_column_blob(statement, 0);

            gr_buf_add(value, bytes != NULL ? bytes : "", (size_t)sqlite3_column_bytes(statement, 0));
            err = gr_buf_ok(value) ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "state: out of memory");
        }
    } else if (code == SQLITE_DONE) {
        *ret_version = 0;
    } else if (!fails) {
        err = fail_sqlite(self, code);
    }
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    return err;
}

static granary_err
sqlite_get(void *handle, const char *space, const void *key, size_t key_size, struct gr_buf *ret_value,
           uint64_t *ret_version)
{
    uint64_t version = 0;
    granary_err err = lookup(handle, space, key, key_size, ret_value, &version);

    if (err == GRANARY_OK && version == 0) {
        err = gr_fail(GRANARY_ENOENT, "state: no such entry in '%s'", space);
    }
    if (err == GRANARY_OK && ret_version != NULL) {
        *ret_version = version;
    }
    return err;
}

static granary_err
walk(struct sqlite *self, enum statement which, const struct state_range *range, state_visit *visit, void *context)
{
    sqlite3_stmt *statement = bind_key(self, which, range->space, range->after, range->after_size);
    granary_err err = FAULT_FAILS(state_read) ? gr_fail_errno("state %s", self->path) : GRANARY_OK;
    int code = SQLITE_DONE;

    (void)sqlite3_bind_int64(statement, 3, range->limit == 0 ? -1 : (sqlite3_int64)range->limit);
    while (err == GRANARY_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct state_entry entry = {.key = sqlite3_column_blob(statement, 0),
                                    .key_size = (size_t)sqlite3_column_bytes(statement, 0),
                                    .version = (uint64_t)sqlite3_column_int64(statement, 1)};

        if (which == SCAN) {
            entry.value = sqlite3_column_blob(statement, 2);
            entry.value_size = (size_t)sqlite3_column_bytes(statement, 2);
            entry.value = entry.value != NULL ? entry.value : "";
        }
        err = visit(context, &entry);
    }
    if (err == GRANARY_OK && code != SQLITE_DONE) {
        err = fail_sqlite(self, code);
    }
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    return err;
}

static granary_err
sqlite_scan(void *handle, const struct state_range *range, state_visit *visit, void *context)
{
    return walk(handle, SCAN, range, visit, context);
}

static granary_err
sqlite_scan_keys(void *handle, const struct state_range *range, state_visit *visit, void *context)
{
    return walk(handle, SCAN_KEYS, range, visit, context);
}

static granary_err
sqlite_put(void *handle, const struct state_put *put, uint64_t *ret_version)
{
    struct sqlite *self = handle;
    sqlite3_stmt *statement;
    uint64_t version = 0;
    granary_err err = state_check(put->space, put->key, put->key_size);

    if (err == GRANARY_OK) {
        err = turn_begin(self);
    }
    if (err == GRANARY_OK && (put->expected != STATE_ANY || ret_version != NULL)) {
        err = lookup(self, put->space, put->key, put->key_size, NULL, &version);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (put->expected != STATE_ANY && put->expected != version) {
        return gr_fail(GRANARY_ESTATE, "state: an entry in '%s' has version %llu, not %llu", put->space,
                       (unsigned long long)version, (unsigned long long)put->expected);
    }
    statement = bind_key(self, PUT, put->space, put->key, put->key_size);
    (void)sqlite3_bind_blob64(statement, 3, put->value_size > 0 ? put->value : "", put->value_size, SQLITE_STATIC);
    err = statement_run(self, statement);
    if (err == GRANARY_OK && ret_version != NULL) {
        *ret_version = version + 1;
    }
    return err;
}

static granary_err
sqlite_put_txn(void *handle, const struct state_put *puts, size_t count)
{
    struct sqlite *self = handle;
    granary_err err = turn_begin(self);

    if (err == GRANARY_OK) {
        err = execute(self, "SAVEPOINT several");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = sqlite_put(self, &puts[i], NULL);
    }
    if (err == GRANARY_OK) {
        return execute(self, "RELEASE several");
    }
    /* The error that is told is the first; a rollback that fails shows at commit. */
    (void)sqlite3_exec(self->db, "ROLLBACK TO several; RELEASE several", NULL, NULL, NULL);
    return err;
}

static granary_err
sqlite_mv(void *handle, const char *space, const void *key, size_t key_size, const char *new_space, const void *new_key,
          size_t new_key_size)
{
    struct sqlite *self = handle;
    sqlite3_stmt *statement;
    uint64_t version = 0;
    granary_err err = state_check(new_space, new_key, new_key_size);

    if (err == GRANARY_OK) {
        err = turn_begin(self);
    }
    if (err == GRANARY_OK) {
        err = lookup(self, space, key, key_size, NULL, &version);
    }
    if (err == GRANARY_OK && version == 0) {
        err = gr_fail(GRANARY_ENOENT, "state: no such entry in '%s'", space);
    }
    if (err == GRANARY_OK) {
        err = lookup(self, new_space, new_key, new_key_size, NULL, &version);
    }
    if (err == GRANARY_OK && version != 0) {
        err = gr_fail(GRANARY_EEXIST, "state: the entry in '%s' exists already", new_space);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    statement = bind_key(self, MV, space, key, key_size);
    (void)sqlite3_bind_text(statement, 3, new_space, -1, SQLITE_STATIC);
    (void)sqlite3_bind_blob(statement, 4, new_key, (int)new_key_size, SQLITE_STATIC);
    return statement_run(self, statement);
}

static granary_err
sqlite_delete(void *handle, const char *space, const void *key, size_t key_size)
{
    struct sqlite *self = handle;
    granary_err err = turn_begin(self);

    if (err == GRANARY_OK) {
        err = statement_run(self, bind_key(self, DELETE, space, key, key_size));
    }
    if (err == GRANARY_OK && sqlite3_changes(self->db) == 0) {
        err = gr_fail(GRANARY_ENOENT, "state: no such entry in '%s'", space);
    }
    return err;
}

static granary_err
sqlite_delete_all(void *handle, const char *space, const void *prefix, size_t prefix_size)
{
    struct sqlite *self = handle;
    unsigned char behind[STATE_KEY_MAX + 1]; /* the least that is more than every key with the prefix */
    size_t behind_size = prefix_size;
    sqlite3_stmt *statement;
    granary_err err = state_check(space, prefix, prefix_size);

    if (err == GRANARY_OK) {
        err = turn_begin(self);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(behind, prefix, prefix_size);
    while (behind_size > 0 && behind[behind_size - 1] == 0xff) {
        behind_size--;
    }
    if (behind_size > 0) {
        behind[behind_size - 1]++;
    } else {
        memset(behind, 0xff, sizeof behind);
        behind_size = sizeof behind;
    }
    statement = bind_key(self, DELETE_ALL, space, prefix, prefix_size);
    (void)sqlite3_bind_blob(statement, 3, behind, (int)behind_size, SQLITE_STATIC);
    return statement_run(self, statement);
}

/* The log by a descriptor of our own: SQLite's connection belongs to another thread. Once it failed, nothing but a
 * commit makes it good. */
static granary_err
sqlite_sync(void *handle)
{
    struct sqlite *self = handle;

    if (atomic_load(&self->log_doubtful)) {
        return gr_fail(GRANARY_EIO, "state %s: its log could not be synced before: check the disk", self->path);
    }
    if (self->log_fd < 0) {
        char path[PATH_MAX];

        (void)snprintf(path, sizeof path, "%s-wal", self->path);
        self->log_fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (self->log_fd < 0 || FAULT_FAILS(state_sync) || fdatasync(self->log_fd) < 0) {
        atomic_store(&self->log_doubtful, true);
        return gr_fail_errno("state %s: its log cannot be synced: check the disk", self->path);
    }
    return GRANARY_OK;
}

static void
sqlite_rollback(void *handle)
{
    struct sqlite *self = handle;

    if (self->in_turn) {
        /* Some failures have ended the transaction by themselves; then there is nothing to roll back. */
        (void)sqlite3_exec(self->db, "ROLLBACK", NULL, NULL, NULL);
        self->in_turn = false;
    }
}

/* Everything goes into the database, which is synced, and the log begins anew: a sync that succeeds after one that
 * failed says nothing of what was written before. */
static granary_err
leave_log(struct sqlite *self)
{
    int code = sqlite3_wal_checkpoint_v2(self->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

    if (code != SQLITE_OK) {
        return fail_sqlite(self, code);
    }
    atomic_store(&self->log_doubtful, false);
    return GRANARY_OK;
}

static granary_err
sqlite_commit(void *handle)
{
    struct sqlite *self = handle;
    granary_err err = GRANARY_OK;

    if (self->in_turn) {
        /* An error, too, when the transaction has ended by itself. */
        err = FAULT_FAILS(state_commit) ? gr_fail_errno("state %s", self->path) : execute(self, "COMMIT");
        FAULT_STEP(state_committed);
        self->in_turn = err != GRANARY_OK;
        sqlite_rollback(self);
    }
    return err == GRANARY_OK && atomic_load(&self->log_doubtful) ? leave_log(self) : err;
}

const struct state_ops state_sqlite = {
    .name = "sqlite",
    .self_size = sizeof(struct sqlite),
    .open = sqlite_open,
    .close = sqlite_close,
    .get = sqlite_get,
    .scan = sqlite_scan,
    .scan_keys = sqlite_scan_keys,
    .put = sqlite_put,
    .put_txn = sqlite_put_txn,
    .mv = sqlite_mv,
    .delete = sqlite_delete,
    .delete_all = sqlite_delete_all,
    .commit = sqlite_commit,
    .sync = sqlite_sync,
    .rollback = sqlite_rollback,
};
