/* Packs series of numbers for pages. Smooth series take little more than one byte per value,
 * whatever their range. */
#include "output/packed.h"

#include <math.h>
#include <nonholo.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    unsigned char *data;
    size_t used, room;
    bool failed;
} bytes;

static void put_byte(bytes *b, unsigned byte)
{
    if (b->used == b->room) {
        size_t room = b->room ? 2 * b->room : 4096;
        unsigned char *data = realloc(b->data, room);
        if (!data) {
            b->failed = true;
            return;
        }
        b->data = data;
        b->room = room;
    }
    b->data[b->used++] = (unsigned char)byte;
}

/* Seven bits per byte, the low ones first; the high bit says that more follow. */
static void put_code(bytes *b, uint64_t code)
{
    for (; code > 127 && !b->failed; code >>= 7)
        put_byte(b, 128 | (code & 127));
    if (!b->failed)
        put_byte(b, (unsigned)code);
}

static void put_base64(nh_text *text, const bytes *b)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char block[4 * 1024 + 1];
    size_t used = 0;
    for (size_t i = 0; i < b->used; i += 3) {
        unsigned left = (unsigned)(b->used - i);
        unsigned bits = (unsigned)b->data[i] << 16 |
                        (left > 1 ? (unsigned)b->data[i + 1] << 8 : 0) |
                        (left > 2 ? b->data[i + 2] : 0);
        block[used++] = digit[bits >> 18];
        block[used++] = digit[bits >> 12 & 63];
        block[used++] = left > 1 ? digit[bits >> 6 & 63] : '=';
        block[used++] = left > 2 ? digit[bits & 63] : '=';
        if (used == sizeof block - 1 || i + 3 >= b->used) {
            block[used] = '\0';
            nh_text_add_plain(text, block);
            used = 0;
        }
    }
}

static double first_finite(const double *value, int64_t count, int64_t stride)
{
    for (int64_t i = 0; i < count; i++)
        if (isfinite(value[i * stride]))
            return value[i * stride];
    return 0;
}

/* A step below 2^-45 of the largest distance from the start would be lost in the reader's
 * doubles. */
static double careful_step(const double *value, int64_t count, int64_t stride, double from,
                           double step)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(value[i * stride]))
            largest = fmax(largest, fabs(value[i * stride] - from));
    double least = ldexp(largest, -45);
    step = step > least ? step : least;
    return isfinite(step) && step > 0 ? step : 1;
}

void nh_pack(nh_text *text, const double *value, int64_t count, int64_t stride, double step)
{
    bytes b = {0};
    char digits[2][32];
    double from = first_finite(value, count, stride);
    step = careful_step(value, count, stride, from, step);
    int64_t last = 0, change = 0;
    for (int64_t i = 0; i < count; i++) {
        double v = value[i * stride];
        double level = (v - from) / step;
        if (!isfinite(level) || fabs(level) > 0x1p50) {
            put_code(&b, 0);
            continue;
        }
        int64_t now = llround(level), surprise = now - last - change;
        put_code(&b,
                 1 + (surprise < 0 ? 2 * (uint64_t)(-surprise - 1) + 1 : 2 * (uint64_t)surprise));
        change = now - last;
        last = now;
    }
    nh_text_add(text, "{\"count\":%lld,\"from\":%s,\"step\":%s,\"data\":\"", (long long)count,
                nh_number_text(from, digits[0]), nh_number_text(step, digits[1]));
    put_base64(text, &b);
    nh_text_add_plain(text, "\"}");
    text->failed = text->failed || b.failed;
    free(b.data);
}
