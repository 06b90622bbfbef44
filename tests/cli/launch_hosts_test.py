#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rudder launch over several hosts."""
import functools
import json
import os
import re
import signal
import subprocess
import time
import unittest

from program import RUDDER, SECRET, read_until, run, run_json, wait_for_file
from ssh_stand_in import ENDING, TwoHosts, is_alive
from virtual_hosts import VirtualHosts, needs_namespaces


class OverHosts(TwoHosts):
    @classmethod
    @functools.cache
    def here(cls):
        """The result of the short training on one machine."""
        return run_json("launch", "-n", 4, "--", "train", cls.parts, *cls.SHORT)

    def test_ranks_on_two_hosts_train_like_four_on_one(self):
        here = self.here()
        out, err = run("launch", *self.options(), "--", "train", self.parts, *self.SHORT, "--json")
        self.assertEqual(len(out.splitlines()), 1)
        there = json.loads(out)
        self.assertEqual((there["loss_digest"], there["test_accuracy"]), (here["loss_digest"], here["test_accuracy"]))
        self.assertIn("[rank 0 on alpha] epoch 1", err)

    def test_each_rank_is_told_who_it_is(self):
        script = "echo $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $RUDDER_HOST $UCX_TLS $COLOUR ${DEPTH:-unset} $RUDDER_LOOK_AHEAD"
        out, err = run("launch", "-n", 3, *self.options(), "--export", "COLOUR", "--", "sh", "-c", script, environment={
            "UCX_TLS": "tcp", "COLOUR": "dark blue", "DEPTH": "7", "RUDDER_LOOK_AHEAD": "5"})
        lines = out.splitlines() + [line.split("] ", 1)[1] for line in sorted(err.splitlines())]
        self.assertEqual(lines, ["0 0 3 127.0.0.1 alpha tcp dark blue unset 5", "1 1 3 127.0.0.1 alpha tcp dark blue unset 5",
                                 "2 0 3 127.0.0.1 beta tcp dark blue unset 5"])

    def test_the_secret_is_new_common_and_on_no_command_line(self):
        script = "echo secret $RUDDER_SECRET; ps -eo args >&2"
        seen = set()
        for _ in range(2):
            out, err = run("launch", *self.options(), "--", "sh", "-c", script)
            secret = out.split()[1]
            self.assertRegex(secret, "^[0-9a-f]{64}$")
            self.assertEqual(len(re.findall(f"secret {secret}", err)), 3)  # the other ranks have the same
            self.assertEqual(err.count(secret), 3)  # and no process shows it
            self.assertIn(" warden", err)
            seen.add(secret)
        self.assertEqual(len({SECRET, *seen}), 3)

    def test_ranks_may_write_whatever_they_like(self):
        script = r"printf 'a\033[1m\377 b\rc \n\nunfinished'; head -c 3000000 /dev/zero | tr '\0' x"
        process = subprocess.run([RUDDER, "launch", "-n", "1", *map(str, self.options()), "--", "sh", "-c", script],
                                 capture_output=True, timeout=ENDING, check=False)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(process.stdout, b"a\033[1m\xff b\rc \n\nunfinished" + b"x" * 3000000 + b"\n")

    def test_what_a_login_shell_prints_is_passed_over(self):
        chatty = self.script("chatty", 'printf "Welcome to $1"; exec %s "$@"' % self.ssh)
        out, err = run("launch", "-n", 1, *self.options(ssh=chatty), "--", "echo", "done")
        self.assertEqual(out, "done\n")
        self.assertIn("[host alpha] Welcome to alpha", err)

    def test_a_killed_rank_is_named_with_its_host(self):
        launch = self.start_long()
        victim = self.ranks(launch, "beta")[1]
        os.kill(victim, signal.SIGKILL)
        _, err = self.end(launch, 137)
        self.assertIn("rudder: rank 3 on host beta was killed by signal 9 (Killed); the other ranks were stopped", err)

    def test_exit_codes_are_kept(self):
        _, err = run("launch", *self.options(), "--", "sh", "-c", "[ $RANK != 2 ] || exit 9; sleep 100", code=9)
        self.assertIn("rudder: rank 2 on host beta exited with code 9; the other ranks were stopped", err)
        _, err = run("launch", *self.options(), "--", "train", self.parts, "--polcy", "lru", code=2)
        self.assertIn("--policy", err)
        _, err = run("launch", *self.options(), "--", "no-such-program", code=1)
        self.assertRegex(err, "rudder: host (alpha|beta): cannot run no-such-program: No such file or directory")

    def test_a_killed_warden_is_a_lost_host(self):
        launch = self.start_long()
        os.kill(self.warden("beta"), signal.SIGKILL)
        _, err = self.end(launch, 1)
        self.assertRegex(err, r"rudder: host beta was lost: \S*ssh exited with code 137.*; the other ranks were stopped")

    def test_a_lost_connection_is_a_lost_host_and_its_ranks_end(self):
        launch = self.start_long()
        os.kill(self.connection("alpha"), signal.SIGKILL)
        _, err = self.end(launch, 1)
        self.assertRegex(err, r"rudder: host alpha was lost: \S*ssh was killed by signal 9 \(Killed\); the other ranks were stopped")

    def test_a_silent_host_is_lost_after_the_deadline(self):
        launch = self.start_long("--deadline", 6, "--grace", 1)
        warden = self.warden("beta")
        os.kill(warden, signal.SIGSTOP)
        stopped = time.monotonic()
        _, err = self.end(launch, 1)
        self.assertGreater(time.monotonic() - stopped, 3)  # it had been heard of a quarter of the deadline before at most
        self.assertIn("rudder: host beta was lost: nothing was heard of it for 6.0 s", err)
        os.kill(warden, signal.SIGCONT)  # it finds its launcher gone

    def test_nothing_outlives_a_killed_launcher(self):
        for sent in (signal.SIGKILL, signal.SIGSTOP):
            with self.subTest(sent=sent):
                launch = self.start_long(*(["--deadline", 6] if sent == signal.SIGSTOP else []))
                ranks = self.ranks(launch)
                self.assertEqual(len(ranks), 4)
                launch.send_signal(sent)  # stopped, it says nothing any more
                end = time.monotonic() + ENDING
                while any(map(is_alive, ranks)):
                    self.assertLess(time.monotonic(), end, "ranks outlive their launcher")
                    time.sleep(0.01)
                launch.kill()
                launch.communicate()

    def test_signals_are_passed_on(self):
        for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            name = signal.Signals(sent).name[3:]
            script = f"trap 'echo got {name}; exit 3' {name}; echo ready >&2; while :; do sleep 0.05; done"
            launch = self.launch(*self.options(), "--", "sh", "-c", script)
            for _ in range(4):
                read_until(launch, "ready")
            self.note(launch)
            launch.send_signal(sent)
            out, err = self.end(launch, 128 + sent)
            self.assertEqual((out + err).count(f"got {name}"), 4)
            self.assertIn(f"rudder: stopped by signal {sent:d}", err)

    def test_a_signal_ends_a_run_with_a_checkpoint(self):
        kept = self.work / "stopped"
        words = ["train", self.parts, *self.TRAINING, "--checkpoint", kept, "--checkpoint-steps", 3]
        launch = self.launch(*self.options(), "--", *words)
        wait_for_file(self.work, "stopped/*.rck")
        launch.send_signal(signal.SIGTERM)
        _, err = self.end(launch, 0)
        self.assertRegex(err, r"stopped after \d+ steps")

    def test_a_host_that_cannot_be_reached_is_one_error(self):
        broken = self.script("broken", f'[ $1 = alpha ] && exec {self.ssh} "$@"; echo "no route to $1" >&2; exit 255')
        _, err = run("launch", *self.options(ssh=broken), "--", "train", self.parts, code=1)
        errors = [line for line in err.splitlines() if line.startswith("rudder: ")]
        self.assertEqual(errors, [f"rudder: host beta cannot be reached: {broken} exited with code 255 (no route to beta)"])
        _, err = run("launch", *self.options(ssh=self.script("hanging", "exec sleep 100")), "--deadline", 1, "--", "true", code=1)
        self.assertRegex(err, "^rudder: host (alpha|beta) cannot be reached: no answer within 1.0 s\n$")
        babbling = self.script("babbling", "while echo motd; do sleep 0.2; done")
        _, err = run("launch", *self.options(ssh=babbling), "--deadline", 2, "--", "true", code=1)
        self.assertRegex(err, "rudder: host (alpha|beta) cannot be reached: no answer within 2.0 s")
        _, err = run("launch", *self.options(ssh="/no/such/ssh"), "--", "train", self.parts, code=1)
        self.assertIn("cannot run /no/such/ssh: No such file or directory", err)
        _, err = run("launch", *self.options(), "--remote-program", "/no/rudder", "--", "train", self.parts, code=1)
        self.assertRegex(err, "rudder: host (alpha|beta) cannot be reached: .*ssh exited with code 127 .*/no/rudder.*not found")

    def test_the_first_host_must_be_reachable_for_the_others(self):
        _, err = run("launch", *self.options(self.hosts_file("localhost\nbeta\n")), "--", "train", self.parts, code=2)
        self.assertRegex(err, r"host beta takes 'localhost' for itself \((127.0.0.1|::1)\); give localhost an address=")
        _, err = run("launch", *self.options(self.hosts_file("no.such.invalid\nbeta\n")), "--", "train", self.parts, code=2)
        self.assertIn("host beta cannot resolve 'no.such.invalid'", err)

    def test_wrong_usage_is_one_error(self):
        for text, wrong in (("alpha slots=x\n", "line 1: slots 'x' is not a number from 1 to 4096"), ("\n# nothing\n", "no host in it"),
                            ("a\nb\na\n", "line 3: host a was in line 1 already"), ("-oProxyCommand=id\n", "is not a host's name")):
            _, err = run("launch", *self.options(self.hosts_file(text)), "--", "true", code=2)
            self.assertIn(wrong, err)
            self.assertEqual(len(err.splitlines()), 1)
        for words, wrong in ((["--hosts", "/no/file"], "/no/file"), (["-n", 5, "--hosts", self.two], "4 slots for 5 ranks"),
                             ([], "launch needs -n N or --hosts FILE"), (["-n", 2, "--ssh", "ssh"], "--ssh needs --hosts FILE"),
                             (["--hosts", self.two, "--ssh", " "], "--ssh names no command"),
                             (["--hosts", self.two, "--export", "NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE, which is not set"),
                             (["-n", 2, "--restarts", 2], "--restarts needs --on-failure shrink")):
            process = self.launch(*words, "--", "true")
            _, err = process.communicate(timeout=ENDING)
            self.assertNotEqual(process.returncode, 0, words)
            self.assertIn(wrong, err)

    def test_a_warden_is_not_for_people(self):
        for said in ("", "nonsense\n", 'hello {"directory":1}\n', 'hello {"directory":"/","master":"x","silence":9}\nstart {}\n'):
            done = subprocess.run([RUDDER, "warden"], input=said, capture_output=True, text=True, timeout=ENDING, check=False)
            self.assertEqual(done.returncode, 1, said)
            self.assertIn("the launcher", done.stdout + done.stderr)

    @needs_namespaces
    def test_hosts_with_networks_of_their_own_train_like_one_machine(self):
        with VirtualHosts(2) as network:
            names = [network.address(host) for host in range(2)]
            cases = "; ".join(f"{name}) space={network.space(host)}" + ";" for host, name in enumerate(names))
            ssh = self.script("netns-ssh", f"""
                case $1 in {cases} esac; shift
                exec env -i PATH="$PATH" HOME="$HOME" ip netns exec $space sh -c "$*" """)
            hosts = self.hosts_file("".join(f"{name} slots=2\n" for name in names))
            words = [*self.options(hosts, ssh), "--", "train", self.parts]
            there = run_json("launch", *words, *self.SHORT, environment=network.interfaces())
            self.assertEqual(there["loss_digest"], self.here()["loss_digest"])
            # A link that stays cut: the ranks name each other, and the launcher the first of them.
            launch = self.launch(*words, *self.LONG, "--deadline", 5, environment=network.interfaces())
            read_until(launch, "epoch 1:")
            self.note(launch)
            network.cut(1)
            _, err = self.end(launch, 1)
            self.assertRegex(err, rf"rudder: rank [0123] on host ({names[0]}|{names[1]}) exited with code 1; the other ranks")
            self.assertRegex(err, rf"rank [23] \(host {names[1]}\)|rank [01] \(host {names[0]}\)")


if __name__ == "__main__":
    unittest.main()
