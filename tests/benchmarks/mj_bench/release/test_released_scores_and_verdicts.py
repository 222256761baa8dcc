"""The released tables: a made-up release of a few rows, and what is said of files that do not fit."""

from __future__ import annotations

import gzip

import pytest

from fullbench.benchmarks.mj_bench.release.released_scores_and_verdicts import Release
from fullbench.benchmarks.mj_bench.reproduce import all_cells, genai_bench_cells
from fullbench.benchmarks.mj_bench.reproduce.all_cells import mj_bench_cells
from fullbench.errors import InputError

FILES = {
    "bias_scores.csv": """\
item,occupation,demographic,age,gender,race,nationality,religion,aesthetics,gpt-4o|number5,gpt-4o|likert5_raw
0,nurse,old,1,0,0,0,0,1.0,5," Outstanding
```"
1,nurse,young,1,1,0,0,0,3.0,4,Good.
2,pilot,old,1,0,0,0,0,2.0,3,3
3,pilot,young,0,1,0,0,0,2.0,1,
""",
    "bias_vlm_scores.csv": "item,MiniGPT-v2|number10\n0,3\n1,\n2,7\n3,9\n",
    "quality_pairs.csv": "subset,file,id,edited_part,judge,score_0,score_1,label\nobject,f,0,p,aesthetics,5,1,0\n",
    "safety_pairs.csv": "subset,id,judge,score_0,score_1,label\nnsfw,0,aesthetics,1,2,0\nnsfw,1,aesthetics,1,1,0\n",
    "vlm_pairs.csv": """\
perspective,subset,mode,scale,judge,id,label,score_0,score_1,pred,vlm_pred,score_pred
alignment,object,multi,number10,gpt-4o,a,1,3,4,1,1,1
alignment,object,multi,number10,gpt-4o,b,0,3,4,1,tie,1
""",
    "pickapic_validation.csv": "id,label,blipscore|score_0,blipscore|score_1\n0,0,2,1\n1,tie,1,1\n",
    "alignment_labels.csv": "category,id,source,label\naction,a,s,1\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def values(folder) -> dict[str, float]:
    return {cell.id: cell.value for cell in mj_bench_cells(Release.read(folder))}


def test_a_small_release_gives_the_cells_it_allows(folder):
    found = values(folder)
    assert found["bias/aesthetics/T3/ACC"] == 50.0
    assert found["quality/aesthetics/T12/object"] == 100.0
    assert found["safety/aesthetics/T9/nsfw_evasive"] == 0.0
    assert found["safety/aesthetics/nsfw_prefers_inpainted"] == 50.0
    assert found["vlm/Table 6/gpt-4o/avg"] == 50.0
    assert found["vlm/Table 6/gpt-4o/avg_no_tie"] == 100.0
    assert found["pickapic/blipscore/acc_no_human_tie"] == 100.0
    assert found["alignment/count/action"] == 1
    assert not [name for name in found if "pickscore" in name]
    assert all_cells.reproduce_mj_bench(folder).tables[0].rows


def test_words_of_the_scale_are_read_as_the_judge_wrote_them(folder):
    assert Release.read(folder).bias.scores["gpt-4o|likert5"] == (5.0, 4.0, 3.0, None)


def test_packed_and_unpacked_files_are_the_same(folder):
    before = values(folder)
    for name, text in FILES.items():
        (folder / name).unlink()
        with gzip.open(folder / f"{name}.gz", "wt") as file:
            file.write(text)
    assert values(folder) == before


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("quality_pairs.csv", ",score_1,", ",score_2,", r"quality_pairs.csv:2: the column 'score_1' is missing"),
        (
            "quality_pairs.csv",
            ",5,1,0",
            ",much,1,0",
            r"quality_pairs.csv:2: 'score_0' must be a finite number; found 'much'",
        ),
        ("quality_pairs.csv", ",5,1,0", ",5,1,2", r"quality_pairs.csv:2: 'label' must be one of 0; found '2'"),
        ("bias_scores.csv", "1,nurse,young,1,", "1,nurse,young,7,", r"bias_scores.csv:\d: 'age' must be one of 0, 1"),
        ("bias_scores.csv", "Good.", "Fine.", r"bias_scores.csv:\d: .* must hold one of Extremely Poor"),
        (
            "bias_vlm_scores.csv",
            "\n3,9",
            "\n4,9",
            "bias_vlm_scores.csv: the items differ from those of bias_scores.csv",
        ),
        ("vlm_pairs.csv", "object,multi,number10,gpt-4o,a", "object,twice,number10,gpt-4o,a", "'mode' must be one of"),
        ("vlm_pairs.csv", "a,1,3", "a,maybe,3", r"vlm_pairs.csv:2: 'label' must be one of 0, 1; found 'maybe'"),
        ("pickapic_validation.csv", "0,0,2", "0,nobody,2", "'label' must be one of 0, 1, tie"),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(folder, name, old, new, words):
    path = folder / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=words):
        Release.read(folder)


def test_a_missing_file_or_folder_is_told(folder):
    (folder / "vlm_pairs.csv").unlink()
    with pytest.raises(InputError, match=r"vlm_pairs.csv.gz: the file is missing"):
        Release.read(folder)
    with pytest.raises(InputError, match="no such folder"):
        Release.read(folder / "nowhere")


def test_votes_of_a_small_genai_bench(tmp_path):
    (tmp_path / "votes.csv").write_text(
        "task,idx,human_vote,one,two\n"
        "image_generation,0,leftvote,[[A>B]],\n"
        "image_generation,1,tievote,[[A=B]],OTHER:[[Tie]]\n"
        "image_generation,2,rightvote,[[A>B]],[[B>A]]\n"
    )
    found = {
        cell.id: cell.value for cell in genai_bench_cells.genai_bench_cells(genai_bench_cells.read_votes(tmp_path))
    }
    assert found == {
        "image_generation/one/accuracy": 66.666667,
        "image_generation/one/acc_decided": 50.0,
        "image_generation/one/first_position_share": 100.0,
        "average/one": 66.67,
        "image_generation/two/accuracy": 33.333333,
        "image_generation/two/acc_decided": 100.0,
        "image_generation/two/first_position_share": 0.0,
        "average/two": 33.33,
    }
    (tmp_path / "votes.csv").write_text("task,idx,human_vote,one\nimage_generation,0,maybe,[[A>B]]\n")
    with pytest.raises(InputError, match=r"votes.csv:2: 'human_vote' must be one of leftvote"):
        genai_bench_cells.read_votes(tmp_path)
