#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random faults in a loop: two hosts with a service and two trainers each, in network namespaces.

Each round trains with checkpoints until a random moment at which a trainer or a service is killed, or stopped for a while, or a
link is cut, shortly or for good; then it goes on from the checkpoint, undisturbed. Always the loss digest must be that of a run
without faults, and of undisturbed runs all counts those of a replay. The services live on through the rounds that do not kill
them: their memory, descriptors and threads must not grow. In the end nothing may be left of namespaces, links, processes,
shared memory or sockets.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import program  # noqa: E402  (from the folder named above)
from virtual_hosts import VirtualHosts, can_make_namespaces  # noqa: E402

HOSTS, EACH = 2, 2
WORLD = HOSTS * EACH
DEADLINE = 4.0
TRAINING = ["--epochs", 4, "--batch", 32, "--hidden", 32, "--deadline", DEADLINE]
FAULTS = ("none", "kill trainer", "kill service", "stop trainer", "stop service", "cut shortly", "cut for good")
ENDING = 60  # s that processes may take to end after a fault, far above the deadline


class Leak(Exception):
    pass


def resources(pid):
    """Descriptors, threads and resident KiB of a process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    value = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if len(line.split()) > 1}
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir())), int(value["Threads"]), int(value["VmRSS"])


class Soak:
    def __init__(self, work, network, seed):
        self.work, self.network, self.random = work, network, random.Random(seed)
        self.parts, self.trace, self.checkpoints = work / "parts", work / "trace", work / "checkpoints"
        self.services, self.logs = [], []
        self.samples = []  # resources of the services after rounds, since they were started
        self.counts = {fault: 0 for fault in FAULTS}
        program.run("graph", "generate", "planted", work / "graph", *program.SMALL)
        program.run("partition", work / "graph", self.parts, "--parts", WORLD)
        program.run("trace", "record", self.parts, "--out", self.trace, "--batch", 32, "--epochs", 4)
        rows = program.run_json("trace", "replay", self.trace, "--policies", "lookahead", "--buffer", 0.25,
                                "--trainers-per-host", EACH)["rows"]
        self.expected = {name: rows[0][name] for name in ("requests", "hits", "fetched")}
        alone = program.run_json("launch", "-n", WORLD, "--", "train", self.parts, *TRAINING)
        self.digest = alone["loss_digest"]

    def sockets(self):
        return [self.work / f"host{host}.sock" for host in range(HOSTS)]

    def start_services(self):
        port = program.free_ports(1)[0]
        self.services = []
        for host, socket in enumerate(self.sockets()):
            log = open(self.work / f"service{host}.log", "w")
            self.logs.append(log)
            environment = {**self.network.environment(host), "RANK": str(host), "WORLD_SIZE": str(HOSTS), "MASTER_PORT": str(port)}
            self.services.append(subprocess.Popen(
                [*self.network.prefix(host), program.RUDDER, "serve", str(self.parts), "--socket", str(socket), "--deadline",
                 str(DEADLINE), "--buffer", "0.25", "--host", f"host{host}"],
                stdout=subprocess.DEVNULL, stderr=log, env=program.clean_environment(**environment)))
        self.samples = []

    def start_trainers(self):
        port = program.free_ports(1)[0]
        trainers = []
        for rank in range(WORLD):
            host = rank // EACH
            environment = {**self.network.environment(host), "RANK": str(rank), "WORLD_SIZE": str(WORLD), "MASTER_PORT": str(port)}
            trainers.append(program.start("train", self.parts, *TRAINING, "--attach", self.sockets()[host], "--host", f"host{host}",
                                          "--checkpoint", self.checkpoints, "--checkpoint-steps", 3, "--resume", "--json",
                                          prefix=self.network.prefix(host), environment=environment))
        return trainers

    def end(self, trainers):
        """Outputs, when all ended well; None when some did not."""
        results = []
        try:
            for trainer in trainers:
                results.append(trainer.communicate(timeout=ENDING))
        except subprocess.TimeoutExpired as late:
            raise Leak(f"a trainer has not ended {ENDING} s after a fault") from late
        finally:
            for trainer in trainers:
                trainer.kill()
        return results if all(trainer.returncode == 0 for trainer in trainers) else None

    def is_training(self, trainers):
        """Waits until a checkpoint is there, or all trainers have ended."""
        while not list(self.checkpoints.glob("*")) and any(trainer.poll() is None for trainer in trainers):
            time.sleep(0.005)

    @contextlib.contextmanager
    def fault(self, kind, trainers):
        """Does it, and mends what must be mended afterwards."""
        if kind == "none":
            yield
            return
        self.is_training(trainers)
        time.sleep(self.random.random() * 0.5)
        host, rank = self.random.randrange(HOSTS), self.random.randrange(WORLD)
        target = trainers[rank] if "trainer" in kind else self.services[host]
        if kind.startswith("kill"):
            target.kill()
            yield
        elif kind.startswith("stop"):
            target.send_signal(signal.SIGSTOP)
            time.sleep(self.random.random() * DEADLINE / 4)
            target.send_signal(signal.SIGCONT)
            yield
        else:
            self.network.cut(host)
            if kind == "cut shortly":
                time.sleep(self.random.random() * DEADLINE / 8)
                self.network.restore(host)
                yield
            else:
                try:
                    yield
                finally:
                    self.network.restore(host)

    def round(self, kind):
        self.counts[kind] += 1
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        if not self.services:
            self.start_services()
        trainers = self.start_trainers()
        with self.fault(kind, trainers):
            ended = self.end(trainers)
        if any(service.poll() is not None for service in self.services):
            self.stop_services()
        if kind in ("none", "stop trainer", "stop service", "cut shortly") and ended is None:
            raise Leak(f"a run ended although '{kind}' is one that it must bear:\n" +
                       "".join(trainer.stderr.read() if not trainer.stderr.closed else "" for trainer in trainers))
        resumed = ended is None
        if resumed:
            if not self.services:
                self.start_services()
            trainers = self.start_trainers()
            ended = self.end(trainers)
            if ended is None:
                raise Leak("a run does not go on from its checkpoint")
        result = json.loads(ended[0][0])
        if result["loss_digest"] != self.digest:
            raise Leak(f"after '{kind}' the loss digest is {result['loss_digest']}, not {self.digest}")
        if not resumed:
            for name, expected in self.expected.items():
                counted = sum(epoch[name] for epoch in result["epochs"])
                if counted != expected:
                    raise Leak(f"after '{kind}' {name} are {counted}, not {expected}")
        self.check_services()

    def check_services(self):
        if not self.services:
            return
        self.samples.append([resources(service.pid) for service in self.services])
        if len(self.samples) < 8:
            return
        for host in range(HOSTS):
            descriptors, threads, memory = zip(*(sample[host] for sample in self.samples))
            if descriptors[-1] > descriptors[2] or threads[-1] > threads[2]:
                raise Leak(f"service {host}: descriptors {descriptors}, threads {threads}")
            half = len(memory) // 2
            before, after = statistics.median(memory[2:half + 1]), statistics.median(memory[half:])
            if after > 1.1 * before + 4096:
                raise Leak(f"service {host}: resident KiB {memory}")

    def stop_services(self):
        for service in self.services:
            service.terminate()
        for service in self.services:
            try:
                service.wait(timeout=ENDING)
            except subprocess.TimeoutExpired as late:
                raise Leak("a service does not end on SIGTERM") from late
        self.services = []
        for log in self.logs:
            log.close()
        self.logs = []


def world_state():
    own = subprocess.run(["pgrep", "-fc", "rudder (train|serve)"], capture_output=True, text=True).stdout.strip()
    return program.namespaces(), program.links(), program.shared_memory(), own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=600)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    options = parser.parse_args()
    if not can_make_namespaces():
        sys.exit("soak: network namespaces need root")
    print(f"soak: {options.seconds:.0f} s, --seed {options.seed}", flush=True)
    before = world_state()
    rounds = 0
    with tempfile.TemporaryDirectory() as folder:
        with VirtualHosts(HOSTS) as network:
            soak = Soak(pathlib.Path(folder), network, options.seed)
            end = time.monotonic() + options.seconds
            try:
                while time.monotonic() < end:
                    kind = FAULTS[rounds % len(FAULTS)] if rounds < len(FAULTS) else soak.random.choice(FAULTS)
                    started = time.monotonic()
                    soak.round(kind)
                    rounds += 1
                    print(f"soak: round {rounds}, {kind}: {time.monotonic() - started:.1f} s", flush=True)
                soak.stop_services()
            except Leak as leak:
                sys.exit(f"soak: round {rounds + 1}, --seed {options.seed}: {leak}")
            finally:
                for service in soak.services:
                    service.kill()
                    service.wait()
        left = [path.name for path in pathlib.Path(folder).iterdir() if "sock" in path.name]
    after = world_state()
    if left or after != before:
        sys.exit(f"soak: left behind: {left}, {after} instead of {before}")
    print(f"soak: {rounds} rounds, nothing leaked, all counts and losses right: " +
          ", ".join(f"{count} x {kind}" for kind, count in soak.counts.items()))


if __name__ == "__main__":
    main()
