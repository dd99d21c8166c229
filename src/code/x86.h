/* The x86-64 instructions used in machine code, by name, and their encoding. Source: Intel 64 and
 * IA-32 Architectures Software Developer's Manual, volume 2. Included only by machine.c, on x86-64.
 * test/code/test_machine.py compares the bytes with the output of objdump. */
#ifndef NH_CODE_X86_H
#define NH_CODE_X86_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { RAX = 0, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
enum { NO_REGISTER = 0 }; /* encodes an absent operand as zeros */

typedef struct assembler {
    unsigned char *byte;
    size_t length, room;
    bool failed; /* out of memory, or a displacement that is too large */
    int lanes;   /* 1: scalar instructions on xmm registers, otherwise packed ones on ymm */
} assembler;

static inline void put(assembler *x, unsigned value)
{
    if (x->length == x->room) {
        size_t room = x->room ? 2 * x->room : 4096;
        unsigned char *byte = realloc(x->byte, room);
        if (!byte) {
            x->failed = true;
            return;
        }
        x->byte = byte, x->room = room;
    }
    x->byte[x->length++] = (unsigned char)value;
}

static inline void put_number(assembler *x, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        put(x, (unsigned)(value >> 8 * i & 255));
}

/* [base + index * scale + displacement]; without an index it is NO_REGISTER, with scale 0 */
typedef struct memory_operand {
    int base, index;
    unsigned scale;
    uint64_t displacement;
} memory_operand;

enum { DISPLACEMENT_MAX = 1 << 30 };

/* ModRM, and what follows it, for a register and an address. */
static inline void put_memory(assembler *x, int reg, memory_operand at)
{
    const bool near = at.displacement < 128;
    const unsigned mode = (near ? 0x40u : 0x80u) | (unsigned)(reg & 7) << 3;
    if (at.scale) {
        put(x, mode | 4);
        put(x, (unsigned)__builtin_ctz(at.scale) << 6 | (unsigned)(at.index & 7) << 3 |
                   (unsigned)(at.base & 7));
    } else {
        put(x, mode | (unsigned)(at.base & 7));
        if ((at.base & 7) == RSP)
            put(x, 0x24); /* this base needs a second byte */
    }
    x->failed |= at.displacement > DISPLACEMENT_MAX;
    put_number(x, at.displacement, near ? 1 : 4);
}

static inline void put_registers(assembler *x, int reg, int rm)
{
    put(x, 0xC0u | (unsigned)(reg & 7) << 3 | (unsigned)(rm & 7));
}

/* ---- general registers, 64 bits ---- */

enum general_opcode {
    OP_XOR = 0x31, /* of 32 bits, which clears the upper half as well */
    OP_PUSH = 0x50,
    OP_POP = 0x58,
    OP_IMUL = 0x69,
    OP_GROUP1 = 0x81,
    OP_JNE = 0x85, /* after OP_TWO_BYTES */
    OP_MOV = 0x89,
    OP_MOV_LOAD = 0x8B,
    OP_LEA = 0x8D,
    OP_NOP = 0x90,
    OP_MOV_NUMBER = 0xB8,
    OP_RET = 0xC3,
    OP_INT3 = 0xCC,
    OP_GROUP5 = 0xFF,
    OP_TWO_BYTES = 0x0F
};
enum group1 { ADD = 0, AND = 4, SUB = 5, CMP = 7 };
enum group5 { CALL = 2 };

static inline void put_rex(assembler *x, int reg, int index, int rm)
{
    put(x, 0x48u | (reg >= 8 ? 4u : 0) | (index >= 8 ? 2u : 0) | (rm >= 8 ? 1u : 0));
}

static inline void mov_number(assembler *x, int to, uint64_t number)
{
    put_rex(x, 0, 0, to);
    put(x, OP_MOV_NUMBER + (unsigned)(to & 7));
    put_number(x, number, 8);
}

static inline void mov(assembler *x, int to, int from)
{
    put_rex(x, from, 0, to);
    put(x, OP_MOV);
    put_registers(x, from, to);
}

/* OP_LEA, OP_MOV_LOAD */
static inline void from_memory(assembler *x, enum general_opcode opcode, int to, memory_operand at)
{
    put_rex(x, 0, at.index, at.base);
    x->failed |= to >= 8; /* such registers are never requested */
    put(x, opcode);
    put_memory(x, to, at);
}

static inline void imul(assembler *x, int to, int from, uint32_t number)
{
    put_rex(x, to, 0, from);
    put(x, OP_IMUL);
    put_registers(x, to, from);
    put_number(x, number, 4);
}

/* add, and, sub, cmp with a number */
static inline void with_number(assembler *x, enum group1 operation, int to, uint64_t number)
{
    put_rex(x, 0, 0, to);
    put(x, OP_GROUP1);
    put_registers(x, (int)operation, to);
    put_number(x, number, 4);
}

static inline void push_or_pop(assembler *x, enum general_opcode opcode, int reg)
{
    if (reg >= 8)
        put(x, 0x41);
    put(x, (unsigned)opcode + (unsigned)(reg & 7));
}

static inline void call_register(assembler *x, int reg)
{
    put(x, OP_GROUP5);
    put_registers(x, CALL, reg);
}

static inline void jump_if_not_equal(assembler *x, size_t to)
{
    put(x, OP_TWO_BYTES);
    put(x, OP_JNE);
    put_number(x, (uint64_t)to - (x->length + 4), 4);
}

static inline void return_zero(assembler *x)
{
    put(x, OP_XOR);
    put_registers(x, RAX, RAX);
    put(x, OP_RET);
}

static inline void align(assembler *x, size_t boundary, enum general_opcode filler)
{
    while (x->length % boundary != 0 && !x->failed)
        put(x, filler);
}

/* ---- vector registers ---- */

enum { MAP_0F = 1, MAP_0F38 = 2 };          /* VEX: table of instructions */
enum { PP_NONE = 0, PP_66 = 1, PP_F2 = 3 }; /* VEX: prefix that is part of the instruction */

/* name, map; then for packed and for scalar numbers: prefix, opcode; then VEX.W */
#define VECTOR_INSTRUCTIONS(X)                                                                     \
    X(VADD, MAP_0F, PP_66, 0x58, PP_F2, 0x58, 0)                                                   \
    X(VSUB, MAP_0F, PP_66, 0x5C, PP_F2, 0x5C, 0)                                                   \
    X(VMUL, MAP_0F, PP_66, 0x59, PP_F2, 0x59, 0)                                                   \
    X(VDIV, MAP_0F, PP_66, 0x5E, PP_F2, 0x5E, 0)                                                   \
    X(VSQRT, MAP_0F, PP_66, 0x51, PP_F2, 0x51, 0)                                                  \
    X(VFMADD213, MAP_0F38, PP_66, 0xA8, PP_66, 0xA9, 1)  /* to = a to + b */                       \
    X(VFMADD231, MAP_0F38, PP_66, 0xB8, PP_66, 0xB9, 1)  /* to = a b + to */                       \
    X(VFNMADD213, MAP_0F38, PP_66, 0xAC, PP_66, 0xAD, 1) /* to = b - a to */                       \
    X(VFNMADD231, MAP_0F38, PP_66, 0xBC, PP_66, 0xBD, 1) /* to = to - a b */                       \
    X(VMOV_LOAD, MAP_0F, PP_66, 0x10, PP_F2, 0x10, 0)                                              \
    X(VMOV_STORE, MAP_0F, PP_66, 0x11, PP_F2, 0x11, 0)                                             \
    X(VMOVAPD, MAP_0F, PP_66, 0x28, PP_66, 0x28, 0)        /* whole registers */                   \
    X(VXORPD, MAP_0F, PP_66, 0x57, PP_66, 0x57, 0)         /* likewise */                          \
    X(VMOVQ, MAP_0F, PP_66, 0x6E, PP_66, 0x6E, 1)          /* from a general register, one lane */ \
    X(VBROADCASTSD, MAP_0F38, PP_66, 0x19, PP_66, 0x19, 0) /* several lanes only */

typedef enum vector_instruction {
#define ENUMERATOR(name, ...) name,
    VECTOR_INSTRUCTIONS(ENUMERATOR) NO_INSTRUCTION
#undef ENUMERATOR
} vector_instruction;

typedef struct encoding {
    uint8_t map, packed_prefix, packed, scalar_prefix, scalar, wide;
} encoding;

static const encoding encodings[] = {
#define ENTRY(name, ...) [name] = {__VA_ARGS__},
    VECTOR_INSTRUCTIONS(ENTRY)
#undef ENTRY
};

/* The prefix and the opcode. High bits of register numbers go into the prefix: those of `rm`, or of
 * an address's base and index. */
static inline void put_vex(assembler *x, vector_instruction name, int reg, int second, int rm,
                           int index)
{
    const encoding *e = encodings + name;
    const bool packed = x->lanes > 1;
    put(x, 0xC4);
    put(x, (reg < 8 ? 0x80u : 0) | (index < 8 ? 0x40u : 0) | (rm < 8 ? 0x20u : 0) | e->map);
    put(x, (unsigned)e->wide << 7 | (unsigned)(~second & 15) << 3 | (packed ? 4u : 0) |
               (packed ? e->packed_prefix : e->scalar_prefix));
    put(x, packed ? e->packed : e->scalar);
}

static inline void on_registers(assembler *x, vector_instruction name, int to, int a, int b)
{
    put_vex(x, name, to, a, b, NO_REGISTER);
    put_registers(x, to, b);
}

static inline void on_memory(assembler *x, vector_instruction name, int to, int a, memory_operand b)
{
    put_vex(x, name, to, a, b.base, b.index);
    put_memory(x, to, b);
}

static inline void vzeroupper(assembler *x)
{
    put(x, 0xC5), put(x, 0xF8), put(x, 0x77);
}

#endif
