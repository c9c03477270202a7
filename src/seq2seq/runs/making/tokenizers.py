"""The tokenizers that a configuration describes."""

from seq2seq.config import DataConfig
from seq2seq.text.codec import CodecSettings


def codec_settings(data: DataConfig) -> CodecSettings:
    """How to make the codecs."""
    return CodecSettings(
        source_tokenizer=data.tokenizer.name,
        target_tokenizer=data.tokenizer.target_name or data.tokenizer.name,
        lowercase=data.tokenizer.lowercase,
        restore_case=data.tokenizer.restore_case,
        joint=data.tokenizer.joint,
        min_frequency=data.tokenizer.min_frequency,
        max_size=data.tokenizer.max_size,
    )
