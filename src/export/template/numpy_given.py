

def _given(t, q, v, u, parameters):
    """The arguments as arrays, the parameters completed by the defaults, and the shape of the members."""
    unknown = set(parameters or ()) - set(PARAMETERS)
    if unknown:
        raise ValueError(f"not among {', '.join(PARAMETERS) or 'the parameters (there are none)'}: {', '.join(unknown)}")
    c = {name: np.asarray(value, float) for name, value in {**PARAMETERS, **(parameters or {})}.items()}
    t, q, v = (np.asarray(given, float) for given in (t, q, v))
    if q.shape[:1] != (len(COORDINATES),) or v.shape[:1] != (len(VELOCITIES),):
        raise ValueError(f"expected {len(COORDINATES)} coordinates and {len(VELOCITIES)} velocities")
    u = np.asarray(inputs(t, q, v, parameters) if u is None and INPUTS else () if u is None else u, float)
    shape = np.broadcast_shapes(t.shape, q.shape[1:], v.shape[1:], u.shape[1:], *(value.shape for value in c.values()))
    return t, q, v, u, c, shape
