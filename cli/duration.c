/* Chooses a suitable unit for a duration. */
#include "duration.h"

#include <math.h>
#include <stdio.h>

/* More than a minute and a half; weeks happen. */
static void describe_long(duration_text *out, double seconds)
{
    if (seconds < 6000)
        snprintf(out->text, sizeof out->text, "%d min %02d s", (int)(seconds / 60),
                 (int)seconds % 60);
    else if (seconds < 172800)
        snprintf(out->text, sizeof out->text, "%.1f hours", seconds / 3600);
    else
        snprintf(out->text, sizeof out->text, "%.1f days", seconds / 86400);
}

duration_text duration(double seconds)
{
    static const struct {
        const char *name;
        double length, most; /* 999.5 would be printed as 1e+03 */
    } unit[] = {{"ns", 1e-9, 999.5}, {"us", 1e-6, 999.5}, {"ms", 1e-3, 999.5}, {"s", 1, 99.95}};
    duration_text out = {"-"};
    if (!isfinite(seconds))
        return out;
    for (int i = 0; i < 4; i++)
        if (seconds < unit[i].most * unit[i].length) {
            snprintf(out.text, sizeof out.text, "%.3g %s", seconds / unit[i].length, unit[i].name);
            return out;
        }
    describe_long(&out, seconds);
    return out;
}
