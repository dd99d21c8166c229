/* The version of the library and its optional parts. */
#include <nonholo.h>

#ifdef NH_HAVE_AVX2_VARIANTS
#define KERNELS "kernels for every x86-64 and for AVX2 with FMA"
#else
#define KERNELS "portable kernels"
#endif
#ifdef NH_HAVE_HDF5
#define HDF5 "HDF5"
#else
#define HDF5 "no HDF5"
#endif
#ifdef NH_HAVE_EXPAT
#define EXPAT "Expat"
#else
#define EXPAT "no Expat (no import of URDF files)"
#endif
#ifdef NH_HAVE_IPOPT
#define IPOPT "IPOPT"
#else
#define IPOPT "no IPOPT (no optimisation)"
#endif
#ifdef NH_HAVE_LAPACK
#define LAPACK "LAPACK"
#else
#define LAPACK "no LAPACK (no linearisation)"
#endif
#ifdef NH_TANGENTS
#define TANGENTS "derivatives"
#else
#define TANGENTS "no C++ compiler (no derivatives of runs)"
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER __VERSION__
#endif

const char *nh_version(void)
{
    return NH_VERSION;
}

const char *nh_version_parts(void)
{
    return KERNELS "; " TANGENTS "; " HDF5 "; " LAPACK "; " IPOPT "; " EXPAT
                   "; compiled by " COMPILER;
}
