/* As fuzz_recorded.c, for HDF5: much of what happens to such a file happens in HDF5's own library.
 */
#define ENDINGS ".h5"
#include "fuzz_recorded.c"
