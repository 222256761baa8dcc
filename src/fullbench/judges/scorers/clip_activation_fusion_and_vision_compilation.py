"""Speed-ups of score models: CLIP's activation in one pass over memory, and a compiled vision model.

CLIP's modules take three passes for their activation. x * sigmoid(1.702 x) equals silu(1.702 x) / 1.702. Matrix
products can scale their result at no cost, in single precision, so both factors go there and one kernel is left. This
saves a seventh of a large encoder's time.
"""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

from fullbench.errors import InputError

# CLIP's QuickGELU is x * sigmoid(1.702 x), which is silu(1.702 x) / 1.702.
SLOPE = 1.702


def fuse_activations(model: Any) -> int:
    """Fuse this activation in every feed-forward block that has it; return their number."""
    blocks = [block for block in model.modules() if _has_quick_gelu(block)]
    for block in blocks:
        block.forward = partial(_fused_forward, block, block.fc1.bias.detach() * SLOPE)
    return len(blocks)


def _has_quick_gelu(block: Any) -> bool:
    return type(getattr(block, "activation_fn", None)).__name__ == "QuickGELUActivation" and all(
        getattr(getattr(block, name, None), "bias", None) is not None for name in ("fc1", "fc2")
    )


def _fused_forward(block: Any, bias: Any, hidden_states: Any) -> Any:
    import torch

    wide = torch.addmm(bias, hidden_states.flatten(0, -2), block.fc1.weight.t(), alpha=SLOPE)
    wide = torch.nn.functional.silu(wide, inplace=True)
    return torch.addmm(block.fc2.bias, wide, block.fc2.weight.t(), alpha=1 / SLOPE).view_as(hidden_states)


def compile_vision(model: Any, name: str) -> None:
    """Compile the vision part of the model for one batch size; smaller batches are padded.

    Another size would compile again, for up to a minute, and the last batch of a run is nearly always smaller. On a
    GPU the kernels are recorded and started with one call. Otherwise a thread would start them one by one, in
    competition with those that read and decode.
    """
    vision = getattr(model, "vision_model", None)
    if vision is None:
        raise InputError(f"{name}: compile=yes needs a model with a vision_model; leave out the option")
    patches = getattr(getattr(vision, "embeddings", None), "patch_embedding", None)
    # The convolution must cover squares that do not overlap, each once.
    if patches is not None and patches.kernel_size == patches.stride and patches.padding in ("valid", (0, 0)):
        patches.forward = partial(_embed_patches, patches)
    vision.forward = _CompiledForward(vision.forward)


def _embed_patches(convolution: Any, pictures: Any) -> Any:
    """Compute a tiling convolution as one matrix product, which is five times as fast on a GPU."""
    import torch

    high, wide = convolution.kernel_size
    rows, columns = pictures.shape[-2] // high, pictures.shape[-1] // wide
    tiles = pictures.unflatten(-1, (columns, wide)).unflatten(-3, (rows, high)).permute(0, 2, 4, 1, 3, 5).flatten(3)
    patch_embeddings = torch.nn.functional.linear(tiles, convolution.weight.flatten(1), convolution.bias)
    return patch_embeddings.permute(0, 3, 1, 2)


def spare_collector() -> None:
    """Exclude the objects of torch and its compiler from garbage collection: one collection stops every thread for half
    a second, and the GPU runs idle.
    """
    gc.collect()
    gc.freeze()


class _CompiledForward:
    """A forward pass that is compiled, and on a GPU recorded, for the largest batch so far."""

    def __init__(self, forward: Any) -> None:
        import torch

        self._forward = torch.compile(forward, dynamic=False)
        self._largest = 0
        self._graph: Any = None
        self._pixels: Any = None
        self._output: Any = None

    def __call__(self, pixel_values: Any, **more: Any) -> Any:
        import torch

        count = len(pixel_values)
        if count > self._largest:
            self._largest, self._graph = count, None
        if count < self._largest:
            padding = pixel_values[-1:].expand(self._largest - count, *pixel_values.shape[1:])
            pixel_values = torch.cat([pixel_values, padding])
        output = self._replay_graph(pixel_values, more) if pixel_values.is_cuda else self._forward(pixel_values, **more)
        return type(output)(**{part: values[:count] for part, values in output.items()})

    def _replay_graph(self, pixel_values: Any, more: dict[str, Any]) -> Any:
        import torch

        if self._graph is None:
            self._pixels = pixel_values.clone()
            for _ in range(3):  # warm-up: the first run compiles, and libraries choose kernels in the first few
                self._forward(self._pixels, **more)
            torch.cuda.current_stream().synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"):
                self._output = self._forward(self._pixels, **more)
            spare_collector()
        self._pixels.copy_(pixel_values)
        self._graph.replay()
        return self._output
