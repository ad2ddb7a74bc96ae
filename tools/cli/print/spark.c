/* Eight heights, and none for what is nothing. */
#include "cli/print/spark.h"

#include <string.h>

void
spark_add(struct spark *spark, double value)
{
    spark->values[spark->count++ % SPARK_VALUES] = value;
}

static size_t
first_of(const struct spark *spark)
{
    return spark->count > SPARK_VALUES ? spark->count - SPARK_VALUES : 0;
}

double
spark_most(const struct spark *spark)
{
    double most = 0;

    for (size_t i = first_of(spark); i < spark->count; i++) {
        most = spark->values[i % SPARK_VALUES] > most ? spark->values[i % SPARK_VALUES] : most;
    }
    return most;
}

const char *
spark_text(const struct spark *spark, double most, bool ascii, char text[SPARK_TEXT])
{
    static const char *const drawn[2][9] = {{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                                            {" ", ".", ":", "-", "=", "+", "*", "#", "@"}};
    char *end = text;

    for (size_t i = first_of(spark); i < spark->count; i++) {
        const double part = most > 0 ? spark->values[i % SPARK_VALUES] / most : 0;
        const int height = !(part > 0) ? 0 : part >= 1 ? 8 : 1 + (int)(part * 8);

        end = stpcpy(end, drawn[ascii][height > 8 ? 8 : height]);
    }
    *end = '\0';
    return text;
}
