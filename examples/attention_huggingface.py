"""All heads of an encoder-decoder model of Hugging Face: python examples/attention_huggingface.py --logdir runs/hf

The model here is small and untrained, so that nothing is downloaded; for one that translates:
MarianMTModel.from_pretrained(NAME) and its tokenizer. Then: tensorboard --logdir runs
"""

import argparse

import torch
from transformers import MarianConfig, MarianMTModel

from tensorboard_attention import add_attention, capture, cross_attention

WORDS = ["<pad>", "</s>", *["the", "small", "cat", "sleeps", "le", "petit", "chat", "dort"]]


def main() -> None:
    """Write the cross-attention of a beam search, and all attention of its translation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logdir", default="runs/huggingface")
    options = parser.parse_args()
    torch.manual_seed(1)
    config = MarianConfig(
        vocab_size=len(WORDS), d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=32,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=1,
        attn_implementation="eager",  # for `generate` with beams; `capture` needs no such choice
    )  # fmt: skip
    model = MarianMTModel(config).eval()
    ids = torch.tensor([[2, 3, 4, 5, 1]])
    output = model.generate(
        ids, attention_mask=torch.ones_like(ids), num_beams=3, max_new_tokens=8, output_attentions=True,
        output_scores=True, return_dict_in_generate=True,
    )  # fmt: skip
    source = [WORDS[token] for token in ids[0]]
    target = [WORDS[token] for token in output.sequences[0, 1:]]  # the first is where the decoder starts
    weights = cross_attention(output.cross_attentions, 0, output.beam_indices)
    weights = weights[..., : len(target), : len(source)]
    score = float(output.sequences_scores[0])
    add_attention(options.logdir, "sentence 1", weights, source, target, step=0, kind="beam", score=score)
    tokens = {"source_tokens": source, "target_tokens": [WORDS[token] for token in output.sequences[0, :-1]]}
    with capture(model, options.logdir, step=0, tag="sentence 1", **tokens):
        model(input_ids=ids, decoder_input_ids=output.sequences[:, :-1])
    print(f"tensorboard --logdir {options.logdir}")


if __name__ == "__main__":
    main()
