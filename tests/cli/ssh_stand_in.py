# SPDX-License-Identifier: Apache-2.0
"""Two hosts on this machine for rudder launch --hosts: a script stands in for ssh, with a clean environment and a shell behind it."""
import os
import pathlib
import secrets
import time

from program import Base, read_until, shared_memory, start

ENDING = 60  # seconds that processes may take to end, far above what they take


def children(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def descendants(pid):
    below = [pid]
    for known in below:
        below += children(known)
    return below[1:]


def words_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except FileNotFoundError:
        return []


def variables_of(pid):
    entries = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class TwoHosts(Base):
    """alpha and beta, with room for two ranks each."""
    # What is looked at is launching: a machine that stands still for a while is no failure of a training.
    TRAINING = ["--epochs", 80, "--batch", 64, "--hidden", 32, "--no-evaluation", "--deadline", 60]
    SHORT = ["--epochs", 2, "--deadline", 60]
    LONG = ["--epochs", 2000, "--batch", 64, "--no-evaluation", "--deadline", 60]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Like sshd, it keeps what it starts apart from the launcher's processes: only the end of its input tells it to end.
        cls.ssh = cls.script("ssh", """
            name=$1; shift
            echo $$ > {folder}/$name.pid
            env -i PATH="$PATH" HOME="$HOME" setsid --wait sh -c "$*" """)
        cls.two = cls.hosts_file("alpha slots=2 address=127.0.0.1\nbeta slots=2\n")

    @classmethod
    def script(cls, name, body):
        path = cls.work / name
        path.write_text("#!/bin/sh\n" + body.replace("{folder}", str(cls.work)) + "\n")
        path.chmod(0o755)
        return path

    @classmethod
    def hosts_file(cls, text):
        path = cls.work / f"hosts-{secrets.token_hex(4)}"
        path.write_text(text)
        return path

    def setUp(self):
        self.started, self.before = [], shared_memory()
        self.addCleanup(self.check_that_nothing_is_left)  # the last one: others end what a failed test leaves running

    def check_that_nothing_is_left(self):
        end = time.monotonic() + ENDING
        while left := [pid for pid in self.started if is_alive(pid)]:
            self.assertLess(time.monotonic(), end, f"left behind: {[(pid, words_of(pid)) for pid in left]}")
            time.sleep(0.01)
        self.assertEqual(shared_memory() - self.before, set())

    def options(self, hosts=None, ssh=None):
        return ["--hosts", hosts or self.two, "--ssh", ssh or self.ssh]

    def launch(self, *words, environment=None):
        process = start("launch", *words, environment=environment)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def start_long(self, *options):
        """A run on both hosts that goes on until something ends it; all its processes are noted."""
        launch = self.launch(*self.options(), *options, "--", "train", self.parts, *self.LONG)
        read_until(launch, "epoch 1:")
        self.note(launch)
        return launch

    def note(self, launch):
        """What runs now must have ended when the test has."""
        self.started += descendants(launch.pid)

    @staticmethod
    def ranks(launch, host=None):
        """Process ids of the ranks, in order, or those of a host."""
        found = {}
        for pid in descendants(launch.pid):
            if words_of(pid)[1:2] == ["train"]:
                variables = variables_of(pid)
                if host in (None, variables.get("RUDDER_HOST")):
                    found[int(variables["RANK"])] = pid
        return [found[rank] for rank in sorted(found)]

    def connection(self, host):
        """Process id of what stands in for ssh."""
        return int((self.work / f"{host}.pid").read_text())

    def warden(self, host):
        return next(pid for pid in descendants(self.connection(host)) if words_of(pid)[1:2] == ["warden"])

    def end(self, launch, code):
        out, err = launch.communicate(timeout=ENDING)
        self.assertEqual(launch.returncode, code, err)
        return out, err
