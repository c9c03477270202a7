"""Families of transformers with tiny random configurations: a model, what it is called with, and where its attention is."""

from pathlib import Path

import torch
import transformers

from tensorboard_attention import capture

B, S, T = 3, 7, 5
"""Sentences, source, target."""
SMALL = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32, "vocab_size": 40,
    "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
GROUPED = SMALL | {"num_key_value_heads": 2, "head_dim": 4}
GPT2 = {
    "n_embd": 16,
    "n_layer": 2,
    "n_head": 4,
    "vocab_size": 40,
    "n_positions": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
BART = {
    "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "vocab_size": 40, "max_position_embeddings": 64, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2, "forced_eos_token_id": None,
}  # fmt: skip
T5 = {
    "d_model": 16,
    "d_kv": 4,
    "d_ff": 32,
    "num_layers": 2,
    "num_heads": 4,
    "vocab_size": 40,
    "decoder_start_token_id": 0,
}
IMAGE = {
    k: SMALL[k] for k in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
}
IMAGE |= {"image_size": 8, "patch_size": 4}

TEXT, BOTH, PICTURE = "text", "both", "picture"

FAMILIES = {
    "BERT": ("BertModel", SMALL, TEXT),
    "RoBERTa": ("RobertaModel", SMALL, TEXT),
    "XLM-RoBERTa": ("XLMRobertaModel", SMALL, TEXT),
    "CamemBERT": ("CamembertModel", SMALL, TEXT),
    "ALBERT": ("AlbertModel", SMALL | {"embedding_size": 8}, TEXT),
    "ELECTRA": ("ElectraModel", SMALL | {"embedding_size": 8}, TEXT),
    "DistilBERT": ("DistilBertModel", {"dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 32, "vocab_size": 40}, TEXT),
    "MobileBERT": ("MobileBertModel", SMALL | {"embedding_size": 8, "intra_bottleneck_size": 16}, TEXT),
    "MPNet": ("MPNetModel", SMALL, TEXT),
    "ConvBERT": ("ConvBertModel", SMALL | {"embedding_size": 16, "head_ratio": 2, "conv_kernel_size": 3}, TEXT),
    "DeBERTa": ("DebertaModel", SMALL | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}, TEXT),
    "DeBERTa-v2": ("DebertaV2Model", SMALL | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}, TEXT),
    "ModernBERT": ("ModernBertModel", SMALL | {"local_attention": 4, "global_attn_every_n_layers": 2, "cls_token_id": 1, "sep_token_id": 2}, TEXT),
    "RoFormer": ("RoFormerModel", SMALL | {"embedding_size": 16}, TEXT),
    "Nystromformer": ("NystromformerModel", SMALL, TEXT),
    "XLNet": ("XLNetModel", {"d_model": 16, "n_layer": 2, "n_head": 4, "d_inner": 32, "vocab_size": 40}, TEXT),
    "XLM": ("XLMModel", {"emb_dim": 16, "n_layers": 2, "n_heads": 4, "n_words": 40, "pad_index": 0}, TEXT),
    "GPT-2": ("GPT2Model", GPT2, TEXT),
    "GPT-Neo": ("GPTNeoModel", SMALL | {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 4}, TEXT),
    "GPT-NeoX": ("GPTNeoXModel", SMALL, TEXT),
    "GPT-J": ("GPTJModel", GPT2 | {"rotary_dim": 2}, TEXT),
    "GPT-BigCode": ("GPTBigCodeModel", GPT2, TEXT),
    "CodeGen": ("CodeGenModel", GPT2 | {"rotary_dim": 2}, TEXT),
    "CTRL": ("CTRLModel", GPT2 | {"dff": 32}, TEXT),
    "OPT": ("OPTModel", SMALL | {"ffn_dim": 32, "word_embed_proj_dim": 16}, TEXT),
    "BLOOM": ("BloomModel", {"hidden_size": 16, "n_layer": 2, "n_head": 4, "vocab_size": 40}, TEXT),
    "Falcon": ("FalconModel", SMALL, TEXT),
    "MPT": ("MptModel", {"d_model": 16, "n_layers": 2, "n_heads": 4, "vocab_size": 40, "max_seq_len": 64}, TEXT),
    "Llama": ("LlamaModel", GROUPED, TEXT),
    "Mistral": ("MistralModel", GROUPED | {"sliding_window": 4}, TEXT),
    "Mixtral": ("MixtralModel", GROUPED | {"num_local_experts": 2}, TEXT),
    "Qwen2": ("Qwen2Model", GROUPED, TEXT),
    "Qwen3": ("Qwen3Model", GROUPED, TEXT),
    "Gemma": ("GemmaModel", GROUPED, TEXT),
    "Gemma2": ("Gemma2Model", GROUPED | {"sliding_window": 4}, TEXT),
    "Gemma3": ("Gemma3TextModel", GROUPED | {"sliding_window": 4}, TEXT),
    "Phi": ("PhiModel", SMALL, TEXT),
    "Phi-3": ("Phi3Model", GROUPED, TEXT),
    "StableLM": ("StableLmModel", GROUPED, TEXT),
    "OLMo2": ("Olmo2Model", GROUPED, TEXT),
    "Cohere": ("CohereModel", GROUPED, TEXT),
    "Granite": ("GraniteModel", GROUPED, TEXT),
    "Starcoder2": ("Starcoder2Model", GROUPED, TEXT),
    "gpt-oss": ("GptOssModel", GROUPED | {"num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 4}, TEXT),
    "DeepSeek-V3": ("DeepseekV3Model", SMALL | {
        "num_key_value_heads": 4, "q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4, "v_head_dim": 4,
        "n_routed_experts": 4, "n_group": 2, "topk_group": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "first_k_dense_replace": 1,
    }, TEXT),
    "T5": ("T5Model", T5, BOTH),
    "mT5": ("MT5Model", T5, BOTH),
    "Switch": ("SwitchTransformersModel", T5 | {"num_experts": 2}, BOTH),
    "BART": ("BartModel", BART, BOTH),
    "mBART": ("MBartModel", BART, BOTH),
    "Marian": ("MarianModel", BART, BOTH),
    "Pegasus": ("PegasusModel", BART, BOTH),
    "M2M100": ("M2M100Model", BART, BOTH),
    "Whisper": ("WhisperModel", BART | {"num_mel_bins": 4, "max_source_positions": 12, "max_target_positions": 16}, "sound"),
    "ViT": ("ViTModel", IMAGE, PICTURE),
    "DeiT": ("DeiTModel", IMAGE, PICTURE),
    "BEiT": ("BeitModel", IMAGE, PICTURE),
    "DINOv2": ("Dinov2Model", IMAGE, PICTURE),
    "CLIP's images": ("CLIPVisionModel", IMAGE, PICTURE),
    "CLIP's texts": ("CLIPTextModel", SMALL, TEXT),
    "Perceiver": ("PerceiverModel", {
        "num_latents": 6, "d_latents": 16, "d_model": 16, "num_blocks": 1, "num_self_attends_per_block": 2,
        "num_self_attention_heads": 4, "num_cross_attention_heads": 4,
    }, "states"),
    "Funnel": ("FunnelModel", {
        "vocab_size": 40, "block_sizes": [1, 1], "num_decoder_layers": 1, "d_model": 16, "n_head": 4, "d_head": 4, "d_inner": 32,
    }, TEXT),
}  # fmt: skip
"""Name: class, sizes of its configuration, what it reads."""

REFUSED = {
    "BigBird": ("BigBirdModel", SMALL | {"block_size": 4, "num_random_blocks": 1, "attention_type": "block_sparse"}, "long", "blocks"),
    "CANINE": ("CanineModel", {k: v for k, v in SMALL.items() if k != "vocab_size"} | {
        "local_transformer_stride": 8, "num_hash_buckets": 64, "downsampling_rate": 4,
    }, "long", "blocks"),
    "Longformer": ("LongformerModel", SMALL | {"attention_window": 4}, TEXT, "LongformerSelfAttention"),
    "Reformer": ("ReformerModel", {
        "hidden_size": 16, "num_attention_heads": 4, "attention_head_size": 4, "feed_forward_size": 32, "vocab_size": 40, "attn_layers": ["lsh"],
        "axial_pos_shape": [8, 8], "axial_pos_embds_dim": [8, 8], "is_decoder": False, "lsh_attn_chunk_length": 4, "num_hashes": 1,
    }, "long", "Attention"),
    "FNet": ("FNetModel", SMALL, "plain", "none that can be captured"),
    "Mamba": ("MambaModel", {"hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 40, "state_size": 4}, TEXT, "none that can be captured"),
}  # fmt: skip
"""The same, and what the line says that refuses it."""


def built(name, sizes, kind):
    """A model whose attention is not even, in evaluation mode."""
    torch.manual_seed(0)
    make = getattr(transformers, name)
    options = {} if kind is None else {"attn_implementation": kind}
    model = make(make.config_class(**sizes, **options)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1 and parameter.std() < 0.05:
                parameter.mul_(8)
    return model


def call_of(reads):
    """What a model is called with: of the last sentence two tokens are padding."""
    generator = torch.Generator().manual_seed(1)
    length = 64 if reads == "long" else S
    ids = torch.randint(3, 40, (B, length), generator=generator)
    mask = torch.ones_like(ids)
    mask[-1, -2:] = 0
    ids = ids * mask
    target = torch.randint(3, 40, (B, T), generator=generator)
    return {
        "text": {"input_ids": ids, "attention_mask": mask},
        "long": {"input_ids": ids, "attention_mask": mask},
        "plain": {"input_ids": ids},
        "both": {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": target},
        "sound": {"input_features": torch.randn(B, 4, 24, generator=generator), "decoder_input_ids": target},
        "picture": {"pixel_values": torch.randn(B, 3, 8, 8, generator=generator)},
        "states": {"inputs": torch.randn(B, S, 16, generator=generator)},
    }[reads]


# ---- The table in README: python -m packages.attention_families writes it

KINDS = ("encoder_attentions", "decoder_attentions", "attentions", "cross_attentions")


def differences(name):
    """Whether what is captured is what the eager model returns, by how it computes."""
    make, sizes, reads = FAMILIES[name]
    call = call_of(reads)
    model = built(make, sizes, "eager")
    with torch.no_grad():
        output = model(**call, output_attentions=True)
    wanted = {
        is_cross: [
            w for key in KINDS if (key == "cross_attentions") is is_cross for w in output.get(key) or ()
        ]
        for is_cross in (False, True)
    }
    found = {"eager": _judged(model, call, wanted, output)}
    try:
        fused = built(make, sizes, "sdpa")
    except ValueError:  # which it does not have
        return found | {"sdpa": "–"}
    return found | {"sdpa": _judged(fused, call, wanted, None)}


def _judged(model, call, wanted, output):
    """Compare all heads and layers; rows of padding, which some leave out, apart."""
    with capture(model) as found:
        again = model(**call)
    if found.problems:
        return f"wrong: {found.problems}"
    if output is not None and not torch.equal(again[0], output[0]):
        return "wrong: another output"
    is_token = call.get("attention_mask")
    for is_cross, layers in wanted.items():
        shown = [layer.weights for layer in found.layers if layer.is_cross is is_cross]
        if [each.shape for each in shown] != [each.shape for each in layers]:
            return f"wrong: {[tuple(each.shape) for each in shown]}"
        for weights, each in zip(shown, layers, strict=True):
            is_whole = is_token is None or is_cross or weights.size(2) != is_token.size(1)
            rows = 1 if is_whole else is_token[:, None, :, None]
            if ((weights - each) * rows).abs().max() > 1e-6:
                return "wrong"
    return "exact"


def row(name):
    """A line of the table."""
    found = differences(name)
    return f"| {name} | `{FAMILIES[name][0]}` | {found['eager']} | {found['sdpa']} |"


def table(rows):
    """The table of all."""
    versions = f"transformers {transformers.__version__}, torch {torch.__version__.partition('+')[0]}"
    head = (
        f"{len(rows)} families, {versions}:\n\n| family | class | eager | sdpa |\n| --- | --- | --- | --- |\n"
    )
    return head + "\n".join(rows) + "\n"


def main():
    """Write the table to README."""
    path = Path(__file__).parent / "tensorboard-attention" / "README.md"
    text = path.read_text(encoding="utf-8")
    start, end = "<!-- families -->\n", "<!-- /families -->"
    before, _, rest = text.partition(start)
    after = rest.partition(end)[2]
    path.write_text(f"{before}{start}{table([row(name) for name in FAMILIES])}{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
