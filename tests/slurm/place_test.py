#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Placements on a real Slurm: state read from it, ranks in the planned order. Runs inside script/slurm-cluster."""
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

RUDDER = os.environ["RUDDER"]
TOPOLOGY = pathlib.Path(os.environ["SLURM_TEST_FOLDER"]) / "topology.conf"
SHAPE = ["--gpus-per-node", "2", "--tp", "2", "--pp", "2", "--dp", "4"]  # 4 x 2 nodes of 2 tasks


def run(*words, code=0, cwd=None, timeout=120):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=timeout, cwd=cwd, check=False)
    assert done.returncode == code, f"{words} exited with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Placement(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.work = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def state(self, command):
        path = self.work / "state"
        path.write_text(run(*command))
        return path

    def place(self, *options):
        return json.loads(run(RUDDER, "place", "--topology", TOPOLOGY, *options, "--json"))

    def wait_until(self, ready):
        end = time.monotonic() + 60
        while not ready():
            self.assertLess(time.monotonic(), end, "60 s are over")
            time.sleep(0.1)

    def test_ranks_run_where_they_were_planned(self):
        state = self.state(["sinfo", "--json"])
        for order in ("column-major", "row-major"):
            out = self.work / order
            plan = self.place("--state", state, *SHAPE, "--order", order, "--out", out, "--command",
                              "sh -c 'echo $RANK $LOCAL_RANK $SLURMD_NODENAME > rank.$RANK'")
            self.assertEqual(len({n["host"] for n in plan["nodes"]}), 8)
            run("sbatch", "--wait", "slurm.sbatch", cwd=out)
            planned = [(2 * n + local, local, node["host"]) for n, node in enumerate(plan["nodes"]) for local in (0, 1)]
            self.assertEqual([node["rank0"] for node in plan["nodes"]], list(range(0, 16, 2)))
            for rank, local, host in planned:
                self.assertEqual((out / f"rank.{rank}").read_text().split(), [str(rank), str(local), host])

    def test_the_order_of_names_would_cost_more(self):
        hosts = self.work / "hosts"
        hosts.write_text(run("scontrol", "show", "hostnames", "gpu-a[01-04],gpu-b[01-04]"))
        check = json.loads(run(RUDDER, "place", "check", hosts, "--format", "hosts", "--topology", TOPOLOGY, *SHAPE, "--json"))
        # Neighbours in name are on different leaves: each stage has both, and so has no pipeline.
        self.assertEqual((check["S"], check["Q"], check["best"]["J"]), (1, 2, 1.5))

    def test_drained_and_busy_nodes_are_not_used(self):
        run("scontrol", "update", "NodeName=gpu-a03", "State=DRAIN", "Reason=test")
        job = run("sbatch", "--parsable", "-w", "gpu-b02", "-N1", "-o", "/dev/null", "--wrap", "sleep 300").strip()
        try:
            self.wait_until(lambda: "alloc" in run("sinfo", "-h", "-n", "gpu-b02", "-o", "%T"))
            for command in (["scontrol", "show", "node"], ["scontrol", "-o", "show", "node"], ["sinfo", "--json"],
                            ["sinfo", "-h", "-N", "-o", "%N %T"]):
                plan = self.place("--state", self.state(command), "--gpus-per-node", 2, "--tp", 2, "--pp", 2, "--dp", 3)
                hosts = {n["host"] for n in plan["nodes"]}
                self.assertEqual(len(hosts), 6, command)
                self.assertFalse(hosts & {"gpu-a03", "gpu-b02"}, command)
        finally:
            run("scancel", job)
            run("scontrol", "update", "NodeName=gpu-a03", "State=RESUME")
            self.wait_until(lambda: set(run("sinfo", "-h", "-N", "-o", "%T").split()) == {"idle"})

    def test_a_drained_node_is_replaced_at_the_least_cost(self):
        out = self.work / "out"
        plan = self.place("--gpus-per-node", 2, "--tp", 2, "--pp", 1, "--dp", 3, "--out", out)
        failed = plan["nodes"][1]
        run("scontrol", "update", f"NodeName={failed['host']}", "State=DRAIN", "Reason=test")
        try:
            moved = json.loads(run(RUDDER, "place", "replace", out / "placement.json", "--topology", TOPOLOGY, "--state",
                                   self.state(["sinfo", "--json"]), "--failed", failed["host"], "--json"))
            self.assertEqual(moved["replaced"][0]["minipod"], failed["minipod"])
            self.assertEqual(moved["replaced"][0]["delta_J"], 0)
            self.assertNotIn(failed["host"], [n["host"] for n in moved["nodes"]])
        finally:
            run("scontrol", "update", f"NodeName={failed['host']}", "State=RESUME")


if __name__ == "__main__":
    unittest.main()
