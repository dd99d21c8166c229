/* Numbers of a model that follow from parameters, with how they follow: so that one build of the
 * equations serves many values of these parameters, with the bits that a build for each would have.
 *
 * During the build the parameters have generic values (the first of NH_WITNESSES), and whatever is
 * computed from them is a label (labels.h) that is listed here with its operation. Afterwards the
 * list is followed again for the values of a member. Its equations have the form of those that were
 * built if none of its numbers could have been simplified: each has the sign it had here, is
 * neither a whole number nor one of the model's own numbers, and differs from all others; and
 * numbers that were equal here, in all witnesses, are equal there. */
#ifndef NH_MODEL_LINEAGE_H
#define NH_MODEL_LINEAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NH_WITNESSES = 4 };

typedef struct nh_lineage nh_lineage;

/* value[parameters][NH_WITNESSES]; the names must outlive it. NULL if out of memory. */
nh_lineage *nh_lineage_create(int parameters, const char *const *name, const double *value);
void nh_lineage_free(nh_lineage *r);
/* Out of memory; or the values were not generic: two numbers were the same by chance, or a number
 * has to have the value that it has here. */
bool nh_lineage_failed(const nh_lineage *r);
bool nh_lineage_is_ambiguous(const nh_lineage *r);

/* The value of a parameter, which has just been found, becomes a label if it is one of these. */
double nh_lineage_parameter(nh_lineage *r, const char *name, double value);
/* The result of an operation: nh_operation, or NH_LINEAGE_FUNCTION + nh_function, of which -1 is
 * the square root. */
enum { NH_LINEAGE_FUNCTION = 8 };
double nh_lineage_operation(nh_lineage *r, int operation, double a, double b);

/* A label: which number, and whether it is the negative of it. */
typedef struct nh_descendant {
    uint32_t index;
    bool negative;
} nh_descendant;
bool nh_lineage_find(const nh_lineage *r, double x, nh_descendant *out);
size_t nh_lineage_numbers(const nh_lineage *r);
/* The place of a label among the arguments of tapes, which get a new one if there is none yet; and
 * the labels with such places, in their order. */
uint32_t nh_lineage_argument(nh_lineage *r, nh_descendant number);
size_t nh_lineage_arguments(const nh_lineage *r, const nh_descendant **out);

/* The form of the equations depends on the sign of this number, if it is a label; on its value. */
void nh_lineage_decide(nh_lineage *r, double x);
void nh_lineage_pin(nh_lineage *r, double x);

/* A number of the model itself, which those of members are not to equal. */
void nh_lineage_note_plain(nh_lineage *r, double x);
/* All numbers from those of the parameters: value[numbers]. Whether these are numbers for the
 * equations that were built. */
typedef enum nh_likeness { NH_UNLIKE, NH_NEARLY_LIKE, NH_LIKE } nh_likeness;
nh_likeness nh_lineage_follow(nh_lineage *r, const double *parameter, double *value);

static inline double nh_descendant_value(nh_descendant number, const double *value)
{
    return number.negative ? -value[number.index] : value[number.index];
}

#endif
