/* nonholo cache: shows or empties the cache of compiled kernels. */
#include "command.h"
#include "json.h"
#include "message.h"

#include <stdio.h>

static int run(const options *given)
{
    nh_cache cache;
    nh_report report;
    nh_status status =
        given->clear ? nh_cache_clear(&cache, &report) : nh_cache_look(&cache, &report);
    if (status != NH_OK)
        return complain_report(&report);
    if (given->json) {
        json j = json_begin(stdout);
        json_text(&j, "folder", cache.folder);
        json_integer(&j, given->clear ? "removed" : "kernels", cache.kernels);
        json_integer(&j, "bytes", cache.bytes);
        json_integer(&j, "limit", cache.limit);
        json_end(&j);
    } else if (given->clear)
        printf("removed %lld kernel%s, %.1f MB, from %s\n", (long long)cache.kernels,
               plural(cache.kernels), 1e-6 * (double)cache.bytes, cache.folder);
    else
        printf("%lld compiled kernel%s, %.1f of at most %.0f MB, in %s\n", (long long)cache.kernels,
               plural(cache.kernels), 1e-6 * (double)cache.bytes, 1e-6 * (double)cache.limit,
               cache.folder);
    return DONE;
}

const command command_cache = {
    .name = "cache",
    .summary = "show or empty the cache of compiled kernels",
    .operands = "[--clear]",
    .help = "Compiled kernels are kept for later runs. When they take up more than 256 MB (or\n"
            "NONHOLO_CACHE_MB), the least recently used ones are removed.",
    .examples = "nonholo cache\n"
                "nonholo cache --clear",
    .options = OPTIONS_CACHE,
    .run = run,
};
