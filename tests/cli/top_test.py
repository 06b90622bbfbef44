#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Watching a service at its socket: rudder top."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
import unittest

from program import RUDDER, clean_environment, free_ports, run, run_json, start
from served_hosts import EACH, HOSTS, ServedHosts
from virtual_hosts import OneMachine

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


class Stranger:
    """Somebody who listens at a socket, and answers whoever connects with `answer`, or never. A context manager."""

    def __init__(self, path, answer=None):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.answer, self.clients = answer, []
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            client, _ = self.listener.accept()
        except OSError:
            return  # nobody came
        self.clients.append(client)
        if self.answer is not None:
            client.sendall(self.answer)
            client.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        for one in (self.listener, *self.clients):
            one.close()


def frame(kind, body):
    return struct.pack("<IIQ", kind, 0, len(body)) + body


class WhatIsNoService(ServedHosts):
    def refusal(self, path, *words, code=1):
        out, err = run("top", path, *words, code=code)
        self.assertEqual((out, len(err.splitlines())), ("", 1), err)
        self.assertIn(str(path), err)
        return err

    def test_each_is_one_clear_error(self):
        self.assertIn("No such file", self.refusal(self.work / "nowhere.sock"))
        plain = self.work / "plain"
        plain.write_text("a file")
        self.assertIn("is no socket", self.refusal(plain, code=2))
        dead = self.work / "dead.sock"
        with Stranger(dead):
            pass
        self.assertIn("nobody listens", self.refusal(dead))

    def test_strangers_are_told_from_services(self):
        page = b"a 1\n"
        cases = {"hangs up": b"", "a frame of type 7": frame(7, b"x"), "a frame of type 759714643": b"SSH-2.0-OpenSSH_9.2\r\n",
                 "malformed figures frame": frame(11, b"short"), "line 1 of figures is malformed": frame(11, struct.pack("<Q", 1) + b"1\n"),
                 "at most": frame(11, b"")[:8] + struct.pack("<Q", 1 << 60),
                 "stands still": frame(11, struct.pack("<Q", 5) + page) + frame(11, struct.pack("<Q", 5) + page),
                 "has ended": frame(11, struct.pack("<Q", 5) + page)}
        for number, (message, answer) in enumerate(cases.items()):
            path = self.work / f"stranger{number}.sock"
            with self.subTest(message=message), Stranger(path, answer):
                self.assertIn(message, self.refusal(path, "--interval", 0.1))

    def test_silence_ends_with_the_deadline(self):
        path = self.work / "silent.sock"
        with Stranger(path):
            self.assertIn("does not answer", self.refusal(path, "--deadline", 0.2))


class RunningServices(ServedHosts):
    """Services that have no trainers yet."""

    def setUp(self):
        for path in self.sockets():
            path.unlink(missing_ok=True)  # of the test before, whose services were killed
        self.services = self.start_them()
        self.addCleanup(self.kill, self.services)
        for service, path in zip(self.services, self.sockets()):
            while not path.exists():
                self.assertIsNone(service.poll(), "the service has ended")
                time.sleep(0.01)

    @staticmethod
    def kill(processes):
        for process in processes:
            process.kill()
            process.communicate()


class Top(RunningServices):
    """Two hosts."""

    def start_them(self):
        self.ports = free_ports(2)
        self.network = OneMachine()
        return self.start_services(self.network, self.ports[0], ["--buffer", 0.25, "--deadline", 60])

    def train(self, *words):
        trainers = self.start_trainers(self.network, self.ports[1], ["--no-evaluation", "--deadline", 60, *words])
        self.addCleanup(self.kill, trainers)
        return trainers

    def top_json(self, host, interval=0.1):
        return run_json("top", self.sockets()[host], "--interval", interval)

    def wait_for(self, host, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            seen = self.top_json(host)
            if condition(seen):
                return seen
        raise AssertionError(f"not within {seconds} s: {seen}")

    def test_totals_are_those_of_the_result(self):
        self.end(self.train())
        for host in range(HOSTS):
            self.wait_for(host, lambda view: view["runs"] == 1)
        seen = [self.top_json(host) for host in range(HOSTS)]
        for service in self.services:
            service.send_signal(signal.SIGTERM)
        for host, (out, _) in enumerate(self.end(self.services)):
            served, view = json.loads(out)["runs"][0], seen[host]
            self.assertEqual((view["host"], view["policy"]), (host, "lookahead"))
            for field in ("requests", "hits", "fetched", "bypassed", "payload_bytes", "wire_bytes", "messages"):
                self.assertEqual(view[field]["total"], served[field], field)
            self.assertEqual(view["hit_share"], served["hits"] / served["requests"])
            self.assertEqual([trainer["trainer"] for trainer in view["trainers"]], [EACH * host, EACH * host + 1])
            for trainer in view["trainers"]:
                self.assertEqual((trainer["batches"]["total"], trainer["attached"], trainer["waiting"]), (served["steps"], False, False))
            self.assertEqual([peer["peer"] for peer in view["peers"]], [1 - host])
            self.assertEqual(view["peers"][0]["rows"]["total"], served["fetched"])
            self.assertEqual(2 * view["peers"][0]["requests"]["total"], served["messages"])

    def test_rates_are_those_of_the_interval(self):
        trainers = self.train("--epochs", 100000)
        view = self.wait_for(0, lambda view: view["requests"]["per_second"] > 0 and view["fetched"]["per_second"] > 0)
        self.assertGreaterEqual(view["seconds"], 0.1)
        self.assertTrue(0 <= view["hit_share"] <= 1)
        self.assertTrue(0 < view["occupied"] <= view["slots"])
        for trainer in view["trainers"]:
            self.assertTrue(trainer["attached"])
            self.assertTrue(0 <= trainer["wait_share"] <= 1.01, trainer)
        busy = self.wait_for(0, lambda view: view["peers"][0]["latency_p95"] is not None)["peers"][0]
        self.assertTrue(0 < busy["latency_p50"] <= busy["latency_p95"] <= 10, busy)
        self.kill(trainers)

    def test_a_trainer_that_is_starved_is_seen_to_wait(self):
        trainers = self.train("--epochs", 100000)
        self.wait_for(0, lambda view: view["requests"]["per_second"] > 0)
        try:
            self.assertTrue(any(self.starved() for _ in range(20)), "host 0 always had its rows, and waited for host 1's gradients")
        finally:
            self.services[1].send_signal(signal.SIGCONT)
            self.kill(trainers)

    def starved(self):
        """Whether both trainers of host 0 wait for rows when the other host answers no more; else it goes on."""
        self.services[1].send_signal(signal.SIGSTOP)
        end = time.monotonic() + 2  # far below the deadline
        while time.monotonic() < end:
            view = self.top_json(0)
            if (all(trainer["waiting"] and trainer["wait_share"] > 0.9 for trainer in view["trainers"])
                    and view["requests"]["per_second"] == 0):
                return True
        self.services[1].send_signal(signal.SIGCONT)
        self.wait_for(0, lambda view: view["requests"]["per_second"] > 0)
        return False

    def test_elsewhere_than_on_a_terminal_it_prints_lines(self):
        top = start("top", self.sockets()[0], "--interval", 0.1)
        lines = [top.stdout.readline() for _ in range(3)]
        top.send_signal(signal.SIGINT)
        rest, err = top.communicate(timeout=30)
        self.assertEqual((top.returncode, err), (0, ""))
        for line in lines + rest.splitlines(keepends=True):
            self.assertRegex(line, r"^host 0: 0 rows/s, - hit, .* 0 of 2 trainers attached, 0 waiting\n$")
        out, _ = run("top", self.sockets()[0], "--once", "--interval", 0.1)
        self.assertRegex(out, r"(?m)^trainer +state +batches/s")
        self.assertRegex(out, r"(?m)^1 +absent ")
        self.assertRegex(out, r"(?m)^peer +requests/s")

    def test_a_service_that_goes_is_one_clear_error(self):
        top = start("top", self.sockets()[0], "--interval", 0.1)
        top.stdout.readline()
        self.services[0].kill()
        _, err = top.communicate(timeout=30)
        self.assertEqual(top.returncode, 1)
        self.assertEqual(err, f"rudder: the service at {self.sockets()[0]} has ended\n")

    def test_nobody_who_watches_holds_anything_up(self):
        frozen = [start("top", self.sockets()[0], "--interval", 0.1) for _ in range(5)]
        for top in frozen:
            top.stdout.readline()
            top.send_signal(signal.SIGSTOP)
        self.addCleanup(self.kill, frozen)
        silent = []
        for number in range(100):  # more than the service hears at a time
            silent.append(socket.socket(socket.AF_UNIX))
            silent[-1].connect(str(self.sockets()[0]))
            silent[-1].setblocking(False)
            if number % 2:
                silent[-1].send(b"\x0a\x00\x00")  # begins to ask for figures
        flood = socket.socket(socket.AF_UNIX)  # asks and asks, and reads nothing
        flood.connect(str(self.sockets()[0]))
        flood.setblocking(False)
        try:
            while True:
                flood.send(frame(10, b""))
        except OSError:
            pass
        self.end(self.train())
        self.assertEqual(self.wait_for(0, lambda view: view["runs"] == 1)["runs"], 1)
        for one in (*silent, flood):
            one.close()


class OnATerminal(RunningServices):
    """One host, which has all parts."""
    COLUMNS, LINES = 50, 7

    def start_them(self):
        return [start("serve", self.parts, "--socket", self.sockets()[0])]

    def open(self, *words):
        self.main, terminal = pty.openpty()
        self.addCleanup(os.close, self.main)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", self.LINES, self.COLUMNS, 0, 0))
        self.modes = termios.tcgetattr(terminal)
        self.terminal = terminal
        self.addCleanup(os.close, terminal)
        # A session of its own, whose terminal this is: keys come as they do from a person.
        self.top = subprocess.Popen([RUDDER, "top", *map(str, words)], stdin=terminal, stdout=terminal, stderr=terminal,
                                    env=clean_environment(TERM="xterm"), start_new_session=True,
                                    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.seen = b""

    def read_until(self, condition):
        while not condition(self.seen):
            ready, _, _ = select.select([self.main], [], [], 60)
            self.assertTrue(ready, self.seen)
            self.seen += os.read(self.main, 65536)

    def close(self, code=0):
        self.assertEqual(self.top.wait(timeout=30), code)
        self.read_until(lambda seen: seen.count(LEAVE) == seen.count(ENTER))
        self.assertEqual(termios.tcgetattr(self.terminal), self.modes)

    def screens(self):
        """The lines of each, without what erases."""
        return [re.split(rb"\r+\n", re.sub(rb"\x1b\[[KJ]", b"", screen)) for screen in self.seen.split(b"\x1b[H")[1:]]

    def test_it_draws_within_the_terminal_until_q(self):
        self.open(self.sockets()[0], "--interval", 0.1)
        self.read_until(lambda seen: seen.count(b"\x1b[H") >= 4)
        os.write(self.main, b"x")  # no key of its own
        self.read_until(lambda seen: seen.count(b"\x1b[H") >= 6)
        os.write(self.main, b"q")
        self.close()
        for lines in self.screens()[1:-1]:
            self.assertLessEqual(len(lines), self.LINES)
            self.assertLessEqual(max(map(len, lines)), self.COLUMNS)
            self.assertRegex(lines[0], rb"^host 0")

    def test_ctrl_c_ends_it(self):
        self.open(self.sockets()[0], "--interval", 3600)
        self.read_until(lambda seen: b"looking" in seen)
        os.write(self.main, b"\x03")
        self.close()

    def test_a_new_size_is_kept_to(self):
        self.open(self.sockets()[0], "--interval", 0.1)
        self.read_until(lambda seen: seen.count(b"\x1b[H") >= 3)
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", 3, 20, 0, 0))
        before = self.seen.count(b"\x1b[H")
        self.read_until(lambda seen: seen.count(b"\x1b[H") >= before + 4)
        os.write(self.main, b"q")
        self.close()
        lines = self.screens()[-2]
        self.assertEqual((len(lines), max(map(len, lines))), (3, 20))

    def test_stopped_and_continued_it_gives_the_terminal_back_and_takes_it_again(self):
        self.open(self.sockets()[0], "--interval", 0.1)
        self.read_until(lambda seen: seen.count(b"\x1b[H") >= 3)
        os.write(self.main, b"\x1a")
        os.waitid(os.P_PID, self.top.pid, os.WSTOPPED)
        self.read_until(lambda seen: LEAVE in seen)
        self.assertEqual(termios.tcgetattr(self.terminal), self.modes)
        self.top.send_signal(signal.SIGCONT)
        self.read_until(lambda seen: seen.count(ENTER) == 2)
        os.write(self.main, b"q")
        self.close()

    def test_a_service_that_goes_is_said_on_the_first_screen(self):
        self.open(self.sockets()[0], "--interval", 0.1)
        self.read_until(lambda seen: seen.count(b"\x1b[H") >= 3)
        self.services[0].kill()
        self.close(code=1)
        self.read_until(lambda seen: seen.rstrip().endswith(b"has ended"))
        self.assertGreater(self.seen.rindex(b"has ended"), self.seen.rindex(LEAVE))


if __name__ == "__main__":
    unittest.main()
