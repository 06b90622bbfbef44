#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two hosts of two trainers in network namespaces: a buffer a trainer beside one a host of the same size in all.

Prints seconds an epoch (median of the epochs but the first, over the repeats), rows fetched, and what the minimum for the
hosts' merged batches would be. Runs alternate, so that both meet the same machine. Needs root.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/cli"))
import program  # noqa: E402  (from the folder named above)
from virtual_hosts import VirtualHosts, can_make_namespaces  # noqa: E402

HOSTS, EACH = 2, 2


def communicate(processes):
    results = [process.communicate(timeout=900) for process in processes]
    for process, (_, err) in zip(processes, results):
        if process.returncode != 0:
            sys.exit(f"serve.py: {process.args} exited with {process.returncode}:\n{err}")
    return [json.loads(out) if out.startswith("{") else None for out, _ in results]


def ranks(network, port, parts, words, attach):
    processes = []
    for rank in range(HOSTS * EACH):
        host = rank // EACH
        buffer = ["--attach", attach[host]] if attach else []
        environment = {**network.environment(host), "RANK": str(rank), "WORLD_SIZE": str(HOSTS * EACH), "MASTER_PORT": str(port)}
        processes.append(program.start("train", parts, *words, *buffer, "--no-evaluation", "--json", prefix=network.prefix(host),
                                       environment=environment))
    return processes


def services(network, port, parts, sockets, words):
    return [program.start("serve", parts, "--socket", socket, "--runs", 1, "--json", *words, prefix=network.prefix(host),
                          environment={**network.environment(host), "RANK": str(host), "WORLD_SIZE": str(HOSTS),
                                       "MASTER_PORT": str(port)})
            for host, socket in enumerate(sockets)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", type=pathlib.Path, help="graph folder; without it the debian graph is made")
    parser.add_argument("--rate", help="of each host's link, as tc takes it; without it unshaped")
    parser.add_argument("--buffer", default="0.25", help="of each trainer, a fraction of its halo")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch", type=int, default=512)
    options = parser.parse_args()
    if not can_make_namespaces():
        sys.exit("serve.py: network namespaces need root")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        graph, parts, trace = options.graph or work / "graph", work / "parts", work / "trace"
        if not options.graph:
            program.run("graph", "generate", "debian", graph)
        halo = program.run_json("partition", graph, parts, "--parts", HOSTS * EACH)["halo"]
        program.run("trace", "record", parts, "--out", trace, "--batch", options.batch, "--epochs", options.epochs)
        rows = [int(float(options.buffer) * size) for size in halo]
        shared = [sum(rows[host * EACH:(host + 1) * EACH]) for host in range(HOSTS)]
        train = ["--epochs", options.epochs, "--batch", options.batch]
        times, fetched, digests = {"apart": [], "shared": []}, {}, set()
        with VirtualHosts(HOSTS, options.rate) as network:
            for _ in range(options.repeats):
                for kind in times:
                    ports, attach, serving = program.free_ports(2), None, []
                    if kind == "shared":
                        attach = [work / f"host{host}.sock" for host in range(HOSTS)]
                        # Each host's own size, and so a service started for each.
                        serving = services(network, ports[0], parts, attach, ["--buffer", min(shared)])
                    words = train if attach else [*train, "--buffer", options.buffer]
                    result = communicate(ranks(network, ports[1], parts, words, attach))[0]
                    communicate(serving)
                    times[kind] += [epoch["seconds"] for epoch in result["epochs"][1:]]
                    fetched[kind] = sum(epoch["fetched"] for epoch in result["epochs"])
                    digests.add(result["loss_digest"])
        if len(digests) != 1:
            sys.exit(f"serve.py: the losses differ: {digests}")
        minimum = program.run_json("trace", "replay", trace, "--buffer", min(shared), "--policies", "min",
                                   "--trainers-per-host", EACH)["rows"][0]["fetched"]
    apart, together = (statistics.median(times[kind]) for kind in ("apart", "shared"))
    print(f"{HOSTS} hosts of {EACH} trainers, link {options.rate or 'unshaped'}, buffer {options.buffer} of a trainer's halo: "
          f"{sum(rows)} rows apart, {HOSTS} x {min(shared)} shared; equal losses")
    print(f"apart:  {apart:.3f} s an epoch, {fetched['apart']} rows fetched")
    print(f"shared: {together:.3f} s an epoch ({together / apart:.3f} x), {fetched['shared']} rows fetched "
          f"({fetched['shared'] / fetched['apart']:.3f} x apart, {fetched['shared'] / minimum:.4f} x the minimum)")


if __name__ == "__main__":
    main()
