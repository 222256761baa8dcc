"""Metrics against the libraries that define them, and as judges."""

import math
import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import single_meteor_score
from sacrebleu.metrics import BLEU

from fullbench.core.ballot import Choice, Likert, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.language_and_words import words_of
from fullbench.core.plugin_entry_points import plugin_names
from fullbench.core.response import Response
from fullbench.errors import InputError, UserError
from fullbench.judges.metrics.bertscore import SpellingEncoder, bert_score
from fullbench.judges.metrics.cider import Cider
from fullbench.judges.metrics.metric_judges import (
    bleu_scores,
    build_cider_judge,
    build_metric_judge,
    build_spelling_judge,
    cider_over,
    meteor_scores,
    rouge_scores,
)
from fullbench.judges.metrics.ngram_overlap import bleu4_score, meteor_of, rouge_l
from fullbench.judges.metrics.porter_stemmer import porter_stem
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec

SENTENCES = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"]), min_size=1, max_size=14)
_BLEU = BLEU(tokenize="none", effective_order=True)


class NoSynonyms:
    def synsets(self, _word):
        return []


class NoStems:
    def stem(self, word):
        return word


@given(SENTENCES, SENTENCES)
def test_bleu_is_sacrebleu_s(candidate, reference):
    theirs = _BLEU.sentence_score(" ".join(candidate), [" ".join(reference)]).score / 100
    assert bleu4_score(candidate, reference) == pytest.approx(theirs, abs=1e-9)


@given(SENTENCES, SENTENCES)
def test_meteor_is_nltk_s_without_its_word_net(candidate, reference):
    theirs = single_meteor_score(reference, candidate, stemmer=NoStems(), wordnet=NoSynonyms())
    assert meteor_of(candidate, reference) == pytest.approx(theirs, abs=1e-9)


def test_stems_are_those_of_porter():
    """On words of English prose, and on made-up ones with every suffix that the rules know."""
    theirs = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
    lot = random.Random(7)
    suffixes = re.findall(
        r"\w+",
        "ational tional izer abli alli entli ousli ization ator alism iveness fulness aliti biliti icate ative alize "
        "iciti ical ful ness ance ement ment ent ion ism ate ous ive ize ing ed eed ies sses s y e ll",
    )
    prose = re.findall(r"[a-z]{3,}", Path(__file__).read_text(encoding="utf-8").lower())
    made_up = [
        "".join(lot.choices("abcdeilnorstuyz", k=lot.randint(2, 5)))
        + lot.choice(suffixes)
        + lot.choice(("", "s", "ed"))
        for _ in range(3000)
    ]
    for word in {*prose, *made_up}:
        assert porter_stem(word) == theirs.stem(word), word
    assert (porter_stem("猫"), porter_stem("is"), porter_stem("42")) == ("猫", "is", "42")


def test_meteor_with_stems_by_its_spec():
    judge = judge_contestant_and_benchmark_specs.judge_from_spec("meteor?stems=porter")
    assert (judge.name, judge_contestant_and_benchmark_specs.judge_from_spec("meteor").name) == (
        "meteor+porter",
        "meteor",
    )
    answers = ["two cats were running past", "a cat runs", "完全不同", "he walked the walks of walkers"]
    wanted = "the cat ran past and was running, walking"
    stemmer = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
    theirs = [
        single_meteor_score(words_of(wanted), words_of(answer), stemmer=stemmer, wordnet=NoSynonyms())
        for answer in answers
    ]
    assert judge.metric(answers, wanted) == pytest.approx(theirs, abs=1e-9)
    assert judge.metric(answers, wanted) != meteor_scores(answers, wanted)
    with pytest.raises(InputError, match="the option stems of 'meteor' is one of porter; found 'lancaster'"):
        judge_contestant_and_benchmark_specs.judge_from_spec("meteor?stems=lancaster")
    with pytest.raises(InputError, match="takes only stems, synonyms; found other"):
        judge_contestant_and_benchmark_specs.judge_from_spec("meteor?other=1")
    with pytest.raises(InputError, match="takes no options; found stems"):
        judge_contestant_and_benchmark_specs.judge_from_spec("bleu?stems=porter")


def test_meteor_takes_a_stemmer():
    plain = meteor_of(["cats", "run"], ["cat", "run"])
    assert meteor_of(["cats", "run"], ["cat", "run"], stem=lambda word: word.rstrip("s")) > plain


def longest(one, two):
    """The length of the longest common subsequence, by the table of the textbook."""
    table = np.zeros((len(one) + 1, len(two) + 1), dtype=int)
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            table[i + 1, j + 1] = table[i, j] + 1 if a == b else max(table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


@given(SENTENCES, SENTENCES)
def test_rouge_l_is_the_f1_of_the_longest_common_subsequence(candidate, reference):
    shared = longest(candidate, reference)
    precision, recall = shared / len(candidate), shared / len(reference)
    wanted = 2 * precision * recall / (precision + recall) if shared else 0.0
    assert rouge_l(candidate, reference) == pytest.approx(wanted)


def textbook_cider(candidate, reference, corpus):
    """CIDEr-D of one pair as the paper writes it: vectors over every run of words that occurs anywhere."""
    total = 0.0
    for n in range(1, 5):
        grams = [Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) for words in corpus]
        mine, theirs = (Counter(tuple(w[i : i + n]) for i in range(len(w) - n + 1)) for w in (candidate, reference))
        vocabulary = sorted(set(mine) | set(theirs))
        rare = [math.log(len(corpus) / max(1, sum(gram in g for g in grams))) for gram in vocabulary]
        one = np.array([mine[gram] * r for gram, r in zip(vocabulary, rare, strict=True)])
        two = np.array([theirs[gram] * r for gram, r in zip(vocabulary, rare, strict=True)])
        norm = np.linalg.norm(one) * np.linalg.norm(two)
        total += np.minimum(one, two) @ two / norm if norm else 0.0
    return 10 / 4 * total * math.exp(-((len(candidate) - len(reference)) ** 2) / 72)


def test_cider_is_what_the_paper_writes():
    rng = random.Random(1)
    corpus = [[rng.choice("abcdefghijkl") for _ in range(rng.randint(4, 12))] for _ in range(30)]
    metric = Cider.from_references(corpus)
    for reference in corpus:
        candidate = [word if rng.random() < 0.7 else rng.choice("xyz") for word in reference]
        assert metric.score(candidate, [reference]) == pytest.approx(textbook_cider(candidate, reference, corpus))


def test_bert_score_is_one_for_the_same_text_and_lower_for_others():
    encoder = SpellingEncoder()
    same, near, far = (bert_score(encoder(text), encoder("a red kite")) for text in ("a red kite", "red kites", "zoom"))
    assert same == pytest.approx(1)
    assert same > near > far
    assert bert_score(encoder(""), encoder("a")) == 0.0


def heard(made, ballot, *texts, reference="three red circles"):
    item = Item.ask("i", "?", reference=reference)
    (verdict,) = made.judge(
        [Case(item, tuple(Response.say("i", f"m{k}", text) for k, text in enumerate(texts)), ballot)]
    )
    return verdict


REFERENCES = ["three red circles", "a blue square", "三个红色圆形"]


@pytest.mark.parametrize(
    "made",
    [
        build_metric_judge("bleu", bleu_scores),
        build_metric_judge("rouge", rouge_scores),
        build_metric_judge("meteor", meteor_scores),
        build_spelling_judge(),
        cider_over(REFERENCES),
    ],
    ids=lambda j: j.name,
)
def test_a_metric_prefers_what_is_nearer_to_the_reference_in_both_languages(made):
    assert heard(made, Choice(), "two dogs", "three red circles here").marks == (0.0, 1.0)
    assert heard(made, Choice(), "三个红色圆形", "两只狗", reference="三个红色圆形").marks == (1.0, 0.0)
    assert heard(made, Choice(), "one thing", "one thing").marks == (0.5, 0.5)
    assert heard(made, Score(1, 5), "three red circles").marks[0] >= 4
    assert heard(made, Choice(), "a", "b", reference=None).fault == "abstained"
    assert heard(made, Likert(("bad", "good")), "a", "three red circles").marks == (1.0, 2.0)


def test_metrics_are_judges_by_name(tmp_path):
    assert {"bleu", "rouge", "meteor"} <= set(plugin_names("metrics"))
    assert {"cider", "bertscore", "spelling", "clipscore", "refclipscore"} <= set(plugin_names("judges"))
    items = tmp_path / "items.jsonl"
    items.write_text(
        '{"id": "a", "question": "?", "reference": "x y"}\n{"id": "b", "question": "?", "reference": "z"}\n'
    )
    assert judge_from_spec(f"cider?corpus={items}").name.startswith("cider#")
    with pytest.raises(InputError, match=r"corpus=items.jsonl"):
        build_cider_judge()
    with pytest.raises(InputError, match="takes no options"):
        judge_from_spec("bleu?n=4")
    with pytest.raises(InputError, match="found 1 of them"):
        cider_over(["alone"])


SYNSETS = (("big", "large"), ("cat", "feline"), ("picture", "image", "moving_picture"), ("cat", "guy"))
"""Words of a meaning each, for a small word net."""


def write_wordnet(folder):
    """Write a small word net of nouns in the layout of WordNet's own database files."""
    folder.mkdir(parents=True)
    licence = "  1 WordNet 3.0 Copyright 2006 by nobody: a small one for tests.\n"
    data, places = licence, {}
    for words in SYNSETS:
        place = len(data)
        named = " ".join(f"{word} 0" for word in words)
        data += f"{place:08d} 03 n {len(words):02x} {named} 000 | a meaning\n"
        for word in words:
            places.setdefault(word, []).append(f"{place:08d}")
    index = licence + "".join(
        f"{word} n {len(found)} 0 {len(found)} 0 {' '.join(found)}\n" for word, found in sorted(places.items())
    )
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{part}").write_text(data if part == "noun" else licence, encoding="utf-8")
        (folder / f"index.{part}").write_text(index if part == "noun" else licence, encoding="utf-8")
        (folder / f"{part}.exc").write_text("", encoding="utf-8")
    senses = [
        f"{word}%1:03:{n:02d}:: {place} {n} 0\n" for word, found in places.items() for n, place in enumerate(found)
    ]
    (folder / "index.sense").write_text("".join(senses), encoding="utf-8")
    (folder / "lexnames").write_text("".join(f"{n:02d}\tnoun.group{n}\t1\n" for n in range(4)), encoding="utf-8")


def test_meteor_matches_synonyms_as_nltk_does_if_wordnet_is_installed(tmp_path, monkeypatch):
    import nltk

    from fullbench.judges.metrics.wordnet_synonyms import load_wordnet, wordnet_synonyms

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    for known in (load_wordnet, wordnet_synonyms):
        known.cache_clear()
    build = judge_contestant_and_benchmark_specs.judge_from_spec
    with pytest.raises(UserError, match=r"needs WordNet's data; install it: pip install '.\[wordnet\]'"):
        build("meteor?synonyms=wordnet")
    write_wordnet(tmp_path / "corpora" / "wordnet")
    judge, both = build("meteor?synonyms=wordnet"), build("meteor?stems=porter&synonyms=wordnet")
    assert (judge.name, both.name) == ("meteor+wordnet", "meteor+porter+wordnet"), "the variant is in its name"
    assert judge.settings["synonyms version"] == "WordNet 3.0"
    wanted = "the large feline sees a picture of two guys near the big image"
    texts = ["a big cat sees the image of the guy", "image picture cats large", "guy big of a", "nothing here"]
    theirs = [
        single_meteor_score(words_of(wanted), words_of(text), stemmer=NoStems(), wordnet=load_wordnet())
        for text in texts
    ]
    assert judge.metric(texts, wanted) == pytest.approx(theirs, abs=1e-9)
    assert judge.metric(texts, wanted) != build("meteor").metric(texts, wanted)
    # With stems, NLTK looks up the synonyms of what the stemmer left over; here they are those of the words.
    assert both.metric(["pictures"], "image picture") == [pytest.approx(both.metric(["picture"], "image pictures")[0])]
    assert both.metric(["a cat", "cats"], "feline") > judge.metric(["a dog", "cats"], "feline")
    for file in load_wordnet()._data_file_map.values():
        file.close()  # else the collector complains in a later test
    for known in (load_wordnet, wordnet_synonyms):
        known.cache_clear()
