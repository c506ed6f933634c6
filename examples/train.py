"""A small training job that records itself.

Run it and look at what it prints and at the picture it draws:

    python examples/train.py

It learns to tell apart points inside and outside a ring with a tiny neural
network in plain Python. A thread loads batches meanwhile: it unpacks them with
zlib, which is native code that runs beside the training. Spans name the steps,
so the recording can be narrowed to one of them. Nothing but the standard
library is needed.
"""

from __future__ import annotations

import json
import math
import queue
import random
import sys
import threading
import zlib
from collections.abc import Iterator

import tachograph

EPOCHS = 6
BATCHES = 24
BATCH_SIZE = 40
HIDDEN = 24
LEARNING_RATE = 0.4

CACHE: dict[int, bytes] = {}

Vector = list[float]
Matrix = list[Vector]
Batch = tuple[Matrix, Vector]


# --- data -------------------------------------------------------------------


def make_point(chance: random.Random) -> tuple[Vector, float]:
    """A point, and 1.0 if it lies inside the ring."""
    x, y = chance.uniform(-1, 1), chance.uniform(-1, 1)
    return [x, y, x * x + y * y], float(0.3 < math.hypot(x, y) < 0.8)


def make_shard(seed: int) -> bytes:
    """One batch as it would lie on disk: JSON, packed, with noise that packs badly."""
    chance = random.Random(seed)
    points = [make_point(chance) for _ in range(BATCH_SIZE)]
    noise = chance.randbytes(150_000).hex()
    return zlib.compress(json.dumps({"points": points, "noise": noise}).encode(), level=1)


def load(shard: bytes) -> Batch:
    """Unpack and parse one shard, and keep it packed tighter for another run."""
    raw = zlib.decompress(shard)
    CACHE[zlib.crc32(shard)] = zlib.compress(raw, level=6)  # the native hot spot
    points = json.loads(raw)["points"]
    return [features for features, _ in points], [label for _, label in points]


def load_all(shards: list[bytes], ready: queue.Queue[Batch | None]) -> None:
    """Load every epoch's shards ahead of their use; runs in a thread of its own."""
    for _ in range(EPOCHS):
        for shard in shards:
            ready.put(load(shard))
        ready.put(None)


def epoch_of(ready: queue.Queue[Batch | None]) -> Iterator[Batch]:
    """The batches of one epoch, as the loader gets them ready."""
    while (batch := ready.get()) is not None:
        yield batch


# --- model ------------------------------------------------------------------


def matmul(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b, strict=True))
    return [
        [sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in a
    ]


def transpose(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


class Network:
    """Two layers: tanh inside, a sigmoid at the end."""

    def __init__(self, chance: random.Random) -> None:
        self.first = [[chance.gauss(0, 1) for _ in range(HIDDEN)] for _ in range(3)]
        self.second = [[chance.gauss(0, 1)] for _ in range(HIDDEN)]

    def forward(self, inputs: Matrix) -> tuple[Matrix, Vector]:
        hidden = [[math.tanh(x) for x in row] for row in matmul(inputs, self.first)]
        outputs = [1 / (1 + math.exp(-row[0])) for row in matmul(hidden, self.second)]
        return hidden, outputs

    def backward(self, inputs: Matrix, hidden: Matrix, errors: Vector) -> tuple[Matrix, Matrix]:
        second = matmul(transpose(hidden), [[error] for error in errors])
        slopes = [
            [error * weight[0] * (1 - h * h) for h, weight in zip(row, self.second, strict=True)]
            for row, error in zip(hidden, errors, strict=True)
        ]
        return matmul(transpose(inputs), slopes), second

    def step(self, first: Matrix, second: Matrix) -> None:
        for weights, gradients in ((self.first, first), (self.second, second)):
            for row, gradient_row in zip(weights, gradients, strict=True):
                for i, gradient in enumerate(gradient_row):
                    row[i] -= LEARNING_RATE * gradient / BATCH_SIZE


# --- training ---------------------------------------------------------------


def train_epoch(network: Network, ready: queue.Queue[Batch | None]) -> None:
    for inputs, labels in epoch_of(ready):
        for _ in range(12):
            with tachograph.span("forward"):
                hidden, outputs = network.forward(inputs)
                errors = [output - label for output, label in zip(outputs, labels, strict=True)]
            with tachograph.span("backward"):
                gradients = network.backward(inputs, hidden, errors)
            with tachograph.span("step"):
                network.step(*gradients)


def evaluate(network: Network, shards: list[bytes]) -> float:
    """The share of points the network gets right."""
    right = total = 0
    for inputs, labels in map(load, shards):
        _, outputs = network.forward(inputs)
        right += sum((o > 0.5) == (t > 0.5) for o, t in zip(outputs, labels, strict=True))
        total += len(labels)
    return right / total


def main() -> None:
    network = Network(random.Random(1))
    training = [make_shard(seed) for seed in range(BATCHES)]
    unseen = [make_shard(seed) for seed in range(1000, 1006)]
    ready: queue.Queue[Batch | None] = queue.Queue(maxsize=4)
    loader = threading.Thread(target=load_all, args=(training, ready), name="loader", daemon=True)
    loader.start()
    for epoch in range(1, EPOCHS + 1):
        with tachograph.span("epoch", number=epoch):
            train_epoch(network, ready)
            with tachograph.span("evaluate"):
                share = evaluate(network, unseen)
        print(f"epoch {epoch}: {share:.0%} of unseen points right")
    loader.join()


if __name__ == "__main__":
    with tachograph.record("train.tacho") as recording:
        main()

    print()
    print(recording.summary(color=sys.stdout.isatty()))

    recording.save("train.svg")
    recording.within("epoch/forward").save("forward.svg")
    recording.save("train.speedscope.json")
    print()
    print("  train.tacho            the recording: tachograph.open('train.tacho')")
    print("  train.svg              a flame graph: open it in a browser")
    print("  forward.svg            the same of one span: recording.within('epoch/forward')")
    print("  train.speedscope.json  the recording for https://www.speedscope.app")
