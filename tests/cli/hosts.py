# SPDX-License-Identifier: Apache-2.0
"""Hosts for tests that disturb networks: a namespace each, as `rudder demo` makes them, whose links can be cut and shaped."""
import os
import subprocess
import unittest

from program import RUDDER, clean_environment

PORT = 29500  # each namespace has all ports to itself


def call(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


def require_namespaces():
    """Skips the test where this process may not make namespaces."""
    name = f"rt{os.getpid()}x"
    try:
        call("ip", "netns", "add", name)
        call("ip", "netns", "del", name)
    except OSError as error:
        raise unittest.SkipTest(f"needs root and network namespaces: {error}") from error


class Hosts:
    """`count` hosts on one bridge. A context manager."""

    def __init__(self, count):
        self.count, self.prefix = count, f"rt{os.getpid()}"
        self.processes = []

    def __enter__(self):
        try:
            call("ip", "link", "add", f"{self.prefix}b", "type", "bridge")
            call("ip", "link", "set", f"{self.prefix}b", "up")
            for host in range(self.count):
                space, veth = self.space(host), self.veth(host)
                call("ip", "netns", "add", space)
                call("ip", "link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", space)
                call("ip", "link", "set", veth, "master", f"{self.prefix}b", "up")
                call("ip", "-n", space, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
                call("ip", "-n", space, "link", "set", "eth0", "up")
                call("ip", "-n", space, "link", "set", "lo", "up")
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                stream.close()
        for host in range(self.count):
            subprocess.run(["ip", "netns", "del", self.space(host)], capture_output=True, check=False)
            subprocess.run(["ip", "link", "del", self.veth(host)], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", f"{self.prefix}b"], capture_output=True, check=False)

    def space(self, host):
        return f"{self.prefix}h{host}"

    def veth(self, host):
        return f"{self.prefix}v{host}"

    @staticmethod
    def address(host):
        return f"10.198.0.{host + 1}"

    def cut(self, host):
        """Pulls the cable: the kernel on neither side is told more than that the carrier is gone."""
        call("ip", "link", "set", self.veth(host), "down")

    def restore(self, host):
        call("ip", "link", "set", self.veth(host), "up")

    def shape(self, host, rate):
        """Both directions of the host's link."""
        limit = ["root", "tbf", "rate", rate, "burst", "256kb", "latency", "400ms"]
        call("tc", "qdisc", "replace", "dev", self.veth(host), *limit)
        call("ip", "netns", "exec", self.space(host), "tc", "qdisc", "replace", "dev", "eth0", *limit)

    def train(self, *words):
        """One rank a host."""
        for rank in range(self.count):
            environment = {"RANK": str(rank), "WORLD_SIZE": str(self.count), "MASTER_ADDR": self.address(0),
                           "MASTER_PORT": str(PORT), "GLOO_SOCKET_IFNAME": "eth0", "UCX_TLS": "tcp,self",
                           "UCX_NET_DEVICES": "eth0"}
            command = ["ip", "netns", "exec", self.space(rank), RUDDER, "train", *map(str, words), "--host", f"machine{rank}"]
            self.processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                                   env=clean_environment(**environment)))
        return self.processes
