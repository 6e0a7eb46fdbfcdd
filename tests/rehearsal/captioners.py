"""Small captioners in the official layouts: what they say depends on the image, in words that a parser knows."""

import json
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

NOUNS = (
    "dog cat boat car tree house table chair horse bird river ball cup road train clock plate bench fence door window "
    "bridge hill cow sheep bear zebra bus truck kite bed sofa lamp book phone shoe hat bag fish apple"
)
SIZE = dict(
    hidden_size=32,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    initializer_range=0.5,
)


def words(special: list[str]) -> transformers.PreTrainedTokenizerFast:
    vocabulary = [*special, "there", *(f"a {noun}," for noun in NOUNS.split())]
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token=special[0])
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        f"{special[1]} $A {special[2]}", special_tokens=[(special[1], 1), (special[2], 2)]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    unknown, start, end = special
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=unknown,
        pad_token=unknown,
        bos_token=start,
        eos_token=end,
    )


def vit_gpt2(folder: Path) -> tuple:
    """The model and its tokenizer, which are written to the folder."""
    tokenizer = words(["[pad]", "[start]", "[end]"])
    torch.manual_seed(0)
    text = dict(n_embd=32, n_layer=1, n_head=2, vocab_size=len(tokenizer), initializer_range=0.5)
    ids = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        transformers.ViTConfig(image_size=16, patch_size=8, **SIZE),
        transformers.GPT2Config(**text, **ids),
    )
    config.decoder_start_token_id, config.eos_token_id, config.pad_token_id = 1, 2, 0
    model = transformers.VisionEncoderDecoderModel(config=config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    image_options = dict(image_mean=[0.5] * 3, image_std=[0.5] * 3, resample=2, size=16)
    options = dict(
        do_normalize=True,
        do_resize=True,
        feature_extractor_type="ViTFeatureExtractor",
        **image_options,
    )
    (folder / "preprocessor_config.json").write_text(json.dumps(options))
    return model, tokenizer


def vit_gpt2_as_released(folder: Path) -> None:
    model, _ = vit_gpt2(folder)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")


def blip(folder: Path) -> tuple:
    """The model and its tokenizer, which are written to the folder."""
    tokenizer = words(["[PAD]", "[DEC]", "[SEP]"])
    torch.manual_seed(0)
    ids = dict(bos_token_id=1, eos_token_id=2, sep_token_id=2, pad_token_id=0)
    config = transformers.BlipConfig(
        text_config=dict(vocab_size=len(tokenizer), encoder_hidden_size=32, **SIZE, **ids),
        vision_config=dict(image_size=16, patch_size=8, **SIZE),
        image_text_hidden_size=32,
        projection_dim=32,
    )
    model = transformers.BlipForConditionalGeneration(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    transformers.BlipImageProcessor(size={"height": 16, "width": 16}).save_pretrained(folder)
    return model, tokenizer


MAKERS = {"vit-gpt2": vit_gpt2_as_released, "blip-large": blip}
