/* The WebAssembly instructions used for tapes, and their binary encoding. Source: WebAssembly Core
 * Specification, release 2.0, chapter 5 (binary format). Part of wasm.c. */
#ifndef NH_CODE_WASM_BYTES_H
#define NH_CODE_WASM_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct wasm_bytes {
    unsigned char *byte;
    size_t length, room;
    bool failed; /* no memory */
} wasm_bytes;

enum { TYPE_I32 = 0x7f, TYPE_F64 = 0x7c, TYPE_FUNCTION = 0x60, TYPE_NONE = 0x40 };
enum { SECTION_TYPE = 1, SECTION_IMPORT, SECTION_FUNCTION, SECTION_EXPORT = 7, SECTION_CODE = 10 };
enum { KIND_FUNCTION = 0, KIND_MEMORY = 2 };

typedef enum wasm_instruction {
    WASM_LOOP = 0x03,
    WASM_END = 0x0b,
    WASM_BR_IF = 0x0d,
    WASM_CALL = 0x10,
    WASM_SELECT = 0x1b,
    WASM_LOCAL_GET = 0x20,
    WASM_LOCAL_SET = 0x21,
    WASM_LOCAL_TEE = 0x22,
    WASM_F64_LOAD = 0x2b,
    WASM_F64_STORE = 0x39,
    WASM_I32_CONST = 0x41,
    WASM_F64_CONST = 0x44,
    WASM_F64_LT = 0x63,
    WASM_I32_ADD = 0x6a,
    WASM_I32_SUB = 0x6b,
    WASM_I32_MUL = 0x6c,
    WASM_F64_NEG = 0x9a,
    WASM_F64_SQRT = 0x9f,
    WASM_F64_ADD = 0xa0,
    WASM_F64_SUB = 0xa1,
    WASM_F64_MUL = 0xa2,
    WASM_F64_DIV = 0xa3
} wasm_instruction;

static inline void put_bytes(wasm_bytes *x, const void *bytes, size_t count)
{
    if (x->room - x->length < count) {
        size_t room = 2 * x->room + count + 1024;
        unsigned char *byte = realloc(x->byte, room);
        if (!byte) {
            x->failed = true;
            return;
        }
        x->byte = byte, x->room = room;
    }
    memcpy(x->byte + x->length, bytes, count);
    x->length += count;
}

static inline void put(wasm_bytes *x, unsigned value)
{
    put_bytes(x, &(unsigned char){(unsigned char)value}, 1);
}

/* Seven bits per byte, the lowest first; the highest bit of a byte says that more follow. */
static inline void put_unsigned(wasm_bytes *x, uint32_t value)
{
    for (; value > 127; value >>= 7)
        put(x, (value & 127) | 128);
    put(x, value);
}

/* The same for two's complement: the last byte's bit 6 is the sign. */
static inline void put_signed(wasm_bytes *x, int32_t value)
{
    for (; value < -64 || value > 63; value = value < 0 ? ~(~value >> 7) : value >> 7)
        put(x, ((uint32_t)value & 127) | 128);
    put(x, (uint32_t)value & 127);
}

static inline void put_name(wasm_bytes *x, const char *name)
{
    put_unsigned(x, (uint32_t)strlen(name));
    put_bytes(x, name, strlen(name));
}

/* An instruction with an index: of a local, of a function, of an enclosing loop. */
static inline void put_with(wasm_bytes *x, wasm_instruction name, uint32_t number)
{
    put(x, name);
    put_unsigned(x, number);
}

static inline void put_i32(wasm_bytes *x, uint32_t value)
{
    put(x, WASM_I32_CONST);
    put_signed(x, (int32_t)value);
}

static inline void put_f64(wasm_bytes *x, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(x, WASM_F64_CONST);
    for (int i = 0; i < 8; i++)
        put(x, (unsigned)(bits >> 8 * i & 255));
}

/* A load or store at an address that is on the stack, plus the offset. */
static inline void put_access(wasm_bytes *x, wasm_instruction name, uint32_t offset)
{
    enum { ALIGNED_TO_8 = 3 };
    put_with(x, name, ALIGNED_TO_8);
    put_unsigned(x, offset);
}

/* A part preceded by its length: a section, a function. Empties the part. */
static inline void put_part(wasm_bytes *x, wasm_bytes *part)
{
    put_unsigned(x, (uint32_t)part->length);
    put_bytes(x, part->byte, part->length);
    x->failed |= part->failed;
    free(part->byte);
    *part = (wasm_bytes){0};
}

#endif
