"""Synonyms of English words by WordNet, read through NLTK if both are installed."""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING

from fullbench.errors import UserError

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

_INSTALL = "install it: pip install '.[wordnet]', then python -m nltk.downloader wordnet"


@cache
def load_wordnet() -> WordNetCorpusReader:
    """Return WordNet from NLTK's data folders; raise if it is not installed."""
    try:
        import nltk
        from nltk.corpus.reader.wordnet import WordNetCorpusReader
    except ImportError as error:
        raise UserError(f"synonyms=wordnet needs NLTK and WordNet; {_INSTALL}") from error
    for place in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            folder = nltk.data.find(place)
        except LookupError:
            continue
        with warnings.catch_warnings():
            # NLTK warns that other languages are missing, which are not used here.
            warnings.simplefilter("ignore")
            return WordNetCorpusReader(folder, None)
    raise UserError(f"synonyms=wordnet needs WordNet's data; {_INSTALL}")


def wordnet_version() -> str:
    """Return the version that the data says of itself."""
    return f"WordNet {load_wordnet().get_version() or 'of an unknown version'}"


@cache
def wordnet_synonyms(word: str) -> frozenset[str]:
    """Return the single words that share a meaning with this one, as NLTK's METEOR matches them."""
    synsets = load_wordnet().synsets(word)
    names = (lemma.name() for synset in synsets for lemma in synset.lemmas())
    return frozenset(name for name in names if "_" not in name)
