#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the models in this folder with Spin: every interleaving of the correct ones, and that the mistakes are found."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = [([], True), (["-DFORGET_READERS"], False)]


def errors_and_states(model, defines):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["spin", *defines, "-a", model], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"], cwd=folder, check=True)
        out = subprocess.run(["./pan", "-m100000"], cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout
    if "max search depth too small" in out or "out of memory" in out:
        sys.exit(f"{model.name}: the search did not end:\n{out}")
    return int(re.search(r"errors: (\d+)", out)[1]), int(re.search(r"(\d+) states, stored", out)[1])


def main():
    if shutil.which("spin") is None:
        print("skipped: spin is not installed")
        sys.exit(77)
    for defines, is_right in CASES:
        errors, states = errors_and_states(HERE / "host_buffer.pml", defines)
        print(f"host_buffer.pml {' '.join(defines)}: {states} states, {errors} errors")
        if (errors == 0) != is_right or (is_right and states < 100_000):
            sys.exit("not what was expected")


if __name__ == "__main__":
    main()
