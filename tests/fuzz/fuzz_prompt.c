/*
 * Any bytes as what a terminal sends to the prompt, in pieces: all of it becomes characters and pasted texts, and the end is told.
 * The text that they make is split into statements, the same ones however it comes.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/prompt/paste.h"
#include "fuzz.h"
#include "sql/select/split.h"

#define SIZE_MOST 4096u /* a pipe takes so much at once */

/* Where statements end. */
struct ends {
    size_t at[SIZE_MOST + 1];
    size_t count;
};

static void
split(const char *text, size_t size, size_t piece, struct ends *ret_ends)
{
    struct sql_split split = {.depth = 0};
    bool ended;

    ret_ends->count = 0;
    for (size_t at = 0; at < size;) {
        const size_t now = size - at < piece ? size - at : piece;
        const size_t taken = sql_split_feed(&split, text + at, now, &ended);

        must(taken <= now && (taken > 0 || now == 0) && (ended || taken == now));
        at += taken;
        if (ended) {
            must(text[at - 1] == ';');
            ret_ends->at[ret_ends->count++] = at;
            split = (struct sql_split){.depth = 0};
        }
    }
}

static void
check_splits(const char *text, size_t size)
{
    static struct ends whole, pieces;
    size_t at = 0;

    split(text, size, size == 0 ? 1 : size, &whole);
    for (size_t piece = 1; piece <= 7; piece += 3) {
        split(text, size, piece, &pieces);
        must(pieces.count == whole.count && memcmp(pieces.at, whole.at, whole.count * sizeof whole.at[0]) == 0);
    }
    while (at < size) { /* words end */
        const size_t begin = sql_skip_blank(text, size, at);
        const size_t end = sql_word_end(text, size, begin);

        must(begin >= at && begin <= size && end >= begin && end <= size);
        at = end > at ? end : at + 1;
    }
}

static void
add_character(struct gr_buf *text, wchar_t character)
{
    const char byte = character < 0x80 ? (char)character : '?';

    must(character >= 0 && character <= 0x10ffff && (character < 0xd800 || character >= 0xe000));
    gr_buf_add(text, &byte, 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gr_buf text = {0};
    struct paste paste = {0};
    int ends[2];
    wchar_t character = 0;
    size_t events = 0;

    size = size > SIZE_MOST / 2 ? SIZE_MOST / 2 : size;
    must(pipe2(ends, O_CLOEXEC) == 0 && write(ends[1], bytes, size) == (ssize_t)size);
    (void)close(ends[1]); /* the terminal goes behind that: nothing waits for a key's rest */
    paste.fd = ends[0];
    for (bool ended = false; !ended; events++) {
        must(events <= 2 * size + 8);
        switch (paste_next(&paste, &character)) {
        case PASTE_CHARACTER:
            add_character(&text, character);
            break;
        case PASTE_TEXT:
            must(paste.text.size > 0);
            gr_buf_add(&text, paste.text.bytes, paste.text.size);
            paste.text.size = 0;
            break;
        case PASTE_END:
            ended = true;
            break;
        default:
            break;
        }
    }
    must(text.size <= size * 3 + 8);
    check_splits(text.bytes == NULL ? "" : text.bytes, text.size < SIZE_MOST ? text.size : SIZE_MOST);
    gr_buf_free(&text);
    gr_buf_free(&paste.text);
    gr_buf_free(&paste.queue);
    (void)close(ends[0]);
    return 0;
}
