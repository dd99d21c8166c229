"""Robots from URDF files: the accelerations of the imported models obey Newton's and Euler's equations, which are evaluated here
from the files, without the library. Six joints of all kinds, a quadruped with a floating base, a differential drive on wheels."""

import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree as XML

import numpy as np

import nonholo

SAMPLES = 100
INERTIA = '<inertial><origin xyz="{c}" rpy="{r}"/><mass value="{m}"/><inertia ixx="{I[0]}" ixy="{I[1]}" ixz="{I[2]}" iyy="{I[3]}" iyz="{I[4]}" izz="{I[5]}"/></inertial>'


def link(name, random, more="", mass=None):
    """A link with an inertia that a body can have, in axes that are turned."""
    A = random.uniform(-0.1, 0.1, (3, 4))
    J = A @ A.T
    I = np.trace(J) * np.eye(3) - J
    entries = [I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]]
    vector = lambda size: " ".join(map(repr, random.uniform(-size, size, 3).tolist()))
    return f'<link name="{name}">' + INERTIA.format(c=vector(0.1), r=vector(1), m=random.uniform(0.5, 2) if mass is None else mass, I=[repr(float(x)) for x in entries]) + more + "</link>"


def joint(name, kind, parent, child, random, axis="0 0 1", more=""):
    vector = lambda size: " ".join(map(repr, random.uniform(-size, size, 3).tolist()))
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="{vector(0.3)}" rpy="{vector(2)}"/>'
            f'<axis xyz="{axis}"/>{more}</joint>')


def arm(random):
    kinds = ["revolute", "continuous", "revolute", "prismatic", "revolute", "continuous"]
    axes = ["0 0 1", "0 1 0", "0.6 0.8 0", "1 0 0", "1 2 3", "0 -1 0"]
    text = '<robot name="arm"><link name="base"/>'
    before = "base"
    for i, (kind, axis) in enumerate(zip(kinds, axes)):
        text += link(f"link {i}", random) + joint(f"joint-{i}", kind, before, f"link {i}", random, axis, '<dynamics damping="0.3"/>')
        before = f"link {i}"
    text += link("tool", random) + joint("weld", "fixed", before, "tool", random)
    text += link("finger", random) + joint("grip", "prismatic", "tool", "finger", random, "0 1 0")
    text += link("other", random) + joint("follow", "prismatic", "tool", "other", random, "0 1 0", '<mimic joint="grip" multiplier="-0.5" offset="0.1"/>')
    text += link("third", random) + joint("follows-that", "continuous", "other", "third", random, "0 0 1", '<mimic joint="follow" multiplier="3" offset="0.2"/>')
    text += '<link name="dummy"/>' + joint("leader", "continuous", "tool", "dummy", random)  # itself without mass
    text += link("led", random) + joint("led-by-dummy", "continuous", "tool", "led", random, "1 0 0", '<mimic joint="leader" multiplier="0.3"/>')
    return text + "</robot>"


def quadruped(random):
    text = '<robot name="quadruped">' + link("trunk", random, mass=8)
    for leg in "FL", "FR", "RL", "RR":
        before = "trunk"
        for part, axis in ("hip", "1 0 0"), ("thigh", "0 1 0"), ("calf", "0 1 0"):
            text += link(f"{leg}_{part}", random) + joint(f"{leg}_{part}_joint", "revolute", before, f"{leg}_{part}", random, axis)
            before = f"{leg}_{part}"
        text += link(f"{leg}_foot", random, mass=0) + joint(f"{leg}_ankle", "fixed", before, f"{leg}_foot", random)  # inertia only
    return text + "</robot>"


ROVER = """<robot name="rover">
  <link name="base_footprint"/>
  <link name="base_link"><inertial><origin xyz="0.03 0.01 0.04" rpy="0 0 0.3"/><mass value="5"/>
    <inertia ixx="0.05" ixy="0.002" ixz="0.001" iyy="0.07" iyz="0" izz="0.09"/></inertial>
    <visual><origin xyz="0 0 0.04"/><geometry><box size="0.3 0.2 0.05"/></geometry></visual></link>
  <joint name="base_joint" type="fixed"><parent link="base_footprint"/><child link="base_link"/><origin xyz="0 0 0.033"/></joint>
  {wheels}
  <link name="caster"><inertial><mass value="0.1"/><inertia ixx="0.0001" ixy="0" ixz="0" iyy="0.0001" iyz="0" izz="0.0001"/></inertial>
    <collision><geometry><sphere radius="0.01"/></geometry></collision></link>
  <joint name="caster_joint" type="fixed"><parent link="base_link"/><child link="caster"/><origin xyz="-0.08 0 -0.023"/></joint>
</robot>"""
WHEEL = """<link name="wheel_{name}"><inertial><mass value="0.3"/><inertia ixx="0.0002" iyy="0.0002" izz="0.0003"/></inertial>
    <collision><geometry><cylinder radius="0.033" length="0.02"/></geometry></collision></link>
  <joint name="{name}" type="continuous"><parent link="base_link"/><child link="wheel_{name}"/><origin xyz="0 {y} 0" rpy="-1.57079632679 0 0"/>
    <axis xyz="0 0 1"/><dynamics damping="0.001"/></joint>"""


def rover(random):
    return ROVER.format(wheels="".join(WHEEL.format(name=n, y=y) for n, y in (("left", 0.08), ("right", -0.08))))


def turn(axis, angle):
    a = np.array(axis) / np.linalg.norm(axis)
    K = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def numbers(element, name, default="0 0 0"):
    return np.array([float(x) for x in (default if element is None else element.get(name, default)).split()])


def unit(n):
    return n / (np.linalg.norm(n) or 1)  # a fixed joint may have none


def frame(element):
    roll, pitch, yaw = numbers(element, "rpy")
    return numbers(element, "xyz"), turn((0, 0, 1), yaw) @ turn((0, 1, 0), pitch) @ turn((1, 0, 0), roll)


class Robot:
    """Newton and Euler for the file: generalised forces that a motion needs, by the recursion over the tree."""

    def __init__(self, text, root):
        robot = XML.fromstring(text)
        self.links = {l.get("name"): l for l in robot.findall("link")}
        self.joints = robot.findall("joint")
        self.root = root
        self.leader = {}  # of each joint: the independent one, its gear and its offset

        def lead(j):
            mimic = j.find("mimic")
            if mimic is None:
                return j.get("name"), 1, 0
            name, gear, offset = lead(next(k for k in self.joints if k.get("name") == mimic.get("joint")))
            own = float(mimic.get("multiplier", "1"))
            return name, own * gear, own * offset + float(mimic.get("offset", "0"))
        for j in self.joints:
            self.leader[j.get("name")] = lead(j)

    def motion(self, base, q, v, a):
        """Where each link is and how it moves: origin, axes, w, w', velocity and acceleration of the origin. ``base`` is that of the root."""
        moving = {self.root: base}
        waiting = list(self.joints)
        while waiting:
            for j in list(waiting):
                parent = j.find("parent").get("link")
                if parent not in moving:
                    continue
                waiting.remove(j)
                p, R, w, dw, u, du = moving[parent]
                r, turned = frame(j.find("origin"))
                axes = R @ turned
                axis = axes @ unit(numbers(j.find("axis"), "xyz", "1 0 0"))
                name, gear, offset = self.leader[j.get("name")]
                x, s, b = gear * q.get(name, 0) + offset, gear * v.get(name, 0), gear * a.get(name, 0)
                d = R @ r
                slides = j.get("type") == "prismatic"
                d = d + axis * x if slides else d
                u1, du1 = u + np.cross(w, d), du + np.cross(dw, d) + np.cross(w, np.cross(w, d))
                w1, dw1 = w, dw
                if slides:
                    u1, du1 = u1 + axis * s, du1 + axis * b + 2 * np.cross(w, axis * s)
                elif j.get("type") != "fixed":
                    axes = axes @ turn(numbers(j.find("axis"), "xyz", "1 0 0"), x)
                    w1, dw1 = w + axis * s, dw + axis * b + np.cross(w, axis * s)
                moving[j.find("child").get("link")] = p + d, axes, w1, dw1, u1, du1
        return moving

    def forces(self, moving):
        """Force on, and moment about the origin of, each link with all that hangs on it; and the generalised forces of the joints."""
        force, moment = {}, {}
        for name, (p, R, w, dw, u, du) in moving.items():
            force[name], moment[name] = np.zeros(3), np.zeros(3)
            inertial = self.links[name].find("inertial")
            if inertial is None:
                continue
            m = float(inertial.find("mass").get("value"))
            c, turned = frame(inertial.find("origin"))
            entry = lambda key: float(inertial.find("inertia").get(key, "0"))
            I = np.array([[entry("ixx"), entry("ixy"), entry("ixz")], [entry("ixy"), entry("iyy"), entry("iyz")], [entry("ixz"), entry("iyz"), entry("izz")]])
            I = R @ turned @ I @ turned.T @ R.T
            c = R @ c
            F = m * (du + np.cross(dw, c) + np.cross(w, np.cross(w, c)) + np.array([0, 0, 9.81]))
            force[name] = F
            moment[name] = I @ dw + np.cross(w, I @ w) + np.cross(c, F)
        tau = {}
        done = set()
        while len(done) < len(self.joints):
            for j in self.joints:
                child, parent = j.find("child").get("link"), j.find("parent").get("link")
                inner = any(k.find("parent").get("link") == child and k.get("name") not in done for k in self.joints)
                if j.get("name") in done or inner:
                    continue
                done.add(j.get("name"))
                _, turned = frame(j.find("origin"))
                axis = moving[parent][1] @ turned @ unit(numbers(j.find("axis"), "xyz", "1 0 0"))
                name, gear, _ = self.leader[j.get("name")]
                part = axis @ (force[child] if j.get("type") == "prismatic" else moment[child])
                if j.get("type") != "fixed":
                    tau[name] = tau.get(name, 0) + gear * part
                force[parent] += force[child]
                moment[parent] += moment[child] + np.cross(moving[child][0] - moving[parent][0], force[child])
        return force[self.root], moment[self.root], tau


def imported(text, **how):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "robot.urdf")
        with open(path, "w") as file:
            file.write(text)
        return nonholo.import_urdf(path, **how)


def identifier(name):
    return "".join(c if c.isalnum() else "_" for c in name)


STILL = np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)


def has_expat():
    try:
        nonholo.import_urdf(os.devnull)
    except Exception as error:
        return "without Expat" not in str(error)
    return True


@unittest.skipUnless(has_expat(), "this nonholo was built without Expat")
class TestImported(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(7)

    def test_arm(self):
        text = arm(self.random)
        robot, system = Robot(text, "base"), nonholo.load(imported(text)).system()
        names = [j.get("name") for j in robot.joints if j.get("type") != "fixed" and j.find("mimic") is None]
        self.assertEqual(system.coordinates, [{"grip": "grip_joint"}.get(n, identifier(n)) for n in names])
        damping = np.array([0.3 if n.startswith("joint") else 0 for n in names])
        worst = 0.0
        for _ in range(SAMPLES):
            q, v = self.random.uniform(-2, 2, len(names)), self.random.uniform(-2, 2, len(names))
            a = system.acceleration(q, v)[0]
            _, _, tau = robot.forces(robot.motion(STILL, dict(zip(names, q)), dict(zip(names, v)), dict(zip(names, a))))
            left = np.array([tau[n] for n in names]) + damping * v
            worst = max(worst, abs(left).max() / max(1, abs(a).max()))
        print(f"{system.name}: {worst:.1e}")
        self.assertLess(worst, 1e-10)  # seen: 1e-12

    def test_floating_quadruped(self):
        text = quadruped(self.random)
        robot, system = Robot(text, "trunk"), nonholo.load(imported(text, base="floating")).system()
        names = [j.get("name") for j in robot.joints if j.get("type") != "fixed"]
        self.assertEqual(system.coordinates, ["x", "y", "z", "R.0", "R.1", "R.2", "R.3", *names])
        worst = 0.0
        for _ in range(SAMPLES):
            e = self.random.normal(size=4)
            e /= np.linalg.norm(e)
            q = np.concatenate([self.random.uniform(-1, 1, 3), e, self.random.uniform(-2, 2, 12)])
            v = self.random.uniform(-2, 2, 18)
            a = system.acceleration(q, v)[0]
            angle = 2 * np.arctan2(np.linalg.norm(e[1:]), e[0])
            R = turn(e[1:], angle)
            place = {n: i for i, n in enumerate(system.velocities)}
            rate = [place[f"R.w{i}"] for i in (1, 2, 3)]
            speed = [place[f"{n}'"] for n in names]
            base = q[:3], R, R @ v[rate], R @ a[rate], v[:3], a[:3]
            F, M, tau = robot.forces(robot.motion(base, dict(zip(names, q[7:])), dict(zip(names, v[speed])), dict(zip(names, a[speed]))))
            left = np.concatenate([F, M, [tau[n] for n in names]])
            worst = max(worst, abs(left).max() / max(1, abs(a).max()))
        print(f"{system.name}: {worst:.1e}")
        self.assertLess(worst, 1e-10)  # seen: 1e-12

    def test_differential_drive(self):
        """Forces of the constraints do no work in motions in which the wheels roll."""
        text = rover(self.random)
        for how in {}, {"wheels": "wheel_left,right=0.033", "base": "planar"}:
            robot, system = Robot(text, "base_footprint"), nonholo.load(imported(text, **how)).system()
            self.assertEqual(system.coordinates, ["x", "y", "heading", "left", "right"])

            def base(q, v, a):
                return (np.array([q[0], q[1], 0]), turn((0, 0, 1), q[2]), np.array([0, 0, v[2]]), np.array([0, 0, a[2]]),
                        np.array([v[0], v[1], 0]), np.array([a[0], a[1], 0]))

            def joints(x):
                return {"left": x[3], "right": x[4]}

            def slip(q, v):
                moving = robot.motion(base(q, v, np.zeros(5)), joints(q), joints(v), {})
                rims = [moving["wheel_" + n] for n in ("left", "right")]
                return np.concatenate([u + np.cross(w, (0, 0, -0.033)) for _, _, w, _, u, _ in rims])

            worst = 0.0
            for _ in range(SAMPLES):
                q = self.random.uniform(-2, 2, 5)
                J = np.array([slip(q, e) for e in np.eye(5)]).T
                free = np.linalg.svd(J)[2][3:].T  # motions that roll
                self.assertLess(abs(J @ free).max(), 1e-11)
                v = free @ self.random.uniform(-2, 2, 2)
                a = system.acceleration(q, v)[0]
                step = 1e-6  # the acceleration rolls, too
                rolls = J @ a + (slip(q + step * v, v) - slip(q - step * v, v)) / (2 * step)
                self.assertLess(abs(rolls).max(), 1e-7)
                F, M, tau = robot.forces(robot.motion(base(q, v, a), joints(q), joints(v), joints(a)))
                left = np.array([F[0], F[1], M[2], tau["left"] + 0.001 * v[3], tau["right"] + 0.001 * v[4]])
                worst = max(worst, abs(free.T @ left).max() / max(1, abs(a).max()))
            print(f"{system.name}: {worst:.1e}")
        self.assertLess(worst, 1e-10)  # seen: 1e-15

    def test_other_joints(self):
        """Planar and floating joints, wheels whose mass is not balanced, a floating base on wheels: they start and keep their energy."""
        box = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.2" izz="0.25"/></inertial>'
        text = ('<robot name="9 lives"><link name="t">' + box + '</link><link name="x">' + box + '</link><link name="sin">' + box + "</link>"
                '<joint name="t" type="planar"><parent link="t"/><child link="x"/><axis xyz="0 0.6 0.8"/></joint>'
                '<joint name="g" type="floating"><parent link="x"/><child link="sin"/></joint></robot>')
        system = nonholo.load(imported(text, base="floating")).system()
        self.assertEqual(len(system.velocities), 15)
        crooked = rover(self.random).replace('<link name="wheel_left"><inertial>', '<link name="wheel_left"><inertial><origin xyz="0.001 0 0"/>')
        for base in "planar", "floating":
            text = imported(crooked, base=base)
            self.assertIn("wheel wheel_left_rim radius 0.033 at", text)
            result = nonholo.simulate(nonholo.load(text), time=0.5, project=True, start={"left'": 3, "right'": 3.5})
            self.assertGreater(abs(result.q[-1] - result.q[0]).max(), 0.01)
        self.assertIn("draw box at base_link_origin", text)

    def test_files_as_they_are(self):
        """As in files of others: a quarter turn written as 1.57, axes of fixed joints that are zero, properties of xacro, long names."""
        text = rover(self.random).replace("-1.57079632679", "-1.57").replace("base_link", "${name}link").replace(
            "<robot name=\"rover\">", "<robot name=\"rover\"><xacro:arg name=\"start\" default=\"base_\"/><xacro:property name=\"name\" value=\"$(arg start)\"/>"
        ).replace('<child link="caster"/>', '<child link="caster"/><axis xyz="0 0 0"/>').replace("caster", "caster" * 10).replace(
            "<robot ", '<robot xmlns:xacro="http://ros.org/wiki/xacro" ')
        found = imported(text)
        self.assertIn("attitude base_link_axes*turn((1, 0, 0), -pi/2) axis (0, 0, 1) spin left on ground", found)
        system = nonholo.load(found).system()
        self.assertEqual(system.coordinates, ["x", "y", "heading", "left", "right"])
        self.assertEqual(len(system.constraints), 3)
        with self.assertRaisesRegex(Exception, "'2\\*pi' is computed by xacro; expand the file first"):
            imported(text.replace("${name}", "${2*pi}"))

    def test_refusals(self):
        two = '<link name="a"/><link name="b"/>'
        joined = '<joint name="j" type="{}"><parent link="{}"/><child link="{}"/></joint>'
        for text, message, how in (
            ("<robot><link/></robot>", r'robot.urdf:1:8: <link> needs name="..."', {}),
            ("<robot>", "robot.urdf:1:8: no element found", {}),
            ("<sdf/>", r"robot.urdf:1:1: expected <robot>, found <sdf>; this is not a URDF file", {}),
            ("<robot>\n <xacro:macro/></robot>", "robot.urdf:2:2: <xacro:macro>: this is a xacro file; expand it first", {}),
            (f"<robot>{two}{joined.format('hinge', 'a', 'b')}</robot>", "joint type 'hinge' is unknown; expected revolute, continuous", {}),
            (f"<robot>{two}</robot>", "'a' and 'b' both hang on no joint; a robot has one root link", {}),
            (f"<robot>{two}{joined.format('fixed', 'a', 'c')}</robot>", "joint 'j': there is no link 'c'", {}),
            (f"<robot>{two}{joined.format('fixed', 'a', 'b')}</robot>", "has no link and no joint 'wheel'", {"wheels": "wheel"}),
            (f"<robot>{two}{joined.format('fixed', 'a', 'b')}</robot>", "the base is fixed, planar or floating, not 'loose'", {"base": "loose"}),
            (f"<robot>{two}{joined.format('revolute', 'a', 'b')}</robot>".replace("</joint>", '<mimic joint="j"/></joint>'),
             "joint 'j' mimics itself", {}),
            ('<robot><link name="a"><inertial><mass value="heavy"/></inertial></link></robot>', 'value="heavy": expected 1 number', {}),
        ):
            with self.assertRaisesRegex(Exception, message.replace("(", r"\(")):
                imported(text, **how)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
