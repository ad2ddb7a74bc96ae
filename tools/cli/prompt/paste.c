/* See paste.h. */
#include "cli/prompt/paste.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define MARK_BEGIN "\033[200~"
#define MARK_END   "\033[201~"
#define MARK_SIZE  (sizeof MARK_BEGIN - 1)
/* Bytes that are there at once: more are no keys. */
#define KEYS_MAX 512
/* A pasted text up to this size, in one line, can be edited. */
#define EDITED_MAX 4096
#define READ_MAX   ((size_t)1 << 20)
/* How long the rest of a key's bytes may take. */
#define KEY_MS 25

static size_t
left(const struct paste *paste)
{
    return paste->queue.size - paste->at;
}

static const char *
head(const struct paste *paste)
{
    return paste->queue.bytes + paste->at;
}

/* Read what there is; the first time wait for it. Returns false with errno: EINTR, or another: the terminal has gone. */
static bool
fill(struct paste *paste, int wait_ms)
{
    struct pollfd poller = {.fd = paste->fd, .events = POLLIN};
    char block[4096];
    bool any = false;
    int ready;

    if (paste->at > 0) {
        memmove(paste->queue.bytes, head(paste), left(paste));
        paste->queue.size -= paste->at;
        paste->at = 0;
    }
    do {
        ssize_t size;

        ready = poll(&poller, 1, any ? 0 : wait_ms);
        if (ready <= 0) {
            return ready == 0 || any;
        }
        size = read(paste->fd, block, sizeof block);
        if (size <= 0) {
            errno = size == 0 ? EIO : errno;
            return any;
        }
        gr_buf_add(&paste->queue, block, (size_t)size);
        any = true;
    } while (left(paste) < READ_MAX && gr_buf_ok(&paste->queue));
    return gr_buf_ok(&paste->queue);
}

/* Whether the queue begins with the mark, or with a part of it whose rest may come. */
static bool
begins_mark(struct paste *paste)
{
    size_t size;

    if (head(paste)[0] != MARK_BEGIN[0]) {
        return false;
    }
    while ((size = left(paste)) < MARK_SIZE && strncmp(head(paste), MARK_BEGIN, size) == 0) {
        if (!fill(paste, KEY_MS) || left(paste) == size) {
            return false;
        }
    }
    return size >= MARK_SIZE && strncmp(head(paste), MARK_BEGIN, MARK_SIZE) == 0;
}

/* The line editor's: a line of printed characters. */
static bool
is_short(const struct paste *paste)
{
    if (paste->text.size > EDITED_MAX) {
        return false;
    }
    for (size_t i = 0; i < paste->text.size; i++) {
        if ((unsigned char)paste->text.bytes[i] < ' ' || paste->text.bytes[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

/* Terminals send Return for the ends of lines. */
static void
end_lines(struct gr_buf *text)
{
    for (size_t i = 0; i < text->size; i++) {
        if (text->bytes[i] == '\r') {
            text->bytes[i] = '\n';
        }
    }
}

/* A marked text, up to its end or as much as there is. */
static enum paste_event
take_marked(struct paste *paste)
{
    const char *end = memmem(head(paste), left(paste), MARK_END, MARK_SIZE);
    /* A part of the mark may be at the end. */
    size_t size = end != NULL ? (size_t)(end - head(paste)) : left(paste) > MARK_SIZE ? left(paste) - MARK_SIZE : 0;

    gr_buf_add(&paste->text, head(paste), size);
    paste->at += end != NULL ? size + MARK_SIZE : size;
    paste->bracketed = end == NULL;
    if (paste->bracketed) {
        return PASTE_CHARACTER; /* there is none yet */
    }
    end_lines(&paste->text);
    if (paste->text.size > 0 && is_short(paste)) { /* in front of what comes next */
        gr_buf_add(&paste->text, head(paste), left(paste));
        gr_buf_free(&paste->queue);
        paste->queue = paste->text;
        paste->text = (struct gr_buf){.bytes = NULL};
        paste->at = 0;
        return PASTE_CHARACTER;
    }
    return paste->text.size > 0 ? PASTE_TEXT : PASTE_CHARACTER;
}

/* More than keys: up to the last line's end, or all of it. */
static void
take_bulk(struct paste *paste)
{
    const char *escape = memchr(head(paste), '\033', left(paste));
    const size_t most = escape == NULL ? left(paste) : (size_t)(escape - head(paste));
    const char *end = memrchr(head(paste), '\r', most);
    const char *feed = memrchr(head(paste), '\n', most);
    size_t size = most;

    end = end == NULL || (feed != NULL && feed > end) ? feed : end;
    size = end == NULL ? most : (size_t)(end + 1 - head(paste));
    gr_buf_add(&paste->text, head(paste), size);
    paste->at += size;
    end_lines(&paste->text);
}

/* The next character; what is no UTF-8 is U+FFFD. */
static wchar_t
take_character(struct paste *paste)
{
    static const unsigned char least[] = {0, 0, 0xc0, 0xe0, 0xf0, 0xf8};
    const unsigned char first = (unsigned char)head(paste)[0];
    size_t size = 1;
    wchar_t character = first;

    for (size_t i = 2; i < sizeof least && first >= 0xc2; i++) {
        size = first >= least[i] ? i : size;
    }
    if (first < 0x80) {
        paste->at++;
        return character;
    }
    while (size > 1 && size <= 4 && left(paste) < size) {
        const size_t before = left(paste);

        if (!fill(paste, KEY_MS) || left(paste) == before) {
            break;
        }
    }
    character = size == 2 ? first & 0x1f : size == 3 ? first & 0x0f : first & 0x07;
    for (size_t i = 1; i < size; i++) {
        if (i >= left(paste) || ((unsigned char)head(paste)[i] & 0xc0) != 0x80) {
            size = 5;
            break;
        }
        character = (wchar_t)(((unsigned)character << 6) | ((unsigned char)head(paste)[i] & 0x3f));
    }
    if (size == 1 || size > 4 || (character >= 0xd800 && character < 0xe000) || character > 0x10ffff) {
        paste->at++;
        return 0xfffd;
    }
    paste->at += size;
    return character;
}

enum paste_event
paste_next(struct paste *paste, wchar_t *ret_character)
{
    for (;;) {
        if (left(paste) == 0 || paste->bracketed) {
            const size_t before = left(paste);

            if (!fill(paste, -1)) {
                if (errno == EINTR) {
                    return PASTE_INTERRUPTED;
                }
                paste->ended = true;
                return PASTE_END;
            }
            if (left(paste) == before) {
                continue;
            }
        }
        if (paste->bracketed) {
            if (take_marked(paste) == PASTE_TEXT) {
                return PASTE_TEXT;
            }
            continue;
        }
        if (begins_mark(paste)) {
            paste->at += MARK_SIZE;
            paste->bracketed = true;
            if (take_marked(paste) == PASTE_TEXT) {
                return PASTE_TEXT;
            }
            continue;
        }
        if (left(paste) > KEYS_MAX && head(paste)[0] != '\033') {
            take_bulk(paste);
            return PASTE_TEXT;
        }
        *ret_character = take_character(paste);
        return PASTE_CHARACTER;
    }
}
