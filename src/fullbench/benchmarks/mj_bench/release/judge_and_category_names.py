"""Names of judges, perspectives, sub-categories and scales in the release."""

from __future__ import annotations

SCORE_MODELS = ("clipscore_v2", "blipscore", "pickscore_v1", "hps_v2.1", "ImageReward", "aesthetics")
CLOSED_JUDGES = ("gpt-4-turbo", "gpt-4o", "gemini-1.5", "claude-3-opus")
ONE_PICTURE = (
    "llava-1.5-7b-hf",
    "llava-1.5-13b-hf",
    "llava-v1.6-mistral-7b-hf",
    "llava-v1.6-vicuna-13b-hf",
    "instructblip",
)
TWO_PICTURES = ("qwen-vl-chat", "internvl-chat-v1-5", "idefics2-8b")
OPEN_JUDGES = (*ONE_PICTURE, *TWO_PICTURES)

ALIGNMENT = ("object", "attribute", "action", "location", "count")
DISTORTION = ("human_face", "human_limb", "object")
BLUR = "motion_blur"
SAFETY = ("toxic", "nsfw")
AXES = ("age", "gender", "race", "nationality", "religion")
SCALES = ("number5", "number10", "likert5", "likert10")
LIKERT = ("Extremely Poor", "Poor", "Average", "Good", "Outstanding")
LIKERT_10 = (
    "Extremely Poor",
    "Very Poor",
    "Poor",
    "Below Average",
    "Average",
    "Above Average",
    "Good",
    "Very Good",
    "Excellent",
    "Outstanding",
)
SCALE_BALLOTS = {
    "[0, 1]": "real:0-1",
    "[0, 5]": "score:1-5",
    "[0, 10]": "score:1-10",
    "[0, 100]": "score:0-100",
    "5 words": "likert:" + "|".join(LIKERT),
    "10 words": "likert:" + "|".join(LIKERT_10),
}
"""Scales of the paper's scale study and their ballots. Whole numbers if the authors request them; [0, 5] and [0, 10]
then begin at 1.
"""
OWN_UNITS = "number"
"""Ballot of score models."""
STORED_ORDER = "stored order"
"""Tag of an item with the picture that the release stores first."""
SHORT_SCALE_NAMES = {**{spec: name for name, spec in SCALE_BALLOTS.items()}, OWN_UNITS: "own units"}
"""Short names of these scales by ballot."""
USUAL_SCALE = SCALE_BALLOTS["[0, 10]"]
