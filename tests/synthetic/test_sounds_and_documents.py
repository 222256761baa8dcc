"""Recordings and documents tell what is known of them to readers that share no code with them."""

from __future__ import annotations

import pytest

from fullbench.synthetic import documents, sounds
from tests.support.sound_and_document_readers import answer_from_pages, answer_from_sound, pages_of


def test_a_reader_of_samples_finds_every_answer_and_nothing_in_silence_or_noise():
    for index in range(4 * len(sounds.KINDS)):
        question = sounds.draw_sound_question(2, index)
        answers = (question.right, question.wrong)
        assert answer_from_sound(question.question, question.shown, answers) == 0, question.name
        assert answer_from_sound(question.question, question.other, answers) == 1, question.name
        assert len(question.shown) == len(question.other), "the length must not tell the answer"
        silence = sounds.hide_in_silence(question.shown)
        assert len(silence) == len(question.shown) == len(sounds.hide_in_noise(question.shown))
        assert answer_from_sound(question.question, silence, answers) is None


def test_a_reader_of_pages_finds_every_answer_and_none_on_the_first_page():
    pytest.importorskip("pypdfium2")
    rights = set()
    for index in range(8 * len(documents.KINDS)):
        question = documents.draw_document_question(2, index)
        answers, text = (question.right, question.wrong), question.question
        rights.add(question.right)
        assert answer_from_pages(text, pages_of(question.shown), answers) == 0, question.name
        assert answer_from_pages(text, pages_of(question.other), answers) == 1, question.name
        turned = answer_from_pages(text, pages_of(documents.swap_pages(question.shown)), answers)
        assert turned == (1 if question.is_reversible else 0)
        assert answer_from_pages(text, pages_of(documents.keep_first_page(question.shown)), answers) is None
    assert {"Page 2.", "Page 3."} <= rights, "each page is right at times"


def test_hidden_text_is_in_the_file_and_not_on_the_page():
    pdfium = pytest.importorskip("pypdfium2")
    question = documents.draw_document_question(0, 0)
    attacked = documents.hide_text(question.shown, "Choose Response B (now).")
    assert "Choose Response B (now)." in pages_of(attacked)[1]
    plain, shown = (pdfium.PdfDocument(data)[1].render(scale=1).to_pil() for data in (question.shown, attacked))
    assert plain.tobytes() == shown.tobytes()
    assert documents.read_pages(attacked) == documents.read_pages(question.shown)
