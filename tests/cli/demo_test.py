#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole demos: the table, the page, and what is left behind."""
import json
import os
import random
import signal
import time
import unittest

from program import Base, links, namespaces, run, run_json, shared_memory, start, wait_for_file


class Demo(Base):
    WORDS = ["--parts", 2, "--epochs", 2, "--batch", 64, "--policies", "none,lru,lookahead", "--changing", "none", "--hidden", 16]

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

    def test_steered_rows_train_alike_and_say_what_was_decided(self):
        result = self.demo("--links", "token-bucket", "--policies", "score,score+fixed,score+hedge,lookahead+hedge,score+agent")
        rows = {row["policy"]: row for row in result["rows"]}
        self.assertEqual(len({row["loss_digest"] for row in result["rows"]}), 1)
        self.assertNotIn("agent", rows["score"])
        for name in ("score + fixed", "score + hedge", "lookahead + hedge"):
            steering = rows[name]["agent"]
            self.assertGreater(steering["windows"], 0, name)
            self.assertIsNone(steering["valid_rate"], name)
        self.assertGreater(rows["score + fixed"]["agent"]["decisions"], 0)
        if "score + agent" in rows:
            self.assertIn("SmolLM2", rows["score + agent"]["agent"]["model"])
        else:
            self.assertIn("script/bootstrap agent", " ".join(result["skipped"]))
        self.assertFalse((self.work / "demo" / "agent.sock").exists())
        page = (self.work / "demo" / "report.html").read_text()
        self.assertIn('"steering":{"decider":"hedge"', page)

    def test_links_shrink_in_the_middle_of_a_run(self):
        words = ["--epochs", 3, "--policies", "none", "--changing", "lookahead,lookahead+hedge"]
        result = self.demo("--links", "token-bucket", *words)
        self.assertEqual(len(result["skipped"]), 2)
        self.assertNotIn("scenarios", result)
        if os.geteuid() != 0:
            self.skipTest("network namespaces need root")
        spaces, devices = namespaces(), links()
        result = self.demo("--links", "namespaces", "--link", "20Mbit", *words)
        self.assertEqual((namespaces(), links()), (spaces, devices))
        scenario = result["scenarios"][0]
        self.assertEqual((scenario["name"], [row["policy"] for row in scenario["rows"]]),
                         ("shrinking-link", ["lookahead", "lookahead + hedge"]))
        self.assertEqual({row["loss_digest"] for row in scenario["rows"]}, {result["rows"][0]["loss_digest"]})
        epochs = json.loads((self.work / "demo/runs/shrinking-lookahead/result.json").read_text())["epochs"]
        self.assertGreater(epochs[1]["seconds"], 1.5 * epochs[2]["seconds"])

    def test_an_interrupted_demo_leaves_nothing(self):
        spaces, devices, memory = namespaces(), links(), shared_memory()
        for sent in (signal.SIGINT, signal.SIGTERM):
            out = self.work / f"stopped-{sent}"
            process = start("demo", "--graph", self.graph, "--out", out, *self.WORDS, "--epochs", 500)
            wait_for_file(out, ".rudder-demo")
            time.sleep(random.uniform(0, 5))  # any stage: partitioning, recording, making links, training
            process.send_signal(sent)
            _, err = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 128 + sent, err)
            self.assertIn(f"stopped by signal {sent:d}", err)
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
