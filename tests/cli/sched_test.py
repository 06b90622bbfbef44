#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the sched commands."""
import json
import pathlib
import tempfile
import unittest

from program import run, run_json

# Minutes: two minipods of four hosts; a planned job of four arrives at 60.
GOLDEN = """job,submit,duration,nodes,predicted,limit,preemptible,arrival
LPJ,0,14400,4,14400,14400,0,3600
J1,0,6000,4,6000,6000,0,
J2,300,{second},2,1800,20000,0,
J3,600,3300,2,3300,3300,0,
J4,1200,1200,2,1200,1200,1,
"""
CLUSTER = ["--format", "csv", "--nodes", 8, "--minipods", 2]


class Sched(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.work = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def golden(self, second=1800):
        path = self.work / "golden.csv"
        path.write_text(GOLDEN.format(second=second))
        return path

    def first(self, result):
        starts = {}
        for start in result["starts"]:
            starts.setdefault(start["job"], (start["time"] // 60, start["nodes"][0][0], len(start["nodes"])))
        return starts

    def test_golden_scenario(self):
        result = run_json("sched", "sim", "--trace", self.golden(), *CLUSTER, "--policy", "reserve", "--predictor", "oracle")
        self.assertEqual(self.first(result), {"J1": (0, "a", 4), "J2": (5, "b", 2), "J3": (100, "a", 2), "J4": (20, "b", 2),
                                              "LPJ": (60, "b", 4)})
        self.assertEqual(result["retention"], 0)
        self.assertEqual(result["preemptions"], 0)
        self.assertEqual(result["jobs"], 5)

    def test_golden_misprediction(self):
        result = run_json("sched", "sim", "--trace", self.golden(4800), *CLUSTER, "--predictor", "given")
        self.assertEqual(self.first(result)["LPJ"], (60, "b", 4))
        self.assertEqual(result["retention"], 0.5)
        self.assertEqual(result["preemptions"], 1)
        late = run_json("sched", "sim", "--trace", self.golden(4800), *CLUSTER, "--policy", "easy", "--predictor", "given")
        self.assertEqual(self.first(late)["LPJ"][0], 85)

    def test_jobs_that_can_never_run_are_named(self):
        path = self.work / "large.csv"
        path.write_text("job,submit,duration,nodes\nhuge,0,60,1000000\nsmall,0,60,1\n")
        _, err = run("sched", "sim", "--trace", path, *CLUSTER)
        self.assertIn("job 'huge' can never run: 1000000 nodes", err)
        self.assertNotIn("'small'", err)
        self.assertIn("1 of 2 jobs finished (1 rejected)", err)

    def test_misspelt_columns_are_named(self):
        path = self.work / "columns.csv"
        path.write_text("job,submit,duration,nodes,priorty,colour\na,0,60,1,5,red\n")
        _, err = run("sched", "sim", "--trace", path, *CLUSTER, code=1)
        self.assertIn("columns.csv:1: did you mean the column 'priority' by 'priorty'", err)

    def test_names_of_the_result(self):
        result = run_json("sched", "sim", "--format", "generated", "--jobs", 200, "--policy", "easy")
        for name in ("jobs", "allocation", "retention", "makespan", "jct", "queue_delay", "preemptions", "starts"):
            self.assertIn(name, result)
        self.assertLessEqual({"mean", "p50", "p95"}, set(result["jct"]))
        self.assertEqual(len(result["starts"]), 200)
        for start in result["starts"]:
            self.assertEqual(set(start), {"job", "time", "nodes"})

    def test_out_holds_a_page_and_figures(self):
        out = self.work / "run"
        run("sched", "sim", "--trace", self.golden(), *CLUSTER, "--out", out)
        page = (out / "gantt.html").read_text()
        self.assertIn("LPJ", page)
        for outside in ("http://", "https://", "src="):
            self.assertNotIn(outside, page)
        self.assertEqual(json.loads((out / "metrics.json").read_text())["jobs"], 5)

    def test_names_cannot_leave_the_page(self):
        path = self.work / "hostile.csv"
        path.write_text("job,submit,duration,nodes\n</script><b>,0,1,1\n")
        run("sched", "sim", "--trace", path, *CLUSTER, "--out", self.work / "run")
        self.assertNotIn("<b>", (self.work / "run" / "gantt.html").read_text())

    def test_records_that_are_no_jobs_are_counted(self):
        path = self.work / "philly.csv"
        header = "timestamp,duration,num_gpus,gpu_time,cluster\n"
        path.write_text(header + "2017-10-03 06:10:30,50,1,50,a\n2017-10-03 06:10:31,0,1,0,a\n2017-10-03 06:10:32,9,0,0,a\n")
        printed, said = run("sched", "sim", "--trace", path, "--nodes", 4, "--json")
        result = json.loads(printed)
        self.assertEqual((result["jobs"], result["skipped"]), (1, 2))
        self.assertIn("note: 2 records have no GPUs, no start or no run time", said)
        path.write_text(header)
        self.assertIn("philly.csv: no jobs", run("sched", "sim", "--trace", path, code=1)[1])

    def test_without_zones_there_is_no_retention(self):
        words = ["sched", "sim", "--format", "generated", "--jobs", 50]
        self.assertIsNone(run_json(*words)["retention"])
        self.assertIn("zones 0: retention -,", run(*words)[1])
        self.assertIsNotNone(run_json(*words, "--planned", 1)["retention"])

    def test_small_clusters_have_as_many_minipods_as_hosts(self):
        starts = run_json("sched", "sim", "--format", "generated", "--jobs", 50, "--nodes", 3)["starts"]
        self.assertLessEqual({node for start in starts for node in start["nodes"]}, {"a01", "b01", "c01"})

    def test_train_then_predict(self):
        model = self.work / "jct.json"
        load = ["--format", "generated", "--jobs", 800, "--bins", 8, "--bags", 1, "--rounds", 3]
        scores = run_json("sched", "train", *load, "--out", model)
        self.assertEqual(scores["test_jobs"], 400)
        predicted = run_json("sched", "predict", *load, "--model", model)
        self.assertEqual(len(predicted["jobs"]), 400)
        for job in predicted["jobs"]:
            self.assertLessEqual(job["predicted"], job["limit"])

    def test_compare_lists_policies_and_predictors(self):
        result = run_json("sched", "compare", "--format", "generated", "--jobs", 400, "--planned", 2, "--bins", 8, "--bags", 1,
                          "--rounds", 3, "--preemptible", 1)
        self.assertEqual([(row["policy"], row["predictor"]) for row in result["rows"]],
                         [("fifo", "none"), ("easy", "none"), ("reserve", "none"), ("easy", "learned"), ("reserve", "learned"),
                          ("easy", "oracle"), ("reserve", "oracle")])
        self.assertEqual({row["jobs"] for row in result["rows"]}, {402})

    def test_errors(self):
        path = self.work / "bad.csv"
        path.write_text("job,submit,duration,nodes\na,0,x,1\n")
        _, err = run("sched", "sim", "--trace", path, *CLUSTER, code=1)
        self.assertIn("bad.csv:2: duration", err)
        run("sched", "sim", code=2)
        run("sched", "sim", "--format", "generated", "--policy", "esay", code=2)
        run("sched", "sim", "--format", "generated", "--nodes", 4, "--minipods", 8, code=2)
        run("sched", "sim", "--format", "generated", "--quota", "static", "--shares", "nobody=0.5", code=2)
        run("sched", "sim", "--format", "generated", "--predictor", "learned", "--model", path, code=1)


if __name__ == "__main__":
    unittest.main()
