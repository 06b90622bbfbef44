#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the short commands: results, spellings, hostile inputs."""
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

from program import Base, RUDDER, clean_environment, run, run_json

LIVE = ["none", "fixed-window", "degree", "vip", "lru", "lfu", "clock", "sieve", "s3fifo", "score", "hotset", "lookahead"]


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

    def test_commands_that_do_not_train_need_no_trainer(self):
        alone = self.work / "alone" / "rudder"
        alone.parent.mkdir()
        shutil.copy(RUDDER, alone)
        for words in (["--version"], ["train", "--help"], ["graph", "info", self.graph], ["train", self.parts, "--print-config"]):
            done = subprocess.run([alone, *words], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        for command in (["train", self.parts], ["serve", self.parts, "--socket", self.work / "s"], ["doctor"]):
            done = subprocess.run([alone, *command], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(f"cannot run {alone.parent}/rudder-train: No such file", done.stderr)

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

    def test_closed_standard_streams_are_not_taken_for_files(self):
        for closed, code in (("<&- >&- 2>&-", 1), (">&- 2>&-", 1), ("2>&-", 0), ("<&-", 0)):
            done = subprocess.run(["bash", "-c", f"{RUDDER} graph info {self.graph} --json {closed}"], capture_output=True,
                                  text=True, timeout=60, env=clean_environment(), check=False)
            self.assertEqual(done.returncode, code, closed)

    def test_ranks_of_one_machine_meet_over_its_loopback_unless_told_otherwise(self):
        # Interfaces of virtual networks and containers come and go; ranks that met over one hang when it goes.
        shown = ["launch", "-n", 1, "--", "sh", "-c", "echo $GLOO_SOCKET_IFNAME $UCX_NET_DEVICES $UCX_TLS"]
        self.assertEqual(run(*shown)[0].split(), ["lo", "lo"])
        self.assertEqual(run(*shown, environment={"UCX_NET_DEVICES": "eth7", "GLOO_SOCKET_IFNAME": "eth8"})[0].split(), ["eth8", "eth7"])
        self.assertEqual(run(*shown, environment={"UCX_TLS": "tcp"})[0].split(), ["lo", "tcp"])

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


if __name__ == "__main__":
    unittest.main()
