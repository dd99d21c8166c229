#!/usr/bin/env python3
"""test_drift.py NONHOLO: predicted drift rates against measured ones, and the rotation of the passengers in one period
against one that is computed here."""

import math
import sys

from harness import Program, cases_in_folders, check, run_all, same

CVT = ("pendulum-cvt", "--set", "eps=.5", "--set", "sign=-1", "--set", "shift=1")
SYSTEMS = {"pendulum-cvt": CVT, "three-shaft-cvt": ("three-shaft-cvt",)}
PRECISE = ("dla,dla01,gauss:stages=1,gauss:stages=2,newmark,newmark:beta=0.1,newmark:beta=0.3,newmark:constraint=average,"
           "newmark:beta=0.1,constraint=average,newmark-pair,lobatto-ab,lobatto-ab-midpoint,shifted,shifted:force=5/24,"
           "shifted:reaction=0.2,dla:alpha=0.49,dla:alpha=0.51")
NONE = "staggered,staggered:passengers=whole,leapfrog,avf-p"


def rates(program, words, methods, *arguments):
    found = program.json("order", *words, "--drift", "--methods", methods, *arguments)
    return found, {one["method"]: one for one in found["methods"]}


def test_predicted_rates_are_measured(program, folder):
    """Measured: within 0.4% at the smaller step, and within 0.02% in the limit."""
    for words in SYSTEMS.values():
        _, lines = rates(program, words, PRECISE, "--time", 1500, "--step", 0.05, "--halvings", 1)
        for method, line in lines.items():
            last = line["points"][-1]
            check(abs(last["ratio"] - 1) < 0.005, f"{words[0]}, {method}: {last}")
            check(abs(line["limit"] - 1) < 0.001, f"{words[0]}, {method}: limit {line['limit']}")


def test_what_does_not_drift(program, folder):
    for words in SYSTEMS.values():
        _, lines = rates(program, words, NONE, "--time", 1500, "--steps-list", 15000)
        for method, line in lines.items():
            point = line["points"][0]
            same((line["power"], point["predicted"], point["ratio"]), (0, 0, None), method)
            check(abs(point["measured"]) < 1e-11, f"{words[0]}, {method}: {point}")


def test_published_values(program, folder):
    """Of an independent study: predicted and measured, at h = 0.1 until 3000."""
    _, lines = rates(program, CVT, "dla01,shifted,lobatto-ad", "--time", 3000, "--steps-list", 30000)
    for method, predicted, measured in (("dla01", 3.184e-4, 3.251e-4), ("shifted", 3.381e-6, 3.420e-6), ("lobatto-ad", 0, 2.257e-6)):
        point = lines[method]["points"][0]
        check(abs(point["predicted"] - predicted) <= 5e-4 * predicted and abs(point["measured"] - measured) <= 5e-4 * measured, f"{method}: {point}")


def test_slow_flow_of_dd(program, folder):
    """From starts at which g_E is not near a zero: -1.1661e-2 and 4.6186e-3."""
    for x, y, rho, rate in ((.1, 1.3, -.5, -1.1661e-2), (1.4, .1, .1, 4.6186e-3)):
        start = f"x={x}, y={y}, xi=0, x'={rho}, y'=0, xi'=2.82842712"
        _, lines = rates(program, (*CVT, "--start", start), "dd", "--time", 300, "--step", 0.05, "--halvings", 1)
        line = lines["dd"]
        check(abs(line["coefficient"] / rate - 1) < 2e-4, f"{start}: {line['coefficient']}")
        check(abs(line["points"][-1]["ratio"] - 1) < 0.02, f"{start}: {line['points'][-1]}")


def turned(start, steps=4000):
    """Period and cosine of the angle of the CVT's rotation of (x, y, rho), by the classical Runge-Kutta method."""
    def rate(z):
        xi, speed, *F = z
        s, c = math.sin(xi), math.cos(xi)
        a, b = 1 / math.hypot(1, s), -s / math.hypot(1, s)  # the unit vector with y' + sin(xi) x' = 0
        rows = [[a * F[6 + j] for j in range(3)], [b * F[6 + j] for j in range(3)], [-a * F[j] - b * F[3 + j] for j in range(3)]]
        return [speed, -s + .5 * math.cos(2 * xi), *rows[0], *rows[1], *rows[2]]

    def go(time):
        z, h = [0, start, 1, 0, 0, 0, 1, 0, 0, 0, 1], time / steps
        for _ in range(steps):
            k = [rate(z)]
            for part in (h / 2, h / 2, h):
                k.append(rate([x + part * d for x, d in zip(z, k[-1])]))
            z = [x + h / 6 * (p + 2 * q + 2 * r + s) for x, p, q, r, s in zip(z, *k)]
        return z

    period = 2.6
    for _ in range(6):
        z = go(period)
        period -= (z[0] - 2 * math.pi) / z[1]
    z = go(period)
    return period, (z[2] + z[6] + z[10] - 1) / 2


def test_rotation_of_a_period(program, folder):
    found, _ = rates(program, CVT, "avf-p", "--time", 10, "--steps-list", 100)
    period, cosine = turned(2.82842712)
    check(abs(found["period"] - period) < 1e-8, f"{found['period']}, {period}")
    angles = [mode["angle"] for mode in found["modes"]]
    check(angles[0] == 0 and abs(math.cos(angles[1]) - cosine) < 1e-8, f"{angles}, {math.acos(cosine)}")
    check(abs(sum(mode["energy"] for mode in found["modes"]) - 1) < 1e-12, f"{found['modes']}")


def test_frequencies(program, folder):
    period, cosine = turned(2.82842712)
    found = program.json("check", *CVT)["frequencies"]
    check(abs(found["driver"] - 2 * math.pi / period) < 1e-8 and found["angles"][0] == 0, f"{found}")
    check(abs(found["passengers"][1] - math.acos(cosine) / period) < 1e-8, f"{found}")
    same((found["motion"], found["nondegenerate"]), ("rotating", True), "motion")
    same(program.json("check", "knife-edge")["frequencies"], None, "without springs")
    # the monodromy by SciPy's DOP853 with tolerances of 1e-13; where the bottom of the well is not at 0, periods were
    # wrong by 4e-5, or there were none
    for eps, start, period, angle in ((0.5, "xi=pi,xi'=0.9", 5.761077895518189, 2.127079468308799),
                                      (0, "xi=pi,xi'=1.2", 7.003015211663046, 2.862686809378622),
                                      (0.5, "xi=0,xi'=2.82842712", 2.0031736519314656, 1.6442432104579798)):
        found = program.json("check", "pendulum-cvt", "--set", f"eps={eps}", "--start", start)["frequencies"]
        check(abs(found["period"] - period) < 1e-9 and abs(found["angles"][-1] - angle) < 1e-9, f"{eps}, {start}: {found}")


def test_reversing_maps(program, folder):
    """eps = 0, eps = .5 and the perturbed knife edge are three different cases."""
    cases = {(): {"(x, y, xi)", "(-x, -y, xi)", "(-x, y, -xi)", "(x, -y, -xi)"}, ("--set", "eps=.5"): {"(x, y, xi)", "(-x, -y, xi)"}}
    for words, maps in cases.items():
        found = program.json("check", "pendulum-cvt", *words)
        same((set(found["reversals"]), found["reverses_rotating_driver"]), (maps, not words), f"{words}")
    for eps, integrable in ((0, True), (0.1, False)):
        found = program.json("check", "knife-edge", "--set", f"eps={eps}")
        # k.F = (cos xi - eps)/|(cos xi - eps, sin xi)|, and xi moves uniformly
        force = [(math.cos(x) - eps) / math.hypot(math.cos(x) - eps, math.sin(x)) for x in (2 * math.pi * i / 1000 for i in range(1000))]
        check(abs(abs(found["mean_force"]) - abs(sum(force)) / 1000) < 1e-9, f"{found['mean_force']}")
        same("integrals" in found["fibration"], integrable, "integrable")
        check(found["reverses_rotating_driver"] and "(x1, -x2, -xi)" in found["reversals"], f"{found['reversals']}")
    at_rest = program("check", "knife-edge", "--set", "eps=0.1", "--start", "xi'=0").stdout
    check("if the force along the admissible direction is 0" in at_rest and "nan" not in at_rest, at_rest)


def main():
    return run_all(cases_in_folders(globals(), Program(sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
