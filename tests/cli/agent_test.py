#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rudder agent: asked over its socket and its port, killed, started again; with the real model where that is there."""
import http.client
import json
import os
import pathlib
import signal
import socket
import stat
import tempfile
import threading
import unittest

from model_server import ModelServer, says
from program import free_ports, run, start

PATIENCE = 300  # seconds, far above what anything here takes
CORES = ",".join(map(str, sorted(os.sched_getaffinity(0))))  # on a busy machine, idle processors may never come
YES_OR_NO = 'root ::= "{\\"decision\\":\\"" ("yes" | "no") "\\"}"'


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


def exchange(connection, method, path, body=None):
    """Status and JSON (or text) of the answer."""
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, json.loads(text) if response.getheader("Content-Type") == "application/json" else text


def chat(text, **more):
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 24, "timeout": PATIENCE, **more}


class AgentCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.socket = self.work / "agent.sock"

    def start_agent(self, *words, environment=None):
        """A process that serves, and its lines on standard error so far."""
        agent = start("agent", "--cores", CORES, *words, environment=environment)
        self.addCleanup(agent.communicate)
        self.addCleanup(agent.kill)
        lines = []
        for line in agent.stderr:
            lines.append(line)
            if "ready at" in line:
                return agent, lines
        self.fail("".join(lines))

    def end(self, agent, number=signal.SIGTERM):
        """What it prints when it is told to end."""
        agent.send_signal(number)
        out, err = agent.communicate(timeout=PATIENCE)
        self.assertEqual(agent.returncode, 0, err)
        return out

    def ask(self, *request):
        return exchange(UnixConnection(self.socket), *request)


class PassingOn(AgentCase):
    """Needs no model."""

    def setUp(self):
        super().setUp()
        server = ModelServer(says(lambda messages: f"you said {messages[-1]['content']}"))
        self.url = server.__enter__().url
        self.addCleanup(server.__exit__)

    def start_passing(self, *words, **more):
        return self.start_agent("--endpoint", self.url, "--model", "echo", *words, **more)

    def test_serves_a_socket_of_this_user_alone_until_it_is_told_to_end(self):
        agent, lines = self.start_passing("--socket", self.socket, "--json", "--warm-up")
        self.assertIn(f"unix:{self.socket}", lines[-1])
        self.assertEqual(stat.S_IMODE(self.socket.stat().st_mode), 0o600)
        self.assertEqual(self.ask("GET", "/health"), (200, {"status": "ok"}))
        self.assertEqual(self.ask("GET", "/v1/models")[1]["data"][0]["id"], f"echo at {self.url}")
        status, reply = self.ask("POST", "/v1/chat/completions", chat("hello", user="job"))
        self.assertEqual((status, reply["choices"][0]["message"]["content"]), (200, "you said hello"))
        self.assertEqual(self.ask("POST", "/v1/chat/completions", {})[0], 400)
        self.assertIn('rudder_agent_calls_total{result="answered"} 1', self.ask("GET", "/metrics")[1])
        summary = json.loads(self.end(agent))
        self.assertEqual((summary["answered"], summary["failed"], summary["prompt_tokens"], summary["reply_tokens"]), (1, 0, 5, 3))
        self.assertEqual(summary["address"], f"unix:{self.socket}")
        self.assertEqual(list(self.work.iterdir()), [])

    def test_a_killed_agents_socket_is_taken_over_and_a_live_ones_is_not(self):
        agent, _ = self.start_passing("--socket", self.socket)
        _, err = run("agent", "--endpoint", self.url, "--socket", self.socket, code=1)
        self.assertIn(f"{self.socket} is in use", err)
        agent.kill()
        agent.wait()
        self.assertTrue(self.socket.exists(), "a killed process cannot remove it")
        agent, _ = self.start_passing("--socket", self.socket)
        self.assertEqual(self.ask("POST", "/v1/chat/completions", chat("again"))[0], 200)
        self.end(agent, signal.SIGINT)

    def test_agents_pass_calls_on_and_outlast_each_other(self):
        first, _ = self.start_passing("--socket", self.socket)
        port = free_ports(1)[0]
        second, _ = self.start_agent("--endpoint", f"unix:{self.socket}", "--port", port)

        def ask_second(timeout):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            return exchange(connection, "POST", "/v1/chat/completions", chat("hello", timeout=timeout))

        self.assertEqual(ask_second(PATIENCE)[1]["choices"][0]["message"]["content"], "you said hello")
        first.kill()
        first.wait()
        status, body = ask_second(0.5)
        self.assertIn(status, (502, 504))
        self.assertIn(str(self.socket), body["error"]["message"])
        first, _ = self.start_passing("--socket", self.socket)
        self.assertEqual(ask_second(PATIENCE)[0], 200)
        self.end(second)
        self.end(first)

    def test_the_socket_lies_in_the_home_folder_unless_it_is_told_another_place(self):
        agent, lines = self.start_passing(environment={"HOME": str(self.work)})
        self.assertIn(f"unix:{self.work}/.rudder/agent.sock", lines[-1])
        self.end(agent)

    def test_what_does_not_fit_is_said(self):
        for words, code, said in (
                (["--socket", self.socket, "--port", 1], 2, "one of them"),
                (["--endpoint", "ftp://x"], 2, "ftp://x"),
                (["--endpoint", "http://u:secret@x"], 2, "RUDDER_AGENT_API_KEY"),
                (["--cores", 1023], 2, "1023"),
                (["--context", 1], 2, "context"),
                (["--socket", "/" + "x" * 200], 2, "characters are possible"),
                (["--model", self.work / "absent.gguf"], 1, "absent.gguf"),
                (["--model", __file__], 1, pathlib.Path(__file__).name)):
            with self.subTest(words=words):
                extra = [] if "--model" in words else ["--endpoint", self.url] if "--endpoint" not in words else []
                where = [] if "--socket" in words else ["--socket", self.socket]
                _, err = run("agent", *extra, *where, *words, code=code)
                self.assertIn(said, err)
                self.assertNotIn("secret", err)


class RealModel(AgentCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            probe = start("agent", "--cores", CORES, "--socket", pathlib.Path(folder) / "probe.sock")
            said = ""
            for line in probe.stderr:
                said += line
                if "ready at" in line:
                    break
            probe.terminate()
            probe.communicate()
        if "script/bootstrap agent" in said:
            raise unittest.SkipTest(said.strip())

    def test_answers_decides_and_keeps_jobs_apart(self):
        agent, lines = self.start_agent("--socket", self.socket, "--threads", 1, "--context", 512, "--json")
        self.assertIn("SmolLM2-135M-Instruct", lines[-1])
        status, reply = self.ask("POST", "/v1/chat/completions", chat("What is the capital of France?", user="a"))
        self.assertEqual(status, 200, reply)
        self.assertIn("Paris", reply["choices"][0]["message"]["content"])
        status, reply = self.ask("POST", "/v1/chat/completions", chat("Is water wet?", user="b", grammar=YES_OR_NO, logprobs=True))
        self.assertEqual(status, 200, reply)
        self.assertIn(json.loads(reply["choices"][0]["message"]["content"])["decision"], ("yes", "no"))
        for token in reply["choices"][0]["logprobs"]["content"]:
            self.assertLessEqual(token["logprob"], 1e-9)
            self.assertIn(token["token"], [other["token"] for other in token["top_logprobs"]])
        status, reply = self.ask("POST", "/v1/chat/completions", chat("word " * 2000, user="a"))
        self.assertEqual(status, 400)
        self.assertIn("a context of", reply["error"]["message"])
        status, _ = self.ask("POST", "/v1/chat/completions", chat("Tell a long story.", user="a", timeout=0.01, max_tokens=400))
        self.assertEqual(status, 504)
        summary = json.loads(self.end(agent))
        self.assertEqual(summary["answered"], 2)
        self.assertGreater(summary["busy_seconds"], 0)

    def test_clients_at_once_are_all_answered(self):
        agent, _ = self.start_agent("--socket", self.socket, "--threads", 1, "--context", 512)
        answers = []

        def client(job):
            answers.append(self.ask("POST", "/v1/chat/completions", chat("Say hi.", user=job, max_tokens=2))[0])

        clients = [threading.Thread(target=client, args=(f"job-{i % 3}",)) for i in range(9)]
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()
        self.assertEqual(answers, [200] * 9)
        self.end(agent)


if __name__ == "__main__":
    unittest.main()
