 *
 * The functions of the standard are declared here, so that nothing else is needed: PREFIX.c does
 * the computing. Their names begin with PREFIX_, but not in shared libraries, for which
 * @OVERRIDE@ is defined. */
#include "PREFIX.h"
@include@
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(@OVERRIDE@)
#define NAMED(name) name
#else
#define NAMED(name) PREFIX_##name
#endif
#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif
#if defined(__GNUC__)
/* Most functions of the standard have arguments that a model does not need. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
