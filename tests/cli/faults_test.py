#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole runs that are disturbed: killed ranks, signals, ports, damaged parts."""
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import threading
import time
import unittest

from program import (RUDDER, SECRET, SMALL, Base, clean_environment, free_ports, read_until, run, run_json, shared_memory, start,
                     wait_for_file)


class Faults(Base):
    LONG = ["--epochs", 2000, "--batch", 64, "--no-evaluation"]

    def ranks(self, world, port, words, per_rank=None):
        processes = []
        for rank in range(world):
            environment = {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                           "GLOO_SOCKET_IFNAME": "lo"}
            mine = per_rank[rank] if per_rank else []
            processes.append(start("train", *(mine or [self.parts]), *words, "--host", f"machine{rank}", environment=environment))
        return processes

    def test_a_killed_trainer_is_named_by_all_others(self):
        before = shared_memory()
        for victim in random.sample(range(4), 2):
            processes = self.ranks(4, free_ports(1)[0], self.LONG)
            self.assertIn("epoch 0", processes[0].stderr.readline())  # from here on all ranks know each other
            time.sleep(random.uniform(0, 3))
            self.assertTrue(all(process.poll() is None for process in processes), "a rank ended early")
            processes[victim].kill()
            killed = time.monotonic()
            for rank, process in enumerate(processes):
                _, err = process.communicate(timeout=40)
                if rank != victim:
                    self.assertLess(time.monotonic() - killed, 15)
                    self.assertNotIn(process.returncode, (0, -signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV), err)
                    self.assertIn(f"rank {victim}", err)
                    self.assertIn(f"machine{victim}", err)
        self.assertEqual(shared_memory() - before, set())

    def test_launch_stops_all_and_names_the_failed_rank(self):
        launch = start("launch", "-n", 4, "--", "train", self.parts, *self.LONG)
        time.sleep(3)
        children = subprocess.run(["pgrep", "-P", str(launch.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
        self.assertEqual(len(children), 4)
        os.kill(int(children[1]), signal.SIGKILL)
        _, err = launch.communicate(timeout=30)
        self.assertEqual(launch.returncode, 137)
        self.assertIn("rank 1 was killed by signal 9", err)
        for child in children:
            self.assertFalse(pathlib.Path(f"/proc/{child}").exists())

    def test_two_runs_at_once_do_not_disturb_each_other(self):
        words = ["launch", "-n", 2, "--", "train", self.work / "two", "--epochs", 2, "--json"]
        run("partition", self.graph, self.work / "two", "--parts", 2)
        outputs = [process.communicate(timeout=120) for process in [start(*words), start(*words)]]
        digests = {json.loads(out)["loss_digest"] for out, _ in outputs}
        self.assertEqual(len(digests), 1)

    def test_ranks_that_were_started_otherwise_are_named_with_the_option(self):
        usual = {"--batch": 64, "--epochs": 2000, "--hidden": 16, "--seed": 1}
        words = {name: [self.parts, *sum(({**usual, **odd}).items(), ())]
                 for name, odd in (("usual", {}), ("--batch 65", {"--batch": 65}), ("--hidden 32", {"--hidden": 32}), ("--seed 2", {"--seed": 2}),
                                   ("--epochs 1999", {"--epochs": 1999}), ("--accumulate 2", {"--accumulate": 2}),
                                   ("--patience 1", {"--patience": 1}))}
        for odd in list(words)[1:]:
            with self.subTest(odd=odd):
                began = time.monotonic()
                processes = self.ranks(4, free_ports(1)[0], ["--deadline", 20], [words["usual"]] * 3 + [words[odd]])
                for process in processes:
                    _, err = process.communicate(timeout=60)
                    self.assertEqual(process.returncode, 1, err)
                    self.assertIn(f"rank 3 has {odd} and rank 0 {odd.split()[0]} ", err)
                self.assertLess(time.monotonic() - began, 20)

    def test_a_port_in_use_is_one_clear_error(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            process = self.ranks(4, port, ["--deadline", 3])[0:4]
            _, err = process[0].communicate(timeout=30)
            self.assertEqual(process[0].returncode, 1, err)
            self.assertIn(str(port), err)
            for other in process[1:]:
                other.communicate(timeout=30)
                self.assertNotEqual(other.returncode, 0)

    def test_partitions_of_different_graphs_do_not_train_together(self):
        other_graph, other = self.work / "graph2", self.work / "parts2"
        run("graph", "generate", "planted", other_graph, *SMALL, "--seed", 9)
        run("partition", other_graph, other, "--parts", 4)
        processes = self.ranks(4, free_ports(1)[0], ["--deadline", 5], [[other], [self.parts], [self.parts], [self.parts]])
        for process in processes:
            _, err = process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0)
        self.assertIn("graph", err)

    def test_signals_leave_nothing_unfinished(self):
        slow = {"generate": ("graph", "generate", "rmat", "OUT", "--scale", 20, "--edge-factor", 16),
                "partition": ("partition", self.graph, "OUT", "--parts", 64),
                "record": ("trace", "record", self.parts, "--out", "OUT", "--epochs", 5000)}
        for name, words in slow.items():
            for sent in (signal.SIGINT, signal.SIGTERM):
                folder = self.work / f"{name}-{sent}"
                folder.mkdir()
                process = start(*(folder / "out" if word == "OUT" else word for word in words))
                if name == "generate":
                    wait_for_file(folder)
                elif name == "record":
                    wait_for_file(folder)
                else:
                    time.sleep(random.uniform(0.3, 0.6))
                process.send_signal(sent)
                _, err = process.communicate(timeout=30)
                if name == "partition" and process.returncode == 0:
                    continue  # it had ended before the signal
                if process.returncode != -sent:  # the default action, in the first moments of a process
                    self.assertEqual(process.returncode, 128 + sent, err)
                    self.assertIn(f"stopped by signal {sent:d}", err)
                self.assertEqual(list(folder.iterdir()), [])

    def test_a_signal_ends_a_rank_whose_others_never_come(self):
        for sent in (signal.SIGINT, signal.SIGTERM):
            waiting = start("train", self.parts, "--metrics", 0, "--checkpoint", self.work / "never", environment={
                "RANK": "0", "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_ports(1)[0])})
            read_until(waiting, "metrics at")
            time.sleep(random.uniform(0, 1))
            waiting.send_signal(sent)
            _, err = waiting.communicate(timeout=20)  # far below the deadline for the others
            self.assertEqual(waiting.returncode, 128 + sent, err)
            self.assertIn(f"rudder: stopped by signal {sent:d}", err)

    def test_interrupted_and_killed_runs_resume_bit_for_bit(self):
        words = ["train", self.parts, "--epochs", 40, "--batch", 16, "--hidden", 32]
        whole = run_json("launch", "-n", 4, "--", *words)["loss_digest"]
        kept = [*words, "--checkpoint", self.work / "kept", "--checkpoint-steps", 7, "--resume"]
        for sent in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
            process = start("launch", "-n", 4, "--", *kept)
            wait_for_file(self.work, "kept/*.rck")
            time.sleep(random.uniform(0.5, 2))
            process.send_signal(sent)  # the launcher's death takes the ranks with it
            _, err = process.communicate(timeout=60)
            self.assertIn(process.returncode, (0, -signal.SIGKILL, 128 + sent), err)  # the last: before training began
        self.assertEqual(run_json("launch", "-n", 4, "--", *kept)["loss_digest"], whole)

    def test_too_few_descriptors_are_one_clear_error(self):
        words = f"ulimit -n 24; exec {RUDDER} train {self.parts} --transport loopback --epochs 1"
        done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60, env=clean_environment(), check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("ulimit -n", done.stderr)

    def test_a_stranger_at_the_masters_port_is_one_clear_error(self):
        for silent_first in (False, True):
            self.meet_stranger(silent_first)

    def meet_stranger(self, silent_first):
        with socket.create_server(("127.0.0.1", 0)) as server:
            def answer():
                while True:
                    try:
                        connection = server.accept()[0]
                    except OSError:
                        return
                    if silent_first:
                        connection.recv(1)
                    connection.sendall(b"HTTP/1.0 400 Bad request\r\n\r\n" * 100)
            threading.Thread(target=answer, daemon=True).start()
            port = server.getsockname()[1]
            began = time.monotonic()
            _, err = run("train", self.parts, "--epochs", 1, code=1, timeout=60, environment={
                "RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
            self.assertIn(f"127.0.0.1:{port}", err)
            self.assertLess(time.monotonic() - began, 15)
            server.shutdown(socket.SHUT_RDWR)

    def test_one_rank_with_another_secret_is_one_clear_error(self):
        before = shared_memory()
        other = "if [ $RANK = 2 ]; then export RUDDER_SECRET=$(printf '%064d' 7); fi; exec \"$@\""
        _, err = run("launch", "-n", 4, "--", "sh", "-c", other, "sh", RUDDER, "train", self.parts, code=1, timeout=60)
        self.assertRegex(err, r"'join/\d' in the rendezvous is not signed with the secret that rank \d has")
        self.assertIn("the other ranks were stopped", err)
        self.assertNotIn("0000007", err)
        self.assertEqual(shared_memory() - before, set())

    def test_a_launch_makes_a_new_secret_and_keeps_it_out_of_sight(self):
        script = "echo $RUDDER_SECRET; tr '\\0' ' ' < /proc/$PPID/cmdline; echo"
        outputs = [run("launch", "-n", 2, "--", "sh", "-c", script) for _ in range(2)]
        secrets = [out.splitlines()[0] for out, _ in outputs]
        self.assertEqual(len({SECRET, *secrets}), 3)
        for secret, (out, err) in zip(secrets, outputs):
            self.assertRegex(secret, "^[0-9a-f]{64}$")
            self.assertIn(secret, err)  # rank 1 has the same one
            self.assertIn("launch -n 2", out.splitlines()[1])
            self.assertNotIn(secret, out.splitlines()[1])

    def test_ranks_without_a_launcher_share_the_users_secret(self):
        home = self.work / "home"
        home.mkdir()
        port = str(free_ports(1)[0])

        def start_rank(rank):
            environment = {**clean_environment(), "HOME": str(home), "RANK": str(rank), "WORLD_SIZE": "4",
                           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo"}
            del environment["RUDDER_SECRET"]
            return subprocess.Popen([RUDDER, "train", str(self.parts), "--epochs", "1", "--no-evaluation"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)

        for process in [start_rank(rank) for rank in range(4)]:
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, err)
        self.assertEqual([file.name for file in (home / ".rudder").iterdir()], ["secret"])
        (home / ".rudder" / "secret").chmod(0o644)
        process = start_rank(0)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1)
        self.assertIn("others may read or write it (mode 0644)", err)

    def test_a_missing_part_is_one_clear_error(self):
        broken = self.work / "broken"
        run("partition", self.graph, broken, "--parts", 4)
        (broken / "part2" / "features.npy").unlink()
        _, err = run("launch", "-n", 4, "--", "train", broken, code=1)
        self.assertIn("part2/features.npy", err)


if __name__ == "__main__":
    unittest.main()
