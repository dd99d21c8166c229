#!/bin/sh
# no_numpy.sh: in the place of tests for which there is no Python with numpy.
echo "skipped: no Python with numpy (tools/setup.sh)"
exit 77
