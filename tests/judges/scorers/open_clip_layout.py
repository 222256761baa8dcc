"""CLIP as open_clip writes it, with its names and torch's own attention: an independent computation for HPSv2."""

from __future__ import annotations

from tests.judges.scorers import models

torch = models.torch
nn = torch.nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int, inner: int):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Module()
        self.mlp.c_fc, self.mlp.c_proj = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, states, mask=None):
        normed = self.ln_1(states)
        states = states + self.attn(normed, normed, normed, need_weights=False, attn_mask=mask)[0]
        return states + self.mlp.c_proj(nn.functional.gelu(self.mlp.c_fc(self.ln_2(states))))


class Blocks(nn.Module):
    def __init__(self, width: int, heads: int, layers: int, inner: int):
        super().__init__()
        self.resblocks = nn.ModuleList(Block(width, heads, inner) for _ in range(layers))

    def forward(self, states, mask=None):
        for block in self.resblocks:
            states = block(states, mask)
        return states


class Vision(nn.Module):
    def __init__(self, *, side: int, patch: int, width: int, heads: int, layers: int, inner: int, joint: int):
        super().__init__()
        self.class_embedding = nn.Parameter(torch.randn(width))
        self.positional_embedding = nn.Parameter(torch.randn((side // patch) ** 2 + 1, width))
        self.proj = nn.Parameter(torch.randn(width, joint))
        self.conv1 = nn.Conv2d(3, width, patch, patch, bias=False)
        self.ln_pre, self.ln_post = nn.LayerNorm(width), nn.LayerNorm(width)
        self.transformer = Blocks(width, heads, layers, inner)

    def forward(self, pixels):
        patches = self.conv1(pixels).flatten(2).permute(0, 2, 1)
        first = self.class_embedding.expand(len(pixels), 1, -1)
        states = self.ln_pre(torch.cat([first, patches], 1) + self.positional_embedding)
        return self.ln_post(self.transformer(states))[:, 0] @ self.proj


class OpenClip(nn.Module):
    def __init__(self, vision: dict, text: dict, tokens: int, length: int, joint: int):
        super().__init__()
        width = text["width"]
        self.visual = Vision(**vision, joint=joint)
        self.transformer = Blocks(**text)
        self.token_embedding = nn.Embedding(tokens, width)
        self.positional_embedding = nn.Parameter(torch.randn(length, width))
        self.ln_final = nn.LayerNorm(width)
        self.text_projection = nn.Parameter(torch.randn(width, joint))
        self.logit_scale = nn.Parameter(torch.tensor(2.6593))

    def encode_text(self, ids):
        """`ids` has one text in each row, with zeros after its last token, which has the largest number."""
        mask = torch.full((ids.shape[1], ids.shape[1]), float("-inf")).triu(1)
        states = self.token_embedding(ids) + self.positional_embedding[: ids.shape[1]]
        states = self.ln_final(self.transformer(states, mask))
        return states[torch.arange(len(ids)), ids.argmax(-1)] @ self.text_projection
