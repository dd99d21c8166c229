/* How pictures are drawn, as --size, --font, --no-title, --fps, --speed, --camera and --caption
 * say. */
#ifndef CLI_APPEARANCE_H
#define CLI_APPEARANCE_H

#include "options.h"

/* Reads these options for a picture at `path`; 0, or the exit code after printing what is wrong. */
int picture_read(const options *given, const char *path);

/* A picture with this title and what the options say; valid until the next call. */
const nh_picture *picture_titled(const char *title);

#endif
