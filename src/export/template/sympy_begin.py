"""The model @model@ for SymPy, written by nonholo @version@.

    L, FORCES, CONSTRAINTS, POSITIONS   the model, in terms of t, q, v and the symbols of PARAMETERS
    equations()                         M, f, K, d: M v' = f + K^T lambda, K v' + d = 0, as matrices
    symbolic_accelerations()            v' and lambda as formulas: of small models only
    accelerations(t, q, v)              v' and lambda as numbers, of 30 digits unless told otherwise

CONSTRAINTS, of velocities, and POSITIONS, conditions g(t, q) = 0, vanish during the motion.
@rotations@"""
import functools

import mpmath
import sympy as sp

t = sp.Symbol("t", real=True)
