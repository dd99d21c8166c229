"""The equations of motion in many states at once: accelerations, mass matrices, forces and Jacobians of every shipped model
against single states, identities and extrapolated differences.

    test_dynamics.py SOURCE
"""

import ctypes as C
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import nonholo

SOURCE = os.path.abspath(sys.argv.pop())
sys.path.insert(0, os.path.join(SOURCE, "test", "cli"))
from harness import run_unittest  # noqa: E402


def differences(f, x, h=1e-5):
    """The matrix of derivatives, by central differences that are extrapolated once."""
    columns = [np.zeros((len(f(x)), 0))]
    for e in h * np.eye(len(x)):
        one, two = ((f(x + k * e) - f(x - k * e)) / (2 * k * h) for k in (1, 2))
        columns.append(((4 * one - two) / 3)[:, None])
    return np.hstack(columns)


def there_and_back(system, z, method):
    """The product of the derivatives of a step and of one backwards in time, and how far the state is from where it was."""
    (z1, _, there), back = system.map(0.01, method)(z), system.map(-0.01, method)
    z0, by, return_ = back(z1)
    size = np.eye(back.size)
    backward = return_(size).T
    assert np.abs(np.array([by(w)[0] for w in size]) - backward).max() < 1e-11  # products from the left
    return backward @ there(size).T, np.abs(z0 - z).max()


def times(p, r):
    return np.array([p[0] * r[0] - p[1:] @ r[1:], *(p[0] * r[1:] + r[0] * p[1:] + np.cross(p[1:], r[1:]))])


def turned(system, q, d):
    """q after small changes d of the coordinates; three for a rotation, about the axes of the body."""
    out, i, k = [], 0, 0
    while i < len(q):
        if system.coordinates[i].endswith(".0"):
            angle = np.linalg.norm(d[k : k + 3])
            turn = np.concatenate([[np.cos(angle / 2)], d[k : k + 3] * (np.sin(angle / 2) / angle if angle else 0.5)])
            out += list(times(q[i : i + 4], turn))
            i, k = i + 4, k + 3
        else:
            out.append(q[i] + d[k])
            i, k = i + 1, k + 1
    return np.array(out)


DRIVEN = """model driven
parameter m = 2
input push = 0, turn = 0.3*cos(t), seesaw = sin(2*t)
coordinate x, y
rotation R
lagrangian m/2*(x'^2 + y'^2) + x'*y'/3 + dot(body(R), (1, 2, 2.5)*body(R)[1])/2 + dot(body(R), body(R)) - cos(x)*y - R[3,3]*x
constraint edge: y' = turn*x' + body(R)[1]/5
force x = push*cos(y) + seesaw
force y = -0.1*y'^3 + push^2
start x = 0.3, y = 0.2, x' = 1
"""


class Many(unittest.TestCase):
    def check(self, system, q, v, t=0.0, inputs=None):
        f = lambda q, v: system.acceleration(q, v, t, inputs)[0]
        rate = np.abs(v).max(initial=0)  # of fast spins, differences lose what their squares round off
        near = lambda a, b, digits, size=0: np.testing.assert_allclose(a, b, rtol=digits, atol=digits * (1 + max(np.abs(b).max(initial=0), size)))
        jacobian = system.jacobian(q, v, t, inputs)
        shift = np.zeros(jacobian.by_position.shape[1])
        near(jacobian.by_position, differences(lambda d: f(turned(system, q, d), v), shift), 1e-9, 0.05 * rate**2)
        near(jacobian.by_velocity, differences(lambda v: f(q, v), v), 1e-9, 0.05 * rate**2)
        mass = system.mass_matrix(q, v, t, inputs)
        near(mass, mass.T, 1e-15)
        if not system.constraints:
            near(mass @ f(q, v), system.forces(q, v, t, inputs), 1e-11)
        return jacobian

    def test_shipped_models(self):
        rng = np.random.default_rng(7)
        for name in nonholo.models():
            with self.subTest(name):
                system = nonholo.load(name).system()
                if system.grips:  # the equations are those of no mode, with spins so fast that differences lose digits
                    continue
                q, v = system.start()
                v = v + 0.01 * rng.normal(size=len(v))
                single = system.acceleration(q, v)
                for count in (1, 7):  # more than a register's lanes, and not a multiple of them
                    a, multipliers = system.acceleration([q] * count, v)
                    self.assertEqual((a.shape, multipliers.shape), ((count, len(v)), (count, len(system.constraints))))
                    for row in a:
                        np.testing.assert_allclose(row, single[0], rtol=1e-11, atol=1e-11 * (1 + np.abs(single[0]).max(initial=0)))
                self.check(system, q, v)

    def test_states_differ(self):
        """Every state is its own: times, inputs and all."""
        rng = np.random.default_rng(3)
        system = nonholo.load(DRIVEN).system()
        q0, v0 = system.start()
        q, v = np.array([turned(system, q0, d) for d in rng.normal(size=(9, 5))]), rng.normal(size=(9, 5))
        t = np.array([0, 0, 1, 1, 1, 1, 1, 2, 3.0])
        push = rng.normal(size=9)
        together = system.acceleration(q, v, t, {"push": push})
        for i in range(9):
            alone = nonholo.load(DRIVEN).system(input={"push": repr(push[i])}).acceleration(q[i], v[i], t[i])
            for a, b in zip(together, alone):
                np.testing.assert_allclose(a[i], b, rtol=1e-12, atol=1e-12)

    def test_inputs(self):
        system = nonholo.load(DRIVEN).system(input={"push": "-x/2"})
        q, v = system.start()
        for inputs in (None, {"push": 0.7}, {"push": 0.7, "turn": 0.2, "seesaw": 1.0}):
            given = inputs or {}
            jacobian = self.check(system, q, v, 0.4, inputs)
            for k, name in enumerate(system.inputs):
                default = {"push": -q[0] / 2, "turn": 0.3 * np.cos(0.4), "seesaw": np.sin(0.8)}
                value = given.get(name, default[name])
                by = differences(lambda u: system.acceleration(q, v, 0.4, {**given, name: u[0]})[0], np.array([value]))[:, 0]
                np.testing.assert_allclose(jacobian.by_input[:, k], by, rtol=1e-8, atol=1e-8)

    def test_refused(self):
        system = nonholo.load("pendulum-cvt").system()
        q, v = system.start()
        with self.assertRaisesRegex(ValueError, "'push' is unknown; pendulum-cvt has no inputs"):
            system.acceleration(q, v, inputs={"push": 1})
        with self.assertRaisesRegex(ValueError, "q needs 3 numbers in its last axis, not 2"):
            system.jacobian([[0, 0]], v)

class Maps(unittest.TestCase):
    def test_backwards_in_time(self):
        """D(h) D(-h) = 1 on what the constraints admit, for symmetric methods; found 6e-14."""
        for name in "chaplygin-sleigh", "fourbar-skate", "ball-in-bowl", "rolling-coin-rotation":
            system = nonholo.load(name).system()
            z = np.concatenate(system.start())
            admitted, _ = there_and_back(system, z, "gauss")  # a projection, as it leaves what is admitted alone
            for method in "gauss", "lobatto-ad", "newmark", "discrete-gradient", "gauss-lobatto":
                with self.subTest(f"{name}, {method}"):
                    product, off = there_and_back(system, z, method)
                    self.assertLess(off, 1e-13)
                    self.assertLess(np.abs(product @ admitted - admitted).max(), 1e-12)


class Program:
    """An exported C program whose parameters can be set, with derivatives; as a shared library."""

    def __init__(self, folder, model, **options):
        path = os.path.join(folder, "p.c")
        nonholo.export(model, path, settable=bool(nonholo.load(model).system().parameters), jacobian=True, name="p", **options)
        with open(path, "a") as file:
            file.write("unsigned long p_size(void) { return sizeof(p_model); }\n"
                       "const int p_sizes[] = {p_COORDINATES, p_VELOCITIES, p_POSITIONS, p_INPUTS};\n"
                       "double *p_inputs(p_model *s) { return s->input; }\n")
        strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
        binary = os.path.join(folder, f"{abs(hash((model, *options)))}.so")
        subprocess.run([os.environ.get("CC", "cc"), *strict, "-O0", "-shared", "-fPIC", path, "-o", binary, "-lm"], check=True)
        self.library = C.CDLL(binary)
        self.library.p_size.restype = C.c_ulong
        self.library.p_inputs.restype = C.POINTER(C.c_double)
        self.sizes = list((C.c_int * 4).in_dll(self.library, "p_sizes"))
        self.model = C.create_string_buffer(self.library.p_size())
        assert self.library.p_init(self.model) == 0

    def set_parameter(self, index, value):
        return self.library.p_set_parameter(self.model, index, C.c_double(value))

    def call(self, name, *shapes):
        out = [np.zeros(shape) for shape in shapes]
        getattr(self.library, "p_" + name)(self.model, *(C.c_void_p(a.ctypes.data) for a in out))
        return out

    def state(self):
        return self.call("state_of", 1, self.sizes[0], self.sizes[1])

    def set_state(self, t, q, v):
        self.library.p_set_state.argtypes = [C.c_void_p, C.c_double, C.c_void_p, C.c_void_p]
        self.library.p_set_state(self.model, t, q.ctypes.data, v.ctypes.data)

    def jacobian(self):
        return self.call("jacobian", *((self.sizes[1], self.sizes[i]) for i in (2, 1, 3)))

    def accelerations(self):
        t, q, v = self.state()
        dq, dv = np.zeros_like(q), np.zeros_like(v)
        f, at = self.library.p_derivatives, lambda a: C.c_void_p(a.ctypes.data)
        f(C.c_double(t[0]), at(q), at(v), self.library.p_inputs(self.model), at(dq), at(dv))
        return dv


@unittest.skipUnless(shutil.which(os.environ.get("CC", "cc")), "there is no C compiler")
class Exported(unittest.TestCase):
    def test_shipped_models(self):
        """By positions and velocities: equal to round-off; by parameters: to differences. NONHOLO_EVERY=1 takes all models."""
        names = [name for name in nonholo.models() if "reaction(" not in nonholo.load(name).text and " grip " not in nonholo.load(name).text
                 or name == "dry-skate"]
        for name in names[:: int(os.environ.get("NONHOLO_EVERY", 8))]:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                system = nonholo.load(name).system()
                if system.contacts or system.grips:
                    with self.assertRaisesRegex(ValueError, "contacts or grips"):
                        Program(folder, name)
                    continue
                if name == "dry-skate":
                    with self.assertRaisesRegex(ValueError, "forces that depend on reactions"):
                        Program(folder, name)
                    continue
                program = Program(folder, name, method="gauss", step=0.01)
                parameters = list(system.parameters)
                _, q, v = program.state()
                expected, found = system.jacobian(q, v), program.jacobian()
                most = 1 + max(np.abs(a).max(initial=0) for a in expected)
                for a, b in zip(found, expected[:2]):
                    np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * most)
                for i, value in enumerate(system.parameters.values()):
                    def at(p):
                        return None if program.set_parameter(i, p) else program.accelerations()

                    h = 1e-4 * (abs(value) or 1)
                    if at(value) is None:
                        continue
                    one, two = ((at(value + k * h) - at(value - k * h)) / (2 * k * h) for k in (1, 2))
                    at(value)
                    size = 1 + np.abs(found[2][:, -len(parameters) + i]).max()
                    np.testing.assert_allclose(found[2][:, -len(parameters) + i], (4 * one - two) / 3, rtol=0, atol=2e-8 * size, err_msg=parameters[i])

    def test_parameters_are_set(self):
        """The motion is that of another value, also where constraints and inputs depend on it."""
        text = DRIVEN.replace("parameter m = 2", "parameter m = 2, c = 5, n = 3").replace("/5", "/c").replace("y'^3", "y'^n")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "driven.nh")
            with open(path, "w") as file:
                file.write(text)
            program = Program(folder, path, method="gauss", step=0.01, input={"push:held": None}, project=True)
            self.assertEqual([program.set_parameter(i, x) for i, x in enumerate((3.0, 4.0, 2.0))], [0, 0, 4])
            how = {"set": {"m": 3, "c": 4}, "input": {"push": 0.4}, "project": True}
            run = nonholo.simulate(path, "gauss", step=0.01, steps=100, **how)
            program.set_state(0.0, run.q[0], run.v[0])
            program.library.p_set_input(program.model, 0, C.c_double(0.4))
            self.assertEqual(program.library.p_advance(program.model, C.c_longlong(100)), 0)
            for a, b in zip(program.state()[1:], (run.q[-1], run.v[-1])):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)

    def test_refused(self):
        with self.assertRaisesRegex(ValueError, "FMUs have them without being asked"):
            nonholo.export("heavy-top", "top.fmu", "fmu", settable=True)
        with self.assertRaisesRegex(ValueError, "double precision"):
            nonholo.export("heavy-top", jacobian=True, single=True)
        with self.assertRaisesRegex(ValueError, "parameters of free-particle cannot be set in a program: none of them can vary"):
            nonholo.export("free-particle", settable=True)


if __name__ == "__main__":
    run_unittest()
