#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the same GraphSAGE with DistDGL and with Rudder on this machine, one after the other, over the same shaped links.

Four hosts in network namespaces, the same graph folder, hops, batch, hidden size and BLAS kernels; needs root. DistDGL is
driven by a copy of the scripts in --peer (setup.sh, partition.py, run.sh), in which every host prints its loss: hosts hold
different classes, so only the mean over hosts compares. Skips with a message and exit code 77 when DGL cannot be installed.
Seconds an epoch are the last epoch's on rank 0, medians over the repeats.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def skip(why):
    print(f"compare.py: skipped: {why}", file=sys.stderr)
    sys.exit(77)


def run(command, **options):
    return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def blas_environment():
    """The OpenBLAS core type that both sides get: Debian's OpenBLAS does not know newer processors."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    if "OPENBLAS_CORETYPE" in os.environ:
        return {}
    return {"OPENBLAS_CORETYPE": "SkylakeX" if "avx512bw" in flags else "Haswell"} if "avx2" in flags else {}


def copy_peer(source, target):
    """Copies the scripts; in the copy all hosts print their epochs."""
    target.mkdir(exist_ok=True)
    for path in source.iterdir():
        text = path.read_text()
        if path.name == "train.py":
            if "if rank == 0:" not in text:
                sys.exit(f"compare.py: {path} prints its epochs in another way than expected")
            text = text.replace("if rank == 0:", "if rank >= 0:")
        if path.name == "host.sh":
            # DistDGL's servers now and then hang when asked to end, long after the last epoch was printed.
            text = text.replace("kill $server 2>/dev/null; wait", "kill $server; sleep 2; kill -9 $server; wait")
        (target / path.name).write_text(text)
        (target / path.name).chmod(0o755)
    return target


def run_peer(peer, venv, parts, rate, options, environment):
    lines = run(["bash", peer / "run.sh", parts, rate, options.epochs, options.batch,
                 ",".join(reversed(options.fanout.split(","))), options.hidden],
                env={**environment, "VENV": str(venv)}, cwd=options.work)
    epochs = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    if len(epochs) != options.epochs:
        sys.exit(f"compare.py: DistDGL finished {len(epochs)} of {options.epochs} epochs at {rate}; see {options.work}/distdgl-logs")
    losses = []
    for log in sorted((options.work / "distdgl-logs").glob("client*.log")):
        printed = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
        losses.append(printed[-1]["loss"])
    return epochs[-1]["seconds"], statistics.mean(losses)


def run_rudder(binary, graph, rate, options, environment, seed):
    out = options.work / "rudder-run"
    run([binary, "demo", "--graph", graph, "--out", out, "--parts", 4, "--link", rate, "--links", "namespaces",
         "--buffer", options.buffer, "--policies", options.policy, "--changing", "none", "--epochs", options.epochs,
         "--batch", options.batch, "--fanout", options.fanout, "--hidden", options.hidden, "--seed", seed, "--json"],
        env=environment, stderr=subprocess.DEVNULL)
    result = json.loads((out / "runs" / options.policy / "result.json").read_text())
    last = result["epochs"][-1]
    return last["seconds"], last["loss"], result["blas"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rudder", type=pathlib.Path, default=ROOT / "build/release/rudder")
    parser.add_argument("--peer", type=pathlib.Path, default=ROOT / "../shared/peers/distdgl", help="DistDGL's scripts")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/peers")
    parser.add_argument("--graph", type=pathlib.Path, help="graph folder; without it the debian graph is made")
    parser.add_argument("--rates", default="50mbit,100mbit,1gbit")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=512, help="seeds a step of each host")
    parser.add_argument("--fanout", default="25,10", help="hops from the seeds outwards")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--buffer", default="0.5")
    parser.add_argument("--policy", default="lookahead")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        skip("network namespaces need root")
    if not (options.peer / "run.sh").exists():
        skip(f"no DistDGL scripts in {options.peer}")
    peer = copy_peer(options.peer.resolve(), options.work / "peer-scripts")
    venv = options.work / "venv"
    environment = {**os.environ, **blas_environment()}
    if not (venv / "bin/python").exists():
        try:
            run(["bash", peer / "setup.sh", venv])
        except subprocess.CalledProcessError as error:
            skip(f"DGL cannot be installed here: {error}")
    graph = options.graph or options.work / "graph"
    if not graph.exists():
        run([options.rudder, "graph", "generate", "debian", graph])
    parts = options.work / "distdgl-parts"
    if not (parts / "g.json").exists():
        run([venv / "bin/python", peer / "partition.py", graph, parts, 4])

    print("| link | DistDGL s/epoch | Rudder s/epoch | speed-up | DistDGL loss | Rudder loss |")
    print("|---|---|---|---|---|---|")
    blas = ""
    for rate in options.rates.split(","):
        theirs, ours = [], []
        for repeat in range(options.repeats):
            theirs.append(run_peer(peer, venv, parts, rate, options, environment))
            seconds, loss, blas = run_rudder(options.rudder, graph, rate, options, environment, repeat + 1)
            ours.append((seconds, loss))
        slow, fast = (statistics.median(s for s, _ in runs) for runs in (theirs, ours))
        losses = ["/".join(f"{loss:.3f}" for _, loss in runs) for runs in (theirs, ours)]
        print(f"| {rate} | {slow:.2f} | {fast:.2f} | {slow / fast:.2f} | {losses[0]} | {losses[1]} |", flush=True)
    print(f"\n4 hosts, hops {options.fanout} from the seeds, batch {options.batch}, hidden {options.hidden}, buffer "
          f"{options.buffer} of the halo, f32 rows, OpenBLAS kernels {blas}; third epoch, median of {options.repeats}.")


main()
