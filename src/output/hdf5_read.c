/* Reads variables of HDF5 files. */
#ifdef NH_HAVE_HDF5

#include "output/hdf5_read.h"

int nh_hdf5_size_of(hid_t file, const char *name, hsize_t size[3])
{
    hid_t set = H5Lexists(file, name, H5P_DEFAULT) > 0 ? H5Dopen2(file, name, H5P_DEFAULT) : -1;
    hid_t space = set >= 0 ? H5Dget_space(set) : -1;
    int axes = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    if (axes < 1 || axes > 3 || H5Sget_simple_extent_dims(space, size, NULL) != axes)
        axes = -1;
    nh_hdf5_drop(space);
    nh_hdf5_drop(set);
    return axes;
}

bool nh_hdf5_read_block(hid_t file, const char *name, hid_t type, int axes, const hsize_t *from,
                        const hsize_t *count, void *data)
{
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = set >= 0 ? H5Dget_space(set) : -1;
    hid_t room = H5Screate_simple(axes, count, NULL);
    bool done = space >= 0 && room >= 0 &&
                H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL) >= 0 &&
                H5Dread(set, type, room, space, H5P_DEFAULT, data) >= 0;
    nh_hdf5_drop(room);
    nh_hdf5_drop(space);
    nh_hdf5_drop(set);
    return done;
}

hid_t nh_hdf5_text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0)
        return type;
    nh_hdf5_drop(type);
    return -1;
}

#endif
