/*
 * csv_seek: where a record begins behind a byte of a file, of which nobody has read what stands before.
 *
 * The automaton runs from all states at once (csv_scan.h). The first place at which each of them is between two records
 * is the answer: it is true whatever stands before. Between quotes and outside, that place comes with the first quoted
 * field of most files. Where it does not come within some megabytes, a state in which no record ends is left out: it
 * would be a field as long as that. So text without quotes is taken for what it looks like. When no state, or more than
 * one behaviour, is left, all that stands before is read after all.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/file/paths/regular.h"
#include "kernel/core/call.h"
#include "kernel/csv/find/csv_scan.h"
#include "schema/granary.pb-c.h"

#define WINDOW ((int64_t)4 << 20)
#define BLOCK  ((int64_t)256 << 10)
#define ALL    ((1u << CSV_STATES) - 1)

struct file {
    const char *path;
    int fd;
    char delimiter;
    int64_t size;
    char *bytes; /* BLOCK of them */
};

/* The automaton from some states at once. */
struct run {
    enum csv_state states[CSV_STATES];
    unsigned live;            /* bit s: state s is followed */
    int64_t last[CSV_STATES]; /* where a record may begin that each has seen last; -1: none */
    int64_t from;             /* nothing before it is the answer */
    char before;              /* the byte before */
    bool differs;             /* records begin somewhere from some states alone */
    int64_t found;            /* -1: not yet */
};

static struct run
run_of(unsigned live, int64_t from)
{
    struct run run = {.live = live, .from = from, .found = -1};

    for (int s = 0; s < CSV_STATES; s++) {
        run.states[s] = (enum csv_state)s;
        run.last[s] = -1;
    }
    return run;
}

static bool
is_live(const struct run *run, int s)
{
    return (run->live >> s & 1) != 0;
}

/* Which of the states are one of two. */
static unsigned
states_in(const struct run *run, enum csv_state a, enum csv_state b)
{
    unsigned in = 0;

    for (int s = 0; s < CSV_STATES; s++) {
        in |= is_live(run, s) && (run->states[s] == a || run->states[s] == b) ? 1u << s : 0;
    }
    return in;
}

/* One byte, if no record begins there for all. */
static void
run_byte(struct run *run, char byte, int64_t at, char delimiter)
{
    unsigned between = run->before == '\r' && byte == '\n' ? 0 : states_in(run, CSV_AT_RECORD, CSV_AFTER_CR);

    if (at >= run->from && between == run->live) {
        run->found = at;
        return;
    }
    run->differs = run->differs || (at >= run->from && between != 0);
    for (int s = 0; s < CSV_STATES; s++) {
        bool ends;

        if (is_live(run, s)) {
            run->states[s] = csv_scan_step(run->states[s], byte, delimiter, &ends);
            run->last[s] = ends ? at + 1 : run->last[s];
        }
    }
    run->before = byte;
}

/* Bytes without quotes, between quotes for some: these stay, and so no place is the answer. */
static void
run_unquoted(struct run *run, const char *bytes, int64_t size, int64_t at, char delimiter)
{
    for (int s = 0; s < CSV_STATES; s++) {
        int64_t end;

        if (is_live(run, s) && run->states[s] != CSV_IN_QUOTES) {
            end = csv_scan_last(bytes, (size_t)size, delimiter, &run->states[s]);
            run->last[s] = end > 0 ? at + end : run->last[s];
            run->differs = run->differs || end > 0;
        }
    }
    run->before = bytes[size - 1];
}

static void
run_block(struct run *run, const char *bytes, int64_t size, int64_t at, char delimiter)
{
    for (int64_t i = 0; i < size && run->found < 0;) {
        bool stays = states_in(run, CSV_IN_QUOTES, CSV_IN_QUOTES) != 0 &&
                     states_in(run, CSV_AT_QUOTE, CSV_AT_QUOTE) == 0 && bytes[i] != '"';
        const char *quote = stays ? memchr(bytes + i, '"', (size_t)(size - i)) : NULL;
        int64_t to = quote == NULL ? size : quote - bytes;

        if (stays) {
            run_unquoted(run, bytes + i, to - i, at + i, delimiter);
            i = to;
        } else {
            run_byte(run, bytes[i], at + i, delimiter);
            i += run->found < 0;
        }
    }
}

/* Run over bytes [from, to), until a place is found. */
static granary_err
run_file(const struct file *file, struct run *run, int64_t from, int64_t to)
{
    granary_err err = GRANARY_OK;

    for (int64_t at = from; err == GRANARY_OK && at < to && run->found < 0; at += BLOCK) {
        int64_t now = to - at < BLOCK ? to - at : BLOCK;

        err = gr_pread_all(file->fd, file->bytes, (size_t)now, at);
        if (err == GRANARY_OK) {
            run_block(run, file->bytes, now, at, file->delimiter);
        }
    }
    return err;
}

/* The state at a byte, by all that stands before. */
static granary_err
state_at(const struct file *file, int64_t to, enum csv_state *ret_state)
{
    granary_err err = GRANARY_OK;

    *ret_state = CSV_AT_RECORD;
    for (int64_t at = 0; err == GRANARY_OK && at < to; at += BLOCK) {
        int64_t now = to - at < BLOCK ? to - at : BLOCK;
        int64_t mark = 0;

        err = gr_pread_all(file->fd, file->bytes, (size_t)now, at);
        if (err == GRANARY_OK) {
            mark = at == 0 && now >= 3 && memcmp(file->bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
            (void)csv_scan_last(file->bytes + mark, (size_t)(now - mark), file->delimiter, ret_state);
        }
    }
    return err;
}

/* States that can be true, when the bytes were run over: some record ends in their second half. At the file's end no
 * quotes are open. */
static unsigned
likely(const struct file *file, const struct run *run, int64_t from, int64_t to)
{
    unsigned live = 0;

    for (int s = 0; s < CSV_STATES; s++) {
        bool is = to == file->size ? run->states[s] != CSV_IN_QUOTES : run->last[s] >= to - (to - from) / 2;

        live |= is ? 1u << s : 0;
    }
    return live;
}

/* The first record that does not begin before a byte, which is not the file's first one. */
static granary_err
seek(const struct file *file, int64_t byte, int64_t *ret_at)
{
    int64_t from = byte - 1; /* whether a line ends there is told */
    int64_t to = file->size - from < WINDOW ? file->size : from + WINDOW;
    struct run run = run_of(ALL, byte);
    granary_err err = run_file(file, &run, from, to);
    enum csv_state state;
    bool ended;

    if (err == GRANARY_OK && run.found < 0) {
        unsigned live = likely(file, &run, from, to);

        run = run_of(live, byte);
        err = live == 0 ? GRANARY_OK : run_file(file, &run, from, to);
    }
    ended = run.live != 0 && to == file->size && !run.differs;
    if (err == GRANARY_OK && run.found < 0 && !ended) {
        err = state_at(file, from, &state);
        run = run_of(1u << CSV_AT_RECORD, byte);
        run.states[CSV_AT_RECORD] = state;
        err = err == GRANARY_OK ? run_file(file, &run, from, file->size) : err;
    }
    *ret_at = run.found < 0 ? file->size : run.found;
    return err;
}

static granary_err
answer(struct gr_kernel_call *call, int64_t at)
{
    Granary__CsvSeek message = GRANARY__CSV_SEEK__INIT;
    void *packed;

    message.at = at;
    packed = gr_buf_grow(call->answer, granary__csv_seek__get_packed_size(&message));
    if (packed == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for the answer");
    }
    (void)granary__csv_seek__pack(&message, packed);
    return GRANARY_OK;
}

granary_err
kernel_csv_seek(struct gr_kernel_call *call, const struct gr_chunk_csv_seek *params)
{
    struct file file = {.path = params->path, .fd = -1, .delimiter = params->delimiter[0], .size = params->size};
    struct stat info;
    int64_t at = 0;
    granary_err err = gr_regular_open(params->path, &file.fd, &info);

    err = err == GRANARY_OK ? gr_regular_check(params->path, &info, params->inode) : err;
    if (err == GRANARY_OK && (params->offset < 1 || params->offset > params->size || params->size > info.st_size)) {
        err = gr_fail(GRANARY_EIO, "%s: has %lld bytes now, it was longer when the graph was submitted; submit again",
                      params->path, (long long)info.st_size);
    }
    if (err == GRANARY_OK) {
        file.bytes = malloc((size_t)BLOCK);
        err = file.bytes == NULL ? gr_fail(GRANARY_ENOMEM, "%s: no memory to look at it", params->path)
                                 : seek(&file, params->offset, &at);
    }
    gr_fd_close(&file.fd);
    free(file.bytes);
    return err == GRANARY_OK ? answer(call, at) : err;
}
