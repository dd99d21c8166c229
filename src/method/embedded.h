/* Sources of the kernels as text, for emitting; made by tools/embed.py at build time. */
#ifndef NH_METHOD_EMBEDDED_H
#define NH_METHOD_EMBEDDED_H

/* A method's file with everything that it includes, in one piece; NULL for an unknown file. */
const char *nh_embedded_kernel(const char *file);

#endif
