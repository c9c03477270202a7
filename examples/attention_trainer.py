"""Heads that form in a training of Hugging Face: python examples/attention_trainer.py --logdir runs/trainer

A Llama of two layers reads each sentence of the built-in corpus twice. To know the second half, it must find where it has read the last
word, and look one word on: an induction head (Olsson et al., 2022), which forms within a minute or two. Then: tensorboard --logdir runs, kind
self-attention, "statistics of the heads", column "name". It needs transformers and accelerate.
"""

import argparse
import lzma
import tempfile
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    DataCollatorForLanguageModeling,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
)

from tensorboard_attention import AttentionCallback

CORPUS = Path(__file__).parents[1] / "data" / "everyday" / "corpus.tsv.xz"
SHOWN = ["I would like a cup of tea, please.", "Where is the next station?"]


def main() -> None:
    """Train, and record the attention of two sentences every 50 steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", default="runs/trainer")
    parser.add_argument("--steps", type=int, default=800)
    options = parser.parse_args()
    with lzma.open(CORPUS, "rt", encoding="utf-8") as lines:
        columns = [line.rstrip("\n").split("\t") for line in lines]
    sentences = [english for split, english, *_ in columns if split == "train" and len(english.split()) < 10]
    words = Tokenizer(models.WordLevel(unk_token="[unk]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(
        sentences, trainers.WordLevelTrainer(vocab_size=2000, special_tokens=["[pad]", "[unk]", "[sep]"])
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[pad]", unk_token="[unk]", padding_side="right"
    )

    def twice(sentence: str) -> str:
        return f"{sentence} [sep] {sentence}"

    read = [{"input_ids": tokenizer(twice(each))["input_ids"]} for each in sentences]
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=64, pad_token_id=tokenizer.pad_token_id, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, max_steps=options.steps, per_device_train_batch_size=64, learning_rate=3e-3, seed=1,
            lr_scheduler_type="constant_with_warmup", warmup_steps=50, save_strategy="no", report_to="none",
            logging_steps=100, use_cpu=True, disable_tqdm=True,
        )  # fmt: skip
        trainer = Trainer(
            model=LlamaForCausalLM(config),
            args=arguments,
            train_dataset=read,
            processing_class=tokenizer,
            data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
            callbacks=[
                AttentionCallback([twice(each) for each in SHOWN], every_n_steps=50, writer=options.logdir)
            ],
        )
        trainer.train()
    print(f"tensorboard --logdir {options.logdir}")


if __name__ == "__main__":
    main()
