/* Like fuzz_datafile.c, for HDF5: much of the work on such a file happens in the HDF5 library
 * itself.
 */
#define ENDINGS ".h5"
#include "fuzz_datafile.c"
