#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of DGL in one process on a graph folder, to hold Rudder's beside: GraphSAGE (mean), Adam, cross-entropy, full-
neighbour evaluation. usage: single_dgl.py GRAPH EPOCHS [SEED]   (needs DGL, see compare.py)"""
import json
import os
import sys

os.environ["DGLBACKEND"] = "pytorch"
import dgl
import dgl.nn.pytorch as dnn
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HIDDEN, BATCH, FANOUT = 128, 512, [10, 25]  # DGL's order: the last number is the seeds' hop


class Sage(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.layers = nn.ModuleList([dnn.SAGEConv(features, HIDDEN, "mean"), dnn.SAGEConv(HIDDEN, classes, "mean")])

    def forward(self, blocks, x):
        x = F.dropout(F.relu(self.layers[0](blocks[0], x)), 0.5, self.training)
        return self.layers[1](blocks[1], x)


def main():
    source, epochs, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0

    def load(name):
        return torch.from_numpy(np.load(os.path.join(source, name + ".npy")))

    torch.manual_seed(seed)
    dgl.seed(seed)
    graph = dgl.graph(("csc", (load("indptr").long(), load("indices").long(), torch.empty(0, dtype=torch.int64))))
    features, labels = load("features").float(), load("labels").long()
    train, splits = load("train").long(), {name: load(name).long() for name in ("val", "test")}
    model = Sage(features.shape[1], int(labels.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    loader = dgl.dataloading.DataLoader(graph, train, dgl.dataloading.NeighborSampler(FANOUT), batch_size=BATCH, shuffle=True)
    for _ in range(epochs):
        model.train()
        for inputs, outputs, blocks in loader:
            loss = F.cross_entropy(model(blocks, features[inputs]), labels[outputs])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        guess = model([graph, graph], features).argmax(1)
    print(json.dumps({name + "_accuracy": float((guess[ids] == labels[ids]).float().mean()) for name, ids in splits.items()}))


main()
