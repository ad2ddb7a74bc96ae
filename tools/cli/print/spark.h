/* Sparklines: the last values of something in one line, a character each. */
#ifndef CLI_SPARK_H
#define CLI_SPARK_H

#include <stdbool.h>
#include <stddef.h>

#define SPARK_VALUES 60
#define SPARK_TEXT   (SPARK_VALUES * 3 + 1) /* bytes */

/* Zero has no values. */
struct spark {
    double values[SPARK_VALUES]; /* a ring */
    size_t count;                /* that were ever added */
};

void spark_add(struct spark *spark, double value);
/* The largest that is shown; 0 when all are less. */
double spark_most(const struct spark *spark);
/* From 0 to most, oldest first; ascii: without other characters. Returns text. */
const char *spark_text(const struct spark *spark, double most, bool ascii, char text[SPARK_TEXT]);

#endif
