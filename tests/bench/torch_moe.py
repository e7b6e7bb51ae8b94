#!/usr/bin/env python3
"""Times a mixture-of-experts layer, forward and backward, in PyTorch: a loop over the experts with index_select,
matmul and index_add, float32. With --bench it runs moe_bench by turns and prints one table.

    torch_moe.py [--experts N] [--choices N] [--hidden N] [--width N] [--tokens N] [--threads N] [--steps N]
    torch_moe.py --bench build/bench/bin/moe_bench [--threads N] [--rounds N]

The first form prints one JSON line with the medians {seconds, cpu_seconds, gflops}. The second measures the sizes in
SIZES; a ratio is our rate over the other's, the median over rounds in which both ran one after the other.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

# experts, choices, hidden, width of an expert, tokens
SIZES = ((64, 4, 512, 512, 1024), (64, 4, 512, 512, 4096), (8, 2, 512, 1408, 1024), (8, 2, 512, 1408, 4096))
NAMES = ("experts", "choices", "hidden", "width", "tokens")


class Layer:
    """One layer with fixed inputs and ids; each expert has its own parameters, as a module list would."""

    def __init__(self, torch, options):
        self.torch = torch
        torch.manual_seed(1)

        def leaf(*sizes):
            return (torch.rand(sizes) * 0.1 - 0.05).requires_grad_()

        hidden, width = options.hidden, options.width
        self.gate = [leaf(hidden, width) for _ in range(options.experts)]
        self.up = [leaf(hidden, width) for _ in range(options.experts)]
        self.down = [leaf(width, hidden) for _ in range(options.experts)]
        self.x = leaf(options.tokens, hidden)
        self.weights = leaf(options.tokens, options.choices)
        self.dy = torch.rand(options.tokens, hidden)
        self.ids = torch.rand(options.tokens, options.experts).topk(options.choices).indices

    def step(self):
        torch = self.torch
        for leaf in (*self.gate, *self.up, *self.down, self.x, self.weights):
            leaf.grad = None
        y = torch.zeros_like(self.dy)
        for e, (gate, up, down) in enumerate(zip(self.gate, self.up, self.down)):
            token, choice = torch.where(self.ids == e)
            if token.numel() == 0:
                continue
            rows = self.x.index_select(0, token)
            inner = torch.nn.functional.silu(rows @ gate) * (rows @ up)
            y = y.index_add(0, token, (inner @ down) * self.weights[token, choice].unsqueeze(1))
        y.backward(self.dy)


def time_torch(options):
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        sys.exit(f"torch_moe.py: {sys.executable} has no PyTorch; see README.md for how to get one")
    torch.set_num_threads(options.threads)
    layer = Layer(torch, options)
    layer.step()
    wall, cpu = [], []
    for _ in range(options.steps):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        layer.step()
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - cpu_begin)
    flops = 18.0 * options.tokens * options.choices * options.hidden * options.width
    seconds = statistics.median(wall)
    return {"seconds": seconds, "cpu_seconds": statistics.median(cpu), "gflops": round(flops / seconds * 1e-9, 1),
            "torch": torch.__version__}


def run(command):
    result = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"torch_moe.py: {' '.join(map(str, command))} failed with exit code {result.returncode}")
    return json.loads(result.stdout.splitlines()[0])


def compare(options, sizes):
    arguments = [text for name, size in zip(NAMES, sizes) for text in (f"--{name}", size)]
    arguments += ["--threads", options.threads]
    ours, peers = [], []
    for _ in range(options.rounds):
        ours.append(run([options.bench, *arguments, "--rounds", options.steps]))
        peers.append(run([sys.executable, __file__, *arguments, "--steps", options.steps]))

    def ratio(values):
        values = list(values)
        return f"{statistics.median(values):.2f} ({min(values):.2f}, {max(values):.2f})"

    layers = [o["layer"] for o in ours]
    cells = [", ".join(map(str, sizes)),
             f"{statistics.median(x['seconds'] for x in layers) * 1e3:.1f} ms",
             f"{statistics.median(x['gflops'] for x in layers):.0f}",
             f"{statistics.median(x['dense_gflops'] for x in layers):.0f}",
             ratio(x["ratio"] for x in layers),
             f"{statistics.median(p['gflops'] for p in peers):.0f}",
             ratio(p["seconds"] / x["seconds"] for p, x in zip(peers, layers)),
             ratio(p["cpu_seconds"] / x["cpu_seconds"] for p, x in zip(peers, layers)),
             " ".join(f"{statistics.median(o[name]['ratio'] for o in ours):.2f}"
                      for name in ("forward", "transposed", "weight_gradient"))]
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="path of moe_bench: compare with it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    for name, size in zip(NAMES, SIZES[0]):
        parser.add_argument(f"--{name}", type=int, default=size)
    options = parser.parse_args()
    if not options.bench:
        print(json.dumps(time_torch(options)))
        return
    print("| experts, choices, hidden, width, tokens | layer | GFLOP/s | dense MLP's | ratio | PyTorch's | ratio "
          "| ratio of processor time | products: forward, transposed, weight gradient over dense |")
    print("|---|---|---|---|---|---|---|---|---|")
    for sizes in SIZES:
        compare(options, sizes)


if __name__ == "__main__":
    main()
