/* The graph is waited for in short steps, and the bar drawn between them. */
#include "cli/work/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

#define STEP_MS       100 /* between two drawings */
#define QUIET_STEP_MS 10000

/* Columns that a drawing may have: one that is wider than the terminal stays there. */
static int
drawn_width(void)
{
    struct winsize size = {.ws_col = 0};

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && size.ws_col < 80 ? size.ws_col - 1 : 79;
}

static void
draw(const granary_graph_status *status, int64_t started_ns)
{
    char bar[31];
    char line[128];
    size_t filled = status->subtasks_total == 0 ? 0 : (size_t)(30 * status->subtasks_done / status->subtasks_total);

    for (size_t i = 0; i < 30; i++) {
        bar[i] = i < filled ? '#' : '.';
    }
    bar[30] = '\0';
    (void)snprintf(line, sizeof line, "[%s] %" PRIu64 "/%" PRIu64 " subtasks, %.1f s ", bar, status->subtasks_done,
                   status->subtasks_total, (double)(gr_now_ns() - started_ns) / 1e9);
    (void)fprintf(stderr, "\r%.*s", drawn_width(), line);
}

granary_err
progress_wait(granary_client *client, const char *key, int64_t deadline_ns, granary_graph_status *ret_status)
{
    bool bar = isatty(STDERR_FILENO) != 0;
    int64_t started = gr_now_ns();
    granary_err err;

    do {
        int left = gr_left_ms(deadline_ns);
        int step = bar ? STEP_MS : QUIET_STEP_MS;

        err = granary_graph_wait(client, key, left >= 0 && left < step ? left : step, ret_status);
        if (bar) {
            draw(ret_status, started);
        }
    } while (err == GRANARY_ETIMEDOUT && ret_status->state == GRANARY_GRAPH_RUNNING && gr_now_ns() < deadline_ns);
    if (bar) {
        (void)fprintf(stderr, "\r%*s\r", drawn_width(), "");
    }
    return err;
}
