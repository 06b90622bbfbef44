#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links between hosts that are cut, restored and slowed down while a run goes on. Needs root."""
import json
import os
import pathlib
import signal
import time
import unittest

from program import Base, namespaces, links, read_until, run, run_json, start
from virtual_hosts import VirtualHosts, needs_namespaces

OUTAGE = 1.5  # seconds that the cable is out
PORT = 29500  # each namespace has all ports to itself


class Hosts(VirtualHosts):
    """One rank a host."""

    def __init__(self, count):
        super().__init__(count)
        self.processes = []

    def __exit__(self, *unused):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                stream.close()
        super().__exit__(*unused)

    def train(self, *words):
        for rank in range(self.count):
            environment = {**self.environment(rank), "RANK": str(rank), "WORLD_SIZE": str(self.count), "MASTER_PORT": str(PORT)}
            self.processes.append(start("train", *words, "--host", f"machine{rank}", environment=environment, prefix=self.prefix(rank)))
        return self.processes


@needs_namespaces
class LinkFaults(Base):
    TRAINING = ["--epochs", 240, "--batch", 64, "--hidden", 16, "--no-evaluation"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.before = namespaces(), links()
        cls.three = cls.work / "three"
        run("partition", cls.graph, cls.three, "--parts", 3)
        cls.digest = run_json("train", cls.three, *cls.TRAINING, "--transport", "loopback")["loss_digest"]

    def tearDown(self):
        self.assertEqual((namespaces(), links()), self.before)

    def test_a_link_that_comes_back_in_time_changes_nothing(self):
        with Hosts(3) as hosts:
            processes = hosts.train(self.three, *self.TRAINING, "--deadline", 10, "--json")
            read_until(processes[0], "epoch 2:")
            hosts.cut(1)
            time.sleep(OUTAGE)
            hosts.restore(1)
            out, err = processes[0].communicate(timeout=60)
            self.assertEqual([process.wait(timeout=30) for process in processes], [0, 0, 0], err)
        result = json.loads(out)
        self.assertEqual(result["loss_digest"], self.digest)
        self.assertGreater(max(epoch["seconds"] for epoch in result["epochs"]), 0.8 * OUTAGE)  # the cut was felt

    def test_a_link_that_stays_cut_ends_all_ranks_with_names(self):
        with Hosts(3) as hosts:
            processes = hosts.train(self.three, *self.TRAINING, "--epochs", 100000, "--deadline", 2)
            read_until(processes[0], "epoch 2:")
            hosts.cut(2)
            cut = time.monotonic()
            errors = [process.communicate(timeout=60)[1] for process in processes]
            took = time.monotonic() - cut
            self.assertEqual([process.returncode for process in processes], [1, 1, 1], errors)
        self.assertLess(took, 20)
        for rank, error in enumerate(errors):
            self.assertIn("rank 2 (host machine2)" if rank != 2 else "(host machine", error.splitlines()[-1])

    def test_an_owner_that_is_slow_for_a_while_changes_nothing(self):
        with Hosts(3) as hosts:
            for host in range(3):
                hosts.shape(host, "10mbit" if host == 1 else "1gbit")  # a hundredth
            processes = hosts.train(self.three, *self.TRAINING, "--deadline", 10, "--json")
            read_until(processes[0], "epoch 3:")
            hosts.shape(1, "1gbit")
            out, err = processes[0].communicate(timeout=90)
            self.assertEqual([process.wait(timeout=30) for process in processes], [0, 0, 0], err)
        result = json.loads(out)
        self.assertEqual(result["loss_digest"], self.digest)
        seconds = [epoch["seconds"] for epoch in result["epochs"]]
        self.assertGreater(min(seconds[1:4]), 2 * sorted(seconds[20:])[20])  # slow it was


class HungRank(Base):
    def test_a_rank_that_is_stopped_for_a_while_changes_nothing(self):
        words = ["train", self.parts, "--epochs", 60, "--batch", 64, "--hidden", 16, "--no-evaluation"]
        digest = run_json(*words, "--transport", "loopback")["loss_digest"]
        launch = start("launch", "-n", 4, "--", *words, "--json")
        read_until(launch, "epoch 2:")
        children = pathlib.Path(f"/proc/{launch.pid}/task/{launch.pid}/children").read_text().split()
        self.assertEqual(len(children), 4)
        for child in map(int, children[1:3]):
            os.kill(child, signal.SIGSTOP)
            time.sleep(OUTAGE)
            os.kill(child, signal.SIGCONT)
        out, err = launch.communicate(timeout=90)
        self.assertEqual(launch.returncode, 0, err)
        self.assertEqual(json.loads(out)["loss_digest"], digest)


if __name__ == "__main__":
    unittest.main()
