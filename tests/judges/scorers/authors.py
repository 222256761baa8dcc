"""Scores by the package of ImageReward's authors: run by a Python that has it, which need not have fullbench.

Called with a folder of pictures, `prompts.json`, `med_config.json` and a tokenizer in `bert-base-uncased`; a small
model of theirs with random weights is left there as `ImageReward.pt`, its scores as `scores.json` and what it saw of
every picture as `pixels.pt`. Two things are passed over: what the package imports for training when it is entered by
its front door, and what torchvision registers for detection, where it is of another build than torch.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType


def theirs() -> tuple[ModuleType, ModuleType, ModuleType]:
    sys.modules["torchvision._meta_registrations"] = ModuleType("torchvision._meta_registrations")
    found = find_spec("ImageReward")
    assert found is not None, f"{sys.executable} has no package ImageReward"
    root = str(Path(str(found.origin)).parent)
    for name, place in (("ImageReward", root), ("ImageReward.models", f"{root}/models")):
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [place]
    names = ("ImageReward.ImageReward", "ImageReward.models.BLIP.blip_pretrain", "ImageReward.models.BLIP.vit")
    reward, blip, vit = map(import_module, names)
    return reward, blip, vit


def main(folder: Path) -> None:
    import torch
    from PIL import Image

    reward, blip, vit = theirs()
    os.chdir(folder)  # their tokenizer is found by its name on the hub, or as a folder of that name
    seeing = vit.VisionTransformer(img_size=224, patch_size=16, embed_dim=128, depth=3, num_heads=2)
    blip.create_vit = lambda *_: (seeing, 128)
    torch.manual_seed(0)
    model = reward.ImageReward("med_config.json").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    torch.save(model.state_dict(), "ImageReward.pt")
    prompts = json.loads(Path("prompts.json").read_text(encoding="utf-8"))
    pictures = sorted(str(path) for path in Path().glob("*.png"))
    torch.save({path: model.preprocess(Image.open(path)) for path in pictures}, "pixels.pt")
    scores = {path: [model.score(prompt, path) for prompt in prompts] for path in pictures}
    Path("scores.json").write_text(json.dumps(scores))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
