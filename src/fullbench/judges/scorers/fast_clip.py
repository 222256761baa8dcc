"""Score models made faster: CLIP's activation in one pass over memory, and the part that sees compiled.

CLIP's modules take three passes for their activation. x * sigmoid(1.702 x) equals silu(1.702 x) / 1.702. Matrix
products multiply by a number for nothing while they add up, in single precision, so both factors go there, and one
kernel is left. Of a large encoder's time that saves a seventh.
"""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

from fullbench.errors import InputError

SLOPE = 1.702


def fuse(model: Any) -> int:
    """Let every feed-forward block of the model that has this activation compute it so; how many there are."""
    blocks = [block for block in model.modules() if _quick(block)]
    for block in blocks:
        block.forward = partial(_forward, block, block.fc1.bias.detach() * SLOPE)
    return len(blocks)


def _quick(block: Any) -> bool:
    return type(getattr(block, "activation_fn", None)).__name__ == "QuickGELUActivation" and all(
        getattr(getattr(block, name, None), "bias", None) is not None for name in ("fc1", "fc2")
    )


def _forward(block: Any, bias: Any, hidden: Any) -> Any:
    import torch

    wide = torch.addmm(bias, hidden.flatten(0, -2), block.fc1.weight.t(), alpha=SLOPE)
    wide = torch.nn.functional.silu(wide, inplace=True)
    return torch.addmm(block.fc2.bias, wide, block.fc2.weight.t(), alpha=1 / SLOPE).view_as(hidden)


def compile_vision(model: Any, name: str) -> None:
    """Let the part of the model that sees run compiled, for batches of one size: a smaller one is filled up.

    A compiled model that meets another size would be compiled again, for up to a minute, and the last batch of a run is
    nearly always smaller. On a GPU its kernels are recorded and started with one call: they would else be started one
    by one, by a thread that competes with those that read and decode.
    """
    vision = getattr(model, "vision_model", None)
    if vision is None:
        raise InputError(f"{name}: compile=yes is for models that see with a vision_model; leave the option out")
    patches = getattr(getattr(vision, "embeddings", None), "patch_embedding", None)
    if patches is not None and _tiles(patches):
        patches.forward = partial(_patches, patches)
    vision.forward = _Compiled(vision.forward)


def _tiles(convolution: Any) -> bool:
    """Whether a convolution looks at squares that lie side by side, each once."""
    return convolution.kernel_size == convolution.stride and convolution.padding in ("valid", (0, 0))


def _patches(convolution: Any, pictures: Any) -> Any:
    """Such a convolution as one matrix product, which a card does five times as fast."""
    import torch

    high, wide = convolution.kernel_size
    rows, columns = pictures.shape[-2] // high, pictures.shape[-1] // wide
    tiles = pictures.unflatten(-1, (columns, wide)).unflatten(-3, (rows, high)).permute(0, 2, 4, 1, 3, 5).flatten(3)
    seen = torch.nn.functional.linear(tiles, convolution.weight.flatten(1), convolution.bias)
    return seen.permute(0, 3, 1, 2)


def spare_collector() -> None:
    """Keep what torch and its compiler made out of Python's collector: a look at it all stops every thread for half a
    second, and the card runs dry."""
    gc.collect()
    gc.freeze()


class _Compiled:
    """A forward pass that is compiled, and on a GPU recorded, for the largest batch that has come."""

    def __init__(self, forward: Any) -> None:
        import torch

        self._forward = torch.compile(forward, dynamic=False)
        self._largest = 0
        self._graph: Any = None
        self._pixels: Any = None
        self._seen: Any = None

    def __call__(self, pixel_values: Any, **more: Any) -> Any:
        import torch

        count = len(pixel_values)
        if count > self._largest:
            self._largest, self._graph = count, None
        if count < self._largest:
            rest = pixel_values[-1:].expand(self._largest - count, *pixel_values.shape[1:])
            pixel_values = torch.cat([pixel_values, rest])
        seen = self._recorded(pixel_values, more) if pixel_values.is_cuda else self._forward(pixel_values, **more)
        return type(seen)(**{part: values[:count] for part, values in seen.items()})

    def _recorded(self, pixel_values: Any, more: dict[str, Any]) -> Any:
        import torch

        if self._graph is None:
            self._pixels = pixel_values.clone()
            for _ in range(3):  # the first compiles, and libraries choose their kernels in the first ones
                self._forward(self._pixels, **more)
            torch.cuda.current_stream().synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"):
                self._seen = self._forward(self._pixels, **more)
            spare_collector()
        self._pixels.copy_(pixel_values)
        self._graph.replay()
        return self._seen
