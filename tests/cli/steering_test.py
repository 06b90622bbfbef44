#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings whose buffers are steered: nothing changes a loss, whoever decides, and however badly."""
import json
import pathlib
import signal
import socket
import time
import unittest

from model_server import ModelServer, chat, reply
from program import Base, free_ports, run, run_json, start

VERDICTS = {"applied", "unchanged", "no_trigger", "pending", "stale", "unknown_action", "cooling_down", "low_confidence",
            "negative_benefit", "breaker_open", "no_answer", "invalid_reply"}


def lines_of(path):
    """Finished lines of a log that may still be written to."""
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")] if path.exists() else []


def wait_until(condition, process, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "the training has ended:\n" + "".join(process.communicate())
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)


def decides(action):
    return lambda handler, _: reply(handler, chat(json.dumps({"decision": action, "reason": "told to"})))


def hangs(_, server):
    server.ending.wait()


def breaks_off(handler, _):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + chat('{"decision": "replace"}')[:40])
    handler.connection.shutdown(socket.SHUT_RDWR)


def floods(handler, server):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while not server.ending.is_set():
        handler.wfile.write(b" " * 65536)


def trickles(handler, server):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    while not server.ending.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


HOSTILE = {
    "hangs": hangs,
    "breaks off": breaks_off,
    "fails": lambda handler, _: reply(handler, b'{"error": {"message": "no"}}', 500),
    "floods": floods,
    "trickles": trickles,
    "says megabytes": lambda handler, _: reply(handler, chat("replace " * 300_000)),
    "says no text": lambda handler, _: reply(handler, b'{"choices": [{"message": {"content": "\xff\xfe\xc3("}}]}'),
    "says nothing": lambda handler, _: reply(handler, b""),
    "says nonsense": lambda handler, _: reply(handler, chat("I would rather not say whether to replace or to skip.")),
    "says another action": decides("explode"),
    "is nested": lambda handler, _: reply(handler, b"[" * 100_000),
}


class Case(Base):
    SHORT = ["--epochs", 6, "--batch", 32, "--hidden", 16, "--learning-rate", 0.02, "--deadline", 60, "--no-evaluation"]
    SCORE = ["--policy", "score", "--buffer", "0.3", "--score-stale-after", 4, "--steer-window", 3]

    def train(self, *words, **options):
        return run_json("train", self.parts, *self.SHORT, "--transport", "loopback", *words, **options)

    def check(self, result, base, agent):
        """What holds of every steered run of four ranks."""
        self.assertEqual(result["loss_digest"], base["loss_digest"])
        steering = result["agent"]
        self.assertEqual(steering["decider"], agent)
        self.assertEqual(steering["mismatches"], 0)
        steps = 6 * -(-1200 // (4 * 32))
        self.assertEqual(steering["windows"] % 4, 0)
        self.assertGreaterEqual(steering["windows"], 4 * (steps // steering["window"]))
        settled = steering["windows"] - steering["dropped_windows"]
        self.assertGreaterEqual(steering["replayed"], settled)
        self.assertLessEqual(steering["overtaken"] + steering["late"], settled)
        if steering["mode"] == "sync":
            self.assertGreater(steering["replayed_seconds"], 0)
            self.assertGreaterEqual(steering["replayed"], steering["windows"])
        return steering


class Steering(Case):
    def test_no_agent_changes_a_loss(self):
        base = self.train("--policy", "none")
        self.assertNotIn("agent", base)
        for mode in ("async", "sync"):
            for agent in ("never", "always", "fixed:2", "bandit", "hedge", "rule", "nearest"):
                with self.subTest(agent=agent, mode=mode):
                    steering = self.check(self.train(*self.SCORE, "--agent", agent, "--steer-mode", mode), base, agent)
                    if agent == "never" and steering["rejected"] == 0:  # the evaluator may know better
                        self.assertEqual(steering["changes"], 0)
                    if mode == "sync":
                        self.assertEqual((steering["dropped_windows"], steering["overtaken"]), (0, 0))
                        self.assertGreater(steering["wait_seconds"], 0)

    def test_knobs_change_no_loss(self):
        base = self.train("--policy", "none")
        for words in (["--policy", "score", "--knob-policies", "score,lru,lookahead", "--knob-depths", "4,1"],
                      ["--policy", "lookahead", "--look-ahead", 6, "--knob-depths", "2,9"],
                      ["--policy", "lru", "--knob-rates", "0,0.5", "--knob-slots", "1,0.6"]):
            for mode in ("async", "sync"):
                with self.subTest(words=words, mode=mode):
                    result = self.train(*words, "--actions", "knobs", "--agent", "bandit", "--steer-window", 3, "--steer-mode", mode)
                    self.check(result, base, "bandit")

    def test_triggers_say_when_the_agent_is_asked(self):
        base = self.train("--policy", "none")
        words = [*self.SCORE, "--agent", "bandit", "--steer-mode", "sync", "--steer-trigger"]
        each = self.check(self.train(*words, "windows"), base, "bandit")
        windows = each["windows"] // 4
        self.assertEqual(each["decisions"], each["windows"])
        third = self.check(self.train(*words, "windows", "--steer-every", 3), base, "bandit")
        self.assertEqual(third["decisions"], 4 * (windows // 3))
        rare = self.check(self.train(*words, "time", "--steer-period", 3600), base, "bandit")
        self.assertEqual(rare["decisions"], 4)  # each rank's first window asks
        shifts = self.check(self.train(*words, "shift"), base, "bandit")
        self.assertLess(shifts["decisions"], each["decisions"])
        _, err = run("train", self.parts, *words, "shifts", code=2)
        self.assertIn("shifts", err)

    def test_processes_steer_each_its_own_buffer_and_note_what_they_decide(self):
        base = self.train("--policy", "none")
        for accumulate in (1, 2):
            run_folder = self.work / f"run-{accumulate}"
            memory = self.work / f"memory-{accumulate}.db"
            words = ["--accumulate", accumulate]
            plain = base if accumulate == 1 else self.train("--policy", "none", *words)
            result = run_json("launch", "-n", 4, "--", "train", self.parts, *self.SHORT, *self.SCORE, *words, "--agent", "hedge", "--run",
                              run_folder, "--memory", memory, "--steer-mode", "sync" if accumulate == 2 else "async")
            steering = self.check(result, plain, "hedge")
            logs = sorted(run_folder.glob("decisions*.jsonl"))
            self.assertEqual([log.name for log in logs], ["decisions-1.jsonl", "decisions-2.jsonl", "decisions-3.jsonl", "decisions.jsonl"])
            settled = 0
            for log in logs:
                for number, line in enumerate(lines_of(log)):
                    self.assertIn(line["verdict"], VERDICTS)
                    self.assertIn(line["applied"], ("skip", "replace"))
                    self.assertEqual(line["step"], 3 * (line["sequence"] + 1))
                    self.assertGreaterEqual(line["sequence"], number)
                    settled += 1
            self.assertEqual(settled, steering["windows"] - steering["dropped_windows"])
            self.assertTrue(memory.exists())
            self.assertEqual(json.loads((run_folder / "result.json").read_text())["agent"], steering)

    def test_a_log_replays(self):
        run_folder = self.work / "first"
        words = [*self.SCORE, "--steer-mode", "sync"]
        first = self.train(*words, "--agent", "bandit", "--run", run_folder)
        again = self.train(*words, "--agent", f"replay:{run_folder / 'decisions.jsonl'}", "--run", self.work / "again")
        self.assertEqual(first["loss_digest"], again["loss_digest"])
        applied = [line["applied"] for line in lines_of(run_folder / "decisions.jsonl")]
        self.assertEqual(applied, [line["applied"] for line in lines_of(self.work / "again" / "decisions.jsonl")])

    def test_what_does_not_fit_is_said_before_training(self):
        for words, said, code in (
                (["--actions", "knobs"], "--actions needs --agent", 2),
                (["--agent-url", "http://x"], "--agent-url needs --agent", 2),
                (["--agent", "bandid"], "did you mean 'bandit'", 2),
                (["--agent", "fixed"], "fixed:P", 2),
                (["--agent", "llm"], "socket of an agent", 2),
                (["--agent", "llm", "--agent-url", "ftp://x"], "ftp://x", 2),
                (["--agent", "xgb"], "classifier", 2),
                (["--agent", "xgb", "--classifier", self.work / "absent"], "absent", 1),
                (["--agent", "bandit", "--policy", "lru"], "'lru'", 2),
                (["--agent", "bandit", "--actions", "knobs", "--knob-policies", "score,min"], "'min'", 2),
                (["--agent", "bandit", "--actions", "knobs", "--knob-policies", "lru,score"], "'lru'", 2),
                (["--agent", "bandit", "--actions", "knobs", "--knob-depths", "0"], "knob-depths", 2),
                (["--agent", "bandit", "--actions", "knobs", "--knob-rates", "x"], "knob-rates", 2),
                (["--agent", "replay:" + str(self.work / "nothing")], "nothing", 1),
                (["--agent", "bandit", "--memory", __file__], pathlib.Path(__file__).name, 1)):
            with self.subTest(words=words):
                policy = [] if "--policy" in words else ["--policy", "score"]
                _, err = run("train", self.parts, "--transport", "loopback", *policy, *words, code=code)
                self.assertIn(said, err)
        _, err = run("train", self.parts, "--attach", "/x", "--agent", "bandit", code=2)
        self.assertIn("--attach", err)


class Models(Case):
    """A language model decides, or what passes for one."""

    def llm(self, url, *words, timeout=1, **options):
        return self.train(*self.SCORE, "--agent", "llm", "--agent-url", url, "--agent-timeout", timeout, "--agent-rest", 0.3,
                          "--steer-priority", "usual", *words,
                          **options)

    def test_a_model_is_shown_windows_and_decides(self):
        asked = []

        def behave(handler, _):
            asked.append(json.loads(handler.request_text))
            decides("replace")(handler, None)

        base = self.train("--policy", "none")
        with ModelServer(behave) as server:
            result = self.llm(server.url, "--steer-mode", "sync", "--run", self.work / "decides", timeout=20)
        steering = self.check(result, base, "llm")
        # Each rank's last question may have been out when the training was over.
        self.assertIn(len(asked) - steering["model_calls"], range(5))
        self.assertEqual(steering["valid_replies"], steering["model_calls"])
        self.assertGreater(steering["model_calls"], 0)
        self.assertGreater(steering["latency_p50"], 0)
        self.assertIn("replace", asked[0]["messages"][0]["content"])
        reasons = {line["decision"]["reason"] for line in lines_of(self.work / "decides" / "decisions.jsonl") if "decision" in line}
        self.assertIn("told to", reasons)

    def test_hostile_models_change_nothing(self):
        base = self.train("--policy", "none")
        for name, behave in HOSTILE.items():
            with self.subTest(name):
                run_folder = self.work / name.replace(" ", "-")
                with ModelServer(behave) as server:
                    result = self.llm(server.url, "--run", run_folder)
                    self.assertTrue(server.asked)
                steering = self.check(result, base, "llm")
                self.assertEqual(steering["valid_replies"], 0)
                self.assertEqual(steering["applied"], 0)
                self.assertNotIn("applied", {line["verdict"] for line in lines_of(run_folder / "decisions.jsonl")})

    def test_a_model_that_is_not_there_is_named(self):
        port = free_ports(1)[0]
        run_folder = self.work / "nobody"
        for _ in range(2):  # the second run's log replaces the first one's
            _, err = run("train", self.parts, *self.SHORT, "--transport", "loopback", *self.SCORE, "--agent", "llm", "--agent-url",
                         f"http://127.0.0.1:{port}/v1", "--steer-mode", "sync", "--run", run_folder)
            for rank in range(4):
                self.assertEqual(err.count(f"steering of rank {rank}: no answer: "), 1, err)
            self.assertIn(f"127.0.0.1 port {port}: Connection refused", err)
            self.assertEqual(len(lines_of(run_folder / "metrics.jsonl")), 6)
            lines = lines_of(run_folder / "decisions.jsonl")
            self.assertEqual(len({line["sequence"] for line in lines}), len(lines))
            failed = [line for line in lines if line["verdict"] in ("no_answer", "breaker_open")]
            self.assertGreater(len(failed), 0)
            for line in failed:
                self.assertIn("Connection refused", line["why"])
        out, _ = run("steer", "replay", run_folder / "decisions.jsonl", "--json")
        self.assertEqual([row["why"] for row in json.loads(out)["rows"] if row["verdict"] == "no_answer"],
                         [line["why"] for line in lines if line["verdict"] == "no_answer"])

    def test_a_slow_or_always_wrong_model_does_no_harm(self):
        base = self.train("--policy", "none")

        def slow(handler, server):
            server.ending.wait(0.4)
            decides("replace")(handler, None)

        for name, behave in (("slow", slow), ("replace", decides("replace")), ("skip", decides("skip"))):
            for mode in ("async", "sync"):
                with self.subTest(name=name, mode=mode), ModelServer(behave) as server:
                    run_folder = self.work / f"{name}-{mode}"
                    result = self.llm(server.url, "--steer-mode", mode, "--run", run_folder, timeout=5)
                    self.check(result, base, "llm")
                    for line in lines_of(run_folder / "decisions.jsonl"):
                        # Replay of the windows before it knows of nothing better than what holds than the fallback.
                        if line["verdict"] in ("applied", "unchanged"):
                            self.assertLessEqual(line["excess"], line["fallback_excess"])

    def test_a_killed_agent_is_missed_for_a_window_and_taken_back_when_it_returns(self):
        self.train("--policy", "none", "--run", self.work / "whole")
        run_folder = self.work / "killed"
        socket_path = self.work / "agent.sock"
        log = run_folder / "decisions.jsonl"
        with ModelServer(decides("skip")) as server:
            agent = self.start_agent(server.url, socket_path)
            # As long as it takes; ended by a signal.
            training = start("train", self.parts, *self.SHORT, "--epochs", 100_000, "--transport", "loopback", *self.SCORE, "--agent", "llm",
                             "--agent-socket", socket_path, "--agent-rest", 0.2, "--agent-timeout", 5, "--steer-priority", "usual", "--run",
                             run_folder, "--checkpoint", self.work / "kept", "--checkpoint-steps", 1_000_000)
            self.addCleanup(training.communicate)
            self.addCleanup(training.kill)

            def decided(after):
                return any("decision" in line and line["decision"]["from_model"] for line in lines_of(log)[after:])

            wait_until(lambda: decided(0), training)
            agent.kill()
            agent.communicate()
            dead = len(lines_of(log))
            wait_until(lambda: any(line["verdict"] == "no_answer" for line in lines_of(log)[dead:]), training)
            # What had been asked before the kill may still have come; then a window passes without. Nobody is asked on windows
            # like earlier ones, nor while the breaker is open.
            after_death = [line for line in lines_of(log)[dead:] if not line["from_cache"] and line["verdict"] != "breaker_open"]
            first = next(i for i, line in enumerate(after_death) if line["verdict"] == "no_answer")
            self.assertLessEqual(first, 2, after_death[:first])
            back = len(lines_of(log))
            self.start_agent(server.url, socket_path)
            wait_until(lambda: decided(back), training)
            training.send_signal(signal.SIGTERM)
            _, err = training.communicate(timeout=120)
        self.assertEqual(training.returncode, 0, err)
        whole, result = (json.loads((folder / "result.json").read_text()) for folder in (self.work / "whole", run_folder))
        common = min(len(whole["step_losses"]), len(result["step_losses"]))
        self.assertGreater(common, 10)
        self.assertEqual(whole["step_losses"][:common], result["step_losses"][:common])
        self.assertEqual(result["agent"]["mismatches"], 0)
        self.assertGreater(result["agent"]["no_answers"], 0)

    def start_agent(self, url, socket_path):
        agent = start("agent", "--endpoint", url, "--model", "scripted", "--socket", socket_path)
        self.addCleanup(agent.communicate)
        self.addCleanup(agent.kill)
        said = ""
        for line in agent.stderr:
            said += line
            if "ready at" in line:
                return agent
        self.fail(said)


if __name__ == "__main__":
    unittest.main()
