"""The dense models of generate.py: a Llama and a GPT-2, and what the mixtures of experts share with them."""

import math

import torch

VOCAB, EMBED, LAYERS, HEADS = 61, 32, 2, 4
HEAD_DIM = EMBED // HEADS
LLAMA_KV_HEADS, LLAMA_MLP, LLAMA_THETA, LLAMA_EPS = 2, 48, 10000.0, 1e-5
GPT2_MAX_POSITION, GPT2_MLP, GPT2_EPS = 16, 4 * EMBED, 1e-5


def attend_where(q, k, v, window):
    """Causal attention; q [b, p, h, d], k and v with as many or fewer heads. With a window a query sees that many
    positions, its own included."""
    group = q.shape[2] // k.shape[2]
    k = k.repeat_interleave(group, dim=2)
    v = v.repeat_interleave(group, dim=2)
    scores = torch.einsum("bphd,bkhd->bhpk", q, k) / math.sqrt(q.shape[3])
    position = torch.arange(q.shape[1])
    ahead = position[None, :] - position[:, None]
    hidden = ahead > 0 if window is None else (ahead > 0) | (ahead <= -window)
    scores = scores.masked_fill(hidden, -math.inf)
    return torch.einsum("bhpk,bkhd->bphd", torch.softmax(scores, dim=-1), v)


def attend(q, k, v):
    return attend_where(q, k, v, window=None)


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


def llama_attention_shapes(attention):
    return {
        attention + "q_proj.weight": (EMBED, HEADS, HEAD_DIM),
        attention + "k_proj.weight": (EMBED, LLAMA_KV_HEADS, HEAD_DIM),
        attention + "v_proj.weight": (EMBED, LLAMA_KV_HEADS, HEAD_DIM),
        attention + "o_proj.weight": (HEADS, HEAD_DIM, EMBED),
    }


def llama_shapes():
    shapes = {"model.embed_tokens.weight": (VOCAB, EMBED)}
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        shapes[layer + "input_layernorm.weight"] = (EMBED,)
        shapes |= llama_attention_shapes(layer + "self_attn.")
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
