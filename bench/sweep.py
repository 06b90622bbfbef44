#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the README's table: `none` beside `lookahead` over link rates and buffer sizes, each pair in one run of the demo.

As root each host is a network namespace; otherwise the program's token bucket limits the links (the table says which).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rudder", type=pathlib.Path, default=ROOT / "build/release/rudder")
    parser.add_argument("--graph", type=pathlib.Path, default=ROOT / "build/sweep/graph", help="graph folder; made when absent")
    parser.add_argument("--links", default="50Mbit,100Mbit,200Mbit,500Mbit,1Gbit,none")
    parser.add_argument("--buffers", default="0.05,0.25,0.5,1.0")
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    options.graph.parent.mkdir(parents=True, exist_ok=True)
    if not options.graph.exists():
        subprocess.run([options.rudder, "graph", "generate", "debian", options.graph], check=True)
    print("| link | buffer | none s/epoch (stall) | lookahead s/epoch (stall) | speed-up | wire bytes of none's | test accuracy |")
    print("|---|---|---|---|---|---|---|")
    link = machine = ""
    for rate in options.links.split(","):
        for buffer in options.buffers.split(","):
            command = [options.rudder, "demo", "--graph", options.graph, "--out", ROOT / "build/sweep/run", "--link", rate,
                       "--buffer", buffer, "--epochs", str(options.epochs), "--policies", "none,lookahead", "--changing", "none",
                       "--json"]
            done = subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
            result = json.loads(done.stdout)
            none, ahead = result["rows"]
            if none["loss_digest"] != ahead["loss_digest"]:
                sys.exit(f"sweep.py: losses differ at {rate}, buffer {buffer}")
            link, machine = result["link"], result["machine"]
            print(f"| {rate} | {buffer} | {none['epoch_seconds']:.2f} ({100 * none['stall_share']:.0f} %) "
                  f"| {ahead['epoch_seconds']:.2f} ({100 * ahead['stall_share']:.1f} %) | {ahead['speedup_vs_none']:.2f} "
                  f"| {ahead['wire_bytes'] / none['wire_bytes']:.2f} | {ahead['test_accuracy']:.4f} |", flush=True)
    print(f"\n{machine}; last link: {link}; {'root' if os.geteuid() == 0 else 'not root'}.")


main()
