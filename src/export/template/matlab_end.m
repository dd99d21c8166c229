
function out = right_hand_side(t, y, varargin)
% y' of y = [q; v], in the form that ode45 and other solvers take.
    q = y(1:@coordinates@);
    v = y(@coordinates@ + 1:end);
    out = [rates(t, q, v, varargin{:}); accelerations(t, q, v, varargin{:})];
end

function out = when(condition, value)
% The value, or 0.
    out = 0;
    if condition
        out = value;
    end
end
