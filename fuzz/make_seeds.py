#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small well-formed input of every kind for each fuzz target: make_seeds.py FOLDER. The first bytes of an input choose the
decoder, as in the target's LLVMFuzzerTestOneInput."""
import io
import json
import pathlib
import struct
import sys
import zipfile
import gzip

CUT = b"\n%%%\n"


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


def chosen(*numbers):
    return bytes(numbers)


# NumPy -------------------------------------------------------------------------------------------------------------------------

def npy(descr, shape, data):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def npz(**arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in arrays.items():
            archive.writestr(name + ".npy", content)
    return out.getvalue()


def array_seeds():
    arrays = {"i8": npy("<i8", "(3,)", struct.pack("<3q", 1, 2, 3)), "f4": npy("<f4", "(2, 2)", struct.pack("<4f", 0, 1, 2, 3)),
              "u4": npy("<u4", "(1,)", u32(7)), "scalar": npy("<f8", "()", struct.pack("<d", 1.5))}
    yield from ((f"npy-{name}", chosen(0) + content) for name, content in arrays.items())
    yield "npz", chosen(1) + npz(a=arrays["f4"], indptr=arrays["i8"], adj_data=arrays["u4"])


# Pickles, protocol 2 as Python 2 writes them ------------------------------------------------------------------------------------

def integer(value):
    return b"J" + struct.pack("<i", value)


def text(value):
    return b"U" + bytes([len(value)]) + value.encode()


def name(module, thing):
    return f"c{module}\n{thing}\n".encode()


def pickle(body):
    return b"\x80\x02" + body + b"."


def array(dtype, shape, data):
    made = name("numpy.core.multiarray", "_reconstruct") + name("numpy", "ndarray") + integer(0) + b"\x85" + text("b") + b"\x87R"
    kind = name("numpy", "dtype") + text(dtype) + integer(0) + integer(1) + b"\x87R("
    state = integer(3) + text("<") + b"NNN" + integer(-1) + integer(-1) + integer(0) + b"tb"
    return (made + b"(" + integer(1) + b"(" + b"".join(map(integer, shape)) + b"t" + kind + state + b"\x89T"
            + struct.pack("<i", len(data)) + data + b"tb")


def ints(values):
    return array("i4", [len(values)], struct.pack(f"<{len(values)}i", *values))


def matrix(rows, columns, indptr, indices, values):
    return (name("scipy.sparse.csr", "csr_matrix") + b")\x81}(" + text("_shape") + integer(rows) + integer(columns) + b"\x86"
            + text("indptr") + ints(indptr) + text("indices") + ints(indices) + text("data")
            + array("f4", [len(values)], struct.pack(f"<{len(values)}f", *values)) + b"ub")


def one_hot(labels, classes):
    cells = [int(c == label) for label in labels for c in range(classes)]
    return array("i4", [len(labels), classes], struct.pack(f"<{len(cells)}i", *cells))


def lists(neighbours):
    out = name("collections", "defaultdict") + name("__builtin__", "list") + b"\x85R("
    for node, others in enumerate(neighbours):
        out += integer(node) + b"](" + b"".join(map(integer, others)) + b"e"
    return out + b"u"


def pickle_seeds():
    yield "array", pickle(ints([1, 2, 3]))
    yield "one-hot", pickle(one_hot([0, 1], 3))
    yield "matrix", pickle(matrix(2, 3, [0, 1, 2], [0, 1], [1, 0.5]))
    yield "lists", pickle(lists([[1], [0, 1], []]))


def planetoid_seeds():
    files = [matrix(2, 3, [0, 1, 2], [0, 1], [1, 1]), one_hot([0, 1], 4), matrix(2, 3, [0, 1, 2], [2, 1], [6, 4]), one_hot([2, 1], 4),
             matrix(3, 3, [0, 1, 2, 4], [0, 1, 0, 2], [1, 1, 1, 0.5]), one_hot([0, 1, 0], 4),
             lists([[1, 2, 2], [0], [2], [], [6], [], [4]])]
    yield "tiny", CUT.join([*map(pickle, files), b"6\n4\n"])


# DGL ---------------------------------------------------------------------------------------------------------------------------

def named(tensors):
    return u64(len(tensors)) + b"".join(u64(len(key)) + key.encode() + value for key, value in tensors.items())


def tensor(code, bits, shape, data):
    return (u64(0xDD5E40F096B4A13F) + u64(0) + struct.pack("<iiiBBH", 1, 0, len(shape), code, bits, 1)
            + struct.pack(f"<{len(shape)}q", *shape) + struct.pack("<q", len(data)) + data)


def ids(*values):
    return tensor(0, 64, [len(values)], struct.pack(f"<{len(values)}q", *values))


def dgl_graph(csr_form):
    def csr(rows, indptr, indices, data):
        return u64(0xDD6CD31205DFF127) + struct.pack("<qq", rows, rows) + indptr + indices + data + b"\0"
    meta = u64(0xDD3C5FFE20046ABF) + csr(1, ids(0, 1), ids(0), ids(0))
    form = (csr(3, ids(0, 1, 2, 2), ids(1, 2), ids(0, 1)) if csr_form else
            u64(0xDD61FFD305DFF127) + struct.pack("<qq", 3, 3) + ids(0, 1) + ids(1, 2) + ids() + b"\0\0")
    unit = u64(0xDD2E60F0F6B4A127) + u64(0x200000002 if csr_form else 0x100000001) + u64(0x100000007) + meta + form
    out = (u64(0xDD2E4FF046B4A13F) + u64(2) + u64(2) + u64(1)).ljust(4096, b"\0")
    begin = 4096 + 16
    out += u64(begin) + u64(0) + u64(0xDD589FBE35224ABF) + meta + u64(1) + unit
    out += u64(1) + struct.pack("<q", 3) + u64(1) + named({"_ID": ids(0, 1, 2)}) + u64(1) + named({"_ID": ids(0, 1)})
    out += u64(1) + u64(2) + b"_N" + u64(1) + u64(2) + b"_E"
    return out + u64(16) + u64(1) + u64(begin) + u64(16)


def dgl_seeds():
    features = {"_N/feat": tensor(2, 32, [2, 1], struct.pack("<2f", 0, 1)), "_N/label": ids(0, 1)}
    yield "tensors", chosen(0) + u64(0xDD5A9FBE3FA2443F) + u64(len(features)) + named(features)
    yield "coo", chosen(1) + dgl_graph(False)
    yield "csr", chosen(1) + dgl_graph(True)
    part = {"node_feats": "p/node_feat.dgl", "edge_feats": "p/edge_feat.dgl", "part_graph": "p/graph.dgl"}
    yield "metadata", chosen(2) + json.dumps({
        "graph_name": "g", "num_nodes": 4, "num_edges": 3, "num_parts": 2, "halo_hops": 1, "ntypes": {"_N": 0}, "etypes": {"_E": 0},
        "node_map": {"_N": [[0, 2], [2, 4]]}, "edge_map": {"_E": [[0, 2], [2, 3]]}, "part_method": "metis", "node_map_dtype": "int64",
        "part-0": part, "part-1": part}).encode()


# Rudder's own files ------------------------------------------------------------------------------------------------------------

def folder_seeds():
    digest = "0123456789abcdef" * 4
    yield "partition", chosen(0) + json.dumps({
        "format": "rudder-partition", "version": 1, "tool": "rudder partition", "parts": 2, "method": "hash", "seed": 1, "imbalance": 0.05,
        "offsets": [0, 2, 4], "graph_digest": digest, "structure_digest": digest, "source_digest": digest,
        "report": {"edge_cut": 1, "balance_nodes": 1.0, "balance_edges": 1.0, "balance_train": 1.0, "halo": [1, 1]}}).encode()
    yield "graph", chosen(1) + json.dumps({
        "format": "rudder-graph", "version": 1, "nodes": 4, "edges": 6, "features": 2, "classes": 2, "train": 1, "val": 1, "test": 1,
        "max_degree": 2, "original_ids": False, "dtype": "f32", "origin": {"source": "seed"}}).encode()


def trace_seeds():
    header = json.dumps({"partition_digest": "d", "seed": 1, "nodes": 4, "row_bytes": 4, "epochs": 1, "steps_per_epoch": 2, "batch": 1,
                         "fanout": [2], "part_offsets": [0, 2, 4]}).encode()

    def section(kind, rank, count, rows, raw):
        return struct.pack("<BBHHH", kind, rank, count, rows, len(raw)) + raw
    sections = [section(1, 0, 0, 0, header), section(2, 0, 4, 0, bytes([1, 1, 1, 1]))]
    for rank, halo in ((0, bytes([2, 0])), (1, bytes([0, 0]))):
        sections += [section(3, rank, 2, 0, halo), section(4, rank, 4, 0, struct.pack("<4f", 0, 0, 0, 0)),
                     section(5, rank, 2, 3, bytes([1]) + halo[:1] + bytes([2]) + halo)]
    yield "whole", chosen(0) + b"".join(sections) + section(6, 0, 0, 0, b"")
    yield "raw", chosen(1) + b"RUDTRACE" + u32(1)


def checkpoint_seeds():
    header = json.dumps({"identity": "{}", "next_step": 2, "updates": 2, "epoch_loss": 0.5, "parameters": 1, "losses": 2,
                         "epochs": []}).encode()
    header = header.ljust((len(header) + 7) // 8 * 8)
    yield "whole", chosen(0) + b"RUDDERCK" + u32(1) + u32(len(header)) + header + struct.pack("<5f", 1, 2, 3, 4, 5)
    yield "record", chosen(1) + u32(2) + u32(2) + bytes([3, 4]) + u32(0) + u32(0) + u32(1) + u32(2) + bytes([0x85, 1])


def wire_seeds():
    texts = b"".join(bytes([len(word)]) + word for word in (b"g" * 64, b"p" * 64, b"f32", b"host"))
    kinds = b"".join(bytes([len(word)]) + word for word in (b"f32", b"replicated"))
    yield "hello", chosen(0) + b"RUDDERDP" + u32(2) + u32(2) + u32(1) + u64(400) + texts + bytes(range(32)) + kinds
    yield "hello-1", chosen(0) + b"RUDDERDP" + u32(1)
    for kind in range(2, 11):
        yield f"header-{kind}", chosen(1, kind, 0, 0, 0) + u32(5) + u64(9)
    yield "proof", chosen(1) + b"RUDDERPF" + bytes(16)
    yield "ids", chosen(2) + bytes(7) + u64(2000) + struct.pack("<H", 3) + bytes([1, 0x80 + 5, 1, 0])
    yield "ask", chosen(3) + u64(900)[:7] + struct.pack("<H", 2) + u64(7) + u32(10) + bytes([1, 3])
    yield "drawn", chosen(4) + u64(900)[:7] + struct.pack("<HH", 9, 2) + bytes([2, 1, 6, 2, 1])
    yield "ucx-frame", chosen(5, 1, 0, 0, 0) + u32(2) + b"header"
    yield "ucx-address", chosen(5) + b"RUDUCX01" + u32(1) + u32(4) + u64(0) + b"address"


def handshake_seeds():
    yield "hello-then-proof", chosen(0) + bytes([0, 0, 1, 9, 0, 1, 0, 0, 4, 0])
    yield "proof-first", chosen(0) + bytes([1, 1, 1, 2, 5, 5, 1, 0, 1, 3, 0, 2, 1, 3])
    yield "friend", chosen(1, 0, 3, 1, 2, 3)
    yield "forged", chosen(2, 5) + b"forged"


def service_seeds():
    attach = {"version": 1, "rank": 2, "graph_digest": "g", "partition_digest": "p", "steps": 9, "steps_per_epoch": 3, "seed": 1, "batch": 8,
              "fanout": [10, -1]}
    terms = {"policy": "lru", "ahead": True, "depth": 4, "slots": 9, "first_part": 2, "parts": 2}
    for seed_name, content in (("attach", attach), ("terms", terms), ("failure", {"code": 6, "message": "gone"})):
        yield seed_name, chosen(0) + json.dumps(content).encode()
    yield "block", chosen(1) + u64(3) + u64(4096)
    yield "rows", chosen(2, 2) + b"".join(map(u64, range(11))) + u32(5) + u32(1 << 31)
    yield "offer", chosen(3) + u32(900) + u32(10) + struct.pack("<H", 20) + u64(3) + bytes([1, 40, 0])
    page = "# HELP a_total A\n# TYPE a_total counter\na_total 3\n"
    peer, trainer = '{rank="0",peer="1"', '{rank="0",trainer="2"} '
    page += f"rudder_peer_rows_total{peer}}} 7\nrudder_pull_seconds_count{peer}}} 2\nrudder_pulls_waiting{peer}}} 1\n"
    page += "".join(f'rudder_pull_seconds_bucket{peer},le="{bound}"}} {count}\n' for bound, count in (("0.5", 1), ("2", 2), ("+Inf", 2)))
    page += f"rudder_trainer_attached{trainer}1\nrudder_trainer_batches_ahead{trainer}-1\nrudder_trainer_wait_seconds_total{trainer}0.25\n"
    page += 'rudder_served_rows_requested_total{rank="0",policy="l\\"r\\\\u\\n"} 1e3\nrudder_served_runs_total{rank="0"} NaN\n'
    yield "figures", chosen(4) + u64(12345) + page.encode()


# Text --------------------------------------------------------------------------------------------------------------------------

def text_graph_seeds():
    for kind, content in enumerate((b"1,2\n3,4\n", b"0\n5\n", b"1\n2.0\nnan\n", b"0.5,1\n2,-3e2\n")):
        yield f"columns-{kind}", chosen(0, kind) + content
    yield "columns-gzip", chosen(0, 0) + gzip.compress(b"1,2\n3,4\n", mtime=0)
    snap = b"# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n0\t7\n7\t9\n"
    yield "snap", chosen(1) + snap
    yield "snap-gzip", chosen(1) + gzip.compress(snap, mtime=0)
    yield "debian", chosen(2) + (b"Package: a\nSection: libs\nDepends: b (>= 1.0) | c, d:any\nProvides: v (= 1)\nDescription: one\n more\n"
                                 b"\nPackage: b\nSection: utils\nPre-Depends: v\nRecommends: a\nDescription: two\n")
    noun = b"  1 licence\n00001740 03 n 01 entity 0 001 ~ 00001930 n 0000 | that which is\n00001930 03 n 01 thing 0 000 | a thing\n"
    yield "wordnet", chosen(3) + CUT.join([noun, b"00000001 29 v 01 be 0 000 01 + 02 00 | exist\n", b"00000002 00 a 01 big(a) 0 000 | large\n",
                                            b"00000003 02 r 01 well 0 000 | good\n"])


def topology_seeds():
    unknown = 1
    files = {
        1: b"SwitchName=s1 Nodes=a[1-2]\nSwitchName=s2 Nodes=b1\nSwitchName=top Switches=s[1-2]\n",
        2: b"- topology: t\n  cluster_default: true\n  tree:\n    switches:\n      - switch: top\n        children: s[1-2]\n      - switch: s1\n"
           b"        nodes: a[1-2]\n      - switch: s2\n        nodes: b1\n",
        3: json.dumps({"instances": [{"id": "a1", "network_layers": ["l1", "top"]}, {"id": "b1", "network_layers": ["l2", "top"]}]}).encode(),
        4: b"switches:\n  core:\n    switches: [leaf]\n  leaf:\n    nodes: [\"a[1-2]\"]\n",
        5: json.dumps({"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "a1", "labels": {
            "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/rack": "r"}}}]}).encode(),
        6: b'vendid=0x2c9\ndevid=0xbd36\nsysimgguid=0x1\nswitchguid=0x2(2)\nSwitch\t2 "S-0000000000000002"\t\t# "leaf" enhanced port 0 lid 1 lmc 0\n'
           b'[1]\t"H-0000000000000003"[1](4) \t\t# "a1 mlx5_0" lid 2 4xHDR\n\nvendid=0x2c9\nCa\t1 "H-0000000000000003"\t\t# "a1 mlx5_0"\n'
           b'[1](4) \t"S-0000000000000002"[1]\t\t# lid 2 lmc 0 "leaf" lid 1 4xHDR\n',
        7: b"a[1-2] top/s1\nb1 top/s2\n"}
    for kind, content in files.items():
        yield f"format-{kind}", chosen(0, kind, unknown) + content
        yield f"auto-{kind}", chosen(0, 0, unknown) + content
    yield "blocks", chosen(0, 1, 0) + b"BlockName=b1 Nodes=a[1-2]\nBlockName=b2 Nodes=a[3-4]\nBlockSizes=2,4\n"
    yield "states-json", chosen(1) + json.dumps({"nodes": [{"hostname": "a1", "state": "idle", "state_flags": ["DRAIN"]}]}).encode()
    yield "states-text", chosen(1) + b"NodeName=a1 Arch=x86_64\n   State=IDLE+DRAIN ThreadsPerCore=1\n\n"
    yield "states-list", chosen(1) + b"a1 idle\na[2-3] down*\n"
    yield "hosts", chosen(2) + b"a[01-10,12],b[1-2]c[3-4],d"


def classifier_seeds():
    common = {"columns": 2, "classes": 3, "present": [0, 1, 2], "mean": [0.5, 1], "scale": [0.25, 2]}
    layer = {"outputs": 3, "weights": [0.5, -1, 0.25] * 3}
    tree = {"group": 0, "left": [1, -1, -1], "right": [2, -1, -1], "feature": [1, 0, 2], "threshold": [0.5, 1, 1]}
    bodies = {"lr": {"linear": layer}, "svm": {"linear": layer}, "rf": {"forest": [tree]}, "xgb": {"forest": [tree, dict(tree, group=2, feature=[1, 0, 0])]},
              "mlp": {"network": [layer, {"outputs": 3, "weights": [1, 0, 0.5, 0] * 3}]}}
    for kind, body in bodies.items():
        yield kind, json.dumps({"kind": kind, **common, **body}).encode()
    yield "constant", json.dumps({"kind": "rf", **common, "present": [1]}).encode()


def jobs_seeds():
    traces = [b"timestamp,duration,num_gpus,gpu_time,cluster\n0,60,1,60,vc1\n5,3600,8,28800,vc2\n",
              json.dumps([{"status": "Pass", "vc": "v", "jobid": "j1", "attempts": [{
                  "start_time": "2017-10-09 07:01:55", "end_time": "2017-10-09 08:01:55",
                  "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]}], "submitted_time": "2017-10-09 07:01:05", "user": "u"}]).encode(),
              b"JobID|User|Account|Partition|Submit|Start|End|Elapsed|Timelimit|AllocTRES|NNodes|State\n"
              b"1|u|a|p|2023-01-01T00:00:00|2023-01-01T00:01:00|2023-01-01T01:01:00|01:00:00|02:00:00|gres/gpu=8,node=1|1|COMPLETED\n",
              b"job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
              b"1,u,v,8,16,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:01:00,2020-04-01 01:01:00,3600,60\n",
              b"job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue\n"
              b"a1,u,1,8,16,Pretrain,COMPLETED,2023-03-01T00:00:00+08:00,2023-03-01T00:01:00+08:00,2023-03-01T01:01:00+08:00,3600,60\n",
              b"job,user,queue,submit,duration,nodes,gpus_per_node\nx,u,q,0,60,2,8\ny,u,q,5,60,1,1\n"]
    for kind, content in enumerate(traces):
        yield f"trace-{kind}", chosen(0, kind) + content
    yield "request", chosen(1) + b"rudder: shape=2x4 alpha=0.3 order=row-major planned=2026-11-30T04:00:00 estimate=2h preemptible priority=3"
    yield "note", chosen(1) + b"rudder-plan zone J=1.5 bound=1 hosts=0123456789abcdef zone=planned arrival=1 end=2 expires=3 victims=4,5"
    yield "squeue", chosen(2, 0) + json.dumps({"jobs": [{
        "job_id": 7, "name": "n", "user_name": "u", "account": "a", "partition": "p", "comment": "rudder:", "admin_comment": "",
        "job_state": "PENDING", "state_reason": "JobHeldUser", "dependency": "", "resv_name": "", "node_count": 2, "tasks": 2,
        "restart_cnt": 0, "submit_time": 1, "start_time": 0, "eligible_time": 0, "time_limit": 60, "nodes": "a[1-2]", "priority": 0,
        "requeue": True, "hold": True, "array_job_id": 0, "het_job_id": 0}]}).encode()
    yield "sinfo", chosen(2, 1) + b"a1 idle\na2 allocated\nb1 down*\n"
    yield "reservations", chosen(2, 2) + b"ReservationName=r StartTime=1 EndTime=2 Nodes=a[1-2] NodeCnt=2 Users=u,v Flags=SPEC_NODES\n"
    yield "scontrol-topology", chosen(2, 3) + b"SwitchName=s1 Level=0 LinkSpeed=1 Nodes=a[1-2]\nSwitchName=top Level=1 LinkSpeed=1 Nodes=a[1-2],b1 Switches=s1\n"


# Replies of language models -----------------------------------------------------------------------------------------------------

def reply_seeds():
    form = {"decision": "replace", "reason": "hits fell", "expected": {"hits": "increase", "traffic": "decrease"}}
    replies = [json.dumps(form), json.dumps(form, indent=2), json.dumps({"action": 1, "response": {"decision": True}}),
               "<think>{\"decision\": \"skip\"}?</think>\n```json\n" + json.dumps(form) + "\n```\nYes.",
               "{'decision': 'skip', 'reason': 'it's \\u00e4', // no\n}", "{decision: replace\n reason: why not\n}",
               "**Decision:** skip\n", "Replace.", "{“决定”：“替换”，“理由”：“命中低”}", "{\"决定\": \"\\u662f\", \"预期\": {\"命中\": \"上升\"}}",
               "[{\"list\": [1, {\"a\": [[]]}], \"decision\": [\"skip\"]}", "{\"reason\": \"say \"yes\" now\", /* */ \"decision\" = \"no\"",
               "{\"decision\": \"<action>\"} {\"decision\": \"depth16-slow\"}"]
    for kind in (0, 1):
        yield from ((f"parse-{kind}-{i}", chosen(0, kind) + text.encode()) for i, text in enumerate(replies))
    tokens = [(b"{\"decision\"", []), (b": \"", []), (b"re", [(b"skip", 30), (b"re", 90)]), (b"place", [(b"place", 128)]), (b"\"}", [])]
    yield "confidence", chosen(1, 0) + b"".join(
        bytes([len(text)]) + text + bytes([len(choices)]) + b"".join(
            (bytes([len(choice)]) + choice if i + 1 < len(choices) else b"") + bytes([weight])
            for i, (choice, weight) in enumerate(choices)) for text, choices in tokens)


def chat_seeds():
    token = {"token": "yes", "logprob": -0.5, "allowed": 0.5, "top_logprobs": [{"token": "yes", "logprob": -0.5}, {"token": "no", "logprob": -1}]}
    reply = {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [{
        "index": 0, "message": {"role": "assistant", "content": "{\"decision\":\"yes\"}"}, "finish_reason": "stop",
        "logprobs": {"content": [token]}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}}
    request = {"messages": [{"role": "system", "content": "rules"}, {"role": "user", "content": [{"type": "text", "text": "q"}]}], "model": "m",
               "max_tokens": 8, "temperature": 0.5, "seed": 1, "user": "job", "timeout": 2.5, "grammar": "root ::= \"x\"", "logprobs": True,
               "top_logprobs": 8, "stream": False, "n": 1,
               "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}}
    yield "reply", chosen(0) + json.dumps(reply).encode()
    yield "request", chosen(1) + json.dumps(request).encode()
    for kind, url in enumerate((b"http://127.0.0.1:8080/v1", b"https://h", b"http://[::1]:1", b"unix:/run/a.sock")):
        yield f"url-{kind}", chosen(2) + url
    for kind, body in enumerate((b'{"error":{"message":"no"}}', b'{"error":"no"}', b"<html>\x1b[0m")):
        yield f"error-{kind}", chosen(3) + body
    yield "gguf", chosen(4) + b"GGUF" + u32(3) + u64(1) + u64(2) + bytes(100)
    yield "grammar", chosen(5) + b'root ::= ("yes" | "no") [a-z]+\n'


def decisions_seeds():
    decision = {"sequence": 3, "action": "replace", "confidence": 0.5, "reason": "hits fell", "seconds": 0.25, "from_model": True,
                "valid_reply": True, "expected": {"hits": "increase", "traffic": "stagnant"}}
    lines = [{"sequence": 3, "verdict": "applied", "applied": "replace", "staleness": 0, "from_cache": False, "decision": decision},
             {"sequence": 5, "verdict": "negative_benefit", "applied": "skip", "staleness": 2, "decision": {**decision, "action": None}},
             {"sequence": 6, "applied": "skip"}]
    yield "log", b"".join(json.dumps(line).encode() + b"\n" for line in lines) + b'{"sequence": 7, "app'


# Launchers and their hosts -----------------------------------------------------------------------------------------------------

def launch_seeds():
    yield "hosts", chosen(0) + b"# the rack\nalpha slots=2\nuser@10.0.0.2 address=ib2\n"
    yield "line", chosen(1) + b"out 3 epoch 1"
    yield "exit", chosen(1) + b"exit 3 137 9 0"
    yield "signal", chosen(2) + b"signal 15"
    yield "hello", chosen(3, 0) + b'{"directory":"/a","master":"alpha","silence":2.5}'
    yield "ready", chosen(3, 1) + b'{"version":"1.0","address":"10.0.0.1","loopback":false,"port":7,"error":""}'
    yield "start", chosen(3, 2) + json.dumps({
        "command": ["train", "parts"], "own": True, "names": ["UCX_TLS"], "values": ["tcp"], "world": 4, "first": 2, "count": 2,
        "master": "10.0.0.1", "port": 29400, "secret": 64 * "7", "grace": 5.0}).encode()


FAMILIES = {"array": array_seeds, "chat": chat_seeds, "checkpoint": checkpoint_seeds, "classifier": classifier_seeds,
            "decisions": decisions_seeds, "dgl": dgl_seeds, "folder": folder_seeds,
            "handshake": handshake_seeds, "jobs": jobs_seeds, "launch": launch_seeds, "pickle": pickle_seeds, "planetoid": planetoid_seeds, "reply": reply_seeds,
            "service": service_seeds,
            "text_graph": text_graph_seeds, "topology": topology_seeds, "trace": trace_seeds, "wire": wire_seeds}


def main():
    root = pathlib.Path(sys.argv[1])
    for family, seeds in FAMILIES.items():
        folder = root / family
        folder.mkdir(parents=True, exist_ok=True)
        for seed_name, content in seeds():
            (folder / seed_name).write_bytes(content)


if __name__ == "__main__":
    main()
