"""Small transformers of Hugging Face, whole or with LoRA, by the function that builds them: groups found, bits kept."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import shoal
from shoal.data.federation import Federation
from shoal.layout import Layout, seeded
from shoal.metrics import adjusted_rand
from shoal.net import Net
from shoal.seeds import Key

transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install 'shoal[hf]'")
peft = pytest.importorskip("peft", reason="peft is not installed: pip install 'shoal[hf]'")

PAGE = Path(__file__).parents[2] / "docs" / "inputs.md"
SIZE = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
TRAINED = 2 * 2 * 4 * 16 + 2 * 16 + 2  # A and B of rank 4 for query and value, and the head
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


def bert() -> nn.Module:
    model: nn.Module = transformers.BertForSequenceClassification(
        transformers.BertConfig(**SIZE, max_position_embeddings=16, initializer_range=0.3)
    )
    return model


def lora() -> nn.Module:
    config = peft.LoraConfig(task_type="SEQ_CLS", r=4, target_modules=["query", "value"])
    model: nn.Module = peft.get_peft_model(bert(), config)
    return model


def tied() -> nn.Module:
    """A masked language model's words are its outputs, too; the last word of a text says its class."""

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = transformers.BertForMaskedLM(transformers.BertConfig(**SIZE, max_position_embeddings=16))

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
            logits: torch.Tensor = self.inner(input_ids=input_ids, attention_mask=attention_mask).logits
            return logits[:, 0, :2]

    return Last()


def texts(clients: int = 6, each: int = 40) -> Federation:
    """Words 3 to 19 are glad, 20 to 39 sad; every other client means it the other way round."""
    rng = np.random.default_rng(0)
    arrays = {}
    for i in range(clients):
        glad = rng.integers(0, 2, each)
        words = [[1, *rng.integers(3 + 17 * g, 20 + 17 * g, rng.integers(3, 9))] for g in glad]
        arrays[f"c{i}"] = (words, (glad + i) % 2)
    return Federation.from_arrays(arrays, name="texts")


def test_lora_finds_planted_groups_and_only_what_is_trained_travels() -> None:
    run = shoal.run("flexcfl", texts(), lora, groups=2, rounds=4, lr=0.1, seed=0, engine="serial", selection="all")
    found = np.array([run.groups[f"c{i}"] for i in range(6)])
    assert adjusted_rand(np.arange(6) % 2, found) == 1.0
    one = shoal.run("fedavg", texts(), lora, rounds=4, lr=0.1, seed=0, engine="serial", selection="all")
    assert one.summary["best_accuracy"] < 0.7 < 0.8 < run.summary["best_accuracy"]
    assert run.plan.layout.size == TRAINED
    train = run.history[1]["traffic"]["train"]
    assert train["bytes_down"] == 6 * 4 * TRAINED
    assert sum(p.numel() for p in run.models[0].parameters()) > 10 * TRAINED


def test_the_example_of_the_page_on_sent140(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(os.environ.get("SHOAL_DATA", "."))
    if not (folder / "sent140.npz").is_file():
        pytest.skip("SHOAL_DATA holds no sent140.npz")
    text = PAGE.read_text().partition("<!-- runs in tests/reference/test_language.py -->")[2]
    code = text.partition("```python\n")[2].partition("```")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    monkeypatch.chdir(folder)
    known: dict[str, Any] = {}
    exec(code.replace("seed=0)", "seed=0, engine='serial')"), known)
    run = known["run"]
    assert adjusted_rand(np.arange(8) % 2, np.array([run.groups[f"site-{k}"] for k in range(8)])) == 1.0
    everything = sum(p.numel() for p in run.models[0].parameters())
    told = re.search(r"and ([\d,]+) of ([\d,]+) numbers travel", PAGE.read_text())
    assert told is not None
    assert (run.plan.layout.size, round(everything, -3)) == tuple(int(n.replace(",", "")) for n in told.groups())


def test_frozen_numbers_are_the_same_for_every_key_process_and_module() -> None:
    federation = texts(2)
    layout = Layout.of(lora, federation.sample())
    name = "base_model.model.bert.embeddings.word_embeddings.weight"
    drawn = [dict(seeded(lora, seed).named_parameters())[name] for seed in (0, 1)]
    assert not torch.equal(*drawn)  # the function draws another base under every seed
    one, two = layout.init_many(2, Key(5))
    assert not np.array_equal(one, two)
    held = [dict(Net(layout).module.named_parameters())[name]]
    held += [dict(layout.module(vector).named_parameters())[name] for vector in (one, two)]
    assert all(torch.equal(tensor, drawn[0]) for tensor in held)
    net, module, x = Net(layout), layout.module(two), federation.client("c1")("test")[0]
    net.load(two)
    batch = {key: torch.from_numpy(array) for key, array in x.batch().items()}
    with torch.no_grad():
        np.testing.assert_array_equal(net.scores(x), module(**batch).logits.numpy())


def test_a_model_with_other_frozen_numbers_is_another_model() -> None:
    sample = texts(2).sample()

    def other() -> nn.Module:
        model = lora()
        frozen = next(p for p in model.parameters() if not p.requires_grad)
        with torch.no_grad():
            frozen.mul_(2)
        return model

    assert Layout.of(lora, sample).digest() == Layout.of(lora, sample).digest() != Layout.of(other, sample).digest()


@pytest.mark.parametrize("model", [bert, lora, tied])
def test_worker_processes_and_a_second_run_end_on_the_same_bits(model: Any) -> None:
    keys: dict[str, Any] = {"groups": 2, "rounds": 2, "lr": 0.1, "seed": 1, "epochs": 1}
    one = shoal.run("ifca", texts(4, 12), model, engine="serial", **keys)
    two = shoal.run("ifca", texts(4, 12), model, engine="local", workers=1, **keys)
    assert one.serving.models_KP.tobytes() == two.serving.models_KP.tobytes()
    assert one.history[-1]["accuracy"] == two.history[-1]["accuracy"]


def test_tied_weights_travel_once_and_files_hold_whole_models(tmp_path: Path) -> None:
    run = shoal.run("fedavg", texts(2, 12), tied, rounds=1, engine="serial", out=tmp_path / "run")
    names = [part.name for part in run.plan.layout.parts]
    assert sum("word_embeddings" in n or n.endswith("decoder.weight") for n in names) == 1
    assert run.plan.layout.size == sum(p.numel() for p in tied().parameters())
    from safetensors.torch import load_file

    saved = load_file(tmp_path / "run" / "models" / "group_0.safetensors")
    fresh = tied()
    fresh.load_state_dict(saved)
    words = run.models[0].state_dict()["inner.bert.embeddings.word_embeddings.weight"]
    assert torch.equal(fresh.state_dict()["inner.bert.embeddings.word_embeddings.weight"], words)


def test_a_collator_of_transformers_makes_batches() -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="comes with transformers")
    rows = texts(2, 12)
    lists = {}
    for client in rows.ids:
        x, y = rows.client(client)("train")
        lists[client] = ({"input_ids": [row.tolist() for row in x]}, y)
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0}))
    pad = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        federation = Federation.from_arrays(lists, collate=transformers.DataCollatorWithPadding(pad))
        run = shoal.run("fedavg", federation, bert, rounds=1, engine="serial", seed=1)
        plain = shoal.run("fedavg", Federation.from_arrays(lists), bert, rounds=1, engine="serial", seed=1)
    assert run.serving.models_KP.tobytes() == plain.serving.models_KP.tobytes()
