#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole trainings: what never changes a result, counts beside their replays."""
import json
import shutil
import struct
import unittest

from program import SMALL, Base, run, run_json

LIVE = ["none", "fixed-window", "degree", "vip", "lru", "lfu", "clock", "sieve", "s3fifo", "score", "hotset", "lookahead"]


class Training(Base):
    # Results are looked at here, not deadlines: a machine that stands still for a while is no failure.
    SHORT = ["--epochs", 3, "--batch", 32, "--hidden", 32, "--learning-rate", 0.02, "--deadline", 60]

    def train(self, *words, ranks=4, **options):
        return run_json("launch", "-n", ranks, "--", "train", self.parts, *self.SHORT, *words, **options)

    def train_in_one(self, *words):
        """The same with all ranks in one process, in a third of the time."""
        return run_json("train", self.parts, *self.SHORT, "--transport", "loopback", *words)

    def test_nothing_but_the_seed_changes_the_training(self):
        base = self.train("--policy", "none")
        # What scripts rely on; more names come with the options that they belong to.
        self.assertEqual(list(base), ["policy", "world", "epochs", "val_accuracy", "test_accuracy", "loss_digest", "peak_rss_bytes"])
        self.assertEqual(list(base["epochs"][0]), ["epoch", "loss", "seconds", "stall_seconds", "requests", "hits", "fetched",
                                                   "payload_bytes", "wire_bytes", "messages"])
        self.assertEqual((base["world"], len(base["epochs"])), (4, 3))
        self.assertGreater(base["test_accuracy"], 0.5)
        runs = [(self.train, words) for words in (["--threads", 2], ["--look-ahead", 1], ["--look-ahead", 4])]
        runs += [(self.train_in_one, words) for words in ([], ["--depth", 0], ["--depth", 9], ["--buffer", 0], ["--buffer", 7],
                                                          ["--buffer", 100000])]
        for train, words in runs:
            with self.subTest(words=words):
                result = train(*words)
                self.assertEqual((result["loss_digest"], result["test_accuracy"]), (base["loss_digest"], base["test_accuracy"]))
        self.assertNotEqual(self.train_in_one("--seed", 2)["loss_digest"], base["loss_digest"])

    def test_policies_change_no_loss_and_count_live_what_a_replay_counts(self):
        trace = self.work / "trace"
        run("trace", "record", self.parts, "--out", trace, "--batch", 32, "--epochs", 3)
        replayed = {row["policy"]: row for row in run_json("trace", "replay", trace, "--buffer", "0.2")["rows"]}
        for policy in ("none", "lookahead"):
            self.train("--policy", policy, "--trace", self.work / f"trace-{policy}")
            self.assertEqual((self.work / f"trace-{policy}").read_bytes(), trace.read_bytes())
        outcomes = set()
        for policy in LIVE:
            with self.subTest(policy=policy):
                live = self.train("--policy", policy, "--buffer", 0.2, "--run", self.work / f"run-{policy}")
                for name in ("requests", "hits", "fetched"):
                    self.assertEqual(sum(epoch[name] for epoch in live["epochs"]), replayed[policy][name], name)
                full = json.loads((self.work / f"run-{policy}/result.json").read_text())
                self.assertEqual(sum(rank["bypassed"] for rank in full["by_rank"]), replayed[policy]["bypassed"])
                outcomes.add((live["loss_digest"], live["test_accuracy"]))
                self.assertEqual(len(outcomes), 1)

    def test_a_run_without_improvement_ends_early_on_all_ranks(self):
        run_folder = self.work / "early"
        result = self.train("--epochs", 200, "--patience", 2, "--run", run_folder)
        self.assertTrue(result["stopped_early"])
        self.assertEqual(len(result["epochs"]), result["best_epoch"] + 3)
        accuracies = [epoch["val_accuracy"] for epoch in result["epochs"]]
        self.assertEqual(result["best_val_accuracy"], max(accuracies))
        self.assertEqual(result["val_accuracy"], accuracies[result["best_epoch"]])
        lines = [json.loads(line) for line in (run_folder / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([line["val_accuracy"] for line in lines], accuracies)
        _, err = run("train", self.parts, "--transport", "loopback", "--patience", 2, "--trace", self.work / "cut", code=2)
        self.assertIn("--patience", err)

    def test_nodes_with_several_classes(self):
        graph, parts, back = (self.work / name for name in ("several", "several-parts", "several-back"))
        info = run_json("graph", "generate", "planted", graph, *SMALL, "--multi-label")
        self.assertTrue(info["multi_label"])
        run("partition", graph, parts, "--parts", 2)
        run("graph", "export", parts, back)
        for file in graph.iterdir():
            self.assertEqual(file.read_bytes(), (back / file.name).read_bytes(), file.name)
        result = run_json("launch", "-n", 2, "--", "train", parts, *self.SHORT, "--epochs", 8)
        self.assertEqual(result["metric"], "micro_f1")
        self.assertGreater(result["test_accuracy"], 0.6)

    def test_other_models_train(self):
        for model in ("gcn", "gat"):
            self.assertGreater(self.train("--model", model, "--epochs", 8)["test_accuracy"], 0.4, model)

    def sampling(self, result):
        return [sum(epoch[f"sampling_{name}"] for epoch in result["epochs"]) for name in ("nodes", "bytes", "messages")]

    def test_structure_asked_of_its_owners_changes_no_loss(self):
        folder = self.work / "owned"
        shutil.copytree(self.parts, folder)  # what no rank opens may be elsewhere
        shutil.rmtree(folder / "structure")
        (folder / "original_ids.npy").unlink()
        for words in ([], ["--policy", "degree", "--threads", 2], ["--model", "gcn", "--fanout", "5,4", "--depth", 0]):
            with self.subTest(words=words):
                whole = self.train_in_one(*words)
                asking = run_json("launch", "-n", 4, "--", "train", folder, *self.SHORT, *words, "--topology", "owner")
                self.assertEqual((asking["loss_digest"], asking["test_accuracy"]), (whole["loss_digest"], whole["test_accuracy"]))
                self.assertNotIn("sampling_messages", whole["epochs"][0])
                nodes, moved, messages = self.sampling(asking)
                self.assertGreater(moved, nodes)
                steps = 3 * -(-1200 // (4 * 32))
                self.assertGreater(messages, 4 * steps)
                for epoch, other in zip(asking["epochs"], whole["epochs"]):
                    self.assertEqual(epoch["requests"], other["requests"])
        threads = run_json("train", folder, *self.SHORT, "--transport", "loopback", "--topology", "owner")
        self.assertEqual(threads["loss_digest"], self.train_in_one()["loss_digest"])

    def test_a_feature_too_large_for_the_wire_ends_the_run_with_its_node(self):
        graph, parts = self.work / "large", self.work / "large-parts"
        run("graph", "generate", "planted", graph, "--nodes", 500, "--features", 8, "--classes", 3)
        with (graph / "features.npy").open("r+b") as file:
            file.seek(-4 * 8 * 250, 2)
            file.write(struct.pack("<8f", *[1e30] * 8))
        run("partition", graph, parts, "--parts", 2)
        for _ in range(6):  # which rank hears of it first is chance
            err = run("train", parts, *self.SHORT, "--transport", "loopback", "--wire", "f16", code=1)[1]
            self.assertRegex(err, r"a feature of node \d+ does not fit f16")

    def test_narrow_features_are_half_the_bytes_and_equal_under_every_policy(self):
        stored = self.train_in_one()
        digests = {stored["loss_digest"]}
        for wire, relative in (("f16", 1), ("bf16", 2**-8)):  # f16 loses small values
            base = self.train_in_one("--wire", wire)
            digests.add(base["loss_digest"])
            self.assertEqual(base["wire"]["type"], wire)
            self.assertLessEqual(base["wire"]["largest_relative_error"], 1.01 * relative)
            self.assertGreater(base["wire"]["largest_relative_error"], 2**-12)
            self.assertGreater(base["wire"]["largest_absolute_error"], base["wire"]["root_mean_square_error"])
            self.assertGreater(base["wire"]["root_mean_square_error"], 0)
            self.assertAlmostEqual(base["test_accuracy"], stored["test_accuracy"], delta=0.05)
            for epoch, other in zip(base["epochs"], stored["epochs"]):
                self.assertEqual(2 * epoch["payload_bytes"], other["payload_bytes"])
                self.assertEqual(epoch["fetched"], other["fetched"])
            for words in (["--policy", "none"], ["--topology", "owner", "--threads", 2]):
                with self.subTest(wire=wire, words=words):
                    result = self.train("--wire", wire, *words)
                    self.assertEqual((result["loss_digest"], result["test_accuracy"]), (base["loss_digest"], base["test_accuracy"]))
        self.assertEqual(len(digests), 3)
        plain = self.train_in_one("--wire", "f32")
        self.assertEqual((plain["loss_digest"], plain["wire"]),
                         (stored["loss_digest"], {"type": "f32", "largest_absolute_error": 0, "largest_relative_error": 0,
                                                  "root_mean_square_error": 0}))

    def test_what_needs_the_whole_structure_says_so(self):
        for words, said in ((["--policy", "vip"], "'vip'"), (["--trace", self.work / "never"], "rudder trace record")):
            _, err = run("train", self.parts, "--transport", "loopback", "--topology", "owner", *words, code=2)
            self.assertIn(said, err)

    def test_an_open_ended_world_is_refused(self):
        _, err = run("train", self.parts, code=2)
        self.assertIn("launch", err)
        _, err = run("launch", "-n", 3, "--", "train", self.parts, code=2)
        self.assertIn("3", err)


if __name__ == "__main__":
    unittest.main()
