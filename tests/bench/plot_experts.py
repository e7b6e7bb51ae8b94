#!/usr/bin/env python3
"""Draws the two pictures of the README's section on experts from the metrics of two runs.

usage: plot_experts.py GRUG.jsonl LLAMA.jsonl FOLDER     (files: trireme run JOB -o json > FILE)

losses.png: cross-entropy of both, by step. loads.png: for every layer of the mixture the load of each
expert over its mean, by step. Needs matplotlib, which nothing else does.
"""

import json
import pathlib
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import TwoSlopeNorm

SMOOTH = 10  # steps


def read(path):
    steps = []
    for line in pathlib.Path(path).read_text().splitlines():
        row = json.loads(line)
        if "train/loss" in row:
            steps.append(row)
    return steps


def smooth(values):
    """Means of SMOOTH steps, each drawn at its last."""
    kernel = np.ones(SMOOTH) / SMOOTH
    return np.arange(SMOOTH, len(values) + 1), np.convolve(values, kernel, mode="valid")


def cross_entropy(steps):
    return [row.get("train/cross_entropy_loss", row["train/loss"]) for row in steps]


def draw_losses(runs, out):
    figure, axes = plt.subplots(figsize=(8, 4.2), dpi=110)
    ends = {name: smooth(cross_entropy(steps))[1][-1] for name, steps, _ in runs}
    for name, steps, color in runs:
        x, y = smooth(cross_entropy(steps))
        axes.plot(x, y, color=color, linewidth=1.8)
        above = y[-1] == max(ends.values())
        axes.annotate(f"{name}: {y[-1]:.3f}", (x[-1], y[-1]), xytext=(6, 7 if above else -7),
                      textcoords="offset points", color=color, va="center", fontsize=10)
    low = min(smooth(cross_entropy(steps))[1].min() for _, steps, _ in runs)
    axes.set_ylim(low - 0.15, 3.2)
    last = len(runs[0][1])
    axes.set_xlim(0, last * 1.3)  # room for the names
    axes.set_xticks(range(0, last + 1, 100))
    axes.set_xlabel("step")
    axes.set_ylabel(f"cross-entropy, mean of {SMOOTH} steps (nats a byte)")
    axes.set_title("Equal active parameters on the King James Bible, bytes", loc="left", fontsize=11)
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(out / "losses.png")


def draw_loads(steps, out):
    pattern = re.compile(r"moe/layer(\d+)/expert(\d+)_load")
    loads = {}
    for key in steps[0]:
        if match := pattern.fullmatch(key):
            loads.setdefault(int(match[1]), set()).add(int(match[2]))
    layers = sorted(loads)
    figure, grid = plt.subplots(len(layers), 1, figsize=(8, 1.25 * len(layers) + 1.2), dpi=110,
                                sharex=True, layout="constrained")
    norm = TwoSlopeNorm(vmin=0, vcenter=1, vmax=3)
    for axes, layer in zip(np.atleast_1d(grid), layers):
        experts = len(loads[layer])
        image = np.array([[row[f"moe/layer{layer}/expert{e}_load"] * experts for row in steps]
                          for e in range(experts)])
        shown = axes.imshow(image, aspect="auto", cmap="RdBu_r", norm=norm, interpolation="nearest",
                            extent=(0.5, len(steps) + 0.5, experts - 0.5, -0.5))
        axes.set_ylabel(f"layer {layer}\nexpert")
        axes.set_yticks([0, experts - 1])
        most = image[:, -50:].max(axis=0).mean()
        axes.set_title(f"largest over mean in the last 50 steps: {most:.2f}", loc="right", fontsize=8)
    axes.set_xlabel("step")
    bar = figure.colorbar(shown, ax=grid, extend="max", ticks=[0, 0.5, 1, 2, 3], shrink=0.8)
    bar.set_label("load over mean load (white: balanced)")
    figure.suptitle("Load of every expert under quantile balancing", x=0.01, ha="left", fontsize=11)
    figure.savefig(out / "loads.png")


def main():
    grug, llama, out = read(sys.argv[1]), read(sys.argv[2]), pathlib.Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    draw_losses([("dense Llama", llama, "#c05a1e"), ("Grug, 16 experts", grug, "#1f5fa8")], out)
    draw_loads(grug, out)


if __name__ == "__main__":
    main()
