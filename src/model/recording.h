/* Numbers of a model that follow from parameters, with how they follow: so that one build of the
 * equations serves many values of these parameters, with the bits that a build for each would have.
 *
 * During the build the parameters have generic values (the first of NH_WITNESSES), and whatever is
 * computed from them is a label (labels.h) that is listed here with its operation. Afterwards the
 * list is followed again for the values of a member. Its equations have the form of those that were
 * built if none of its numbers could have been simplified: each has the sign it had here, is
 * neither a whole number nor one of the model's own numbers, and differs from all others; and
 * numbers that were equal here, in all witnesses, are equal there. */
#ifndef NH_MODEL_RECORDING_H
#define NH_MODEL_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NH_WITNESSES = 4 };

typedef struct nh_recording nh_recording;

/* value[parameters][NH_WITNESSES]; the names must outlive it. NULL if out of memory. */
nh_recording *nh_recording_create(int parameters, const char *const *name, const double *value);
void nh_recording_free(nh_recording *r);
/* Out of memory; or the values were not generic: two numbers were the same by chance. */
bool nh_recording_failed(const nh_recording *r);
bool nh_recording_is_ambiguous(const nh_recording *r);

/* The value of a parameter, which has just been found, becomes a label if it is one of these. */
double nh_recording_parameter(nh_recording *r, const char *name, double value);
/* The result of an operation: nh_operation, or NH_RECORDED_FUNCTION + nh_function, of which -1 is
 * the square root. */
enum { NH_RECORDED_FUNCTION = 8 };
double nh_record_operation(nh_recording *r, int operation, double a, double b);

/* A label: which number, and whether it is the negative of it. */
typedef struct nh_recorded_number {
    uint32_t index;
    bool negative;
} nh_recorded_number;
bool nh_recording_find(const nh_recording *r, double x, nh_recorded_number *out);
size_t nh_recording_numbers(const nh_recording *r);
/* The place of a label among the arguments of tapes, which get a new one if there is none yet; and
 * the labels with such places, in their order. */
uint32_t nh_recording_argument(nh_recording *r, nh_recorded_number number);
size_t nh_recording_arguments(const nh_recording *r, const nh_recorded_number **out);

/* A number of the model itself, which those of members are not to equal. */
void nh_recording_note_plain(nh_recording *r, double x);
/* All numbers from those of the parameters: value[numbers]. Whether these are numbers for the
 * equations that were built. */
typedef enum nh_likeness { NH_UNLIKE, NH_NEARLY_LIKE, NH_LIKE } nh_likeness;
nh_likeness nh_recording_follow(nh_recording *r, const double *parameter, double *value);

static inline double nh_recorded_value(nh_recorded_number number, const double *value)
{
    return number.negative ? -value[number.index] : value[number.index];
}

#endif
