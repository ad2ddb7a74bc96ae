/* One table says what is printed and what is read. */
#include "cli/cluster/look/facts.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, NUMBER, REAL, MARK };

static const struct row {
    const char *name;
    enum kind kind;
    size_t offset, size;
} rows[] = {
#define ROW(name, kind, member)                                                                                        \
    {                                                                                                                  \
        name, kind, offsetof(struct facts, member), sizeof(((struct facts *)NULL)->member)                             \
    }
    ROW("version", TEXT, version),   ROW("processors", NUMBER, processors),
    ROW("load", REAL, load),         ROW("store", TEXT, store),
    ROW("instance", TEXT, instance), ROW("memory", NUMBER, memory_bytes),
    ROW("used", NUMBER, used_bytes), ROW("spilled", NUMBER, spilled_bytes),
    ROW("objects", NUMBER, objects), ROW("executors", NUMBER, executors),
    ROW("busy", NUMBER, busy),       ROW("running", NUMBER, running),
    ROW("whole", MARK, whole),
#undef ROW
};

void
facts_print(const struct facts *facts)
{
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const void *field = (const char *)facts + rows[r].offset;

        switch (rows[r].kind) {
        case TEXT:
            (void)printf("%s %s\n", rows[r].name, (const char *)field);
            break;
        case NUMBER:
            (void)printf("%s %" PRId64 "\n", rows[r].name, *(const int64_t *)field);
            break;
        case REAL:
            (void)printf("%s %.2f\n", rows[r].name, *(const double *)field);
            break;
        case MARK:
            (void)(*(const bool *)field && printf("%s\n", rows[r].name));
            break;
        }
    }
}

static void
take(const struct row *row, const char *value, size_t length, struct facts *facts)
{
    void *field = (char *)facts + row->offset;
    char text[128];

    (void)snprintf(text, sizeof text, "%.*s", (int)length, value);
    switch (row->kind) {
    case TEXT:
        (void)snprintf(field, row->size, "%s", text);
        break;
    case NUMBER:
        *(int64_t *)field = strtoll(text, NULL, 10);
        break;
    case REAL:
        *(double *)field = strtod(text, NULL);
        break;
    case MARK:
        *(bool *)field = true;
        break;
    }
}

void
facts_read(const char *text, struct facts *ret_facts)
{
    *ret_facts = (struct facts){.executors = 0};
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        size_t line = strcspn(at, "\n");
        size_t name = strcspn(at, " \n");

        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            if (strlen(rows[r].name) == name && strncmp(at, rows[r].name, name) == 0) {
                take(&rows[r], at + name + (name < line), line - name - (name < line), ret_facts);
            }
        }
    }
}
