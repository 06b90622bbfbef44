#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One training under every launcher: the same losses. Runs inside script/slurm-cluster (see script/slurm-test)."""
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import unittest

RUDDER = os.environ["RUDDER"]
WORDS = ["--epochs", "2", "--batch", "32", "--hidden", "32", "--json"]
STRANGE = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def environment(**extra):
    return {**{k: v for k, v in os.environ.items() if k not in STRANGE}, **extra}


def run(*words, env=None, timeout=120):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=timeout, env=env or environment(),
                          check=False)
    assert done.returncode == 0, f"{words} exited with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Launchers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        work = pathlib.Path(cls.folder.name)
        os.environ["HOME"] = cls.folder.name  # where ranks that no launcher of ours starts have their secret
        cls.hosts, cls.parts = work / "hosts", work / "parts"
        run(RUDDER, "graph", "generate", "planted", work / "graph", "--nodes", 3000, "--features", 20, "--classes", 6)
        run(RUDDER, "partition", work / "graph", cls.parts, "--parts", 4)
        cls.train = [RUDDER, "train", cls.parts, *WORDS]
        cls.digest = json.loads(run(RUDDER, "launch", "-n", 4, "--", *cls.train[1:]))["loss_digest"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def same(self, out):
        result = json.loads(out)
        self.assertEqual(result["world"], 4)
        self.assertEqual(result["loss_digest"], self.digest)

    def test_srun_over_four_nodes(self):
        # The nodes' names are not those of a real network, so that the address cannot be looked up.
        self.same(run("srun", "-N4", *self.train, env=environment(MASTER_ADDR="127.0.0.1")))
        self.assertEqual((pathlib.Path(self.folder.name) / ".rudder" / "secret").stat().st_mode & 0o777, 0o600)

    def test_srun_on_one_node_needs_nothing(self):
        self.same(run("srun", "-N1", "-n4", "--overcommit", *self.train))

    def test_srun_with_a_host_file_keeps_its_order(self):
        self.hosts.write_text("\n".join(["gpu-b02", "gpu-a03", "gpu-b01", "gpu-a01"]) + "\n")
        env = environment(MASTER_ADDR="127.0.0.1", SLURM_HOSTFILE=str(self.hosts))
        self.same(run("srun", "-n4", "-m", "arbitrary", *self.train, env=env))

    def test_mpirun(self):
        self.same(run("mpirun", "--allow-run-as-root", "--oversubscribe", "--host", "localhost:4", "-n", 4, *self.train,
                      env={k: v for k, v in environment().items() if not k.startswith("SLURM")}))

    def test_torchruns_variables(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        ranks = [subprocess.Popen(list(map(str, self.train)), stdout=subprocess.PIPE, text=True,
                                  env=environment(RANK=str(r), WORLD_SIZE="4", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
                 for r in range(4)]
        outputs = [rank.communicate(timeout=120)[0] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0] * 4)
        self.same(outputs[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
