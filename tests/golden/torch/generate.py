#!/usr/bin/env python3
"""Writes the PyTorch goldens of the numerics gate: llama.safetensors and gpt2.safetensors.

Each file holds, as float32 and int32, the weights, the tokens and targets [batch, position], the loss and every
gradient of one forward and backward pass, of a model written here from the papers and in nothing but torch tensor
functions, in double precision. Names are Hugging Face's; shapes are Trireme's logical shapes (README.md in this
folder lists them). Gradients are named "grad/<weight>". Weights, tokens and targets come from an integer hash, so the
output is the same on every machine up to the last bits of the loss and the gradients.

Needs Python 3 with torch and numpy. Run: python3 generate.py [output folder]
"""

import json
import math
import pathlib
import struct
import sys

import numpy as np
import torch

BATCH, POSITION, VOCAB, EMBED, LAYERS, HEADS = 3, 12, 61, 32, 2, 4
HEAD_DIM = EMBED // HEADS
LLAMA_KV_HEADS, LLAMA_MLP, LLAMA_THETA, LLAMA_EPS = 2, 48, 10000.0, 1e-5
GPT2_MAX_POSITION, GPT2_MLP, GPT2_EPS = 16, 4 * EMBED, 1e-5


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
    if "norm" in name or ".ln_" in name:
        values = (1.0 if name.endswith("weight") else 0.0) + 0.2 * values
    elif name.endswith("bias"):
        values = 0.1 * values
    else:
        values = 0.25 * values
    return values.astype(np.float32)


def make_ids(name):
    bits = mix64(np.arange(BATCH * POSITION, dtype=np.uint64) ^ stable_hash(name))
    return (bits % np.uint64(VOCAB)).astype(np.int32).reshape(BATCH, POSITION)


def attend(q, k, v):
    """Causal attention; q [b, p, h, d], k and v with as many or fewer heads."""
    group = q.shape[2] // k.shape[2]
    k = k.repeat_interleave(group, dim=2)
    v = v.repeat_interleave(group, dim=2)
    scores = torch.einsum("bphd,bkhd->bhpk", q, k) / math.sqrt(q.shape[3])
    position = torch.arange(q.shape[1])
    scores = scores.masked_fill(position[None, :] > position[:, None], -math.inf)
    return torch.einsum("bhpk,bkhd->bphd", torch.softmax(scores, dim=-1), v)


def rotate(x):
    """Rotary embedding with rotated halves, as Hugging Face's Llama."""
    half = x.shape[3] // 2
    frequency = LLAMA_THETA ** (-torch.arange(half, dtype=x.dtype) / half)
    angle = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * frequency
    cosine, sine = torch.cos(angle)[None, :, None, :], torch.sin(angle)[None, :, None, :]
    low, high = x[..., :half], x[..., half:]
    return torch.cat([low * cosine - high * sine, high * cosine + low * sine], dim=-1)


def rms_norm(x, weight):
    return x * torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + LLAMA_EPS) * weight


def layer_norm(x, weights, name):
    mean = x.mean(dim=-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    normal = (x - mean) / torch.sqrt(variance + GPT2_EPS)
    return normal * weights[name + ".weight"] + weights[name + ".bias"]


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def llama_shapes():
    shapes = {"model.embed_tokens.weight": (VOCAB, EMBED)}
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        shapes[layer + "input_layernorm.weight"] = (EMBED,)
        shapes[layer + "self_attn.q_proj.weight"] = (EMBED, HEADS, HEAD_DIM)
        shapes[layer + "self_attn.k_proj.weight"] = (EMBED, LLAMA_KV_HEADS, HEAD_DIM)
        shapes[layer + "self_attn.v_proj.weight"] = (EMBED, LLAMA_KV_HEADS, HEAD_DIM)
        shapes[layer + "self_attn.o_proj.weight"] = (HEADS, HEAD_DIM, EMBED)
        shapes[layer + "post_attention_layernorm.weight"] = (EMBED,)
        shapes[layer + "mlp.gate_proj.weight"] = (EMBED, LLAMA_MLP)
        shapes[layer + "mlp.up_proj.weight"] = (EMBED, LLAMA_MLP)
        shapes[layer + "mlp.down_proj.weight"] = (LLAMA_MLP, EMBED)
    shapes["model.norm.weight"] = (EMBED,)
    shapes["lm_head.weight"] = (VOCAB, EMBED)
    return shapes


def llama_logits(weights, tokens):
    x = weights["model.embed_tokens.weight"][tokens]
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        h = rms_norm(x, weights[layer + "input_layernorm.weight"])
        q, k, v = (
            torch.einsum("bpe,ehd->bphd", h, weights[f"{layer}self_attn.{name}_proj.weight"])
            for name in "qkv"
        )
        o = attend(rotate(q), rotate(k), v)
        x = x + torch.einsum("bphd,hde->bpe", o, weights[layer + "self_attn.o_proj.weight"])
        h = rms_norm(x, weights[layer + "post_attention_layernorm.weight"])
        gate = h @ weights[layer + "mlp.gate_proj.weight"]
        up = h @ weights[layer + "mlp.up_proj.weight"]
        x = x + (gate * torch.sigmoid(gate) * up) @ weights[layer + "mlp.down_proj.weight"]
    return rms_norm(x, weights["model.norm.weight"]) @ weights["lm_head.weight"].T


def gpt2_shapes():
    shapes = {
        "transformer.wte.weight": (VOCAB, EMBED),
        "transformer.wpe.weight": (GPT2_MAX_POSITION, EMBED),
    }
    for i in range(LAYERS):
        layer = f"transformer.h.{i}."
        for norm in ("ln_1", "ln_2"):
            shapes[f"{layer}{norm}.weight"] = (EMBED,)
            shapes[f"{layer}{norm}.bias"] = (EMBED,)
        for name in "qkv":
            shapes[f"{layer}attn.{name}_proj.weight"] = (EMBED, HEADS, HEAD_DIM)
            shapes[f"{layer}attn.{name}_proj.bias"] = (HEADS, HEAD_DIM)
        shapes[layer + "attn.c_proj.weight"] = (HEADS, HEAD_DIM, EMBED)
        shapes[layer + "attn.c_proj.bias"] = (EMBED,)
        shapes[layer + "mlp.c_fc.weight"] = (EMBED, GPT2_MLP)
        shapes[layer + "mlp.c_fc.bias"] = (GPT2_MLP,)
        shapes[layer + "mlp.c_proj.weight"] = (GPT2_MLP, EMBED)
        shapes[layer + "mlp.c_proj.bias"] = (EMBED,)
    shapes["transformer.ln_f.weight"] = (EMBED,)
    shapes["transformer.ln_f.bias"] = (EMBED,)
    return shapes


def gpt2_logits(weights, tokens):
    x = weights["transformer.wte.weight"][tokens]
    x = x + weights["transformer.wpe.weight"][torch.arange(tokens.shape[1])]
    for i in range(LAYERS):
        layer = f"transformer.h.{i}."
        h = layer_norm(x, weights, layer + "ln_1")
        q, k, v = (
            torch.einsum("bpe,ehd->bphd", h, weights[f"{layer}attn.{name}_proj.weight"])
            + weights[f"{layer}attn.{name}_proj.bias"]
            for name in "qkv"
        )
        o = torch.einsum("bphd,hde->bpe", attend(q, k, v), weights[layer + "attn.c_proj.weight"])
        x = x + o + weights[layer + "attn.c_proj.bias"]
        h = layer_norm(x, weights, layer + "ln_2")
        h = gelu_tanh(h @ weights[layer + "mlp.c_fc.weight"] + weights[layer + "mlp.c_fc.bias"])
        x = x + h @ weights[layer + "mlp.c_proj.weight"] + weights[layer + "mlp.c_proj.bias"]
    return layer_norm(x, weights, "transformer.ln_f") @ weights["transformer.wte.weight"].T


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


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    generate(folder / "llama.safetensors", "llama", llama_shapes(), llama_logits)
    generate(folder / "gpt2.safetensors", "gpt2", gpt2_shapes(), gpt2_logits)


if __name__ == "__main__":
    main()
