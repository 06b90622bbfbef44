# SPDX-License-Identifier: Apache-2.0
"""Hosts on this machine, for the tests and benchmarks that start ranks by themselves."""
import os
import subprocess


def can_make_namespaces():
    return os.geteuid() == 0 and subprocess.run(["ip", "netns", "list"], capture_output=True).returncode == 0


class VirtualHosts:
    """A network namespace for each host, joined by a bridge."""

    def __init__(self, count, rate=None):
        """`rate` as tc's tbf takes it, each way; None: unshaped."""
        self.rate = rate
        self.tag = f"rt{os.getpid() % 100000}"
        self.subnet = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
        self.names = [f"{self.tag}n{i}" for i in range(count)]

    def __enter__(self):
        self.ip("link", "add", self.tag, "type", "bridge")
        self.ip("link", "set", self.tag, "up")
        for i, name in enumerate(self.names):
            outer, inner = f"{self.tag}o{i}", f"{self.tag}i{i}"
            self.ip("netns", "add", name)
            self.ip("link", "add", outer, "type", "veth", "peer", "name", inner)
            self.ip("link", "set", inner, "netns", name)
            self.ip("link", "set", outer, "master", self.tag, "up")
            self.ip("-n", name, "addr", "add", f"{self.subnet}.{i + 1}/24", "dev", inner)
            self.ip("-n", name, "link", "set", inner, "up")
            self.ip("-n", name, "link", "set", "lo", "up")
            if self.rate:
                shape = ["root", "tbf", "rate", self.rate, "burst", "128k", "latency", "100ms"]
                self.run("tc", "qdisc", "add", "dev", outer, *shape)
                self.run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", inner, *shape)
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False)
        subprocess.run(["ip", "link", "delete", self.tag], check=False)

    @staticmethod
    def run(*words):
        subprocess.run(words, check=True)

    def ip(self, *words):
        self.run("ip", *words)

    def cut(self, host):
        """Nothing passes the host's link until join()."""
        self.ip("link", "set", f"{self.tag}o{host}", "nomaster")

    def join(self, host):
        self.ip("link", "set", f"{self.tag}o{host}", "master", self.tag)

    def environment(self, host):
        device = f"{self.tag}i{host}"
        return {"MASTER_ADDR": f"{self.subnet}.1", "GLOO_SOCKET_IFNAME": device, "UCX_TLS": "tcp,self",
                "UCX_NET_DEVICES": device}

    def prefix(self, host):
        return ["ip", "netns", "exec", self.names[host]]


class OneMachine:
    """All hosts are this machine."""

    def environment(self, _host):
        return {"MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"}

    def prefix(self, _host):
        return []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
