#!/usr/bin/env python3
"""Writes the PyTorch goldens of the numerics gate: one .safetensors file a model.

Each file holds, as float32 and int32, the weights, the tokens and targets [batch, position], the loss and every
gradient of one forward and backward pass, of a model written in dense.py or moe.py from the papers and in nothing but
torch tensor functions, in double precision. Names are Hugging Face's; shapes are Trireme's logical shapes (README.md in
this folder lists them). Gradients are named "grad/<weight>". Weights, tokens and targets come from an integer hash, so
the output is the same on every machine up to the last bits of the loss and the gradients.

Needs Python 3 with torch and numpy. Run: python3 generate.py [output folder]
"""

import json
import math
import pathlib
import struct
import sys

import numpy as np
import torch

from dense import VOCAB, gpt2_logits, gpt2_shapes, llama_logits, llama_shapes
from moe import CHOICES, MODELS, quantile_betas, router_loss

BATCH, POSITION = 3, 12
# Routing gaps: what a golden must have, and what a seed is looked for that has.
SMALLEST_GAP, WANTED_GAP, MAX_SEEDS = 1e-3, 5e-3, 2000


def mix64(x):
    """SplitMix64's mixing function on an array of uint64 (common/base/math.h has the same)."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def stable_hash(text):
    """64-bit FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return np.uint64(value)


def uniform(name, shape):
    """Numbers on [-1, 1), a function of the name and the flat index."""
    index = np.arange(math.prod(shape), dtype=np.uint64)
    bits = mix64(index ^ stable_hash(name)) >> np.uint64(11)
    return (bits.astype(np.float64) / 2.0**52 - 1.0).reshape(shape)


def make_weight(name, shape):
    """float32: about 1 for the scales of norms, small for biases, of the usual size for matrices."""
    values = uniform(name, shape)
    module = name.split(".")[-2]
    if name.endswith("router.bias"):
        values = 0.5 * (values - values.mean())
    elif name.endswith("e_score_correction_bias"):
        values = 0.2 * values
    elif module.endswith("norm") or module.startswith("ln_"):
        values = (1.0 if name.endswith("weight") else 0.0) + 0.2 * values
    elif name.endswith("bias"):
        values = 0.1 * values
    else:
        values = 0.25 * values
    return values.astype(np.float32)


def make_ids(name):
    bits = mix64(np.arange(BATCH * POSITION, dtype=np.uint64) ^ stable_hash(name))
    return (bits % np.uint64(VOCAB)).astype(np.int32).reshape(BATCH, POSITION)


def make_loss_weights(name):
    """Quarters from 0 to 1.75: exact in float32, different for every sequence, some of them 0."""
    bits = mix64(np.arange(BATCH * POSITION, dtype=np.uint64) ^ stable_hash(name))
    return ((bits % np.uint64(8)).astype(np.float32) / 4).reshape(BATCH, POSITION)


def write_safetensors(path, arrays, metadata):
    """Source: https://github.com/huggingface/safetensors, README, section Format."""
    header, offset = {"__metadata__": metadata}, 0
    for name, array in arrays.items():
        dtype = {"float32": "F32", "int32": "I32"}[array.dtype.name]
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes())


def generate(path, name, shapes, logits_of):
    weights = {key: make_weight(f"{name}/{key}", shape) for key, shape in shapes.items()}
    tokens, targets = make_ids(name + "/tokens"), make_ids(name + "/targets")
    variables = {
        key: torch.tensor(value, dtype=torch.float64, requires_grad=True)
        for key, value in weights.items()
    }
    logits = logits_of(variables, torch.tensor(tokens, dtype=torch.int64))
    log_probability = torch.log_softmax(logits, dim=-1)
    ids = torch.tensor(targets, dtype=torch.int64)
    loss = -log_probability.gather(2, ids[..., None]).mean()
    loss.backward()
    arrays = dict(weights)
    arrays["tokens"], arrays["targets"] = tokens, targets
    arrays["loss"] = np.array(loss.item(), dtype=np.float32)
    for key, variable in variables.items():
        arrays["grad/" + key] = variable.grad.numpy().astype(np.float32)
    write_safetensors(path, arrays, {"torch": torch.__version__, "model": name})
    print(f"{path}: loss {loss.item():.7f}, {sum(a.size for a in weights.values())} parameters")


def to_variables(weights, trained):
    return {
        key: torch.tensor(value, dtype=torch.float64, requires_grad=trained(key)) for key, value in weights.items()
    }


def is_router_bias(name):
    """Router biases follow statistics, not gradients."""
    return name.endswith(("router.bias", "e_score_correction_bias"))


def find_seed(model, shapes, tokens):
    """The first seed, its weights and its routing gap, whose closest token is further than WANTED_GAP from a tie."""
    for seed in range(MAX_SEEDS):
        weights = {key: make_weight(f"{model.name}/{seed}/{key}", shape) for key, shape in shapes.items()}
        with torch.no_grad():
            routings = model.forward(to_variables(weights, lambda key: False), tokens)[1]
        gap = min(routing.gap() for routing in routings)
        if gap > WANTED_GAP:
            return seed, weights, gap
    raise SystemExit(f"{model.name}: no seed below {MAX_SEEDS} has a routing gap above {WANTED_GAP}")


def router_arrays(model, routing, variables):
    """Ids, loads, and what the balance rule makes of them: names end in the layer's number."""
    arrays = {
        f"experts/{routing.layer}": routing.ids.numpy().astype(np.int32),
        f"loads/{routing.layer}": routing.loads().sum(dim=0).numpy().astype(np.int32),
    }
    if routing.bias:
        unbiased = torch.topk(routing.logits.detach(), CHOICES, dim=-1).indices
        assert not torch.equal(torch.sort(unbiased).values, torch.sort(routing.ids).values), "the bias changes nothing"
        new_bias = model.next_bias(routing, variables[routing.bias])
        arrays["next/" + routing.bias] = new_bias.numpy().astype(np.float32)
    if model.name == "grug_moe":
        arrays[f"betas/{routing.layer}"] = quantile_betas(routing).numpy().astype(np.float32)
    return arrays


def generate_moe(folder, model):
    tokens, targets = make_ids(model.name + "/tokens"), make_ids(model.name + "/targets")
    loss_weights = make_loss_weights(model.name + "/weights")
    token_ids = torch.tensor(tokens, dtype=torch.int64)
    seed, weights, gap = find_seed(model, model.shapes(), token_ids)
    assert gap > SMALLEST_GAP, gap
    variables = to_variables(weights, lambda key: not is_router_bias(key))
    logits, routings = model.forward(variables, token_ids)
    ids = torch.tensor(targets, dtype=torch.int64)
    w = torch.tensor(loss_weights, dtype=torch.float64)
    nll = -torch.log_softmax(logits, dim=-1).gather(2, ids[..., None])[..., 0]
    router = sum(router_loss(routing, w, model.alpha, model.beta) for routing in routings)
    loss = (w * nll).sum() / w.sum() + router
    loss.backward()
    arrays = dict(weights)
    arrays["tokens"], arrays["targets"], arrays["weights"] = tokens, targets, loss_weights
    arrays["loss"] = np.array(loss.item(), dtype=np.float32)
    arrays["router_loss"] = np.array(router.item(), dtype=np.float32)
    arrays["gap"] = np.array(gap, dtype=np.float32)
    for routing in routings:
        arrays |= router_arrays(model, routing, variables)
    for key, variable in variables.items():
        if variable.requires_grad:
            arrays["grad/" + key] = variable.grad.numpy().astype(np.float32)
    path = folder / f"{model.name}.safetensors"
    write_safetensors(path, arrays, {"torch": torch.__version__, "model": model.name, "seed": str(seed)})
    size = sum(a.size for a in weights.values())
    print(f"{path}: loss {loss.item():.7f}, routers {router.item():.7f}, {size} parameters, seed {seed}, gap {gap:.5f}")


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    generate(folder / "llama.safetensors", "llama", llama_shapes(), llama_logits)
    generate(folder / "gpt2.safetensors", "gpt2", gpt2_shapes(), gpt2_logits)
    for model in MODELS:
        generate_moe(folder, model())


if __name__ == "__main__":
    main()
