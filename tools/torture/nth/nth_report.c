/* What came of the n-th-failure run: findings, how often which outcome came, and the table. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "torture/nth/nth.h"

/* ---- findings ---- */

static void
print_text(const char *text)
{
    (void)putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            (void)printf("\\%c", *text);
        } else if ((unsigned char)*text < ' ') {
            (void)printf("\\u%04x", (unsigned)*text);
        } else {
            (void)putchar(*text);
        }
    }
    (void)putchar('"');
}

static void
print_finding(const struct nth_row *row, const struct nth_trial *trial)
{
    const char *action = row->fault.action;
    const char *errnos = strncmp(action, "errno=", 6) == 0 ? action + 6 : row->fault.traced ? "" : action;
    char command[512];

    (void)snprintf(command, sizeof command,
                   "granary torture nth --scenario %s --process %s --fail %s%s%s%s --first %" PRIu64 " --last %" PRIu64,
                   row->scenario, nth_process_names[row->fault.process], row->fail,
                   errnos[0] == '\0' ? "" : " --errno ", errnos, row->fault.sticky ? " --sticky" : "", trial->n,
                   trial->n);
    if (row->json) {
        (void)printf("{\"n\": %" PRIu64 ", \"finding\": ", trial->n);
        print_text(trial->finding);
        (void)printf(", \"command\": ");
        print_text(command);
        (void)printf("}\n");
    } else {
        (void)printf("FINDING at %" PRIu64 ": %s\n  again: %s\n", trial->n, trial->finding, command);
    }
    (void)fflush(stdout);
}

/* ---- outcomes ---- */

static void
count_outcome(struct nth_row *row, const char *text)
{
    size_t i = 0;

    while (i < row->outcome_count && strcmp(row->outcomes[i].text, text) != 0) {
        i++;
    }
    if (i == NTH_OUTCOMES_MOST) {
        return;
    }
    if (i == row->outcome_count) {
        (void)snprintf(row->outcomes[i].text, sizeof row->outcomes[i].text, "%s", text);
        row->outcomes[i].count = 0;
        row->outcome_count++;
    }
    row->outcomes[i].count++;
}

void
nth_row_count(struct nth_row *row, const struct nth_trial *trial)
{
    bool wrong = trial->finding[0] != '\0';

    if (wrong) {
        row->findings++;
        print_finding(row, trial);
    }
    if (trial->fired) {
        row->trials++;
        row->hits = trial->n > row->hits ? trial->n : row->hits;
        row->kinds[trial->kind] += !wrong;
        count_outcome(row, trial->outcome);
    }
}

void
nth_row_print(const struct nth_row *row, uint64_t n)
{
    if (row->json) {
        (void)printf("{\"scenario\": \"%s\", \"process\": \"%s\", \"point\": \"%s\", \"action\": \"%s\", \"trials\": "
                     "%" PRIu64 ", \"ended_at\": %" PRIu64 ", \"findings\": %" PRIu64 ", \"outcomes\": {",
                     row->scenario, nth_process_names[row->fault.process], row->fault.point, row->fault.action,
                     row->trials, n, row->findings);
        for (size_t i = 0; i < row->outcome_count; i++) {
            (void)printf(i == 0 ? "" : ", ");
            print_text(row->outcomes[i].text);
            (void)printf(": %" PRIu64, row->outcomes[i].count);
        }
        (void)printf("}}\n");
    } else {
        (void)printf("%s, %s, %s %s: %" PRIu64 " trials up to %" PRIu64 ", %" PRIu64 " findings\n", row->scenario,
                     nth_process_names[row->fault.process], row->fault.point, row->fault.action, row->trials, n,
                     row->findings);
        for (size_t i = 0; i < row->outcome_count; i++) {
            (void)printf("%8" PRIu64 "  %s\n", row->outcomes[i].count, row->outcomes[i].text);
        }
    }
    (void)fflush(stdout);
}

/* ---- the table ---- */

void
nth_table_head(FILE *table)
{
    (void)fprintf(table, "%-14s %-9s %-20s %7s %7s %9s %12s %7s %7s %7s\n", "scenario", "process", "failure", "all n",
                  "tried", "succeeded", "clean errors", "killed", "waited", "WRONG");
}

void
nth_table_add(FILE *table, const struct nth_row *row)
{
    const char *action = row->fault.action;
    char failure[64];

    (void)snprintf(failure, sizeof failure, "%s%s%s%s", row->fail, row->fault.traced ? "" : " ",
                   row->fault.traced                   ? ""
                   : strncmp(action, "errno=", 6) == 0 ? action + 6
                                                       : action,
                   row->fault.sticky ? " ..." : "");
    (void)fprintf(table,
                  "%-14s %-9s %-20s %7" PRIu64 " %7" PRIu64 " %9" PRIu64 " %12" PRIu64 " %7" PRIu64 " %7" PRIu64
                  " %7" PRIu64 "\n",
                  row->scenario, nth_process_names[row->fault.process], failure, row->hits, row->trials,
                  row->kinds[NTH_SUCCESS], row->kinds[NTH_ERROR], row->kinds[NTH_KILLED], row->kinds[NTH_WAITED],
                  row->findings);
}
