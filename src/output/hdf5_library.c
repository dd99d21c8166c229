/* Loads the HDF5 library: see nh_hdf5_load. Together with the thirty libraries that it needs in
 * turn, it would take most of the time of a short command. */
#ifdef NH_HAVE_HDF5

#include "output/hdf5.h"

#define NH_HDF5_NAMES_ONLY
#include "hdf5_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "base/status.h"

void *nh_hdf5_symbol[NH_HDF5_SYMBOL_COUNT];
static char reason[256]; /* why it could not be loaded */

static void load(void)
{
#define NAME(symbol) #symbol,
    static const char *const name[NH_HDF5_SYMBOL_COUNT] = {NH_HDF5_SYMBOLS(NAME)};
#undef NAME
    void *library = dlopen(NH_HDF5_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool found = library != NULL;
    for (int i = 0; found && i < NH_HDF5_SYMBOL_COUNT; i++)
        found = (nh_hdf5_symbol[i] = dlsym(library, name[i])) != NULL;
    const char *error = found ? NULL : dlerror();
    snprintf(reason, sizeof reason, "%s", error ? error : "");
}

nh_status nh_hdf5_load(nh_report *report)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!*reason)
        return NH_OK;
    return nh_fail(report, NH_FILE_FAILED,
                   "the HDF5 library cannot be loaded (%s); .csv, .npy and .npz need none", reason);
}

#endif
