#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the place commands: spellings, results re-computed from their nodes, files that are read back."""
import collections
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from program import RUDDER, run, run_json

NAMES = ["S", "Q", "J", "J_lb", "gap", "optimal", "seconds", "nodes"]
NODE_NAMES = ["rank0", "row", "stage", "host", "minipod", "leaf"]
MODEL = ["--layers", 32, "--hidden", 4096, "--vocabulary", 50257, "--sequence", 2048]
SHAPE = ["--gpus-per-node", 8, "--tp", 8, "--pp", 4, "--dp", 4]


def spread(nodes):
    rows, columns = collections.defaultdict(set), collections.defaultdict(set)
    for node in nodes:
        rows[node["row"]].add(node["minipod"])
        columns[node["stage"]].add(node["minipod"])
    return max(map(len, rows.values())), max(map(len, columns.values()))


class Place(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.work = pathlib.Path(self.folder.name)
        self.topology = self.work / "topology.conf"
        # Names run across the minipods: h0 in A, h1 in B, h2 in C, h3 in D, h4 in A, ...
        lines = [f"SwitchName={pod} Nodes=" + ",".join(f"h{4 * i + k}" for i in range(5)) for k, pod in enumerate("ABCD")]
        self.topology.write_text("\n".join(lines) + "\nSwitchName=core Switches=A,B,C,D\n")

    def tearDown(self):
        self.folder.cleanup()

    def check(self, result, alpha, rows, columns):
        nodes = result["nodes"]
        self.assertEqual(len(nodes), rows * columns)
        self.assertEqual(len({(n["row"], n["stage"]) for n in nodes}), rows * columns)
        self.assertEqual(len({n["host"] for n in nodes}), rows * columns)
        self.assertEqual([n["rank0"] for n in nodes], sorted(n["rank0"] for n in nodes))
        self.assertEqual((result["S"], result["Q"]), spread(nodes))
        self.assertAlmostEqual(result["J"], alpha * result["Q"] + (1 - alpha) * result["S"])
        self.assertLessEqual(result["J_lb"], result["J"] + 1e-9)
        self.assertAlmostEqual(result["gap"], result["J"] / result["J_lb"] - 1)

    def test_capacities_have_their_names_and_known_optima(self):
        for capacities, shape, alpha, expected in [("4,4,4,4", "4x4", 0.5, 2.0), ("2,2", "2x2", 0.5, 1.5),
                                                   ("5,4", "3x3", 0.3, 2.0), ("93," * 7 + "92,92,92,92", "46x8", 0.5, 2.0)]:
            result = run_json("place", "--capacities", capacities, "--shape", shape, "--alpha", alpha)
            self.assertEqual(list(result), NAMES)
            self.assertEqual(list(result["nodes"][0]), NODE_NAMES)
            self.check(result, alpha, *map(int, shape.split("x")))
            self.assertAlmostEqual(result["J"], expected)
            self.assertTrue(result["optimal"])
            limits = [int(c) for c in capacities.split(",")]
            for pod, used in collections.Counter(n["minipod"] for n in result["nodes"]).items():
                self.assertLessEqual(used, limits[pod])

    def test_a_cluster_is_placed_on_and_its_files_are_read_back(self):
        out = self.work / "out"
        for order in ("column-major", "row-major"):
            result = run_json("place", "--topology", self.topology, *SHAPE, "--order", order, "--out", out)
            self.check(result, 0.5, 4, 4)
            self.assertEqual(result["J"], 2)
            self.assertEqual({n["minipod"] for n in result["nodes"]}, set("ABCD"))
            self.assertEqual(json.loads((out / "placement.json").read_text())["nodes"], result["nodes"])
            for name in ("slurm.sbatch", "openmpi.sh", "torchrun.txt", "kubernetes-pods.yaml", "heat-map.html"):
                self.assertTrue((out / name).read_text(), name)
            for options in ([out / "placement.json"], [out / "slurm-hosts.txt", "--format", "hosts", *SHAPE, "--order", order],
                            [out / "openmpi-ranks.txt", "--format", "rankfile", *SHAPE, "--order", order]):
                check = run_json("place", "check", *options, "--topology", self.topology)
                self.assertEqual((check["S"], check["Q"], check["J"], check["best"]["J"]), (result["S"], result["Q"], 2, 2))
                self.assertEqual(check["why"], [])

    def test_methods_have_the_golden_pairs_and_never_beat_the_solver(self):
        setting = ["--capacities", "93," * 7 + "92,92,92,92", "--shape", "46x8"]
        best = run_json("place", *setting)
        for method, order, pair in [("best-fit", "column-major", (4, 1)), ("packing", "row-major", (2, 4)),
                                    ("arnold", "row-major", None), ("random-fit", "row-major", None)]:
            result = run_json("place", *setting, "--method", method, "--order", order)
            self.check(result, 0.5, 46, 8)
            self.assertGreaterEqual(result["J"], best["J"])
            self.assertEqual(result["J_lb"], best["J_lb"])
            if pair:
                self.assertEqual((result["S"], result["Q"]), pair, (method, order))

    def test_programs_are_written(self):
        run("place", "--capacities", "4,4", "--shape", "2x2", "--write-lp", "eq4", "--out", self.work)
        run("place", "--capacities", "4,4", "--shape", "2x2", "--write-lp", "eq2", "--out", self.work)
        for name in ("eq2.lp", "eq4-pipelines.lp", "eq4-columns.lp"):
            self.assertIn("inimize", (self.work / name).read_text())

    def test_state_exclusion_and_spares_are_kept(self):
        state = self.work / "state.json"
        nodes = [{"name": f"h{i}", "state": ["IDLE", "DRAIN"] if i == 0 else ["IDLE"]} for i in range(20)]
        state.write_text(json.dumps({"nodes": nodes}))
        result = run_json("place", "--topology", self.topology, "--state", state, "--exclude", "h[1-2]",
                          "--gpus-per-node", 8, "--tp", 8, "--pp", 2, "--dp", 4, "--spares", 1)
        self.check(result, 0.5, 4, 2)
        used = {n["host"] for n in result["nodes"]}
        spares = {s["host"] for s in result["spares"]}
        self.assertFalse({"h0", "h1", "h2"} & (used | spares))
        self.assertFalse(used & spares)
        self.assertEqual({s["minipod"] for s in result["spares"]}, {n["minipod"] for n in result["nodes"]})

    def test_check_says_why_a_sorted_placement_costs_more(self):
        hosts = self.work / "hosts"
        hosts.write_text("".join(f"h{i}\n" for i in range(16)))
        check = run_json("place", "check", hosts, "--format", "hosts", *SHAPE, "--topology", self.topology, "--segment", 4)
        self.assertEqual((check["S"], check["Q"]), (1, 4))
        self.assertEqual((check["J"], check["best"]["J"]), (2.5, 2))
        self.assertEqual(check["columns"][0]["minipods"], {"A": 1, "B": 1, "C": 1, "D": 1})
        self.assertTrue(any("column 0 touches 4 minipods" in line for line in check["why"]))
        self.assertTrue(any("keep data-parallel members of one stage together" in line for line in check["warnings"]))

    def test_a_failed_host_is_replaced_in_its_minipod(self):
        out = self.work / "out"
        placed = run_json("place", "--topology", self.topology, *SHAPE, "--out", out)
        failed = placed["nodes"][5]
        result = run_json("place", "replace", out / "placement.json", "--topology", self.topology, "--failed", failed["host"],
                          "--out", out, "--command", "./resume.sh")
        self.assertEqual(result["replaced"][0]["minipod"], failed["minipod"])
        self.assertEqual(result["replaced"][0]["delta_J"], 0)
        before = {(n["row"], n["stage"]): n["host"] for n in placed["nodes"]}
        after = {(n["row"], n["stage"]): n["host"] for n in json.loads((out / "placement.json").read_text())["nodes"]}
        self.assertEqual([cell for cell in before if before[cell] != after[cell]], [(failed["row"], failed["stage"])])
        for name in ("slurm-hosts.txt", "openmpi-ranks.txt", "torchrun.txt", "kubernetes-pods.yaml", "heat-map.html"):
            words = re.findall(r"[\w-]+", (out / name).read_text())
            self.assertNotIn(failed["host"], words, name)
            self.assertIn(result["replaced"][0]["host"], words, name)
        self.assertIn("./resume.sh", (out / "slurm.sbatch").read_text())

    def test_failed_hosts_outside_the_placement_are_said_and_ignored(self):
        out = self.work / "out"
        placed = run_json("place", "--topology", self.topology, *SHAPE, "--out", out)
        used = [n["host"] for n in placed["nodes"]]
        idle = sorted({f"h{i}" for i in range(20)} - set(used))
        replace = ["place", "replace", out / "placement.json", "--topology", self.topology, "--failed"]
        printed, said = run(*replace, f"{used[0]},{idle[0]},zz9", "--json")
        self.assertEqual([r["failed"] for r in json.loads(printed)["replaced"]], [used[0]])
        self.assertIn(f"2 failed hosts are not in the placement and change nothing: {idle[0]}, zz9", said)
        self.assertIn("none of 2 failed hosts is in the plan", run(*replace, f"{idle[0]},zz9", code=1)[1])

    def test_the_example_of_the_docs_runs_line_by_line(self):
        page = (pathlib.Path(__file__).parents[2] / "docs" / "placement.md").read_text()
        script = page.split("```")[1].replace("/etc/slurm/topology.conf", str(self.topology))
        pods = [f"gpu-{pod}[01-93]" for pod in "abcd"]
        self.topology.write_text("".join(f"SwitchName=m{i} Nodes={hosts}\n" for i, hosts in enumerate(pods)) +
                                 "SwitchName=core Switches=m[0-3]\n")
        nodes = [{"name": f"gpu-{pod}{i:02}", "state": ["IDLE"]} for pod in "abcd" for i in range(1, 94)]
        (self.work / "sinfo.json").write_text(json.dumps({"nodes": nodes}))
        commands = self.work / "bin"
        commands.mkdir()
        for name, does in (("sinfo", f"cat {self.work}/sinfo.json"), ("sbatch", 'test -f "$1" && test -f slurm-hosts.txt'),
                           ("rudder", f'exec {pathlib.Path(RUDDER).resolve()} "$@"')):
            (commands / name).write_text(f"#!/bin/sh\n{does}\n")
            (commands / name).chmod(0o755)
        done = subprocess.run(["sh", "-ec", script], cwd=self.work, text=True, capture_output=True,
                              env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("gpu-b07", (self.work / "llm" / "slurm-hosts.txt").read_text())

    def test_advice_covers_the_splits_and_starts_with_the_quickest(self):
        result = run_json("place", "advise", "--gpus", 128, "--topology", self.topology, "--layers", 32, "--hidden", 4096,
                          "--vocabulary", 50257, "--sequence", 2048, "--global-batch", 512, "--seconds", 0.01)
        rows = result["rows"]
        self.assertGreater(len(rows), 10)
        self.assertEqual(len({(r["tp"], r["pp"], r["dp"]) for r in rows}), len(rows))
        for row in rows:
            self.assertEqual(row["tp"] * row["pp"] * row["dp"], 128)
            self.assertEqual(row["rows"] * row["columns"], 16)
        seconds = [r["predicted_seconds"] for r in rows]
        self.assertEqual(seconds, sorted(seconds))

    def test_advice_says_why_only_one_replica_is_listed(self):
        words = ["place", "advise", "--gpus", 16, "--topology", self.topology, *MODEL, "--seconds", 0.01]
        printed, said = run(*words, "--json")
        self.assertEqual({row["dp"] for row in json.loads(printed)["rows"]}, {1})
        self.assertIn("--global-batch 1", said)
        self.assertEqual(run(*words, "--global-batch", 64, "--json")[1], "")

    def test_topology_is_read_and_drawn(self):
        result = run_json("place", "topology", self.topology, "--svg", self.work / "t.svg")
        self.assertEqual((result["format"], result["hosts"], result["minipod_level"]), ("slurm-conf", 20, 1))
        self.assertEqual(result["minipods"][0], {"name": "A", "hosts": 5, "free": 5})
        drawing = xml.etree.ElementTree.fromstring((self.work / "t.svg").read_text())
        self.assertEqual(sum(1 for e in drawing.iter() if e.tag.endswith("title")), 20)
        _, text = run("place", "topology", self.topology)
        self.assertIn("├─ A  h[0,4,8,12,16]  (5 hosts)", text)

    def test_faults_are_one_clear_line(self):
        def fails(code, *words):
            _, text = run(*words, code=code)
            self.assertEqual(len(text.splitlines()), 1, text)
            return text
        self.assertIn("one of --capacities", fails(2, "place"))
        self.assertIn("16", fails(1, "place", "--capacities", "8,7", "--shape", "4x4"))
        self.assertIn("'x4'", fails(2, "place", "--capacities", "8,8", "--shape", "x4"))
        self.assertIn("'-1'", fails(2, "place", "--capacities", "8,-1", "--shape", "2x2"))
        self.assertIn("alpha", fails(2, "place", "--capacities", "8,8", "--shape", "2x2", "--alpha", "7"))
        self.assertIn("TP must divide", fails(2, "place", "--topology", self.topology, "--tp", 3))
        both = ["--capacities", "8,8", "--topology", self.topology]
        self.assertIn("exclude each other", fails(2, "place", *both, "--shape", "4x4"))
        self.assertIn("exclude each other", fails(2, "place", "advise", "--gpus", 8, *both, *MODEL))
        self.assertIn("--shape 4x4 stands for --tp 8 and --tp 4", fails(2, "place", "--topology", self.topology, "--shape", "4x4",
                                                                       "--tp", 4))
        self.assertIn("--dp 4 and --dp 8", fails(2, "place", "--capacities", "8,8", "--shape", "4x4", "--dp", 8))
        run("place", "--topology", self.topology, "--shape", "4x4", "--pp", 4)
        self.assertIn("--spares 9", fails(1, "place", "--topology", self.topology, "--shape", "2x2", "--spares", 9))
        self.assertIn("at levels 0 to 1", fails(2, "place", "topology", self.topology, "--minipod-level", 9))
        run("place", "topology", self.topology, "--minipod-level", 0)
        self.assertIn("--hidden, --vocabulary not given", fails(2, "place", "advise", "--gpus", 128, "--topology", self.topology,
                                                                "--layers", 32, "--sequence", 2048))
        self.assertIn("--layers, --hidden, --vocabulary, --sequence not given",
                      fails(2, "place", "--topology", self.topology, *SHAPE, "--alpha", "model"))
        self.assertIn("goes behind", fails(2, "place", "--alpha", "0.3", "topology", self.topology))
        broken = self.work / "broken.conf"
        broken.write_text("SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=c Nodes=a[1-999999999]\n")
        self.assertIn("broken.conf: line 3: host list: more than", fails(1, "place", "topology", broken))


if __name__ == "__main__":
    unittest.main()
