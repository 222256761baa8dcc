"""A page with one of everything, hostile text among it, for the tests of pages and browsers."""

import io

from PIL import Image, ImageDraw

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.table import Column, Table
from fullbench.core.verdict import Verdict
from fullbench.reports.html_page import Exhibit, Section

HOSTILE = "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 1'> {{ 7 * 7 }} 评审"

LEADERBOARD = Table(
    "leaderboard",
    "Leaderboard",
    ("contestant", "rating", "share", Column("refused", kind="fault")),
    (
        ("glm", Estimate(1012.0, 980.0, 1040.0, 90), 0.5, 0),
        (HOSTILE, Estimate(1100.0, 1061.0, 1141.0, 88), 0.7, 3),
        ("智谱", Estimate(951.0, 905.0, 990.0, 91), 0.25, 0),
        ("unheard", None, None, 0),
    ),
    ("- for unheard: no match", HOSTILE),
    {"judge": HOSTILE, "seed": 7},
    {"kind": "intervals", "label": "contestant", "value": "rating", "reference": 1000},
)
TABLES = (
    LEADERBOARD,
    Table(
        "agreement",
        "Agreement",
        ("judge", "set", "r"),
        (
            ("a", "x", Estimate(0.8, 0.7, 0.9, 50)),
            ("b", "x", Estimate(0.4, 0.2, 0.6, 50)),
            ("a", "y", 0.5),
            ("b", "y", None),
        ),
        chart={"kind": "bars", "label": "judge", "value": "r", "group": "set"},
    ),
    Table(
        "planted",
        "Planted and recovered",
        ("name", "planted", "found"),
        (("a", 1.0, Estimate(1.1, 0.9, 1.3, 50)), ("b", 2.0, Estimate(1.8, 1.5, 2.1, 50))),
        chart={"kind": "scatter", "x": "planted", "y": "found", "label": "name"},
    ),
    Table(
        "wins",
        "Wins",
        ("winner", "loser", "share"),
        (("a", "b", 0.75), ("b", "a", 0.25)),
        chart={"kind": "heat", "row": "winner", "column": "loser", "value": "share"},
    ),
    Table(
        "unusable",
        "Faults",
        table_columns("judge", "judged", "refused", "unreadable"),
        (("a", 90, 4, 6), ("b", 100, 0, 0)),
        chart={"kind": "stacked", "label": "judge", "parts": ["judged", "refused", "unreadable"]},
    ),
    Table(
        "steady",
        "Steadiness",
        ("share", "items"),
        (("0.4-0.6", 3), ("0.6-0.8", 9), ("0.8-1.0", 30)),
        chart={"kind": "histogram", "bin": "share", "count": "items"},
    ),
)


def picture(size=(900, 600), color="#cfe3f5"):
    image = Image.new("RGB", size, color)
    ImageDraw.Draw(image).ellipse((300, 120, 520, 340), fill="#d9482b")
    out = io.BytesIO()
    image.save(out, "PNG")
    return Picture.from_bytes(out.getvalue())


def exhibit():
    item = Item.ask("42", HOSTILE, picture(), reference="One.", captions=("A red disc.",))
    responses = [Response.say("42", HOSTILE, HOSTILE), Response("42", "painter", (picture(color="#ffffff"),))]
    names = (HOSTILE, "painter")
    verdicts = [
        Verdict("c", "judge", "42", names, "score:1-5", marks=(2, 4.5), text=HOSTILE),
        Verdict("c", HOSTILE, "42", names, "score:1-5", fault="unreadable", text=""),
    ]
    return Exhibit(item, responses, verdicts, HOSTILE)


def sections():
    return [Section("Results", HOSTILE, TABLES), Section("Verdicts", exhibits=[exhibit()])]


USAGE = Usage(1200, 3, 45000, 6000, None, 12.5)
PROFILE, QUADRANTS = (
    Table(
        "profile",
        "By task",
        ("contestant", "计数", "OCR", "Meme"),
        (("glm", 7.0, Estimate(6.0, 5.5, 6.5, 9), 5.0), ("unheard", None, 4.0, 3.0), ("qwen", 3.0, 4.0, 8.0)),
        chart={"kind": "radar", "label": "contestant", "axes": ["计数", "OCR", "Meme"]},
    ),
    Table(
        "quadrants",
        "Well and steadily",
        ("contestant", "Avg", "alignment"),
        (("glm", 6.0, Estimate(1.5, 1.2, 1.9, 30)), ("unheard", 2.0, None), ("qwen", 4.0, 0.9)),
        chart={"kind": "scatter", "x": "Avg", "y": "alignment", "label": "contestant", "split": (5.0, 1.0)},
    ),
)
