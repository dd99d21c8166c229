
_arguments = [ca.SX.sym("t"), ca.SX.sym("q", len(COORDINATES)), ca.SX.sym("v", len(VELOCITIES)),
              ca.SX.sym("u", len(INPUTS)), ca.SX.sym("p", len(PARAMETERS))]


def _function(name, value):
    return ca.Function(name, _arguments, [value(*_arguments)], ["t", "q", "v", "u", "p"], [name])


@functions@
P = list(PARAMETERS.values())
U = inputs(*START, [0] * len(INPUTS), P)
DAE = {"t": _arguments[0], "x": ca.vertcat(_arguments[1], _arguments[2]),
       "p": ca.vertcat(_arguments[3], _arguments[4]),
       "ode": ca.vertcat(rates(*_arguments), accelerations(*_arguments))}
