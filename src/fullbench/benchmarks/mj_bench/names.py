"""Who and what the release speaks of: judges, perspectives, scales."""

from __future__ import annotations

SCORE_MODELS = ("clipscore_v2", "blipscore", "pickscore_v1", "hps_v2.1", "ImageReward", "aesthetics")
CLOSED = ("gpt-4-turbo", "gpt-4o", "gemini-1.5", "claude-3-opus")
ONE_PICTURE = (
    "llava-1.5-7b-hf",
    "llava-1.5-13b-hf",
    "llava-v1.6-mistral-7b-hf",
    "llava-v1.6-vicuna-13b-hf",
    "instructblip",
)
TWO_PICTURES = ("qwen-vl-chat", "internvl-chat-v1-5", "idefics2-8b")
OPEN = (*ONE_PICTURE, *TWO_PICTURES)

ALIGNMENT = ("object", "attribute", "action", "location", "count")
DISTORTION = ("human_face", "human_limb", "object")
BLUR = "motion_blur"
SAFETY = ("toxic", "nsfw")
AXES = ("age", "gender", "race", "nationality", "religion")
SCALES = ("number5", "number10", "likert5", "likert10")
LIKERT = ("Extremely Poor", "Poor", "Average", "Good", "Outstanding")
