#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Disks that fill up, memory that ends, clocks that jump."""
import glob
import itertools
import json
import os
import pathlib
import re
import resource
import subprocess
import tempfile
import time
import unittest
import urllib.request

from program import RUDDER, Base, clean_environment, free_ports, read_until, run, run_json, start


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


class ServiceWithLittleMemory(Base):
    """Rows so wide that a buffer, or a batch, needs more memory than a service gets."""
    MIB = 1 << 20
    numbers = itertools.count()  # of sockets

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        wide, cls.wide_parts = cls.work / "wide", cls.work / "wide_parts"
        run("graph", "generate", "planted", wide, "--nodes", 2000, "--features", 20000, "--classes", 2, "--edge-factor", 8)
        run("partition", wide, cls.wide_parts, "--parts", 2, "--method", "random")

    def start_hosts(self, *words, prefix=()):
        """A service a host; the first one has `prefix` in front."""
        self.ports = free_ports(2)
        self.sockets = [self.work / f"{next(self.numbers)}.sock" for _ in range(2)]
        self.services = [start("serve", self.wide_parts, "--socket", path, "--runs", 1, "--deadline", 20, *words,
                               prefix=prefix if host == 0 else (), environment=self.environment(host, self.ports[0]))
                         for host, path in enumerate(self.sockets)]
        self.addCleanup(self.kill, self.services)
        for service, path in zip(self.services, self.sockets):
            while not path.exists():
                self.assertIsNone(service.poll(), "the service has ended")
                time.sleep(0.01)

    def environment(self, rank, port):
        return {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "UCX_TLS": "tcp,self",
                "OPENBLAS_NUM_THREADS": "1"}

    @staticmethod
    def kill(processes):
        for process in processes:
            process.kill()
            process.communicate()

    def train(self):
        """Exit codes and errors of the trainers, each on a host of its own."""
        trainers = [start("train", self.wide_parts, "--attach", self.sockets[rank], "--epochs", 1, "--batch", 64, "--hidden", 4,
                          "--no-evaluation", "--deadline", 20, environment=self.environment(rank, self.ports[1])) for rank in range(2)]
        self.addCleanup(self.kill, trainers)
        return [(trainer.communicate(timeout=120)[1], trainer.returncode) for trainer in trainers]

    def end_of(self, service):
        """Its code and the lines that are errors."""
        _, err = service.communicate(timeout=120)
        return service.returncode, [line for line in err.splitlines() if line.startswith("rudder: ") and "info:" not in line]

    def assert_told(self, trainer, *words):
        err, code = trainer
        self.assertEqual(code, 1, err)
        errors = [line for line in err.splitlines() if line.startswith("rudder: ")]
        self.assertEqual(len(errors), 1, err)
        for word in ("service at", str(self.sockets[0]), *words):
            self.assertIn(word, errors[0])

    def address_space(self):
        """Bytes that the first service has now."""
        status = pathlib.Path(f"/proc/{self.services[0].pid}/status").read_text()
        return 1024 * int(re.search(r"VmSize:\s+(\d+) kB", status)[1])

    def limit_to(self, more):
        """The first service gets so many bytes more."""
        limit = self.address_space() + more
        resource.prlimit(self.services[0].pid, resource.RLIMIT_AS, (limit, limit))

    def test_a_buffer_that_does_not_fit_is_one_error_on_both_sides(self):
        self.start_hosts("--buffer", "1.0")
        self.limit_to(30 * self.MIB)
        trainers = self.train()
        code, errors = self.end_of(self.services[0])
        self.assertEqual((code, len(errors)), (1, 1), errors)
        self.assertRegex(errors[0], r"a buffer of \d+ rows: .* of memory for rows: Cannot allocate memory")
        self.assert_told(trainers[0], "of memory for rows: Cannot allocate memory")

    def test_a_batch_that_does_not_fit_is_one_error_on_both_sides(self):
        self.start_hosts("--buffer", 10, prefix=["prlimit", f"--fsize={4 * self.MIB}"])  # of the memory file, here
        trainers = self.train()
        code, errors = self.end_of(self.services[0])
        self.assertEqual((code, len(errors)), (1, 1), errors)
        self.assertRegex(errors[0], "staging memory: .* of memory for rows: File too large")
        self.assert_told(trainers[0], "staging memory")

    def test_wherever_memory_ends_it_is_one_error_and_trainers_are_told(self):
        for kib in (0, 200, 1000, 5000, 9000, 20000):
            with self.subTest(kib=kib):
                self.start_hosts("--buffer", 10)
                self.limit_to(1024 * kib)
                trainers = self.train()
                code, errors = self.end_of(self.services[0])
                if code == 0:
                    self.assertEqual([code for _, code in trainers], [0, 0])
                    continue
                self.assertEqual((code, len(errors)), (1, 1), errors)
                self.assertIn("memory", errors[0])
                if "nobody listens at" not in trainers[0][0]:  # it may have ended before they came
                    self.assert_told(trainers[0], "memory")


def faketime():
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    return found[0] if found else None


@unittest.skipUnless(faketime(), "needs libfaketime (script/bootstrap test)")
class ClockJump(Base):
    """The clock of one rank's process is moved while it runs."""
    WORDS = ["--epochs", 150, "--batch", 64, "--hidden", 16, "--no-evaluation", "--deadline", 10]
    DAY = 86400

    def train(self, *jumps):
        """Moves rank 1's clock to `jumps` days from now, in turn, and sees it arrive; exit code, rank 0's output and all errors."""
        offset = self.work / "offset"
        offset.write_text("+0")
        command = f"""
            if [ "$RANK" = 1 ]; then export LD_PRELOAD={faketime()} FAKETIME_TIMESTAMP_FILE={offset} FAKETIME_NO_CACHE=1; fi
            exec {RUDDER} train {self.parts} {' '.join(map(str, self.WORDS))} --metrics 0 --json"""
        environment = {"DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        process = start("launch", "-n", 4, "--", "sh", "-c", command, environment=environment)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        lines = read_until(process, "epoch 1:")
        page = next(line.split("metrics at ")[1].strip() for line in lines if line.startswith("[rank 1]") and "metrics at " in line)
        for number, jump in enumerate(jumps):
            read_until(process, f"epoch {5 * number + 2}:")
            replacement = self.work / "offset.new"
            replacement.write_text(f"{jump:+d}d")
            replacement.replace(offset)
            while abs(self.clock_of(page) - time.time() - jump * self.DAY) > self.DAY / 2:
                self.assertIsNone(process.poll(), f"ended before its clock was {jump} days off")
        out, err = process.communicate(timeout=90)
        return process.returncode, out, err

    @staticmethod
    def clock_of(page):
        """What time rank 1 took it for at the end of its last step."""
        with urllib.request.urlopen(page, timeout=15) as answer:
            return float(re.search(r'(?m)^rudder_last_step_timestamp_seconds\{rank="1"\} (.*)$', answer.read().decode())[1])

    def test_the_wall_clock_may_jump(self):
        digest = run_json("train", self.parts, *self.WORDS, "--transport", "loopback")["loss_digest"]
        code, out, err = self.train(40, -40, 365)
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["loss_digest"], digest)


if __name__ == "__main__":
    unittest.main()
