/* Numbers of quadruple precision: libquadmath, and decimals. */
#include "base/precise.h"

#ifdef NH_HAVE_PRECISE

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

nh_precise_functions nh_quadmath;
static bool complete;

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    complete = complete && found;
    return found;
}

static void load(void)
{
    void *library = dlopen(NH_QUADMATH_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    complete = true;
#define LOAD(name) *(void **)&nh_quadmath.name = symbol(library, #name);
    NH_PRECISE_OF_ONE(LOAD)
    NH_PRECISE_OF_TWO(LOAD)
    LOAD(sincosq)
#undef LOAD
    *(void **)&nh_quadmath.from_text = symbol(library, "strtoflt128");
    *(void **)&nh_quadmath.to_text = symbol(library, "quadmath_snprintf");
}

bool nh_have_precise(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return complete;
}

nh_precise nh_precise_read(const char *text, char **end)
{
    const locale_t before = nh_enter_plain();
    const nh_precise value = nh_quadmath.from_text(text, end);
    uselocale(before);
    return value;
}

nh_precise nh_precise_decimal(double x)
{
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        nh_print(text, sizeof text, "%.*g", digits, x);
        if (nh_decimal(text, NULL) == x)
            break;
    }
    return nh_precise_read(text, NULL);
}

void nh_precise_print(nh_precise x, char text[NH_PRECISE_TEXT])
{
    const locale_t before = nh_enter_plain();
    for (int digits = 33; digits <= 36; digits++) {
        nh_quadmath.to_text(text, NH_PRECISE_TEXT, "%.*Qg", digits, x);
        if (nh_quadmath.from_text(text, NULL) == x)
            break;
    }
    uselocale(before);
}

#else

bool nh_have_precise(void)
{
    return false;
}

#endif
