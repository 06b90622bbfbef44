#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people and Prometheus see of a run: doctor, metrics, progress."""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import socket
import subprocess
import threading
import time
import unittest
import urllib.request

from program import RUDDER, Base, clean_environment, free_ports, run, run_json, start
from served_hosts import EACH, HOSTS, ServedHosts
from virtual_hosts import OneMachine, VirtualHosts, needs_namespaces

# Text exposition format 0.0.4, https://prometheus.io/docs/instrumenting/exposition_formats/
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABELS = r'\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"(?:,|(?=\})))*\}'
SAMPLE = re.compile(rf"({NAME})({LABELS})? (NaN|[+-]?Inf|[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)")
UNITS = {"counter": ("_total",), "histogram": ("_seconds",)}


def parse(page):
    """Series by name and labels, after checking every line against the grammar and every family against its type."""
    assert page.endswith("\n")
    types, series, helped = {}, {}, set()
    for line in page.splitlines():
        if line.startswith("# HELP "):
            helped.add(line.split(" ", 3)[2])
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in helped and name not in types, line
            assert name.endswith(UNITS.get(kind, ("",))), line
            types[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match, f"not of the format: {line}"
            family = match[1] if match[1] in types else re.sub("_(bucket|sum|count)$", "", match[1])
            assert family in types, f"no TYPE before {line}"
            key = match[1] + (match[2] or "")
            assert key not in series, f"twice: {line}"
            series[key] = float(match[3])
    for key, value in series.items():
        if "_bucket{" in key and 'le="+Inf"' in key:
            stem = key.replace("_bucket{", "_count{").replace(',le="+Inf"', "")
            assert series[stem] == value, key
            bounds = [v for k, v in series.items() if k.startswith(key.split("le=")[0])]
            assert bounds == sorted(bounds), key
    return series


def check_with_promtool(page):
    """Prometheus's own opinion, where its tool is there (script/bootstrap test gets it)."""
    tool = shutil.which("promtool", path=os.environ.get("PATH", "") + ":" + os.path.join(os.path.dirname(RUDDER), "..", "tools"))
    if tool is None:
        return False
    done = subprocess.run([tool, "check", "metrics"], input=page, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr + done.stdout
    return True


def get(url):
    with urllib.request.urlopen(url, timeout=15) as answer:
        return answer.read().decode()


def url_in(lines):
    """Where the program says that its figures are."""
    for line in lines:
        if "metrics at " in line:
            return line.split("metrics at ")[1].strip()
    raise AssertionError("no line with an address")


def page_when(url, condition, seconds=60):
    """The first page that meets the condition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        page = get(url)
        if condition(parse(page)):
            return page
        time.sleep(0.01)  # the run needs the processor more than its watcher
    raise AssertionError(f"not within {seconds} s:\n{page}")


class Held:
    """A run whose standard output is a full pipe: it stands still where it would print its result."""

    def __init__(self, *words, **environment):
        self.read_end, write_end = os.pipe()
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(write_end, False)
        self.filling = os.write(write_end, b"x" * 4096)
        os.set_blocking(write_end, True)
        self.process = subprocess.Popen([RUDDER, *map(str, words), "--json"], stdout=write_end, stderr=subprocess.PIPE, text=True,
                                        env=clean_environment(**environment))
        os.close(write_end)
        self.url = url_in(self.process.stderr)

    def wait_for(self, condition):
        return page_when(self.url, condition)

    def result(self):
        with open(self.read_end, "rb") as out:
            text = out.read()[self.filling:]
        self.process.stderr.read()
        self.process.stderr.close()
        assert self.process.wait(timeout=30) == 0
        return json.loads(text)


class Metrics(Base):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.halo = run_json("partition", cls.graph, cls.work / "measured", "--parts", 4)["halo"]

    def sums(self, series, name):
        return sum(value for key, value in series.items() if key.split("{")[0] == name)

    def finished(self, epochs):
        """All steps, and that many epochs over all ranks: an epoch is counted after its last step."""
        return lambda series: (0 < self.sums(series, "rudder_run_steps") == self.sums(series, "rudder_steps_total")
                               and self.sums(series, "rudder_epochs_total") == epochs)

    def test_the_last_page_is_the_result(self):
        began = time.time()
        held = Held("train", self.parts, "--transport", "loopback", "--epochs", 3, "--batch", 64, "--policy", "lru", "--buffer", "0.2",
                    "--schedule", "cosine", "--no-evaluation", "--metrics", 0)
        page = held.wait_for(self.finished(12))
        result = held.result()
        series = parse(page)
        for figure, field in (("rudder_rows_requested_total", "requests"), ("rudder_rows_hit_total", "hits"),
                              ("rudder_rows_fetched_total", "fetched"), ("rudder_batch_payload_bytes_total", "payload_bytes"),
                              ("rudder_batch_wire_bytes_total", "wire_bytes"), ("rudder_batch_messages_total", "messages")):
            self.assertEqual(self.sums(series, figure), sum(epoch[field] for epoch in result["epochs"]), figure)
        self.assertIn('rudder_rows_hit_total{rank="3",policy="lru"}', series)
        self.assertEqual(series['rudder_epochs_total{rank="0"}'], 3)
        self.assertEqual(series['rudder_epoch_loss{rank="0"}'], result["epochs"][-1]["loss"])
        self.assertGreater(series['rudder_learning_rate{rank="0"}'], 0)
        self.assertLess(series['rudder_learning_rate{rank="0"}'], 0.003)
        for rank in range(4):
            self.assertTrue(began <= series[f'rudder_last_step_timestamp_seconds{{rank="{rank}"}}'] <= time.time())
        # What came from each peer adds up to what batches fetched: nothing else was pulled.
        for rank in range(4):
            rows = sum(v for k, v in series.items() if k.startswith(f'rudder_peer_rows_total{{rank="{rank}"'))
            self.assertEqual(rows, series[f'rudder_rows_fetched_total{{rank="{rank}",policy="lru"}}'])
            requests = sum(v for k, v in series.items() if k.startswith(f'rudder_pull_seconds_count{{rank="{rank}"'))
            messages = series[f'rudder_batch_messages_total{{rank="{rank}"}}']
            self.assertEqual(2 * requests, messages)
            self.assertGreater(sum(v for k, v in series.items() if k.startswith(f'rudder_pull_seconds_sum{{rank="{rank}"')), 0)
        for idle in ("rudder_pull_credits_in_use", "rudder_pulls_waiting", "rudder_plans_in_flight", "rudder_batches_ready"):
            self.assertIn(f'{idle}{{rank="0"', page)
            self.assertEqual(self.sums(series, idle), 0, idle)
        slots = self.sums(series, "rudder_buffer_slots")
        self.assertEqual(slots, sum(int(0.2 * halo + 0.5) for halo in self.halo))
        self.assertEqual(self.sums(series, "rudder_buffer_slots_occupied"), slots)  # LRU admits every row

    def test_times_are_those_of_the_result(self):
        one = self.work / "one"
        run("partition", self.graph, one, "--parts", 1)
        held = Held("train", one, "--epochs", 1, "--batch", 64, "--no-evaluation", "--metrics", 0, "--run", self.work / "timed")
        series = parse(held.wait_for(self.finished(1)))
        held.result()
        epoch = json.loads((self.work / "timed" / "result.json").read_text())["epochs"][0]
        for part in ("compute", "all_reduce", "stall"):
            self.assertEqual(series[f'rudder_{part}_seconds_total{{rank="0"}}'], epoch[f"{part}_seconds"], part)

    def test_prometheus_accepts_the_page(self):
        held = Held("train", self.parts, "--transport", "loopback", "--epochs", 1, "--metrics", 0)
        page = held.wait_for(self.finished(4))
        held.result()
        if not check_with_promtool(page):
            self.skipTest("promtool is not there; the page was checked against the grammar only")

    def test_each_rank_has_a_port_of_its_own(self):
        port = free_ports(4)[0]
        launch = start("launch", "-n", 4, "--", "train", self.parts, "--epochs", 100000, "--metrics", port)
        try:
            lines, seen = [], set()
            while len(seen) < 4:  # one rank's lines may come before another's, whatever their order in time
                lines.append(launch.stderr.readline())
                self.assertNotEqual(lines[-1], "", lines)
                seen.update(line.split("metrics at ")[1].strip() for line in lines[-1:] if "metrics at " in line)
            self.assertEqual(seen, {f"http://127.0.0.1:{port + rank}/metrics" for rank in range(4)})
            for rank in range(4):
                pulls = f'rudder_pull_seconds_count{{rank="{rank}",peer="{(rank + 1) % 4}"}}'
                page_when(f"http://127.0.0.1:{port + rank}/metrics",
                          lambda series, rank=rank, pulls=pulls: (series.get(f'rudder_steps_total{{rank="{rank}"}}', 0) > 0
                                                                  and series.get(pulls, 0) > 0))
        finally:
            launch.terminate()
            launch.communicate(timeout=30)

    def test_a_port_in_use_is_one_clear_error(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            _, err = run("train", self.parts, "--transport", "loopback", "--epochs", 1, "--metrics", port, code=1)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn(f"127.0.0.1:{port}", err)
        _, err = run("train", self.parts, "--metrics", "localhost", code=2)
        self.assertIn("HOST:PORT", err)

    def test_clients_that_misbehave_do_not_disturb_training(self):
        words = ["train", self.parts, "--transport", "loopback", "--epochs", 6, "--batch", 64, "--no-evaluation"]
        digest = run_json(*words)["loss_digest"]
        held = Held(*words, "--metrics", 0)
        address = ("127.0.0.1", int(held.url.split(":")[2].split("/")[0]))
        clients = []
        for i in range(60):  # more than the exporter takes at once
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(address)
            clients.append(client)
        sending = threading.Thread(target=lambda: [self.babble(client) for client in clients])
        sending.start()
        sending.join()
        threads = len(os.listdir(f"/proc/{held.process.pid}/task"))
        descriptors = len(os.listdir(f"/proc/{held.process.pid}/fd"))
        self.assertLess(descriptors, 60)
        self.assertLess(threads, 60)
        for client in clients:
            client.close()
        held.wait_for(self.finished(24))
        self.assertEqual(held.result()["loss_digest"], digest)

    @staticmethod
    def babble(client):
        try:
            client.send(os.urandom(2000))
        except OSError:
            pass  # not accepted, or closed already

    def test_the_program_ends_while_a_client_hangs(self):
        held = Held("train", self.parts, "--transport", "loopback", "--epochs", 1, "--no-evaluation", "--metrics", 0)
        held.wait_for(self.finished(4))
        with socket.create_connection(("127.0.0.1", int(held.url.split(":")[2].split("/")[0]))):
            held.result()


class ServiceMetrics(ServedHosts):
    def test_the_last_page_of_a_service_is_its_result(self):
        ports = free_ports(2)
        network = OneMachine()
        services = [Held("serve", self.parts, "--socket", socket, "--runs", 1, "--policy", "lru", "--buffer", "0.2", "--depth", 0,
                         "--metrics", 0, RANK=str(host), WORLD_SIZE=str(HOSTS), MASTER_PORT=str(ports[0]), **network.environment(host))
                    for host, socket in enumerate(self.sockets())]
        self.end(self.start_trainers(network, ports[1], ["--no-evaluation"]))
        for host, service in enumerate(services):
            page = service.wait_for(lambda series, host=host: series[f'rudder_served_runs_total{{rank="{host}"}}'] == 1)
            check_with_promtool(page)
            self.check_host(host, parse(page), service.result()["runs"][0])

    def check_host(self, host, series, served):
        policy = f'rank="{host}",policy="lru"'
        for figure, field in (("requested", "requests"), ("hit", "hits"), ("fetched", "fetched"), ("bypassed", "bypassed")):
            self.assertEqual(series[f"rudder_served_rows_{figure}_total{{{policy}}}"], served[field], figure)
        for field in ("payload_bytes", "wire_bytes", "messages"):
            self.assertEqual(series[f'rudder_served_{field}_total{{rank="{host}"}}'], served[field], field)
        self.assertGreater(served["fetched"], 0)
        # All that a buffer moves comes from the other host.
        peer = f'rank="{host}",peer="{1 - host}"'
        self.assertEqual(series[f"rudder_peer_rows_total{{{peer}}}"], served["fetched"])
        self.assertEqual(series[f"rudder_peer_payload_bytes_total{{{peer}}}"], served["payload_bytes"])
        self.assertEqual(2 * series[f"rudder_pull_seconds_count{{{peer}}}"], served["messages"])
        rows = 0
        for trainer in range(EACH * host, EACH * (host + 1)):
            labels = f'{{rank="{host}",trainer="{trainer}"}}'
            self.assertEqual(series["rudder_trainer_batches_total" + labels], served["steps"])
            self.assertGreater(series["rudder_trainer_wait_seconds_total" + labels], 0)
            for idle in ("attached", "waiting", "batches_ahead"):
                self.assertEqual(series[f"rudder_trainer_{idle}{labels}"], 0, idle)
            rows += series["rudder_trainer_rows_total" + labels]
        self.assertGreaterEqual(rows, served["requests"])  # a row that both want is one request of the host
        self.assertLessEqual(rows, 2 * served["requests"])
        self.assertGreater(series[f'rudder_buffer_slots{{rank="{host}"}}'], 0)
        self.assertLessEqual(series[f'rudder_buffer_slots_occupied{{rank="{host}"}}'], series[f'rudder_buffer_slots{{rank="{host}"}}'])
        self.assertEqual(series[f'rudder_plans_in_flight{{rank="{host}"}}'], 0)


class Doctor(Base):
    def doctor(self, *prefix, code=0, **environment):
        done = subprocess.run([*prefix, RUDDER, "doctor", "--json"], capture_output=True, text=True, timeout=60, check=False,
                              env=clean_environment(**environment))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(list(result), ["checks", "warnings", "failures"])
        for check in result["checks"]:
            self.assertEqual(list(check), ["name", "verdict", "value", "why", "remedy"])
            self.assertTrue(check["verdict"] == "ok" or check["remedy"], check)
        for verdict in ("warning", "failure"):
            self.assertEqual(sum(check["verdict"] == verdict for check in result["checks"]), result[f"{verdict}s"])
        return {check["name"]: check for check in result["checks"]}

    def test_this_machine_can_train(self):
        checks = self.doctor()
        self.assertNotEqual(checks["UCX transports"]["verdict"], "failure")
        self.assertEqual(checks["matrix products"]["verdict"], "ok")
        self.assertEqual(checks["packages: build"]["verdict"], "ok")
        self.assertIn(f"{len(os.sched_getaffinity(0))} of ", checks["cores"]["value"])
        total = int(re.search(r"MemTotal: +(\d+) kB", pathlib.Path("/proc/meminfo").read_text())[1])
        self.assertIn(f"of {total / 1024 / 1024:.1f} GiB", checks["memory"]["value"])

    @needs_namespaces
    def test_a_machine_without_a_network_trains_alone(self):
        with VirtualHosts(1) as network:
            self.assertEqual(self.doctor(*network.prefix(0))["UCX transports"]["verdict"], "ok")
        alone = self.doctor("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")["UCX transports"]
        self.assertEqual(alone["verdict"], "warning")
        self.assertIn("no other machine can be reached", alone["remedy"])

    def test_what_is_taken_away_is_missed(self):
        self.assertEqual(self.doctor("taskset", "-c", "0")["cores"]["verdict"],
                         "warning" if len(os.sched_getaffinity(0)) > 1 or os.cpu_count() > 1 else "ok")
        self.assertEqual(self.doctor(code=1, UCX_TLS="self")["UCX transports"]["verdict"], "failure")
        self.assertEqual(self.doctor(code=1, UCX_TLS="nonsense")["UCX transports"]["verdict"], "failure")
        self.assertEqual(self.doctor(code=1, TMPDIR="/nowhere")["temporary files"]["verdict"], "failure")
        narrow = self.doctor("prlimit", "--nofile=100:100")["open files"]
        self.assertEqual((narrow["verdict"], narrow["value"]), ("warning", "at most 100: runs of up to 7 ranks"))

    def test_people_get_a_line_a_check_and_remedies_where_needed(self):
        out, err = run("doctor", code=1, environment={"UCX_TLS": "self"})
        self.assertEqual(out, "")
        self.assertRegex(err, r"(?m)^failure +UCX transports +self/memory")
        self.assertRegex(err, r"(?m)^ +do: +unset UCX_TLS")
        self.assertRegex(err.splitlines()[-1], r"\d+ checks: \d+ warnings, 1 failures")


class OnATerminal(Base):
    """Standard error is a terminal of 60 columns."""

    def drawn(self, *words):
        main, terminal = pty.openpty()
        fcntl.ioctl(terminal, 0x5414, b"\x18\x00\x3c\x00\x00\x00\x00\x00")  # TIOCSWINSZ
        process = subprocess.Popen([RUDDER, *map(str, words)], stdout=subprocess.DEVNULL, stderr=terminal,
                                   env=clean_environment(TERM="xterm"))
        os.close(terminal)
        text = b""
        while True:
            try:
                text += os.read(main, 65536)
            except OSError:  # the other side is closed
                break
        os.close(main)
        self.assertEqual(process.wait(timeout=60), 0, text)
        return text.decode()

    def test_long_commands_draw_progress_and_remove_it(self):
        trace = self.work / "progress.trace"
        for words in (["partition", self.graph, self.work / "again", "--parts", 2],
                      ["trace", "record", self.parts, "--out", trace, "--epochs", 2],
                      ["trace", "replay", trace, "--policies", "lru,min", "--buffer", "0.1"],
                      ["train", self.parts, "--transport", "loopback", "--epochs", 2]):
            text = self.drawn(*words)
            bars = re.findall(r"\r\x1b\[K(\w+ \[=* *\] +\d+ %[^\r\n]*)", text)
            self.assertGreater(len(bars), 0, words)
            self.assertLessEqual(max(map(len, bars)), 59)
            last = text.rindex(bars[-1]) + len(bars[-1])
            self.assertTrue(text[last:].startswith("\r\x1b[K"), text)  # erased before anything else is said

    def test_elsewhere_nothing_is_drawn(self):
        _, err = run("train", self.parts, "--transport", "loopback", "--epochs", 1)
        self.assertNotIn("\x1b", err)


if __name__ == "__main__":
    unittest.main()
