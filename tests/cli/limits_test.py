#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Disks that fill up, memory that ends, clocks that jump."""
import glob
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from program import RUDDER, Base, clean_environment, run, run_json, start
from link_faults_test import read_until


class FullDisk(Base):
    """A file system of two megabytes, which needs root."""

    def setUp(self):
        self.disk = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", self.disk], capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a small file system: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", self.disk], check=True)

    def fill(self):
        filler = self.disk / "filler"
        with open(filler, "wb", buffering=0) as file:
            for size in (4096, 1):  # to the last byte
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass
        return filler

    def assert_one_error(self, err, *texts):
        errors = [line for line in err.splitlines() if line.startswith("rudder: ") and not line.startswith(("rudder: info:", "rudder: warning:"))]
        self.assertEqual(len(errors), 1, err)
        for text in texts:
            self.assertIn(text, errors[0])

    def test_a_checkpoint_without_room_is_one_error_and_older_ones_stay(self):
        words = ["train", self.parts, "--transport", "loopback", "--batch", 64, "--hidden", 64, "--no-evaluation"]
        whole = run_json(*words, "--epochs", 4)["loss_digest"]
        kept = self.disk / "kept"
        words += ["--checkpoint", kept, "--resume"]
        run(*words, "--epochs", 2)
        before = {path.name: path.read_bytes() for path in kept.glob("*.rck")}
        self.assertGreater(len(before), 0)
        filler = self.fill()
        _, err = run(*words, "--epochs", 4, code=1)
        self.assert_one_error(err, "checkpoint", "No space left on device")
        self.assertEqual({path.name: path.read_bytes() for path in kept.glob("*.rck")}, before)
        self.assertEqual([path for path in kept.iterdir() if ".tmp." in path.name], [])
        filler.unlink()
        self.assertEqual(run_json(*words, "--epochs", 4)["loss_digest"], whole)

    def test_a_trace_without_room_is_one_error_and_nothing_is_left(self):
        trace = self.disk / "trace"
        self.fill().rename(self.disk / "other")
        _, err = run("trace", "record", self.parts, "--out", trace, "--epochs", 3, code=1)
        self.assert_one_error(err, str(trace), "No space left on device")
        _, err = run("train", self.parts, "--transport", "loopback", "--epochs", 1, "--no-evaluation", "--trace", trace, code=1)
        self.assert_one_error(err, str(trace), "No space left on device")
        self.assertEqual([path.name for path in self.disk.iterdir()], ["other"])

    def test_a_partition_without_room_is_one_error_and_nothing_is_left(self):
        self.fill().rename(self.disk / "other")
        _, err = run("partition", self.graph, self.disk / "parts", "--parts", 2, code=1)
        self.assert_one_error(err, "No space left on device")
        self.assertEqual([path.name for path in self.disk.iterdir()], ["other"])


class LittleMemory(Base):
    GIB = 1 << 30

    def limited(self, limit, *words):
        done = subprocess.run(["prlimit", f"--as={limit}", RUDDER, *map(str, words)], capture_output=True, text=True, timeout=120,
                              check=False, env=clean_environment(OPENBLAS_NUM_THREADS="1"))
        errors = [line for line in done.stderr.splitlines() if line.startswith("rudder: ") and "info:" not in line]
        self.assertEqual((done.returncode, len(errors)), (1, 1), done.stderr)
        self.assertIn("memory", errors[0])

    def test_a_graph_that_does_not_fit_is_one_error(self):
        self.limited(4 * self.GIB, "graph", "generate", "rmat", self.work / "large", "--scale", 26)
        self.assertFalse((self.work / "large").exists())

    def test_a_buffer_that_does_not_fit_is_one_error(self):
        wide, parts = self.work / "wide", self.work / "wide2"
        run("graph", "generate", "planted", wide, "--nodes", 2000, "--features", 20000, "--classes", 2, "--edge-factor", 8)
        run("partition", wide, parts, "--parts", 2, "--method", "random")
        self.limited(3 * self.GIB // 2, "train", parts, "--transport", "loopback", "--epochs", 1, "--buffer", "1.0")


def faketime():
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    return found[0] if found else None


@unittest.skipUnless(faketime(), "needs libfaketime (script/bootstrap test)")
class ClockJump(Base):
    """The clock of one rank's process is moved while it runs."""
    WORDS = ["--epochs", 60, "--batch", 64, "--hidden", 16, "--no-evaluation", "--deadline", 10]

    def train(self, *jumps):
        """Moves rank 1's clock by each of `jumps` in turn; exit codes, rank 0's output and all errors."""
        offset = self.work / "offset"
        offset.write_text("+0")
        command = f"""
            if [ "$RANK" = 1 ]; then export LD_PRELOAD={faketime()} FAKETIME_TIMESTAMP_FILE={offset} FAKETIME_NO_CACHE=1; fi
            exec {RUDDER} train {self.parts} {' '.join(map(str, self.WORDS))} --json"""
        environment = {"DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        process = start("launch", "-n", 4, "--", "sh", "-c", command, environment=environment)
        for number, jump in enumerate(jumps):
            read_until(process, f"epoch {5 * number + 2}:")
            replacement = self.work / "offset.new"
            replacement.write_text(jump)
            replacement.replace(offset)
        out, err = process.communicate(timeout=90)
        return process.returncode, out, err

    def test_the_wall_clock_may_jump(self):
        digest = run_json("train", self.parts, *self.WORDS, "--transport", "loopback")["loss_digest"]
        code, out, err = self.train("+40d", "-40d", "+1y")
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["loss_digest"], digest)


if __name__ == "__main__":
    unittest.main()
