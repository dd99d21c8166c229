"""The equations of motion of @model@ for CasADi, written by nonholo @version@.

    accelerations(t, q, v, U, P)      v', with the constraints satisfied; also with symbols
    integrator("F", "cvodes", DAE)    of the state x = (q, v) and the parameters (u, p)

The functions have the arguments t, q, v, u and p: time, coordinates, velocities, the open inputs of
the model, of which there may be none, and the parameters in the order of PARAMETERS, whose values
are P. Those in FIXED decided the form of the equations, which has their values. U are the values of
the inputs that the model gives at the start.
"""
import casadi as ca


