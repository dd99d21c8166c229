"""Two systems from sympy.physics.mechanics, integrated by nonholo and by SciPy's solve_ivp in equal run time.

The Chaplygin sleigh is derived with LagrangesMethod, the rolling disk with KanesMethod. nonholo.from_mechanics
takes both objects. For comparison, solve_ivp (DOP853) integrates the same equations with the multipliers
eliminated; its tolerance is chosen so that it takes at least as long as nonholo did."""

import time

import numpy as np
import sympy
from scipy.integrate import solve_ivp
from sympy import cos, sin
from sympy.physics.mechanics import (
    KanesMethod, LagrangesMethod, Lagrangian, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

import nonholo


def sleigh():
    """A body on one skate; its centre of mass is a ahead of the skate."""
    x, y, theta = dynamicsymbols("x y theta")
    m, J, a = sympy.symbols("m J a")
    N = ReferenceFrame("N")
    body = N.orientnew("body", "Axis", [theta, N.z])
    O = Point("O")
    O.set_vel(N, 0)
    skate = O.locatenew("skate", x * N.x + y * N.y)
    skate.set_vel(N, x.diff() * N.x + y.diff() * N.y)
    centre = skate.locatenew("centre", a * body.x)
    centre.v2pt_theory(skate, N, body)
    rigid = RigidBody("sleigh", centre, body, m, (J * inertia(body, 0, 0, 1), centre))
    edge = skate.vel(N).dot(body.y)
    method = LagrangesMethod(Lagrangian(N, rigid), [x, y, theta], nonhol_coneqs=[edge], frame=N)
    return nonholo.from_mechanics(
        method, {m: 1, J: 8, a: 1}, angles=[theta], name="sleigh",
        start={x.diff(): 1, theta.diff(): 0.3})


def disk():
    """A disk that rolls on a plane and may lean: yaw, lean and spin, and its point of contact x, y."""
    x, y, yaw, lean, spin = q = dynamicsymbols("x y yaw lean spin")
    u = dynamicsymbols("u1:6")
    m, r, g = sympy.symbols("m r g")
    N = ReferenceFrame("N")
    heading = N.orientnew("heading", "Axis", [yaw, N.z])
    leaning = heading.orientnew("leaning", "Axis", [lean, heading.x])
    disk = leaning.orientnew("disk", "Axis", [spin, leaning.y])
    O = Point("O")
    O.set_vel(N, 0)
    # the centre as a point that moves freely, without the rolling conditions
    centre = O.locatenew("centre", x * N.x + y * N.y + r * leaning.z)
    rates = dict(zip([c.diff() for c in q], u))
    centre.set_vel(N, (x * N.x + y * N.y + r * leaning.z).dt(N).subs(rates))
    turn = (yaw.diff() * N.z + lean.diff() * heading.x + spin.diff() * leaning.y).subs(rates)
    disk.set_ang_vel(N, turn)
    touching = centre.vel(N) + turn.cross(-r * leaning.z)  # velocity of the disk's material point in contact
    rolling = [touching.dot(N.x), touching.dot(N.y)]
    I = inertia(leaning, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
    rigid = RigidBody("disk", centre, disk, m, (I, centre))
    kane = KanesMethod(
        N, q_ind=list(q), u_ind=list(u[2:]), u_dependent=list(u[:2]),
        kd_eqs=[a - b for a, b in zip(u, [c.diff() for c in q])], velocity_constraints=rolling)
    kane.kanes_equations([rigid], [(centre, -m * g * N.z)])
    return nonholo.from_mechanics(
        kane, {m: 1, r: 1, g: 1}, angles=[yaw, lean, spin], name="disk",
        start={lean: 0.3, u[2]: 0.4, u[3]: 0.1, u[4]: 2.0})


def least_time(function, repeats=3):
    """The result, and the minimum of several run times."""
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - begun)
    return result, min(seconds)


def by_scipy(system, q, v, end, tolerance):
    n = len(q)

    def rate(t, state):
        return np.concatenate([state[n:], system.acceleration(state[:n], state[n:], t)[0]])

    found = solve_ivp(rate, (0, end), np.concatenate([q, v]), method="DOP853", rtol=tolerance, atol=tolerance)
    return found.y[:n, -1], found.y[n:, -1]


def main():
    for model, step, end in ((sleigh(), 0.25, 50), (disk(), 0.05, 1000)):
        system = model.system()
        q0, v0 = system.start()
        v0 = system.project(q0, v0)
        options = dict(stages=3, step=step, time=end, project=True, backend="tape", progress=False)
        run, ours = least_time(lambda: nonholo.simulate(model, "gauss", **options))
        print(f"{model.name}, t = {end:g}, step {step:g}")
        print(f"  nonholo gauss:stages=3   {1e3 * ours:7.1f} ms   energy error {run.energy_error_max:.1e}   constraints {run.constraint_max:.1e}")
        for tolerance in (1e-6, 1e-8, 1e-10, 1e-12):
            (q, v), seconds = least_time(lambda: by_scipy(system, q0, v0, end, tolerance))
            energy = abs(system.energy(q, v) - system.energy(q0, v0))
            constraint = abs(system.residual(q, v)).max()
            print(f"  solve_ivp rtol {tolerance:.0e}     {1e3 * seconds:7.1f} ms   energy error {energy:.1e}   constraints {constraint:.1e}")
            if seconds > ours:
                break
        print(f"  given no less time, its constraint error is {constraint / run.constraint_max:.0e} times ours")


if __name__ == "__main__":
    main()
