#include <nonholo.h>

const char *nh_version(void)
{
    return NH_VERSION;
}

const char *nh_version_parts(void)
{
#ifdef NH_HAVE_AVX2_VARIANTS
    return "kernels for every x86-64 and for AVX2 with FMA; no HDF5, no MPI";
#else
    return "portable kernels; no HDF5, no MPI";
#endif
}
