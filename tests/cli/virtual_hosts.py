# SPDX-License-Identifier: Apache-2.0
"""Hosts on this machine, for the tests and benchmarks that start ranks by themselves."""
import os
import subprocess
import unittest


def call(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


def can_make_namespaces():
    name = f"rt{os.getpid()}x"
    try:
        call("ip", "netns", "add", name)
        call("ip", "netns", "del", name)
    except OSError:
        return False
    return True


needs_namespaces = unittest.skipUnless(can_make_namespaces(), "needs root and network namespaces")


class VirtualHosts:
    """A network namespace for each host, joined by a switch in one of its own, whose links can be cut and shaped: the machine's
    interfaces stay as they are. A context manager."""

    def __init__(self, count, rate=None):
        """`rate` as tc's tbf takes it, each way; None: unshaped."""
        self.count, self.rate = count, rate
        self.tag = f"rt{os.getpid()}"
        self.switch = f"{self.tag}s"

    def __enter__(self):
        try:
            call("ip", "netns", "add", self.switch)
            call("ip", "-n", self.switch, "link", "add", "bridge", "type", "bridge")
            call("ip", "-n", self.switch, "link", "set", "bridge", "up")
            for host in range(self.count):
                space, port = self.space(host), self.port(host)
                call("ip", "netns", "add", space)
                call("ip", "-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space)
                call("ip", "-n", self.switch, "link", "set", port, "master", "bridge", "up")
                call("ip", "-n", space, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
                call("ip", "-n", space, "link", "set", "eth0", "up")
                call("ip", "-n", space, "link", "set", "lo", "up")
                if self.rate:
                    self.shape(host, self.rate)
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for space in [self.space(host) for host in range(self.count)] + [self.switch]:
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)

    def space(self, host):
        return f"{self.tag}h{host}"

    @staticmethod
    def port(host):
        """The end of a host's cable that is at the switch."""
        return f"port{host}"

    @staticmethod
    def address(host):
        return f"10.198.0.{host + 1}"

    def cut(self, host):
        """Pulls the cable: the kernel on neither side is told more than that the carrier is gone."""
        call("ip", "-n", self.switch, "link", "set", self.port(host), "down")

    def restore(self, host):
        call("ip", "-n", self.switch, "link", "set", self.port(host), "up")

    def shape(self, host, rate):
        """Both directions of the host's link."""
        for space, device in ((self.switch, self.port(host)), (self.space(host), "eth0")):
            call("tc", "-n", space, "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst", "128k", "latency", "400ms")

    @staticmethod
    def interfaces():
        """What makes ranks use the links, and nothing beside them."""
        return {"GLOO_SOCKET_IFNAME": "eth0", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}

    def environment(self, _host):
        return {"MASTER_ADDR": self.address(0), **self.interfaces()}

    def prefix(self, host):
        return ["ip", "netns", "exec", self.space(host)]


class OneMachine:
    """All hosts are this machine."""

    def environment(self, _host):
        return {"MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo", "UCX_NET_DEVICES": "lo"}

    def prefix(self, _host):
        return []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
