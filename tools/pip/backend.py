"""meson-python for pip, taken from Debian where it is installed, else asked for from the package index.

pip builds in an environment of its own that sees no packages of the system, so without an index it
could not build although everything is there."""
import os
import sys

PACKAGES = "/usr/lib/python3/dist-packages"  # where Debian puts them
SYSTEM = os.path.isdir(os.path.join(PACKAGES, "mesonpy"))
if SYSTEM:
    sys.path.append(PACKAGES)
    os.environ.pop("PYTHONPATH", None)  # with which pip hides them from meson, a Python program too


def _asked_for(config_settings=None):
    return [] if SYSTEM else ["meson-python>=0.12"]


get_requires_for_build_wheel = get_requires_for_build_sdist = _asked_for


def build_wheel(*arguments, **keywords):
    import mesonpy

    return mesonpy.build_wheel(*arguments, **keywords)


def build_sdist(*arguments, **keywords):
    import mesonpy

    return mesonpy.build_sdist(*arguments, **keywords)
