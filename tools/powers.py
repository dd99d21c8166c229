#!/usr/bin/env python3
"""powers.py: prints the powers of ten that src/output/number.c multiplies with.

Entry i belongs to 10^e, e = i - 292: g = floor(10^e / 2^r) + 1 with r chosen so that
2^127 <= g < 2^128 (exact powers are not rounded up). Exact integer arithmetic."""


def scaled(e):
    top, bottom = (10**e, 1) if e >= 0 else (1, 10**-e)
    r = top.bit_length() - bottom.bit_length() - 128
    for r in (r, r + 1):
        a, b = (top, bottom << r) if r >= 0 else (top << -r, bottom)
        g = -(-a // b)
        if g.bit_length() == 128:
            return g
    raise AssertionError(e)


for start in range(-292, 325, 2):
    pairs = [scaled(e) for e in range(start, min(start + 2, 325))]
    print(" ".join("{0x%016xu, 0x%016xu}," % (g >> 64, g & (2**64 - 1)) for g in pairs))
