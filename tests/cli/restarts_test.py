#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rudder launch --on-failure shrink."""
import json
import os
import shutil
import signal
import time
import unittest

from program import read_until, run, run_json, wait_for_file
from ssh_stand_in import ENDING, TwoHosts


class Restarts(TwoHosts):
    def training(self, name, *words):
        return ["train", self.parts, *self.TRAINING, "--checkpoint", self.work / name, "--checkpoint-steps", 7, *words]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = run_json("launch", "-n", 4, "--", "train", cls.parts, *cls.TRAINING)["loss_digest"]

    def kill_ranks(self, launch, folder, times):
        """Kills a rank each time that the run has come further than before."""
        for number in range(times):
            known = {path.name for path in folder.glob("*.rck")}
            end = time.monotonic() + ENDING
            while {path.name for path in folder.glob("*.rck")} <= known or len(self.ranks(launch)) < 4:
                self.assertIsNone(launch.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            self.note(launch)
            os.kill(self.ranks(launch)[number % 4], signal.SIGKILL)
            read_until(launch, f"restart {number + 1} of")

    def test_killed_ranks_are_started_again_and_the_losses_are_the_same(self):
        launch = self.launch("-n", 4, "--on-failure", "shrink", "--", *self.training("here"), "--json")
        self.kill_ranks(launch, self.work / "here", 2)
        out, err = self.end(launch, 0)
        self.assertEqual(json.loads(out)["loss_digest"], self.whole)
        self.assertIn("going on at step", err)

    def test_hosts_that_are_lost_are_left_out_and_the_losses_are_the_same(self):
        hosts = self.hosts_file("alpha slots=2 address=127.0.0.1\nbeta slots=2 address=127.0.0.1\ngamma address=127.0.0.1\n")
        launch = self.launch("-n", 4, *self.options(hosts), "--deadline", 6, "--grace", 1, "--on-failure", "shrink", "--",
                       *self.training("there"), "--json")
        wait_for_file(self.work, "there/*.rck")
        self.note(launch)
        self.assertFalse((self.work / "gamma.pid").exists())  # it has no rank to run
        os.kill(self.warden("alpha"), signal.SIGKILL)
        err = "".join(read_until(launch, "[rank 0 on beta]"))
        self.note(launch)
        self.assertRegex(err, r"rudder: host alpha was lost: .*; restart 1 of 3 on beta, gamma")
        self.assertEqual([len(self.ranks(launch, host)) for host in ("beta", "gamma")], [3, 1])
        out, err = self.end(launch, 0)
        self.assertEqual(json.loads(out)["loss_digest"], self.whole)

    def test_a_rank_that_is_killed_again_and_again_ends_the_run(self):
        launch = self.launch(*self.options(), "--on-failure", "shrink", "--restarts", 1, "--", *self.training("again"))
        self.kill_ranks(launch, self.work / "again", 1)
        read_until(launch, "going on at step")
        self.note(launch)
        os.kill(self.ranks(launch)[3], signal.SIGKILL)
        _, err = self.end(launch, 137)
        self.assertIn("rank 3 on host beta was killed by signal 9 (Killed); the other ranks were stopped; restarts used: 1", err)

    def test_when_no_host_is_left_the_run_ends(self):
        launch = self.launch("-n", 4, *self.options(self.hosts_file("alpha slots=4\n")), "--on-failure", "shrink", "--",
                       *self.training("alone"))
        wait_for_file(self.work, "alone/*.rck")
        self.note(launch)
        os.kill(self.warden("alpha"), signal.SIGKILL)
        _, err = self.end(launch, 1)
        self.assertRegex(err, "rudder: host alpha was lost: .*; no host is left")

    def test_what_a_restart_cannot_mend_ends_the_run_at_once(self):
        other = self.work / "broken"
        shutil.copytree(self.parts, other)
        (other / "part2" / "features.npy").unlink()
        for folder, code in ((other, 1), (self.work / "nowhere", 1)):
            _, err = run("launch", "-n", 4, "--on-failure", "shrink", "--", "train", folder, "--checkpoint", self.work / "none", code=code)
            self.assertNotIn("restart", err)
        self.training_once("taken")
        launch = self.launch("-n", 4, "--on-failure", "shrink", "--", *self.training("taken"))
        _, err = launch.communicate(timeout=ENDING)
        self.assertIn(launch.returncode, (1, 2))  # rank 0's, or that of one which has lost it
        self.assertIn("give --resume to go on", err)
        self.assertNotIn("restart", err)
        broken = self.script("never", "exit 255")
        _, err = run("launch", *self.options(ssh=broken), "--on-failure", "shrink", "--", *self.training("never"), code=1)
        self.assertIn("cannot be reached", err)
        self.assertNotIn("restart", err)

    def training_once(self, name):
        run("launch", "-n", 4, "--", *self.training(name), "--epochs", 1)

    def test_only_a_training_with_checkpoints_can_be_started_again(self):
        for words, wrong in ((["sh", "-c", "true"], "train --checkpoint DIR, not 'sh'"), (["train", self.parts], "train --checkpoint DIR"),
                             (["train", "--checkpoint", "x"], "PARTITION"), (["train", self.parts, "--epochs", 0], "--epochs"),
                             ([*self.training("t"), "--trace", "t"], "--trace holds whole runs")):
            _, err = run("launch", "-n", 2, "--on-failure", "shrink", "--", *words, code=2)
            self.assertIn(wrong, err)
            self.assertEqual(len(err.splitlines()), 1, err)
        _, err = run("launch", *self.options(), "--on-failure", "shrink", "--", *self.training("t"), "--attach", "/s", code=2)
        self.assertIn("--attach does not go with", err)

    def test_a_signal_ends_the_run_and_starts_nothing_again(self):
        launch = self.launch("-n", 4, "--on-failure", "shrink", "--", *self.training("signal"))
        wait_for_file(self.work, "signal/*.rck")
        self.note(launch)
        launch.send_signal(signal.SIGTERM)
        _, err = self.end(launch, 0)
        self.assertNotIn("restart", err)


if __name__ == "__main__":
    unittest.main()
