/* The models shipped with the library; the table is generated at build time from models/
 * (tools/embed.py). */
#ifndef NH_MODEL_SHIPPED_MODELS_H
#define NH_MODEL_SHIPPED_MODELS_H

#include <stddef.h>

typedef struct nh_shipped {
    const char *name, *text;
    size_t length;
} nh_shipped;

extern const nh_shipped nh_shipped_models[]; /* sorted by name */
extern const int nh_shipped_model_total;

#endif
