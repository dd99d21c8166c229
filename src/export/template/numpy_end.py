

def start():
    """The start state as one vector: q, then v."""
    return np.concatenate([START[1], START[2]])


def right_hand_side(t, y, u=None, parameters=None):
    """y' of y = (q, v), in the form that solve_ivp and other solvers take."""
    q, v = y[:len(COORDINATES)], y[len(COORDINATES):]
    return np.concatenate([rates(t, q, v, u, parameters), accelerations(t, q, v, u, parameters)])
