/*
 * equi_width_bins() of moments with nice ends, as DuckDB has them: a width of whole months, days or parts of a day that people
 * count in, from an end that is rounded up to such a part.
 */
#include "kernel/rows/lists/bins.h"

#include <math.h>

#include "data/value/calendar.h"

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

struct width {
    int64_t months;
    int64_t days;
    int64_t micros;
};

static int64_t
days_of(int64_t moment)
{
    return moment >= 0 ? moment / DAY : -((-moment + DAY - 1) / DAY);
}

/* The difference of two moments, part by part, in so many: what is no whole month counts in days of 30, and so on. */
static struct width
width_of(int64_t least, int64_t most, int64_t bins)
{
    const struct gr_civil a = gr_date_civil(days_of(least));
    const struct gr_civil b = gr_date_civil(days_of(most));
    double months = (double)((b.year - a.year) * 12 + (b.month - a.month)) / (double)bins;
    double days = (double)(b.day - a.day) / (double)bins;
    double micros = (double)((most - days_of(most) * DAY) - (least - days_of(least) * DAY)) / (double)bins;

    days += months > 0 ? (months - floor(months)) * 30 : 0;
    micros += days > 0 ? (days - floor(days)) * (double)DAY : 0;
    return (struct width){(int64_t)months, (int64_t)days, (int64_t)micros};
}

static int64_t
rounded(int64_t value, int64_t unit)
{
    return (value + unit / 2) / unit * unit;
}

static struct width
nice_width(struct width width)
{
    if (width.months >= 6) {
        return (struct width){.months = width.months};
    }
    if (width.months > 0 || width.days >= 5) {
        width.micros = 0;
    } else if (width.days > 0 || width.micros >= 6 * HOUR) {
        width.micros = rounded(width.micros, HOUR);
    } else if (width.micros >= HOUR) {
        width.micros = rounded(width.micros, 15 * MINUTE);
    } else if (width.micros >= 10 * MINUTE) {
        width.micros = rounded(width.micros, MINUTE);
    } else if (width.micros >= MINUTE) {
        width.micros = rounded(width.micros, 15 * SECOND);
    } else if (width.micros >= 10 * SECOND) {
        width.micros = rounded(width.micros, SECOND);
    }
    return width;
}

static int64_t
rounded_up(int64_t moment, int64_t unit)
{
    int64_t over = moment % unit;

    return over == 0 ? moment : moment - over + (over > 0 ? unit : 0);
}

/* The last end: at the beginning of a month, a day or less, as the width asks. */
static int64_t
nice_end(int64_t moment, struct width width)
{
    if (width.months >= 12) {
        int64_t day = days_of(moment);
        const struct gr_civil civil = gr_date_civil(day);
        bool begins = civil.day == 1 && day * DAY == moment;

        return begins ? moment : gr_date_add_months(day - (civil.day - 1), 1) * DAY;
    }
    return width.months > 0 || width.days >= 1 ? rounded_up(moment, DAY)
           : width.micros >= HOUR              ? rounded_up(moment, HOUR)
           : width.micros >= MINUTE            ? rounded_up(moment, MINUTE)
           : width.micros >= SECOND            ? rounded_up(moment, SECOND)
                                               : moment;
}

granary_err
bins_of_moments(struct bins_ends *ends, int64_t least, int64_t most, int64_t bins)
{
    struct width width = nice_width(width_of(least, most, bins));
    int64_t first = ends->count;
    granary_err err = GRANARY_OK;
    int64_t at;

    if (least == most) {
        return bins_add(ends, most, 0.0);
    }
    at = nice_end(most, width);
    if (width.months <= 0 && width.days <= 0 && width.micros <= 0) {
        width = (struct width){.micros = 1};
    }
    while (at >= least && ends->count - first < bins && err == GRANARY_OK) {
        int64_t day = days_of(at);
        int64_t in_day = at - day * DAY;

        err = bins_add(ends, ends->count == first && at < most ? most : at, 0.0);
        at = (gr_date_add_months(day, -width.months) - width.days) * DAY + in_day - width.micros;
    }
    return err;
}
