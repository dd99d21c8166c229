function model = @name@()
% @name@  The equations of motion of @model@, for MATLAB and Octave, written by nonholo @version@.
%
%   model = @name@();
%   [t, y] = ode45(@(t, y) model.right_hand_side(t, y), [0 10], model.start);
%
%   The functions accelerations (v', with the constraints satisfied), multipliers, constraints,
%   positions (conditions on positions), energy, lagrangian, forces, mass, rates (q') and
%   observables have the arguments (t, q, v), where q and v are columns, then, if they are to
%   differ from the default, the parameters, p = model.parameters; p.NAME = VALUE; and the
%   open inputs, a column. The parameters in model.fixed decided the form of the equations, which
%   has their values. y is [q; v].
