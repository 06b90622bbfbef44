#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rudder steer train, export, replay, compare and ablation, on small recorded traces and with a scripted model."""
import json

from model_server import ModelServer, says
from program import Base, run, run_json

WORLD = ["--buffer", "0.2", "--link", "50Mbit", "--window", 2]


def repeats_what_was_shown_last(messages):
    shown = [m["content"] for m in messages if m["role"] == "assistant" and "decision" in m["content"]]
    decision = json.loads(shown[-1])["decision"] if shown else "skip"
    return json.dumps({"decision": decision, "reason": "as before", "expected": {"hits": "increase", "traffic": "decrease"}})


class Steer(Base):
    """Two traces of one partition and one of another: runs and graphs to hold out."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        other = cls.work / "other"
        run("partition", cls.graph, other, "--parts", 2)
        names = []
        for parts, seed in ((cls.parts, 1), (cls.parts, 2), (other, 1)):
            names.append(str(cls.work / f"trace-{parts.name}-{seed}"))
            run("trace", "record", parts, "--out", names[-1], "--batch", 32, "--epochs", 2, "--seed", seed, "--fanout", "5,5")
        cls.traces = ["--trace", ",".join(names), *WORLD]

    def test_train_scores_unseen_runs_and_graphs_and_writes_what_deciders_read(self):
        out = self.work / "classifiers"
        result = run_json("steer", "train", *self.traces, "--out", out, "--kinds", "lr,xgb", "--held-out-runs", "0.5")
        self.assertEqual(list(result), ["action_set", "windows", "runs", "graphs", "classifiers"])
        self.assertEqual((result["runs"], len(result["graphs"])), (3, 2))
        for entry in result["classifiers"]:
            self.assertEqual(entry["file"], str(out / (entry["kind"] + ".json")))
            self.assertEqual([each["graph"] for each in entry["held_out_graphs"]], result["graphs"])
            windows = entry["train"]["windows"] + entry["held_out_runs"]["windows"]
            self.assertEqual(windows, result["windows"])
            self.assertEqual(sum(each["windows"] for each in entry["held_out_graphs"]), result["windows"])
            for scores in (entry["train"], entry["held_out_runs"], *entry["held_out_graphs"]):
                self.assertGreater(scores["windows"], 0)
                self.assertTrue(0 <= scores["accuracy"] <= 1)
                self.assertGreaterEqual(scores["regret_oracle"], 0)
        written = json.loads((out / "lr.json").read_text())
        self.assertEqual((written["format"], written["action_set"]), ("rudder-classifier", result["action_set"]))
        again = run_json("steer", "train", *self.traces, "--out", self.work / "again", "--kinds", "lr,xgb", "--held-out-runs", "0.5", "--threads", 2)
        self.assertEqual((out / "xgb.json").read_bytes(), (self.work / "again" / "xgb.json").read_bytes())
        self.assertEqual([e["held_out_runs"] for e in again["classifiers"]], [e["held_out_runs"] for e in result["classifiers"]])

    def test_train_holds_out_the_graphs_that_it_is_told_to(self):
        result = run_json("steer", "train", *self.traces, "--out", self.work / "one", "--kinds", "lr")
        graph = result["graphs"][1]
        result = run_json("steer", "train", *self.traces, "--out", self.work / "one", "--kinds", "lr", "--held-out-graphs", graph)
        entry = result["classifiers"][0]
        self.assertEqual([each["graph"] for each in entry["held_out_graphs"]], [graph])
        parts = entry["train"], entry["held_out_runs"], entry["held_out_graphs"][0]
        self.assertEqual(sum(part["windows"] for part in parts), result["windows"])

    def test_wrong_input_is_one_error(self):
        out = self.work / "none"
        foreign = self.work / "foreign"
        foreign.write_bytes(b"not a store" * 20)
        for words, hint in (([], "--memory FILES"), (["--memory", self.work / "absent"], "there is no file"),
                            (["--memory", foreign], "not a store"), (["--scenario", "drfit"], "did you mean 'drift'"),
                            (["--trace", foreign, *WORLD], str(foreign))):
            for command in ("train", "export"):
                _, err = run("steer", command, "--out", out, *words, code=1 if words and hint != "did you mean 'drift'" else 2)
                self.assertIn(hint, err)
                self.assertEqual(len(err.splitlines()), 1, err)
        _, err = run("steer", "train", *self.traces, code=2)
        self.assertIn("--out FOLDER is required", err)
        _, err = run("steer", "train", *self.traces, "--out", out, "--kinds", "tree", code=2)
        self.assertIn("'tree' is not one of lr, svm, mlp, rf, xgb", err)
        self.assertFalse((self.work / "absent").exists(), "looking for a store makes none")

    def test_export_writes_chats_that_end_in_the_best_answer(self):
        out, test = self.work / "chats.jsonl", self.work / "test.jsonl"
        result = run_json("steer", "export", *self.traces, "--out", out, "--test", test, "--held-out-runs", "0.5", "--metadata")
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        tests = [json.loads(line) for line in test.read_text().splitlines()]
        self.assertEqual((len(lines), len(tests)), (result["chats"], result["test_chats"]))
        self.assertGreater(min(len(lines), len(tests)), 0)
        self.assertEqual(sum(result["answers"].values()), len(lines))
        self.assertEqual(len(lines) + len(tests) + sum(result["left_out"].values()), result["windows"])
        self.assertFalse({line["metadata"]["run"] for line in lines} & {line["metadata"]["run"] for line in tests})
        for line in lines + tests:
            roles = [message["role"] for message in line["messages"]]
            self.assertEqual((roles[0], roles[-2], roles[-1]), ("system", "user", "assistant"))
            answer = json.loads(line["messages"][-1]["content"])
            self.assertEqual(list(answer), ["decision", "reason", "expected"])
            costs = line["metadata"]["costs"]
            self.assertEqual(costs[answer["decision"]], min(costs.values()))
        run("steer", "export", *self.traces, "--out", out, "--demonstrations", 0)
        self.assertEqual({key for line in out.read_text().splitlines() for key in json.loads(line)}, {"messages"})

    def test_replay_shows_a_log_and_refuses_a_hostile_one(self):
        log = self.work / "decisions.jsonl"
        decision = {"sequence": 0, "action": "replace", "confidence": 0.9, "reason": "hits fell", "expected": None, "seconds": 0.25,
                    "from_model": True, "valid_reply": True}
        lines = [{"sequence": 0, "verdict": "applied", "applied": "replace", "staleness": 0, "from_cache": False, "decision": decision},
                 {"sequence": 1, "verdict": "no_trigger", "applied": "skip", "staleness": 0, "from_cache": False}]
        log.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"sequence": 2, "app')
        result = run_json("steer", "replay", log)
        self.assertEqual((result["windows"], result["decisions"], result["model_calls"], result["valid_replies"]), (2, 1, 1, 1))
        self.assertEqual((result["verdicts"]["applied"], result["verdicts"]["no_trigger"]), (1, 1))
        self.assertEqual((result["latency_p50"], result["labelled"]), (0.25, 0))
        self.assertEqual([row["applied"] for row in result["rows"]], ["replace", "skip"])
        _, err = run("steer", "replay", log)
        self.assertIn("hits fell", err)
        self.assertIn("100.0 % valid replies", err)
        for text, hint in (('{"sequence": 1}\n', "line 1: not a decision"), ("\0\xff\n", "line 1: not a decision"),
                           ('{"sequence": 1, "applied": "skip", "verdict": ' + "[" * 300000 + "]" * 300000 + "}\n", "'verdict' is no name"),
                           ('{"sequence": 1, "applied": "skpi"}\n', "did you mean 'skip'?")):
            log.write_text(text)
            _, err = run("steer", "replay", log, code=1)
            self.assertIn(hint, err)
        _, err = run("steer", "replay", log, "--run", "x", code=2)

    def test_compare_puts_methods_side_by_side_and_skips_visibly(self):
        out = self.work / "compare"
        words = ["steer", "compare", "--out", out, "--nodes", 1024, "--scale", 9, "--parts", 2,
                 "--buffer", "0.25", "--seeds", 2, "--epochs", 3, "--fanout", "5,5", "--window", 4, "--threads", 2]
        result = run_json(*words, "--graphs", "planted,cora,rmat", "--methods", "none,never,fixed:1,lr,llm,hedge,oracle")
        self.assertEqual(result["time"], "simulated")
        self.assertEqual([each["what"] for each in result["skipped"]], ["llm", "cora"])
        self.assertEqual([each["graph"] for each in result["graphs"]], ["planted", "rmat"])
        rows = {(row["graph"], row["method"]): row for row in result["rows"]}
        self.assertEqual(len(rows), 2 * 6)
        for graph in ("planted", "rmat"):
            none, never = rows[graph, "none"], rows[graph, "never"]
            self.assertEqual((none["hits_percent"], none["seeds"]), (0, 2))
            self.assertGreater(none["moved_rows"], never["moved_rows"])
            self.assertGreater(none["simulated_epoch_seconds"], never["simulated_epoch_seconds"])
            self.assertLessEqual(rows[graph, "oracle"]["simulated_epoch_seconds"], never["simulated_epoch_seconds"] * 1.0001)
        self.assertTrue((out / "lr-without-rmat.json").exists())
        with ModelServer(says(repeats_what_was_shown_last)) as model:
            _, err = run(*words, "--graphs", "planted,rmat", "--methods", "llm,never", "--agent-url", model.url, "--synchronous")
            self.assertGreater(len(model.asked), 4)
        self.assertIn("epoch, simulated s", err)
        self.assertNotIn("skipped", err)
        stranger = self.work / "stranger"
        stranger.mkdir()
        (stranger / "precious").write_text("")
        _, err = run("steer", "compare", "--out", stranger, code=2)
        self.assertIn("choose another --out", err)
        self.assertTrue((stranger / "precious").exists())

    def test_ablation_shows_more_and_more_windows(self):
        with ModelServer(says(repeats_what_was_shown_last)) as model:
            result = run_json("steer", "ablation", *self.traces, "--agent-url", model.url, "--demonstrations", "0,3", "--windows", 4,
                              "--held-out-runs", "0.5")
            shown = [sum("decision" in m["content"] for m in json.loads(request)["messages"] if m["role"] == "assistant")
                     for request in model.asked[1:]]
        self.assertEqual(sorted(set(shown)), [0, 3])
        rows = [(row["unseen"], row["chooser"], row["demonstrations"]) for row in result["rows"]]
        self.assertEqual(rows[:4], [("runs", "fallback", 0), ("runs", "llm", 0), ("runs", "llm", 3), ("runs", "nearest", 3)])
        self.assertEqual(len(rows), 3 * 4)
        for row in result["rows"]:
            self.assertEqual(row["latency_p50"] is None, row["chooser"] != "llm")
            self.assertEqual((row["refused"], row["unanswered"]), (0, 0))
        _, err = run("steer", "ablation", *self.traces, code=2)
        self.assertIn("--agent-socket PATH", err)
        _, err = run("steer", "ablation", *self.traces, "--agent-socket", self.work / "none.sock", "--agent-url", "http://127.0.0.1:1", code=2)
        self.assertIn("one of them", err)


if __name__ == "__main__":
    import unittest
    unittest.main()
