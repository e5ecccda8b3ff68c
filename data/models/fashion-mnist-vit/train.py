#!/usr/bin/env python3
"""Trains a small ViT on Fashion-MNIST and saves it as a Hugging Face folder: train.py EPOCHS (15 made the one that ships).

Needs torch, transformers, numpy, and the pictures of Debian's package dataset-fashion-mnist. The result is written after
every epoch into ./fashion-mnist-vit.
"""
import glob
import gzip
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

LABELS = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]
BATCH = 256
LEARNING_RATE = 2e-3


def load(name, header_bytes, shape):
    path = glob.glob(f"/usr/share/**/{name}*", recursive=True)[0]
    with gzip.open(path) if path.endswith("gz") else open(path, "rb") as f:
        return np.frombuffer(f.read(), np.uint8, offset=header_bytes).reshape(shape)


def to_tensor(pictures):
    """uint8 [B,28,28] -> float [B,3,28,28] in -1..1"""
    return ((torch.from_numpy(pictures.copy()).float() / 255 - 0.5) / 0.5)[:, None].expand(-1, 3, -1, -1)


def augment(x):
    """Shifts by up to two pixels, mirrors half of the pictures."""
    count = x.shape[0]
    x = F.pad(x, (2, 2, 2, 2), value=-1.0)
    top, left, range28 = torch.randint(0, 5, (count,)), torch.randint(0, 5, (count,)), torch.arange(28)
    rows, columns = (top[:, None] + range28)[:, :, None], (left[:, None] + range28)[:, None, :]
    x = x[torch.arange(count)[:, None, None], :, rows, columns].permute(0, 3, 1, 2)
    mirrored = torch.rand(count) < 0.5
    x[mirrored] = x[mirrored].flip(-1)
    return x


@torch.no_grad()
def accuracy(model, pictures, truth):
    model.eval()
    right = 0
    for k in range(0, len(pictures), 500):
        right += (model(to_tensor(pictures[k:k + 500])).logits.argmax(1).numpy() == truth[k:k + 500]).sum()
    model.train()
    return right / len(pictures)


def main():
    epochs = int(sys.argv[1])
    train_x, train_y = load("train-images-idx3-ubyte", 16, (-1, 28, 28)), load("train-labels-idx1-ubyte", 8, (-1,))
    test_x, test_y = load("t10k-images-idx3-ubyte", 16, (-1, 28, 28)), load("t10k-labels-idx1-ubyte", 8, (-1,))

    torch.manual_seed(0)
    torch.set_num_threads(2)
    model = ViTForImageClassification(ViTConfig(
        image_size=28, patch_size=4, num_channels=3, hidden_size=96, num_hidden_layers=6, num_attention_heads=3,
        intermediate_size=384, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(LABELS)), label2id={label: i for i, label in enumerate(LABELS)}))
    model.train()
    steps_per_epoch = len(train_x) // BATCH
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.05, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=epochs * steps_per_epoch,
                                                   pct_start=0.15)
    order = np.random.default_rng(0)
    start = time.time()
    for epoch in range(epochs):
        shuffled, total = order.permutation(len(train_x)), 0.0
        for step in range(steps_per_epoch):
            chosen = shuffled[step * BATCH:(step + 1) * BATCH]
            logits = model(augment(to_tensor(train_x[chosen]))).logits
            loss = F.cross_entropy(logits, torch.from_numpy(train_y[chosen].astype(np.int64)), label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / steps_per_epoch:.4f}, test accuracy {accuracy(model, test_x, test_y):.4f}, "
              f"{time.time() - start:.0f} s", flush=True)
        model.save_pretrained("fashion-mnist-vit")
        ViTImageProcessor(do_resize=True, size={"height": 28, "width": 28}, image_mean=[0.5] * 3,
                          image_std=[0.5] * 3).save_pretrained("fashion-mnist-vit")


if __name__ == "__main__":
    main()
