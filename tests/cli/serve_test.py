#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts whose trainers share a buffer: rudder serve and train --attach."""
import json
import signal
import time
import unittest

from program import free_ports, read_until, run, run_json, shared_memory
from served_hosts import EACH, HOSTS, OPTIONS, ServedHosts
from virtual_hosts import OneMachine, VirtualHosts, needs_namespaces


class Serve(ServedHosts):
    def run_hosts(self, serving, network=None, training=()):
        """The object of the training's rank 0, and those of the services."""
        ports = free_ports(2)
        services = self.start_services(network or OneMachine(), ports[0], ["--runs", 1, *serving])
        trainers = self.start_trainers(network or OneMachine(), ports[1], training)
        trained = json.loads(self.end(trainers)[0][0])
        return trained, [json.loads(out) for out, _ in self.end(services)]

    def check_against_embedded_and_replay(self, network, policies):
        trace = self.work / "trace"
        run("trace", "record", self.parts, "--out", trace, "--batch", 32, "--epochs", 3)
        buffer = 0.25
        embedded = run_json("launch", "-n", 4, "--", "train", self.parts, *OPTIONS, "--buffer", buffer)
        replays = {row["policy"]: row for row in run_json("trace", "replay", trace, "--buffer", buffer, "--trainers-per-host", EACH)["rows"]}
        for policy in policies:
            with self.subTest(policy=policy):
                trained, served = self.run_hosts(["--policy", policy, "--buffer", buffer], network)
                self.assertEqual((trained["loss_digest"], trained["test_accuracy"], trained["policy"]),
                                 (embedded["loss_digest"], embedded["test_accuracy"], policy))
                for name in ("requests", "hits", "fetched", "bypassed"):
                    self.assertEqual(sum(host["runs"][0][name] for host in served), replays[policy][name], name)
                    if name != "bypassed":
                        self.assertEqual(sum(epoch[name] for epoch in trained["epochs"]), replays[policy][name], name)
        self.assertLessEqual(replays["lookahead"]["ratio_to_min"], 1.02)

    def test_two_hosts_of_two_trainers_train_like_four_alone(self):
        before = shared_memory()
        self.check_against_embedded_and_replay(OneMachine(), ("none", "lookahead", "degree"))
        self.assertEqual(shared_memory(), before)
        self.assertEqual([path for path in self.work.iterdir() if "sock" in path.name], [])

    @needs_namespaces
    def test_two_hosts_of_two_trainers_in_namespaces(self):
        with VirtualHosts(HOSTS) as network:
            self.check_against_embedded_and_replay(network, ("lookahead", "score"))

    def test_structure_may_be_asked_of_its_owners(self):
        whole, _ = self.run_hosts(["--buffer", 0.25])
        asking, _ = self.run_hosts(["--buffer", 0.25], training=["--topology", "owner"])
        self.assertEqual(asking["loss_digest"], whole["loss_digest"])
        self.assertGreater(sum(epoch["sampling_messages"] for epoch in asking["epochs"]), 0)
        for epoch, other in zip(asking["epochs"], whole["epochs"]):
            self.assertEqual([epoch[name] for name in ("requests", "hits", "fetched")],
                             [other[name] for name in ("requests", "hits", "fetched")])

    def test_one_service_serves_run_after_run(self):
        ports = free_ports(3)
        services = self.start_services(OneMachine(), ports[0], ["--runs", 2])
        digests = [json.loads(self.end(self.start_trainers(OneMachine(), port, ["--seed", seed]))[0][0])["loss_digest"]
                   for seed, port in enumerate(ports[1:])]
        self.assertEqual(len(set(digests)), 2)
        for out, _ in self.end(services):
            self.assertEqual(len(json.loads(out)["runs"]), 2)

    def test_signals_end_a_service(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            services = self.start_services(OneMachine(), free_ports(1)[0], [])
            for service, socket in zip(services, self.sockets()):
                while not socket.exists():
                    self.assertIsNone(service.poll(), "the service has ended")
                service.send_signal(number)
            for out, _ in self.end(services):
                self.assertEqual(json.loads(out)["runs"], [])
            self.assertEqual([path for path in self.work.iterdir() if "sock" in path.name], [])

    def test_a_killed_service_ends_its_trainers_and_its_socket_is_taken_over(self):
        ports = free_ports(4)
        services = self.start_services(OneMachine(), ports[0], ["--runs", 1])
        trainers = self.start_trainers(OneMachine(), ports[1], ["--epochs", 10000])
        services[0].stderr.readline()  # "rank r attached": its trainers are on their way
        services[0].kill()
        for _, err in self.end(trainers, code=1):
            self.assertRegex(err, r"service at .*host0\.sock|host0|rank [0123]", "names who has gone")
        self.assertRegex(self.end(services[1:], code=1)[0][1], r"rank 0 \(host host0\)|rank 0")
        services[0].communicate()
        self.assertTrue(self.sockets()[0].exists(), "a killed process cannot remove it")
        services = self.start_services(OneMachine(), ports[2], ["--runs", 1])
        self.end(self.start_trainers(OneMachine(), ports[3], []))
        self.end(services)

    def test_a_service_that_stands_still_is_named_by_its_trainers(self):
        ports = free_ports(2)
        services = self.start_services(OneMachine(), ports[0], ["--runs", 1, "--deadline", 4])
        trainers = self.start_trainers(OneMachine(), ports[1], ["--epochs", 10000, "--deadline", 4])
        for _ in range(EACH):
            services[1].stderr.readline()
        read_until(trainers[0], "epoch 0")
        services[1].send_signal(signal.SIGSTOP)
        began = time.monotonic()
        try:
            ends = self.end(trainers, code=1)
            self.assertLess(time.monotonic() - began, 15)
            # Whose deadline passes first depends on what was asked last; the others follow.
            ended = self.end(services[:1], code=1)
            self.assertTrue(any("host1.sock: no answer within 2.0 s" in err or "(host host1)" in err for _, err in ends + ended), ends)
        finally:
            services[1].kill()
            services[1].communicate()

    def test_a_killed_trainer_ends_the_run_and_not_the_service(self):
        ports = free_ports(3)
        services = self.start_services(OneMachine(), ports[0], ["--runs", 2])
        trainers = self.start_trainers(OneMachine(), ports[1], ["--epochs", 10000])
        for _ in range(EACH):
            services[0].stderr.readline()
        trainers[0].kill()
        trainers[0].communicate()
        for _, err in self.end(trainers[1:], code=1):
            self.assertIn("rank 0 (host host0)", err)
        self.end(self.start_trainers(OneMachine(), ports[2], []))
        for out, _ in self.end(services):
            self.assertEqual(len(json.loads(out)["runs"]), 2)

    def test_what_does_not_fit_is_said(self):
        _, err = run("serve", self.parts, code=2)
        self.assertIn("--socket", err)
        _, err = run("train", self.parts, "--attach", "", code=2)
        self.assertIn("--attach needs the path", err)
        _, err = run("train", self.parts, "--attach", "/x.sock", "--policy", "lru", code=2)
        self.assertIn("--policy is the service's", err)
        _, err = run("serve", self.parts, "--socket", "/" + "x" * 200, code=2)
        self.assertIn("1 to 107 characters", err)
        _, err = run("serve", self.parts, "--socket", self.work / "s", code=2, environment={
            "RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"})
        self.assertIn("4 parts, which 3 hosts cannot share evenly", err)


if __name__ == "__main__":
    unittest.main()
