"""The built-in corpus of everyday sentences of Tatoeba."""

from seq2seq.data.corpora.split_file import BuiltIn


class EverydayCorpus(BuiltIn):
    """The built-in English-French corpus of everyday sentences, which ``scripts/make_everyday.py`` makes of Tatoeba's.

    Sentences that differ by names, pronouns, numbers, case and punctuation only are never in two splits. A file of yours
    has the columns split, source and target; more columns are other translations, which are not read.
    """

    corpus = "everyday"
    more_columns = True
