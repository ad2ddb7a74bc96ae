/* A stack of open brackets tells what comes between two values. */
#include "cli/print/json.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/buf.h"
#include "data/print/print.h"

static FILE *
out_of(const struct json *json)
{
    return json->out != NULL ? json->out : stdout;
}

static void
put_quoted(const struct json *json, const char *text)
{
    struct gr_buf quoted = {0};

    gr_print_json_string(text, strlen(text), &quoted);
    (void)fputs(gr_buf_ok(&quoted) ? quoted.bytes : "\"\"", out_of(json));
    gr_buf_free(&quoted);
}

static void
begin(struct json *json, const char *key)
{
    if (json->filled[json->depth]) {
        (void)fputs(json->depth == 1 && json->closing[1] == ']' ? ",\n " : ", ", out_of(json));
    }
    json->filled[json->depth] = true;
    if (key != NULL) {
        put_quoted(json, key);
        (void)fputs(": ", out_of(json));
    }
}

void
json_open(struct json *json, const char *key, char bracket)
{
    if (json->depth > 0) {
        begin(json, key);
    }
    (void)fputc(bracket, out_of(json));
    json->depth++;
    json->filled[json->depth] = false;
    json->closing[json->depth] = bracket == '{' ? '}' : ']';
}

void
json_close(struct json *json)
{
    (void)fputc(json->closing[json->depth], out_of(json));
    if (--json->depth == 0) {
        (void)fputc('\n', out_of(json));
    }
}

void
json_text(struct json *json, const char *key, const char *text)
{
    begin(json, key);
    put_quoted(json, text);
}

void
json_id(struct json *json, const char *key, granary_id id)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    json_text(json, key, text);
}

void
json_unsigned(struct json *json, const char *key, uint64_t value)
{
    begin(json, key);
    (void)fprintf(out_of(json), "%" PRIu64, value);
}

void
json_signed(struct json *json, const char *key, int64_t value)
{
    begin(json, key);
    (void)fprintf(out_of(json), "%" PRId64, value);
}

void
json_float(struct json *json, const char *key, double value)
{
    begin(json, key);
    (void)fprintf(out_of(json), "%.9g",
                  value == value && value < 1e300 && value > -1e300 ? value : 0.0); /* JSON has no others */
}

void
json_number(struct json *json, const char *key, const char *digits)
{
    begin(json, key);
    (void)fputs(digits, out_of(json));
}

void
json_bool(struct json *json, const char *key, bool value)
{
    begin(json, key);
    (void)fputs(value ? "true" : "false", out_of(json));
}

void
json_cell(struct json *json, const char *key, granary_cell_value cell)
{
    switch (cell.kind) {
    case GRANARY_CELL_INT:
        json_signed(json, key, cell.integer);
        break;
    case GRANARY_CELL_REAL:
        json_float(json, key, cell.real);
        break;
    case GRANARY_CELL_TEXT:
        json_text(json, key, cell.text);
        break;
    }
}
