"""Callbacks and a context for a loop: they record at their steps, and the training is the same as without them."""

import warnings

import pytest
import torch
from torch import nn

from tensorboard_attention import recording
from tensorboard_attention.event_files import read_log_folder

D = 16


def steps_of(folder):
    return {view["tag"]: view["steps"] for view in read_log_folder(folder)["views"]}


def trained_by_hand(folder, steps):
    torch.manual_seed(1)
    model = nn.TransformerEncoderLayer(D, 4, 32, dropout=0.1, batch_first=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train():
        model(torch.randn(2, 5, D)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    if folder is None:
        for _ in range(steps):
            train()
    else:
        with recording(
            model, folder, torch.ones(1, 5, D), every_n_steps=2, source_tokens=list("abcde")
        ) as step:
            for _ in range(steps):
                train()
                step()
    return model.state_dict()


@pytest.mark.parametrize(("steps", "recorded"), [(4, [0, 2, 4]), (5, [0, 2, 4, 5])])
def test_a_loop_by_hand_is_recorded_before_between_and_at_its_end(steps, recorded, tmp_path):
    watched, alone = trained_by_hand(tmp_path, steps), trained_by_hand(None, steps)
    assert all(torch.equal(watched[name], alone[name]) for name in alone)
    assert steps_of(tmp_path) == {"probe/self-attention": recorded}


WORDS = ["[pad]", "[unk]", *["the", "cat", "sleeps", "le", "chat", "dort"]]


def trained_by_transformers(folder, make, callback, **options):
    """The parameters after a training of five steps."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    pytest.importorskip("accelerate", reason="transformers.Trainer needs accelerate")
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: n for n, w in enumerate(WORDS)}, "[unk]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[pad]", unk_token="[unk]"
    )
    transformers.set_seed(1)
    model = make(transformers)
    ids = torch.randint(2, len(WORDS), (10, 4), generator=torch.Generator().manual_seed(2))
    data = [{"input_ids": row.tolist(), "labels": row.tolist()} for row in ids]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), max_steps=5, per_device_train_batch_size=2, save_strategy="no", report_to="none", use_cpu=True,
        disable_tqdm=True, logging_strategy="no", dataloader_pin_memory=False, **options,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = transformers.Trainer(
            model=model, args=arguments, train_dataset=data, eval_dataset=data, processing_class=tokenizer,
            data_collator=transformers.default_data_collator, callbacks=callback and [callback],
        )  # fmt: skip
        trainer.train()
    return model.state_dict()


def llama(transformers):
    sizes = {"hidden_size": D, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(vocab_size=len(WORDS), pad_token_id=0, **sizes)
    )


def marian(transformers):
    sizes = {f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 32))}  # fmt: skip
    config = transformers.MarianConfig(
        vocab_size=len(WORDS), d_model=D, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, dropout=0.1,
        max_position_embeddings=32, forced_eos_token_id=None, **sizes,
    )  # fmt: skip
    return transformers.MarianMTModel(config)


def test_a_trainer_of_transformers_records_its_sentences_and_trains_the_same(tmp_path):
    pytest.importorskip("transformers", reason="needs transformers")
    from tensorboard_attention import AttentionCallback

    callback = AttentionCallback(["the cat sleeps", "the cat"], every_n_steps=2)
    watched = trained_by_transformers(tmp_path, llama, callback)
    alone = trained_by_transformers(tmp_path / "alone", llama, None)
    assert all(torch.equal(watched[name], alone[name]) for name in alone)
    views = {view["tag"]: view for view in read_log_folder(tmp_path / "attention")["views"]}
    assert set(views) == {"probe 1/self-attention", "probe 2/self-attention"}
    assert views["probe 1/self-attention"]["steps"] == [0, 2, 4, 5]
    assert views["probe 2/self-attention"]["sources"] == [("the", "cat")]


def test_encoder_and_decoder_have_the_words_of_their_side(tmp_path):
    pytest.importorskip("transformers", reason="needs transformers")
    from tensorboard_attention import AttentionCallback

    callback = AttentionCallback(["the cat sleeps"], targets=["le chat dort"], every_n_steps=5)
    trained_by_transformers(tmp_path, marian, callback)
    views = {view["tag"]: view for view in read_log_folder(tmp_path / "attention")["views"]}
    said = {tag.partition("/")[2]: (view["targets"][0], view["sources"][0]) for tag, view in views.items()}
    source, target = ("the", "cat", "sleeps"), ("[pad]", "le", "chat")
    assert said == {
        "encoder self-attention": (source, source),
        "decoder self-attention": (target, target),
        "cross-attention": (target, source),
    }


def test_without_a_probe_the_first_batch_of_the_evaluation_is_recorded(tmp_path):
    pytest.importorskip("transformers", reason="needs transformers")
    from tensorboard_attention import AttentionCallback

    options = {"eval_strategy": "steps", "eval_steps": 3}
    callback = AttentionCallback(every_n_steps=4, sentences=3)
    watched = trained_by_transformers(tmp_path, llama, callback, **options)
    alone = trained_by_transformers(tmp_path / "alone", llama, None, **options)
    assert all(torch.equal(watched[name], alone[name]) for name in alone)
    recorded = steps_of(tmp_path / "attention")
    assert recorded == {f"probe {n}/self-attention": [3, 4, 5] for n in (1, 2, 3)}


@pytest.mark.parametrize("steps", [0, 2.5])
def test_steps_are_whole_numbers(steps, tmp_path):
    with pytest.raises(ValueError, match=f"every_n_steps={steps} must be"), recording(nn.Linear(1, 1), tmp_path, None, every_n_steps=steps):  # fmt: skip
        pass
