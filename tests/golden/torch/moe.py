"""The mixture-of-experts models of generate.py: Mixtral, Qwen3-MoE, DeepSeek's experts and Marin's Grug.

Written from the papers and semantics that README.md names, in torch tensor functions and plain loops over experts, in
double precision. Each model is a dictionary of weight shapes and a function from weights and tokens to logits and what
its routers did. A router's selection is discrete: `gap` is how far, at the closest token, the last expert chosen was
from the first that was not.
"""

import dataclasses
import math

import torch

from dense import EMBED, HEAD_DIM, HEADS, LLAMA_MLP, LLAMA_THETA, VOCAB, attend_where, llama_attention_shapes, rms_norm

EXPERT_WIDTH, SHARED_WIDTH, GATE_RANK, CHOICES = 24, 16, 8, 2
HEAD_NORM_EPS = 1e-6
WINDOW, QK_MULT, COMBINE_SUM = 4, 1.3, 2.5
ROUTED_SCALING, FIRST_DENSE, BALANCE_RATE = 1.8, 1, 0.001


@dataclasses.dataclass
class Routing:
    """What one router did: logits and probabilities [batch, position, expert], ids and combine weights
    [batch, position, choice], the selection scores."""

    layer: int
    logits: torch.Tensor
    probabilities: torch.Tensor
    ids: torch.Tensor
    weights: torch.Tensor
    scores: torch.Tensor
    bias: str = ""

    def gap(self):
        top = torch.sort(self.scores, dim=-1, descending=True).values
        return float((top[..., CHOICES - 1] - top[..., CHOICES]).min())

    def loads(self):
        """Assignments of each expert in each sequence: [batch, expert]."""
        experts = self.logits.shape[-1]
        return torch.stack([(self.ids == e).sum(dim=(1, 2)) for e in range(experts)], dim=-1)


def swiglu(x, gate, up, down):
    g = x @ gate
    return (g * torch.sigmoid(g) * (x @ up)) @ down


def named_swiglu(x, weights, prefix):
    return swiglu(x, *(weights[f"{prefix}{name}_proj.weight"] for name in ("gate", "up", "down")))


def swiglu_shapes(prefix, width):
    return {
        prefix + "gate_proj.weight": (EMBED, width),
        prefix + "up_proj.weight": (EMBED, width),
        prefix + "down_proj.weight": (width, EMBED),
    }


def expert_shapes(prefix, experts):
    return {key: (experts, *shape) for key, shape in swiglu_shapes(prefix, EXPERT_WIDTH).items()}


def mix_experts(x, routing, weights, prefix):
    """Sum over a token's choices of weight * SwiGLU of the expert, expert by expert over all tokens."""
    y = torch.zeros_like(x)
    for e in range(routing.logits.shape[-1]):
        share = (routing.weights * (routing.ids == e)).sum(dim=-1, keepdim=True)
        parts = (weights[f"{prefix}{name}_proj.weight"][e] for name in ("gate", "up", "down"))
        y = y + share * swiglu(x, *parts)
    return y


def softmax_router(x, matrix, layer):
    """Mixtral and Qwen3: the chosen probabilities, divided by their sum."""
    logits = x @ matrix
    p = torch.softmax(logits, dim=-1)
    chosen, ids = torch.topk(p, CHOICES, dim=-1)
    return Routing(layer, logits, p, ids, chosen / chosen.sum(dim=-1, keepdim=True), logits.detach())


def sigmoid_router(x, matrix, bias, layer, *, bias_on_scores, total, eps):
    """Grug adds its bias to the logits, DeepSeek to the sigmoids; neither to what the weights are made of."""
    logits = x @ matrix
    sigma = torch.sigmoid(logits)
    scores = ((sigma if bias_on_scores else logits) + bias).detach()
    ids = torch.topk(scores, CHOICES, dim=-1).indices
    chosen = sigma.gather(-1, ids)
    weights = total * chosen / (chosen.sum(dim=-1, keepdim=True) + eps)
    return Routing(layer, logits, sigma / sigma.sum(dim=-1, keepdim=True), ids, weights, scores)


def router_loss(routing, loss_weights, alpha, beta):
    """Each sequence is one balance group: alpha E sum_e load_e P_e + beta mean lse^2, by its share of the loss."""
    experts = routing.logits.shape[-1]
    loads = routing.loads().double()
    load = loads / loads.sum(dim=-1, keepdim=True)
    balance = experts * (load * routing.probabilities.mean(dim=1)).sum(dim=-1)
    z = (torch.logsumexp(routing.logits, dim=-1) ** 2).mean(dim=1)
    share = loss_weights.sum(dim=1) / loss_weights.sum()
    return (share * (alpha * balance + beta * z)).sum()


def quantile_betas(routing):
    """For each sequence and expert the n-th largest over its tokens of logit minus the (k+1)-th largest score."""
    tokens, experts = routing.logits.shape[1:]
    n = max(1, tokens * CHOICES // experts)
    threshold = torch.sort(routing.scores, dim=-1, descending=True).values[..., CHOICES]
    margin = routing.logits.detach() - threshold[..., None]
    return torch.sort(margin, dim=1, descending=True).values[:, n - 1, :]


def quantile_bias(routing, old_bias):
    del old_bias
    beta = quantile_betas(routing).mean(dim=0)  # sequences are equally long
    return beta.mean() - beta


def sign_bias(routing, old_bias):
    loads = routing.loads().sum(dim=0).double()
    return old_bias + BALANCE_RATE * torch.sign(loads.mean() - loads)


def rotate_part(x, rotary):
    """The first `rotary` elements of a head turn in pairs (i, i + rotary/2)."""
    half = rotary // 2
    frequency = LLAMA_THETA ** (-2 * torch.arange(half, dtype=x.dtype) / rotary)
    angle = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * frequency
    cosine, sine = torch.cos(angle)[None, :, None, :], torch.sin(angle)[None, :, None, :]
    low, high, rest = x[..., :half], x[..., half:rotary], x[..., rotary:]
    return torch.cat([low * cosine - high * sine, low * sine + high * cosine, rest], dim=-1)


def project_heads(x, weights, attention, name):
    return torch.einsum("bpe,ehd->bphd", x, weights[f"{attention}{name}_proj.weight"])


def llama_attention(x, weights, attention, head_norms=False):
    q, k, v = (project_heads(x, weights, attention, name) for name in "qkv")
    if head_norms:
        q = rms_norm(q, weights[attention + "q_norm.weight"])
        k = rms_norm(k, weights[attention + "k_norm.weight"])
    y = attend_where(rotate_part(q, HEAD_DIM), rotate_part(k, HEAD_DIM), v, window=None)
    return torch.einsum("bphd,hde->bpe", y, weights[attention + "o_proj.weight"])


def llama_shapes(layers, mlp_shapes, head_norms=False):
    shapes = {"model.embed_tokens.weight": (VOCAB, EMBED)}
    for i in range(layers):
        layer = f"model.layers.{i}."
        shapes[layer + "input_layernorm.weight"] = (EMBED,)
        shapes |= llama_attention_shapes(layer + "self_attn.")
        if head_norms:
            shapes[layer + "self_attn.q_norm.weight"] = (HEAD_DIM,)
            shapes[layer + "self_attn.k_norm.weight"] = (HEAD_DIM,)
        shapes[layer + "post_attention_layernorm.weight"] = (EMBED,)
        shapes |= mlp_shapes(i, layer)
    shapes["model.norm.weight"] = (EMBED,)
    shapes["lm_head.weight"] = (VOCAB, EMBED)
    return shapes


def llama_forward(weights, tokens, layers, mlp, head_norms=False):
    """mlp(h, i, layer, routings) is what a block adds after its second norm."""
    routings = []
    x = weights["model.embed_tokens.weight"][tokens]
    for i in range(layers):
        layer = f"model.layers.{i}."
        h = rms_norm(x, weights[layer + "input_layernorm.weight"])
        x = x + llama_attention(h, weights, layer + "self_attn.", head_norms)
        h = rms_norm(x, weights[layer + "post_attention_layernorm.weight"])
        x = x + mlp(h, i, layer, routings)
    return rms_norm(x, weights["model.norm.weight"]) @ weights["lm_head.weight"].T, routings


class Mixtral:
    name, layers, experts, alpha, beta = "mixtral", 2, 4, 0.01, 0.001
    block, head_norms = "block_sparse_moe.", False

    def shapes(self):
        def mlp(i, layer):
            prefix = layer + self.block
            gate = {prefix + "gate.weight": (EMBED, self.experts)}
            return gate | expert_shapes(prefix + "experts.", self.experts)

        return llama_shapes(self.layers, mlp, self.head_norms)

    def forward(self, weights, tokens):
        def mlp(h, i, layer, routings):
            prefix = layer + self.block
            routings.append(softmax_router(h, weights[prefix + "gate.weight"], i))
            return mix_experts(h, routings[-1], weights, prefix + "experts.")

        return llama_forward(weights, tokens, self.layers, mlp, self.head_norms)


class Qwen3Moe(Mixtral):
    name, experts, alpha, beta = "qwen3_moe", 8, 0.001, 0.0
    block, head_norms = "mlp.", True


class DeepseekMoe:
    name, layers, experts, alpha, beta = "deepseek_moe", 3, 8, 1e-4, 0.0
    next_bias = staticmethod(sign_bias)

    def shapes(self):
        def mlp(i, layer):
            prefix = layer + "mlp."
            if i < FIRST_DENSE:
                return swiglu_shapes(prefix, LLAMA_MLP)
            shapes = {
                prefix + "gate.weight": (EMBED, self.experts),
                prefix + "gate.e_score_correction_bias": (self.experts,),
            }
            shapes |= expert_shapes(prefix + "experts.", self.experts)
            return shapes | swiglu_shapes(prefix + "shared_experts.", EXPERT_WIDTH)

        return llama_shapes(self.layers, mlp)

    def forward(self, weights, tokens):
        def mlp(h, i, layer, routings):
            prefix = layer + "mlp."
            if i < FIRST_DENSE:
                return named_swiglu(h, weights, prefix)
            bias = prefix + "gate.e_score_correction_bias"
            routing = sigmoid_router(
                h, weights[prefix + "gate.weight"], weights[bias], i,
                bias_on_scores=True, total=ROUTED_SCALING, eps=1e-20,
            )  # fmt: skip
            routing.bias = bias
            routings.append(routing)
            y = mix_experts(h, routing, weights, prefix + "experts.")
            return y + named_swiglu(h, weights, prefix + "shared_experts.")

        return llama_forward(weights, tokens, self.layers, mlp)


def bare_norm(x):
    return x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + HEAD_NORM_EPS)


def gated_norm(x, weights, norm, gate):
    n = rms_norm(x, weights[norm + ".weight"])
    d = n @ weights[gate + ".down_proj.weight"]
    return n * torch.sigmoid((d * torch.sigmoid(d)) @ weights[gate + ".up_proj.weight"])


class GrugMoe:
    name, layers, experts, alpha, beta = "grug_moe", 4, 8, 0.0, 0.0
    next_bias = staticmethod(quantile_bias)

    def shapes(self):
        def gate(name):
            return {f"{name}.down_proj.weight": (EMBED, GATE_RANK), f"{name}.up_proj.weight": (GATE_RANK, EMBED)}

        shapes = {"model.embed_tokens.weight": (VOCAB, EMBED), "model.embed_norm.weight": (EMBED,)}
        shapes |= gate("model.embed_gated_norm")
        for i in range(self.layers):
            layer = f"model.layers.{i}."
            shapes[layer + "input_layernorm.weight"] = (EMBED,)
            shapes |= gate(layer + "attn_gated_norm")
            shapes |= llama_attention_shapes(layer + "self_attn.")
            shapes[layer + "self_attn.attn_gate.weight"] = (EMBED, HEADS)
            shapes[layer + "post_attention_layernorm.weight"] = (EMBED,)
            shapes |= gate(layer + "mlp_gated_norm")
            shapes[layer + "mlp.router.weight"] = (EMBED, self.experts)
            shapes[layer + "mlp.router.bias"] = (self.experts,)
            shapes |= expert_shapes(layer + "mlp.experts.", self.experts)
            shapes |= swiglu_shapes(layer + "shared_expert.", SHARED_WIDTH)
        shapes["model.norm.weight"] = (EMBED,)
        shapes |= gate("model.final_gated_norm")
        shapes["lm_head.weight"] = (VOCAB, EMBED)
        return shapes

    def is_long(self, i):
        return i % 4 == 3 or i == self.layers - 1

    def attention(self, a, weights, prefix, is_long):
        q, k, v = (project_heads(a, weights, prefix, name) for name in "qkv")
        q, k = bare_norm(q), bare_norm(k)
        if not is_long:
            q, k = rotate_part(q, HEAD_DIM // 2), rotate_part(k, HEAD_DIM // 2)
        y = attend_where(q * QK_MULT, k, v, window=None if is_long else WINDOW)
        own = v.repeat_interleave(HEADS // v.shape[2], dim=2)
        along = (y * own).sum(dim=-1, keepdim=True) / ((own * own).sum(dim=-1, keepdim=True) + 1e-6)
        y = y - along * own
        y = y * (2 * torch.sigmoid(a @ weights[prefix + "attn_gate.weight"]))[..., None]
        return torch.einsum("bphd,hde->bpe", y, weights[prefix + "o_proj.weight"])

    def forward(self, weights, tokens):
        routings = []
        x = weights["model.embed_tokens.weight"][tokens]
        x = gated_norm(x, weights, "model.embed_norm", "model.embed_gated_norm")
        for i in range(self.layers):
            layer = f"model.layers.{i}."
            a = gated_norm(x, weights, layer + "input_layernorm", layer + "attn_gated_norm")
            x = x + self.attention(a, weights, layer + "self_attn.", self.is_long(i))
            m = gated_norm(x, weights, layer + "post_attention_layernorm", layer + "mlp_gated_norm")
            bias = layer + "mlp.router.bias"
            routing = sigmoid_router(
                m, weights[layer + "mlp.router.weight"], weights[bias], i,
                bias_on_scores=False, total=COMBINE_SUM, eps=1e-9,
            )  # fmt: skip
            routing.bias = bias
            routings.append(routing)
            y = mix_experts(m, routing, weights, layer + "mlp.experts.")
            x = x + y + named_swiglu(m, weights, layer + "shared_expert.")
        x = gated_norm(x, weights, "model.norm", "model.final_gated_norm")
        return x @ weights["lm_head.weight"].T, routings


MODELS = (Mixtral, Qwen3Moe, DeepseekMoe, GrugMoe)
