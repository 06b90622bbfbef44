#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether an agent, also a hostile one, changes how long epochs take: RUDDER PARTITION [RUNS [EPOCHS]].

Runs the same training without anybody steering, under a decider that never replaces a row, and under models that are slow or do what
the tests' hostile servers do; in turns, so that what else the machine does meets all alike. Prints median epoch times, and their ratios
to those under that decider with the 95 % interval of the median's ratio (bootstrap over epochs). For partitions on which replacing does
not pay, so that whatever a model says the same rows move."""
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "cli"))
os.environ["RUDDER"] = sys.argv[1]
from model_server import ModelServer  # noqa: E402
from steering_test import HOSTILE, decides  # noqa: E402


def slow(handler, server):
    server.ending.wait(1)
    decides("replace")(handler, None)


FIXED = "never"
KINDS = {"nobody": None, FIXED: None, "slow": slow, **HOSTILE}


def epochs(partition, kind, count):
    with tempfile.TemporaryDirectory() as run:
        words = [sys.argv[1], "train", partition, "--transport", "loopback", "--policy", "score", "--epochs", str(count), "--batch", "128",
                 "--no-evaluation", "--run", run]
        if kind == "nobody":
            subprocess.run([*words, "--score-period", "1000000"], check=True, capture_output=True)  # replaces as little as never
        elif kind == FIXED:
            subprocess.run([*words, "--agent", kind, "--steer-window", "4"], check=True, capture_output=True)
        else:
            with ModelServer(KINDS[kind]) as server:
                subprocess.run([*words, "--agent", "llm", "--agent-url", server.url, "--agent-timeout", "2", "--agent-rest", "1",
                                "--steer-window", "4"], check=True, capture_output=True)
        lines = (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line)["seconds"] for line in lines][1:]  # the first one fills caches


def main():
    partition = sys.argv[2]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 15
    seconds = {kind: [] for kind in KINDS}
    for _ in range(runs):
        for kind in KINDS:
            seconds[kind] += epochs(partition, kind, count)
    base = seconds[FIXED]
    for kind, values in seconds.items():
        ratios = sorted(statistics.median(random.choices(values, k=len(values))) / statistics.median(random.choices(base, k=len(base)))
                        for _ in range(2000))
        print(f"{kind:20} {statistics.median(values):.4f} s an epoch, {statistics.median(values) / statistics.median(base):.3f} "
              f"({ratios[50]:.3f} to {ratios[1949]:.3f}) of that under {FIXED}")


if __name__ == "__main__":
    main()
