/* Properties of every operation, from ops.def. */
#include "code/tape.h"

#define OP(NAME, operands, commutes, encode, instruction, wasm, C)                                 \
    [NH_OP_##NAME] = {#NAME, operands, 1, commutes, #C},
#define PAIR(NAME, operands, encode, instruction, wasm, C)                                         \
    [NH_OP_##NAME] = {#NAME, operands, 2, false, #C},
const nh_op_info nh_ops[NH_OP_COUNT] = {
#include "code/ops.def"
    [NH_OP_END] = {"END", 0, 0, false, ""},
};

/* An instruction has room for three operands, or for two and a second result. */
#define OP(NAME, operands, commutes, encode, instruction, wasm, C)                                 \
    _Static_assert((operands) >= 1 && (operands) <= 3, #NAME ": 1 to 3 operands");                 \
    _Static_assert(!(commutes) || (operands) > 1,                                                  \
                   #NAME ": a commutative operation has two operands");
#define PAIR(NAME, operands, encode, instruction, wasm, C)                                         \
    _Static_assert((operands) >= 1 && (operands) <= 2, #NAME ": 1 or 2 operands");
#include "code/ops.def"
_Static_assert(NH_OP_COUNT <= UINT8_MAX, "nh_placed has a byte for the operation");
