/* How values are shown to humans: moments, ages, and texts that others chose. */
#include "cli/print/show.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text/text.h"

const char *
show_time(int64_t ms, char buffer[32])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm local;

    if (ms <= 0 || localtime_r(&seconds, &local) == NULL || strftime(buffer, 32, "%Y-%m-%d %H:%M:%S", &local) == 0) {
        (void)snprintf(buffer, 32, "-");
    }
    return buffer;
}

const char *
show_age(int64_t since_ms, char buffer[32])
{
    int64_t seconds = (gr_wall_ms() - since_ms) / 1000;

    if (since_ms <= 0) {
        (void)snprintf(buffer, 32, "-");
    } else if (seconds < 120) {
        (void)snprintf(buffer, 32, "%d s", (int)(seconds < 0 ? 0 : seconds));
    } else if (seconds < 7200) {
        (void)snprintf(buffer, 32, "%d min", (int)(seconds / 60));
    } else if (seconds < 172800) {
        (void)snprintf(buffer, 32, "%d h", (int)(seconds / 3600));
    } else {
        (void)snprintf(buffer, 32, "%lld d", (long long)(seconds / 86400));
    }
    return buffer;
}

const char *
show_text(const char *text, char buffer[SHOW_TEXT])
{
    char shown[GR_TEXT_SHOWN];
    size_t left = strnlen(text, SHOW_TEXT);
    size_t at = 0;

    for (size_t step; left > 0 && at + sizeof shown < SHOW_TEXT; text += step, left -= step) {
        step = gr_text_show(text, left, shown);
        at += (size_t)snprintf(buffer + at, SHOW_TEXT - at, "%s", shown);
    }
    if (left > 0) {
        at = at < SHOW_TEXT - sizeof SHOW_CUT ? at : SHOW_TEXT - sizeof SHOW_CUT;
        while (at > 0 && ((unsigned char)buffer[at] & 0xc0) == 0x80) {
            at--;
        }
        memcpy(buffer + at, SHOW_CUT, sizeof SHOW_CUT);
    } else {
        buffer[at] = '\0';
    }
    return buffer;
}

size_t
show_lines(const char *text, size_t size, bool more)
{
    size_t end = more && size > 3 ? size - 3 : size;
    char shown[GR_TEXT_SHOWN];
    size_t at = 0;

    while (at < end) {
        size_t step = gr_text_show(text + at, size - at, shown);

        (void)fputs(text[at] == '\n' ? "\n" : text[at] == '\t' ? "\t" : shown, stdout);
        at += step;
    }
    return at;
}

const char *
show_state(granary_object_state state)
{
    switch (state) {
    case GRANARY_OBJECT_SEALED:
        return "memory";
    case GRANARY_OBJECT_SPILLED:
        return "disk";
    case GRANARY_OBJECT_DELETING:
        return "deleting";
    case GRANARY_OBJECT_ALIAS:
        return "alias";
    }
    return "?";
}
