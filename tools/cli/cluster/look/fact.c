/* See fact.h. */
#include "cli/cluster/look/fact.h"

#include <stdio.h>

#include "cli/print/show.h"

void
fact_print(struct json *json, const struct about *about, const char *sentence)
{
    char shown[SHOW_TEXT];

    if (json == NULL) {
        (void)printf("  %s\n", show_text(sentence, shown));
        return;
    }
    json_open(json, NULL, '{');
    json_text(json, "code", about->code);
    if (about->stage != NULL) {
        json_text(json, "stage", about->stage);
    }
    if (about->partition > 0) {
        json_signed(json, "partition", about->partition - 1);
    }
    if (about->node != NULL) {
        json_text(json, "node", about->node);
    }
    if (about->since_ms > 0) {
        json_signed(json, "since_ms", about->since_ms);
    }
    json_text(json, "text", sentence);
    json_close(json);
}
