"""The equations of motion of @model@, written by nonholo @version@: numpy is all that they need.

    t, q, v = START
    accelerations(t, q, v)                        v', with the constraints satisfied
    solve_ivp(right_hand_side, (0, 10), start())  of scipy.integrate, or any other solver

q and v may have a trailing axis of members, as may the parameters: everything is computed for all
of them. `parameters` replaces some of PARAMETERS: accelerations(t, q, v, parameters={...}). Those
in FIXED decided the form of the equations, which has their values. `u` has the open inputs of the
model, if there are any; without it they are what the model says.
"""
import numpy as np

