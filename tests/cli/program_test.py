#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the program named by the variable RUDDER: results, spellings, faults, clean-up."""
import json
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

RUDDER = os.environ.get("RUDDER", "build/release/rudder")
LIVE = ["none", "fixed-window", "degree", "vip", "lru", "lfu", "clock", "sieve", "s3fifo", "score", "hotset", "lookahead"]
SMALL = ["--nodes", 3000, "--features", 20, "--classes", 6, "--edge-factor", 8, "--train-share", 0.4]


def clean_environment(**extra):
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    return {**{k: v for k, v in os.environ.items() if k not in names and not k.startswith("RUDDER_")}, **extra}


def start(*words, environment=None):
    return subprocess.Popen([RUDDER, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=clean_environment(**(environment or {})))


def run(*words, code=0, environment=None, timeout=180):
    process = start(*words, environment=environment)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    if process.returncode != code:
        raise AssertionError(f"rudder {' '.join(map(str, words))} exited with {process.returncode}, not {code}:\n{out}\n{err}")
    return out, err


def run_json(*words, **options):
    out, _ = run(*words, "--json", **options)
    lines = out.splitlines()
    assert len(lines) == 1, f"one object expected, got {len(lines)} lines"
    return json.loads(lines[0])


def namespaces():
    folder = pathlib.Path("/var/run/netns")
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()


def links():
    return {entry.name for entry in pathlib.Path("/sys/class/net").iterdir()}


def shared_memory():
    return {entry.name for entry in pathlib.Path("/dev/shm").iterdir()}


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        cls.graph, cls.parts = cls.work / "graph", cls.work / "parts"
        run("graph", "generate", "planted", cls.graph, *SMALL)
        run("partition", cls.graph, cls.parts, "--parts", 4)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class Commands(Base):
    def test_graph_info_has_its_names(self):
        info = run_json("graph", "info", self.graph)
        self.assertEqual(list(info), ["nodes", "edges", "features", "dtype", "classes", "train", "val", "test", "max_degree", "origin"])
        self.assertEqual((info["nodes"], info["features"], info["dtype"], info["classes"]), (3000, 20, "f32", 6))

    def test_partition_has_its_names(self):
        result = run_json("partition", self.graph, self.work / "named", "--parts", 3, "--method", "ldg", "--seed", 5)
        self.assertEqual(list(result), ["parts", "edge_cut", "balance", "halo", "seconds", "method"])
        self.assertEqual(list(result["balance"]), ["nodes", "edges", "train"])
        self.assertEqual((result["parts"], len(result["halo"]), result["method"]), (3, 3, "ldg"))

    def test_export_gives_the_graph_back(self):
        out = self.work / "exported"
        run("graph", "export", self.parts, out)
        for path in sorted(self.graph.glob("*.npy")):
            self.assertEqual(path.read_bytes(), (out / path.name).read_bytes(), path.name)

    def test_replay_has_its_names_and_min_is_least(self):
        trace = self.work / "trace"
        run("trace", "record", self.parts, "--out", trace, "--batch", 64, "--epochs", 2)
        result = run_json("trace", "replay", trace, "--policies", "all", "--buffer", "0.1,50")
        names = ["policy", "buffer", "slots", "requests", "hits", "fetched", "bypassed", "ratio_to_none", "ratio_to_min"]
        self.assertEqual(len(result["rows"]), 2 * (len(LIVE) + 2))
        for row in result["rows"]:
            self.assertEqual(list(row), names)
            self.assertGreaterEqual(row["ratio_to_min"], 1)
            self.assertLessEqual(row["hits"], row["requests"])
        again = self.work / "trace2"
        run("trace", "record", self.parts, "--out", again, "--batch", 64, "--epochs", 2, "--threads", 2)
        self.assertEqual(trace.read_bytes(), again.read_bytes())
        run("trace", "export", trace, "--out", self.work / "csv", "--format", "csv")
        self.assertIn("rank,step,row", (self.work / "csv").read_text()[:20])

    def test_every_command_has_help(self):
        out, _ = run("--help")
        for family in ("demo", "graph", "partition", "train", "launch", "trace", "options"):
            self.assertIn(family, out)
        for words in (["demo"], ["graph", "import"], ["graph", "generate"], ["graph", "info"], ["graph", "export"], ["partition"],
                      ["train"], ["launch"], ["trace", "record"], ["trace", "replay"], ["trace", "export"], ["options"]):
            out, _ = run(*words, "--help")
            self.assertGreater(len(out.splitlines()), 3, words)

    def test_wrong_usage_is_one_error_with_a_hint(self):
        for words, hint in ((["lanuch"], "launch"), (["train", self.parts, "--polcy", "lru"], "--policy"),
                            (["train", self.parts, "--policy", "lruu"], "lru"), (["train", self.parts, "--buffer", "x"], "'x'"), (["demo", "--buffer", "1.5"], "1.5"),
                            (["graph", "generate", "debain", self.work / "no"], "debian"), ([], "--help"),
                            (["train", self.parts, "--epochs", "0"], "'0'"), (["demo", "--policies", "min"], "replay")):
            _, err = run(*words, code=2)
            self.assertIn(hint, err, words)
            self.assertLess(len(err.splitlines()), 4, err)

    def fails(self, *words, says=()):
        out, err = run(*words, code=1)
        self.assertEqual(out, "")
        self.assertEqual(len(err.splitlines()), 1, err)
        for part in says:
            self.assertIn(part, err)

    def damaged(self, name, change):
        copy = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        for path in self.graph.iterdir():
            (copy / path.name).write_bytes(path.read_bytes())
        data = bytearray((copy / name).read_bytes())
        (copy / name).write_bytes(change(data))
        return copy

    def test_damaged_graphs_are_one_error(self):
        def poke(offset, value):
            def change(data):
                at = len(data) + offset if offset < 0 else offset
                data[at:at + 8] = struct.pack("<q", value)
                return data
            return change

        def header(old, new):
            def change(data):
                self.assertIn(old, data[:128])
                return data.replace(old, new, 1)
            return change

        cases = (("indptr.npy", poke(128 + 80, 1 << 40), ["indptr"]), ("indptr.npy", poke(128 + 80, 0), ["indptr"]),
                 ("indices.npy", poke(-8, 3000), ["3000"]), ("indices.npy", poke(-8, -1), ["-1"]),
                 ("indices.npy", lambda d: d[:-9], ["indices"]), ("features.npy", lambda d: d[:200], ["features"]),
                 ("features.npy", header(b"'fortran_order': False", b"'fortran_order': True "), ["Fortran"]),
                 ("indices.npy", header(b"<i8", b">i8"), [">i8"]), ("labels.npy", poke(-8, 6), ["6"]),
                 ("train.npy", poke(-8, 99999), ["99999"]), ("graph.json", lambda d: d[:40], ["graph.json"]),
                 ("graph.json", lambda d: b"[" * 100000, ["graph.json"]))
        for name, change, says in cases:
            with self.subTest(name=name, says=says):
                self.fails("graph", "info", self.damaged(name, change), says=says)

    def test_what_is_no_regular_file_is_refused_and_kept(self):
        trace, fifo, link = self.work / "trace4", self.work / "fifo", self.work / "link"
        run("trace", "record", self.parts, "--out", trace, "--batch", 64)
        os.mkfifo(fifo)
        self.fails("trace", "replay", fifo, says=["not a regular file"])
        _, err = run("trace", "export", trace, "--format", "csv", "--out", fifo, code=2)
        self.assertIn("not a regular file", err)
        self.assertTrue(fifo.is_fifo())
        (self.work / "target").write_text("old")
        link.symlink_to(self.work / "target")
        run("trace", "export", trace, "--format", "csv", "--out", link)
        self.assertTrue(link.is_symlink())
        self.assertIn("rank,step,row", (self.work / "target").read_text())

    def test_a_result_that_cannot_be_written_is_a_failure(self):
        for words in (["graph", "info", self.graph, "--json"], ["options"], ["launch", "-n", 1, "--", "echo", "x"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([RUDDER, *map(str, words)], stdout=full, stderr=subprocess.PIPE, text=True,
                                      env=clean_environment())
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("standard output", done.stderr)

    def test_launch_passes_output_on_whole(self):
        out, _ = run("launch", "-n", 1, "--", "sh", "-c", "printf 'a\\000b\\n'; head -c 3000000 /dev/zero | tr '\\000' x; setsid sleep 5 & printf ' end'")
        self.assertEqual(out, "a\0b\n" + 3000000 * "x" + " end\n")

    def test_evil_pickle_and_bomb_are_one_error(self):
        evil = self.work / "evil"
        evil.mkdir()
        for part in ("x", "tx", "allx", "y", "ty", "ally", "graph"):
            (evil / f"ind.bad.{part}").write_bytes(b"\x80\x02cos\nsystem\nU\x1atouch /tmp/rudder-was-here\x85R.")
        (evil / "ind.bad.test.index").write_text("1\n")
        self.fails("graph", "import", "--format", "planetoid", evil, self.work / "evil-out", says=["system"])
        self.assertFalse((self.work / "evil-out").exists())
        self.assertFalse(pathlib.Path("/tmp/rudder-was-here").exists())
        import zipfile
        bomb = self.work / "bomb.npz"
        with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("adj_data.npy", "w", force_zip64=True) as entry:
                for _ in range(64):
                    entry.write(bytes(1 << 20))
        self.fails("graph", "import", "--format", "npz", bomb, self.work / "bomb-out")
        self.assertFalse((self.work / "bomb-out").exists())


class Training(Base):
    SHORT = ["--epochs", 3, "--batch", 32, "--hidden", 32, "--learning-rate", 0.02]

    def train(self, *words, ranks=4, **options):
        return run_json("launch", "-n", ranks, "--", "train", self.parts, *self.SHORT, *words, **options)

    def test_nothing_but_the_seed_changes_the_training(self):
        base = self.train("--policy", "none")
        self.assertEqual(list(base), ["policy", "world", "epochs", "val_accuracy", "test_accuracy", "loss_digest", "peak_rss_bytes"])
        self.assertEqual(list(base["epochs"][0]), ["epoch", "loss", "seconds", "stall_seconds", "requests", "hits", "fetched",
                                                   "payload_bytes", "wire_bytes", "messages"])
        self.assertEqual((base["world"], len(base["epochs"])), (4, 3))
        self.assertGreater(base["test_accuracy"], 0.5)
        runs = [["--policy", policy] for policy in LIVE[1:]]
        runs += [["--threads", 2], ["--look-ahead", 1], ["--look-ahead", 4], ["--depth", 0], ["--depth", 9], ["--buffer", 0],
                 ["--buffer", 7], ["--buffer", 100000]]
        for words in runs:
            with self.subTest(words=words):
                result = self.train(*words)
                self.assertEqual((result["loss_digest"], result["test_accuracy"]), (base["loss_digest"], base["test_accuracy"]))
        threads = run_json("train", self.parts, *self.SHORT, "--transport", "loopback")
        self.assertEqual((threads["loss_digest"], threads["test_accuracy"]), (base["loss_digest"], base["test_accuracy"]))
        self.assertNotEqual(self.train("--seed", 2)["loss_digest"], base["loss_digest"])

    def test_live_counts_equal_replayed_counts(self):
        trace = self.work / "trace"
        run("trace", "record", self.parts, "--out", trace, "--batch", 32, "--epochs", 3)
        replayed = {row["policy"]: row for row in run_json("trace", "replay", trace, "--buffer", "0.2")["rows"]}
        for policy in ("none", "lookahead"):
            self.train("--policy", policy, "--trace", self.work / f"trace-{policy}")
            self.assertEqual((self.work / f"trace-{policy}").read_bytes(), trace.read_bytes())
        for policy in LIVE:
            with self.subTest(policy=policy):
                live = self.train("--policy", policy, "--buffer", 0.2, "--run", self.work / f"run-{policy}")
                for name in ("requests", "hits", "fetched"):
                    self.assertEqual(sum(epoch[name] for epoch in live["epochs"]), replayed[policy][name], name)
                full = json.loads((self.work / f"run-{policy}/result.json").read_text())
                self.assertEqual(sum(rank["bypassed"] for rank in full["by_rank"]), replayed[policy]["bypassed"])

    def test_other_models_train(self):
        for model in ("gcn", "gat"):
            self.assertGreater(self.train("--model", model, "--epochs", 8)["test_accuracy"], 0.4, model)

    def test_an_open_ended_world_is_refused(self):
        _, err = run("train", self.parts, code=2)
        self.assertIn("launch", err)
        _, err = run("launch", "-n", 3, "--", "train", self.parts, code=2)
        self.assertIn("3", err)


class Faults(Base):
    LONG = ["--epochs", 2000, "--batch", 64, "--no-evaluation"]

    def ranks(self, world, port, words, per_rank=None):
        processes = []
        for rank in range(world):
            environment = {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                           "GLOO_SOCKET_IFNAME": "lo"}
            mine = per_rank[rank] if per_rank else []
            processes.append(start("train", *(mine or [self.parts]), *words, "--host", f"machine{rank}", environment=environment))
        return processes

    @staticmethod
    def free_port():
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    def test_a_killed_trainer_is_named_by_all_others(self):
        before = shared_memory()
        for victim in random.sample(range(4), 2):
            processes = self.ranks(4, self.free_port(), self.LONG)
            self.assertIn("epoch 0", processes[0].stderr.readline())  # from here on all ranks know each other
            time.sleep(random.uniform(0, 3))
            self.assertTrue(all(process.poll() is None for process in processes), "a rank ended early")
            processes[victim].kill()
            killed = time.monotonic()
            for rank, process in enumerate(processes):
                _, err = process.communicate(timeout=40)
                if rank != victim:
                    self.assertLess(time.monotonic() - killed, 15)
                    self.assertNotIn(process.returncode, (0, -signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV), err)
                    self.assertIn(f"rank {victim}", err)
                    self.assertIn(f"machine{victim}", err)
        self.assertEqual(shared_memory() - before, set())

    def test_launch_stops_all_and_names_the_failed_rank(self):
        launch = start("launch", "-n", 4, "--", "train", self.parts, *self.LONG)
        time.sleep(3)
        children = subprocess.run(["pgrep", "-P", str(launch.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
        self.assertEqual(len(children), 4)
        os.kill(int(children[1]), signal.SIGKILL)
        _, err = launch.communicate(timeout=30)
        self.assertEqual(launch.returncode, 137)
        self.assertIn("rank 1 was killed by signal 9", err)
        for child in children:
            self.assertFalse(pathlib.Path(f"/proc/{child}").exists())

    def test_two_runs_at_once_do_not_disturb_each_other(self):
        words = ["launch", "-n", 2, "--", "train", self.work / "two", "--epochs", 2, "--json"]
        run("partition", self.graph, self.work / "two", "--parts", 2)
        outputs = [process.communicate(timeout=120) for process in [start(*words), start(*words)]]
        digests = {json.loads(out)["loss_digest"] for out, _ in outputs}
        self.assertEqual(len(digests), 1)

    def test_a_port_in_use_is_one_clear_error(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            process = self.ranks(4, port, ["--deadline", 3])[0:4]
            _, err = process[0].communicate(timeout=30)
            self.assertEqual(process[0].returncode, 1, err)
            self.assertIn(str(port), err)
            for other in process[1:]:
                other.communicate(timeout=30)
                self.assertNotEqual(other.returncode, 0)

    def test_partitions_of_different_graphs_do_not_train_together(self):
        other_graph, other = self.work / "graph2", self.work / "parts2"
        run("graph", "generate", "planted", other_graph, *SMALL, "--seed", 9)
        run("partition", other_graph, other, "--parts", 4)
        processes = self.ranks(4, self.free_port(), ["--deadline", 5], [[other], [self.parts], [self.parts], [self.parts]])
        for process in processes:
            _, err = process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0)
        self.assertIn("graph", err)

    def test_a_missing_part_is_one_clear_error(self):
        broken = self.work / "broken"
        run("partition", self.graph, broken, "--parts", 4)
        (broken / "part2" / "features.npy").unlink()
        _, err = run("launch", "-n", 4, "--", "train", broken, code=1)
        self.assertIn("part2/features.npy", err)


class Demo(Base):
    WORDS = ["--parts", 2, "--epochs", 2, "--batch", 64, "--policies", "none,lru,lookahead", "--hidden", 16]

    def demo(self, *words):
        return run_json("demo", "--graph", self.graph, "--out", self.work / "demo", *self.WORDS, *words, timeout=300)

    def check(self, result):
        self.assertEqual(list(result), ["machine", "link", "rows"])
        self.assertEqual([row["policy"] for row in result["rows"]], ["none", "lru", "lookahead"])
        for row in result["rows"]:
            self.assertEqual(list(row), ["policy", "epoch_seconds", "stall_share", "fetched", "hits", "requests", "wire_bytes",
                                         "test_accuracy", "loss_digest", "speedup_vs_none"])
            self.assertEqual(row["loss_digest"], result["rows"][0]["loss_digest"])
        page = (self.work / "demo" / "report.html").read_text()
        self.assertGreater(len(page), 100_000)

    def test_token_bucket_links(self):
        result = self.demo("--links", "token-bucket", "--link", "100Mbit")
        self.check(result)
        self.assertIn("token bucket", result["link"])

    def test_namespaces_come_and_go(self):
        if os.geteuid() != 0:
            self.skipTest("network namespaces need root")
        spaces, devices = namespaces(), links()
        result = self.demo("--links", "namespaces", "--link", "200Mbit")
        self.check(result)
        self.assertIn("namespaces", result["link"])
        self.assertEqual((namespaces(), links()), (spaces, devices))

    def test_an_interrupted_demo_leaves_nothing(self):
        spaces, devices, memory = namespaces(), links(), shared_memory()
        for sent in (signal.SIGINT, signal.SIGTERM):
            process = start("demo", "--graph", self.graph, "--out", self.work / "stopped", *self.WORDS, "--epochs", 500)
            time.sleep(random.uniform(2, 5))
            self.assertIsNone(process.poll())
            process.send_signal(sent)
            _, err = process.communicate(timeout=30)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn("signal", err)
            self.assertEqual((namespaces(), links(), shared_memory() - memory), (spaces, devices, set()))

    def test_a_folder_that_is_not_its_own_is_left_alone(self):
        foreign = self.work / "foreign"
        foreign.mkdir()
        (foreign / "file").write_text("mine")
        _, err = run("demo", "--out", foreign, code=2)
        self.assertIn("foreign", err)
        self.assertEqual((foreign / "file").read_text(), "mine")


if __name__ == "__main__":
    unittest.main()
