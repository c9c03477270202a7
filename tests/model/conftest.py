import pytest
import torch

from seq2seq.text.batch import Batch
from seq2seq.text.corpus import SentencePair
from seq2seq.text.store import EncodedSplit, TokenStore
from tests.models import VARIANTS, model_of


@pytest.fixture(params=list(VARIANTS))
def model(request):
    return model_of(**VARIANTS[request.param])


@pytest.fixture
def split():
    generator = torch.Generator().manual_seed(1)

    def sentences(lengths):
        return [torch.randint(4, 11, (n,), generator=generator).tolist() for n in lengths]

    source, target = sentences([5, 1, 8, 3]), sentences([2, 6, 4, 0])
    return EncodedSplit(
        pairs=[SentencePair("source", "target")] * 4,
        source=TokenStore.from_sentences(source),
        target=TokenStore.from_sentences(target),
        num_blank=0,
        num_long=0,
    )


@pytest.fixture
def batch(split):
    return Batch.from_split(split, [0, 1, 2, 3])
