# SPDX-License-Identifier: Apache-2.0
"""apart.py SUITE [ARGUMENTS]: runs a suite with network namespaces and shared memory that no other process sees, so that it may
look for what it left behind while others run. Needs root; without, the suite runs as it is."""
import os
import subprocess
import sys

MOUNT = 'mount -t tmpfs tmpfs /dev/shm && mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && exec "$@"'
UNSHARE = ["unshare", "--mount", "--propagation", "private"]

command = [sys.executable, *sys.argv[1:]]
if os.geteuid() == 0 and subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0:
    command = [*UNSHARE, "sh", "-c", MOUNT, "sh", *command]
os.execvp(command[0], command)
