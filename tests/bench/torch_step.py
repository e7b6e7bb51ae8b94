"""The training step of step_bench.cc in PyTorch: a small GPT-2 with tied embeddings, AdamW, clipping.

    torch_step.py nano|baby|gpt2 [--steps N] [--warmup N] [--threads N]

Prints one JSON line of the same form as step_bench's. Uses what PyTorch is fastest with: one product for
q, k and v, F.scaled_dot_product_attention where this version has it, and fused or foreach AdamW, whichever
is faster here. Works from PyTorch 1.13 on (Debian's python3-torch).
"""
import argparse
import json
import math
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

# layers, heads, width, vocab, positions, batch, sequence, timed steps
SHAPES = {
    "nano": (4, 4, 128, 65, 64, 12, 64, 200),
    "baby": (6, 6, 384, 65, 256, 8, 256, 5),
    "gpt2": (12, 12, 768, 50257, 1024, 4, 64, 5),
}


def attention(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    length = q.size(-2)
    mask = torch.full((length, length), float("-inf")).triu(1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)) + mask
    return torch.softmax(scores, dim=-1) @ v


class Block(nn.Module):
    def __init__(self, width, heads, scale):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.attn_proj = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width)
        self.fc = nn.Linear(width, 4 * width)
        self.mlp_proj = nn.Linear(4 * width, width)
        for linear, factor in ((self.qkv, 1), (self.fc, 1), (self.attn_proj, scale), (self.mlp_proj, scale)):
            nn.init.normal_(linear.weight, std=0.02 * factor)
            nn.init.zeros_(linear.bias)

    def forward(self, x):
        batch, length, width = x.shape
        heads = (batch, length, self.heads, width // self.heads)
        q, k, v = (t.view(heads).transpose(1, 2) for t in self.qkv(self.ln_1(x)).split(width, dim=2))
        y = attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.attn_proj(y)
        return x + self.mlp_proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, layers, heads, width, vocab, positions):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(positions, width)
        nn.init.normal_(self.wte.weight, std=0.02)
        nn.init.normal_(self.wpe.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(width, heads, 1 / math.sqrt(2 * layers)) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.size(1)))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def make_step(shape, **adamw):
    layers, heads, width, vocab, positions, batch, sequence, _ = shape
    torch.manual_seed(0)
    model = Gpt2(layers, heads, width, vocab, positions)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    other = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": other, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), **adamw)
    stream = torch.arange(batch * sequence + 1) * 7919 % vocab
    tokens, targets = stream[:-1].view(batch, sequence), stream[1:].view(batch, sequence)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = model(tokens, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return step


def timed(step, steps):
    seconds, cpu_seconds = [], []
    for _ in range(steps):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        loss = step()
        seconds.append(time.perf_counter() - begin)
        cpu_seconds.append(time.process_time() - cpu_begin)
    return statistics.median(seconds), statistics.median(cpu_seconds), loss


def fastest_adamw(shape):
    """The variant of AdamW with the shorter step, of those that this PyTorch has on CPUs."""
    times = {}
    for variant in ("foreach", "fused"):
        try:
            step = make_step(shape, **{variant: True})
            timed(step, 2)
            times[variant] = timed(step, 3)[0]
        except (RuntimeError, TypeError):  # fused AdamW on CPUs came with PyTorch 2.4
            continue
    return min(times, key=times.get)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=SHAPES)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--adamw", choices=("foreach", "fused"), help="default: the faster one, tried first")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    shape = SHAPES[options.model]
    steps = options.steps or shape[-1]
    variant = options.adamw or fastest_adamw(shape)
    step = make_step(shape, **{variant: True})
    first_loss = step()
    for _ in range(options.warmup - 1):
        step()
    seconds, cpu_seconds, loss = timed(step, steps)
    print(json.dumps({
        "model": options.model, "steps": steps, "threads": options.threads,
        "first_loss": round(first_loss, 6), "loss": round(loss, 6), "step_seconds": round(seconds, 6),
        "cpu_seconds": round(cpu_seconds, 6), "tokens_per_second": round(shape[5] * shape[6] / seconds, 1),
        "torch": torch.__version__, "adamw": variant,
    }))


if __name__ == "__main__":
    main()
