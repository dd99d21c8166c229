/* The layout of the table of gauss-lobatto.c: one list for the kernel and for the code that fills
 * the table (gauss-lobatto-table.h). There are s stages.
 *
 *     c, a      Gauss's nodes and rows; the last row is his weights b
 *     ct, abar  Lobatto's s + 1 nodes, and the rows that lead from velocities at Gauss's to them
 *     r         momenta of stages and end from the pushes at Gauss's nodes (a), then Lobatto's (at)
 *     moment    conditions on constraints on velocities: s - 1 rows over the stages
 *     on_g      abar r, without its first row: how g / h changes with impulses
 *     ex, epsi, emu   continue velocities and impulses into the next step */
#ifndef NH_METHOD_GAUSS_LOBATTO_H
#define NH_METHOD_GAUSS_LOBATTO_H

#define GAUSS_LOBATTO_PARTS(PART)                                                                  \
    PART(c, s)                                                                                     \
    PART(a, (s + 1) * s)                                                                           \
    PART(ct, s + 1)                                                                                \
    PART(abar, (s + 1) * s)                                                                        \
    PART(r, (s + 1) * (2 * s + 1))                                                                 \
    PART(moment, (s - 1) * s)                                                                      \
    PART(on_g, s *(2 * s + 1))                                                                     \
    PART(ex, (s + 1) * (s + 1))                                                                    \
    PART(epsi, s *s)                                                                               \
    PART(emu, (s + 1) * (s + 1))

typedef struct gauss_lobatto_layout {
#define GAUSS_LOBATTO_OFFSET(name, count) int name;
    GAUSS_LOBATTO_PARTS(GAUSS_LOBATTO_OFFSET)
#undef GAUSS_LOBATTO_OFFSET
    int size;
} gauss_lobatto_layout;

static inline gauss_lobatto_layout gauss_lobatto_layout_of(int s)
{
    gauss_lobatto_layout at;
    int next = 0;
#define GAUSS_LOBATTO_PLACE(name, count)                                                           \
    at.name = next;                                                                                \
    next += (count);
    GAUSS_LOBATTO_PARTS(GAUSS_LOBATTO_PLACE)
#undef GAUSS_LOBATTO_PLACE
    at.size = next;
    return at;
}

#endif
