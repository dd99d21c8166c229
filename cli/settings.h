/* Settings of a model from the command line and from files. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "options.h"

typedef struct setting_form {
    const char *option, *expected; /* for messages */
    const char *prefix;            /* tells the library what is set */
    const char *sign; /* one of these letters follows the name; NULL: there is no name */
} setting_form;

/* Settings separated by commas; prints an error for anything else, and returns the exit code. */
int settings_add(options *given, const setting_form *form, const char *text);
/* One setting for each line of a file, "NAME = VALUE"; # begins a comment, and headings of TOML and
 * quotes around a value are passed over. */
int settings_read(options *given, const setting_form *form, const char *path);

#endif
