# SPDX-License-Identifier: Apache-2.0
"""Runs of the program named by the variable RUDDER, for the tests beside this file."""
import json
import os
import pathlib
import random
import secrets
import socket
import subprocess
import tempfile
import time
import unittest

RUDDER = os.environ.get("RUDDER", "build/release/rudder")
SECRET = secrets.token_hex(32)  # of ranks that no launcher starts: nothing is written into the user's home
SMALL = ["--nodes", 3000, "--features", 20, "--classes", 6, "--edge-factor", 8, "--train-share", 0.4]


def clean_environment(**extra):
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    kept = {k: v for k, v in os.environ.items() if k not in names and not k.startswith("RUDDER_")}
    return {**kept, "RUDDER_SECRET": SECRET, **extra}


def start(*words, environment=None, prefix=()):
    return subprocess.Popen([*prefix, RUDDER, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=clean_environment(**(environment or {})))


def run(*words, code=0, environment=None, timeout=180):
    process = start(*words, environment=environment)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    if process.returncode != code:
        raise AssertionError(f"rudder {' '.join(map(str, words))} exited with {process.returncode}, not {code}:\n{out}\n{err}")
    return out, err


def run_json(*words, **options):
    out, _ = run(*words, "--json", **options)
    lines = out.splitlines()
    assert len(lines) == 1, f"one object expected, got {len(lines)} lines"
    return json.loads(lines[0])


def wait_for_file(folder, name="*", seconds=60):
    """Returns when the folder has a file that matches `name`."""
    end = time.monotonic() + seconds
    while not any(folder.glob(name)):
        assert time.monotonic() < end, f"{folder / name} has not appeared for {seconds} s"
        time.sleep(0.01)


def read_until(process, text):
    """Lines of the process's standard error up to one with `text`."""
    lines = []
    for line in process.stderr:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"no line with '{text}', but:\n{''.join(lines)}")


def free_ports(count):
    """Ports in a row that are free now, below those that the system gives to whoever asks for any: no other program takes one by chance
    before it is used."""
    for _ in range(100):
        first = random.randrange(15000, 32000 - count)
        listeners = []
        try:
            for port in range(first, first + count):
                listeners.append(socket.create_server(("127.0.0.1", port)))
            return list(range(first, first + count))
        except OSError:
            continue
        finally:
            for listener in listeners:
                listener.close()
    raise AssertionError(f"no {count} free ports in a row")


def namespaces():
    folder = pathlib.Path("/var/run/netns")
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()


def links():
    return {entry.name for entry in pathlib.Path("/sys/class/net").iterdir()}


def shared_memory():
    return {entry.name for entry in pathlib.Path("/dev/shm").iterdir()}


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        cls.graph, cls.parts = cls.work / "graph", cls.work / "parts"
        run("graph", "generate", "planted", cls.graph, *SMALL)
        run("partition", cls.graph, cls.parts, "--parts", 4)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()
