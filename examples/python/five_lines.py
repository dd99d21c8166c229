"""The example in the README."""
import nonholo

sleigh = nonholo.load("chaplygin-sleigh")
run = nonholo.simulate(sleigh, method="gauss", stages=3, step=0.1, time=250)
print(f"forward speed {run['forward'][0]:.4f} -> {run['forward'][-1]:.4f}")
print(f"largest errors: energy {run.energy_error_max:.1e}, constraint {run.constraint_max:.1e}")
