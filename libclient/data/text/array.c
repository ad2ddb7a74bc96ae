/* Brackets are counted and quotes are known; whether a record is well written is for its reader to say. */
#include "data/text/array.h"

#include <string.h>

static bool
is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

bool
gr_array_is(const char *bytes, size_t size)
{
    size_t i = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (i < size && is_blank(bytes[i])) {
        i++;
    }
    return i < size && bytes[i] == '[';
}

/* Between records. Returns what is wrong, or NULL; *ret_begins: a record begins here */
static const char *
take_between(struct gr_array *array, char byte, bool *ret_begins)
{
    *ret_begins = false;
    if (is_blank(byte)) {
        return NULL;
    }
    if (array->ended || (!array->begun && byte != '[')) {
        return "something stands outside of the list";
    }
    if (!array->begun) {
        array->begun = true;
    } else if (byte == ']') {
        array->ended = true;
        return array->wanted ? "a comma stands before the end of the list" : NULL;
    } else if (byte == ',') {
        if (!array->complete) {
            return "a comma stands where a record should begin";
        }
        array->complete = false;
        array->wanted = true;
    } else if (array->complete) {
        return "no comma stands between two records";
    } else {
        *ret_begins = true;
    }
    return NULL;
}

/* The lines between the record before and this one. */
static void
begin_record(struct gr_array *array, struct gr_buf *out)
{
    bool is_first = !array->wanted;

    do {
        if (!is_first || array->told < array->line) {
            gr_buf_add(out, "\n", 1);
            array->told++;
        }
        is_first = false;
    } while (array->told < array->line);
    array->within = true;
    array->wanted = array->complete = false;
}

/* A byte of a record. Returns whether it is the first behind it. */
static bool
take_within(struct gr_array *array, char byte, struct gr_buf *out)
{
    if (array->in_text) {
        array->in_text = array->escaped || byte != '"';
        array->escaped = !array->escaped && byte == '\\';
        byte = byte == '\n' || byte == '\r' ? '\x01' : byte; /* neither may be there, and a record is a line */
    } else if (byte == '"') {
        array->in_text = true;
    } else if (byte == '{' || byte == '[') {
        array->depth++;
    } else if ((byte == '}' || byte == ']') && array->depth > 0) {
        array->depth--;
        array->complete = array->depth == 0;
    } else if (array->depth == 0 && (byte == ',' || byte == ']')) { /* behind a number or a word */
        array->complete = true;
        array->within = false;
        return true;
    } else if (byte == '\n' || byte == '\r') {
        byte = ' ';
    }
    gr_buf_add(out, &byte, 1);
    array->within = array->in_text || array->depth > 0 || !array->complete;
    return false;
}

const char *
gr_array_lines(struct gr_array *array, const char *bytes, size_t size, bool last, struct gr_buf *out)
{
    for (size_t i = 0; i < size; i++) {
        if (!array->within || take_within(array, bytes[i], out)) {
            bool begins;
            const char *wrong = take_between(array, bytes[i], &begins);

            if (wrong != NULL) {
                return wrong;
            }
            if (begins) {
                begin_record(array, out);
                (void)take_within(array, bytes[i], out);
            }
        }
        array->line += bytes[i] == '\n';
    }
    if (last && !array->ended) {
        return "the list does not end";
    }
    gr_buf_add(out, "\n", last);
    return NULL;
}
