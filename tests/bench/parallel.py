#!/usr/bin/env python3
"""Times what parallel modes promise against what the plan predicts, on CPU ranks behind limited links.

    parallel.py --bin build/bench/bin [--text FILE] [async] [prefetch] [slices] [compression]

async        tensor parallelism over two workers behind a limited link: the step gets shorter by the transfer time that
             the plan calls hidden
prefetch     FSDP over two workers behind a limited link: the same, for parameters gathered one block ahead
slices       two slices of two ranks behind 100 Mbit/s: hierarchical gradients against flat ones, and the predicted ratio
compression  300 steps over two slices: bytes over DCN and loss with bf16 and int8 beside none

One JSON object a line. Both sides of a ratio run in turn, so that other load on the machine meets both alike.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

JOB = """
name: parallel
model: {{type: llama, hidden_size: {hidden}, intermediate_size: {mlp}, num_hidden_layers: {layers},
        num_attention_heads: 8, num_key_value_heads: 4, vocab_size: 256, max_position_embeddings: {length}}}
data: {{train: [{{path: {text}}}], tokenizer: bytes, sequence_length: {length}}}
train: {{steps: {steps}, global_batch_size: {batch}, seed: 0}}
optimizer: {{type: adamw, learning_rate: 2e-3, betas: [0.9, 0.95], weight_decay: 0.1, max_grad_norm: 1.0}}
schedule: {{type: cosine, warmup: 10%, min_ratio: 0.1}}
"""


class Runner:
    def __init__(self, options, folder):
        self.trireme = options.bin / "trireme"
        self.folder = pathlib.Path(folder)
        self.rounds = options.rounds
        self.text = options.text
        if self.text is None:
            self.text = self.folder / "text.txt"
            words = [bytes(random.Random(i).choices(b"abcdefghijklmnop", k=3 + i % 6)).decode() for i in range(500)]
            draw = random.Random(1)
            self.text.write_text(" ".join(draw.choice(words) for _ in range(60000)))

    def job(self, **sizes):
        path = self.folder / "job.yaml"
        path.write_text(JOB.format(text=self.text, **sizes))
        return path

    def call(self, words):
        result = subprocess.run([self.trireme, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                check=False)
        if result.returncode != 0:
            sys.exit(f"parallel.py: trireme {' '.join(map(str, words))}\n{result.stderr}")
        return result.stdout

    def steps(self, job, hosts, devices, slices, sets):
        sets = [word for one in sets for word in ("--set", one)]
        out = self.call(["run", job, "-o", "json", "--hosts", str(hosts), "--devices-per-host", str(devices),
                         "--slices", str(slices), *sets])
        return [json.loads(line) for line in out.splitlines() if "train/loss" in line]

    def plan(self, job, hosts, devices, slices, sets):
        sets = [word for one in sets for word in ("--set", one)]
        fleet = f"{{device: cpu, slices: {slices}, hosts_per_slice: {hosts // slices}, devices_per_host: {devices}}}"
        return json.loads(self.call(["plan", job, "-o", "json", "--fleet", fleet, *sets]))

    def alternate(self, job, hosts, devices, slices, variants):
        """Median step seconds of each variant (a list of --set), over rounds in turn."""
        seconds = [[] for _ in variants]
        for _ in range(self.rounds):
            for index, sets in enumerate(variants):
                steps = self.steps(job, hosts, devices, slices, sets)
                seconds[index].append(statistics.median(s["throughput/duration"] for s in steps[2:]))
        return seconds


def hidden_beside_saved(runner, name, job, slow, fast):
    """Step seconds without and with overlap, and what the plan of the latter hides."""
    plan = runner.plan(job, 2, 1, 1, fast)
    seconds = runner.alternate(job, 2, 1, 1, [slow, fast])
    saved = [s - f for s, f in zip(*seconds)]
    hidden = plan["prediction"]["stages"][0]["hidden_s"]
    return {"bench": name, "sync_s": statistics.median(seconds[0]), "async_s": statistics.median(seconds[1]),
            "saved_s": statistics.median(saved), "saved_rounds_s": saved, "plan_hidden_s": hidden,
            "plan_async_s": plan["prediction"]["step_s"],
            "saved_over_hidden": round(statistics.median(saved) / hidden, 3)}


def bench_async(runner):
    # A rank's socket costs processor time too, which no plan knows of: the link is slow enough for it not to matter.
    job = runner.job(hidden=1024, mlp=2816, layers=1, length=128, batch=8, steps=6)
    base = ["mesh.axes={data: 1, model: 2}", "network.ici.mbit_per_s=200"]
    sync = base + ["tensor_parallel.mode=reduce_scatter"]
    overlapped = base + ["tensor_parallel={mode: reduce_scatter, async: true}"]
    return hidden_beside_saved(runner, "async", job, sync, overlapped)


def bench_prefetch(runner):
    job = runner.job(hidden=512, mlp=1408, layers=4, length=128, batch=16, steps=6)
    base = ["mesh.axes={data: 2}", "network.ici.mbit_per_s=1000"]
    return hidden_beside_saved(runner, "prefetch", job, base, base + ["zero.prefetch=true"])


def bench_slices(runner):
    job = runner.job(hidden=256, mlp=704, layers=4, length=64, batch=4, steps=6)
    base = ["mesh.axes={replica: 2, data: 1}", "zero.stage=0", "network.dcn.mbit_per_s=100"]
    flat = base + ["mesh.dcn_reduce=flat"]
    plans = [runner.plan(job, 2, 2, 2, sets) for sets in (flat, base)]
    seconds = runner.alternate(job, 2, 2, 2, [flat, base])
    ratios = [f / h for f, h in zip(*seconds)]
    predicted = plans[0]["prediction"]["step_s"] / plans[1]["prediction"]["step_s"]
    return {"bench": "slices", "flat_s": statistics.median(seconds[0]), "hierarchical_s": statistics.median(seconds[1]),
            "ratio": round(statistics.median(ratios), 3), "predicted_ratio": round(predicted, 3),
            "predicted_s": [p["prediction"]["step_s"] for p in plans],
            "ratio_over_predicted": round(statistics.median(ratios) / predicted, 3)}


def bench_compression(runner):
    job = runner.job(hidden=128, mlp=352, layers=2, length=64, batch=16, steps=300)
    base = ["mesh.axes={data: 1}", "zero.stage=0"]
    results = {"bench": "compression"}
    for kind in ("none", "bf16", "int8"):
        steps = runner.steps(job, 2, 1, 2, base + [f"compression.dcn={kind}"])
        results[kind] = {"first_loss": steps[0]["train/loss"],
                         "loss": statistics.mean(s["train/loss"] for s in steps[-20:]),
                         "dcn_bytes": steps[-1]["communication/dcn_bytes"]}
    for kind in ("bf16", "int8"):
        one = results[kind]
        one["bytes_ratio"] = round(one["dcn_bytes"] / results["none"]["dcn_bytes"], 4)
        one["loss_over_none"] = round(one["loss"] / results["none"]["loss"], 5)
    return results


BENCHES = {"async": bench_async, "prefetch": bench_prefetch, "slices": bench_slices, "compression": bench_compression}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--text", type=pathlib.Path, help="text to train on (default: drawn words)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("benches", nargs="*", metavar="BENCH", help=", ".join(BENCHES))
    options = parser.parse_args()
    unknown = [name for name in options.benches if name not in BENCHES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(BENCHES)}")
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, folder)
        for name in options.benches or BENCHES:
            print(json.dumps(BENCHES[name](runner)), flush=True)


if __name__ == "__main__":
    main()
