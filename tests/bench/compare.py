#!/usr/bin/env python3
"""Times training steps beside PyTorch: alternates step_bench and torch_step.py and compares medians.

    compare.py --bench build/bench/bin/step_bench [--python PYTHON] [--rounds 5] [--threads 2] [MODEL ...]

Both sides run in turn, several times each, so that other load on the machine meets both alike; a ratio is our
tokens/s over PyTorch's in the same round. Exit code 1 when the median ratio of a model is below --require.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ("nano", "baby", "gpt2")


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"compare.py: {' '.join(map(str, command))} failed with exit code {result.returncode}")
    return json.loads(result.stdout.splitlines()[0])


def require_torch(python):
    probe = [python, "-c", "import torch; print(torch.__version__)"]
    if subprocess.run(probe, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        sys.exit(f"compare.py: {python} has no PyTorch. Install Debian's (apt-get install python3-torch, then "
                 "--python /usr/bin/python3), or one in a venv (python3 -m venv /tmp/torch && "
                 "/tmp/torch/bin/pip install torch, then --python /tmp/torch/bin/python)")


def compare(options, model):
    arguments = [model, "--threads", str(options.threads)]
    if options.steps:
        arguments += ["--steps", str(options.steps)]
    ours, peers, peer_arguments = [], [], []
    for _ in range(options.rounds):
        ours.append(run([options.bench, *arguments]))
        peers.append(run([options.python, HERE / "torch_step.py", *arguments, *peer_arguments]))
        peer_arguments = ["--adamw", peers[0]["adamw"]]
    ratios = [p["step_seconds"] / o["step_seconds"] for o, p in zip(ours, peers)]

    def median(results, key):
        return statistics.median(r[key] for r in results)

    return {
        "model": model, "rounds": options.rounds, "threads": options.threads,
        "step_seconds": median(ours, "step_seconds"), "torch_step_seconds": median(peers, "step_seconds"),
        "cpu_seconds": median(ours, "cpu_seconds"), "torch_cpu_seconds": median(peers, "cpu_seconds"),
        "tokens_per_second": median(ours, "tokens_per_second"),
        "torch_tokens_per_second": median(peers, "tokens_per_second"),
        "ratio": round(statistics.median(ratios), 3), "min_ratio": round(min(ratios), 3),
        "max_ratio": round(max(ratios), 3), "first_loss": ours[0]["first_loss"],
        "torch_first_loss": peers[0]["first_loss"], "torch": peers[0]["torch"], "adamw": peers[0]["adamw"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="nano, baby, gpt2; default: all")
    parser.add_argument("--bench", required=True, help="path of step_bench")
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--require", type=float, default=0.0, help="fail below this ratio")
    options = parser.parse_args()
    unknown = set(options.models) - set(MODELS)
    if unknown:
        sys.exit(f"compare.py: no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    require_torch(options.python)
    slow = []
    for model in options.models or MODELS:
        row = compare(options, model)
        print(json.dumps(row), flush=True)
        if row["ratio"] < options.require:
            slow.append(model)
    if slow:
        sys.exit(f"compare.py: below {options.require} x PyTorch: {', '.join(slow)}")


if __name__ == "__main__":
    main()
