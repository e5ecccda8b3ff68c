#!/usr/bin/env python3
"""Writes tests/data/videos/labels.json: what a Python loop of OpenCV and transformers says of each clip's frames.

    python tests/data/make_video_labels.py      # opencv-python 5.0, torch 2.13, transformers 5.24, Pillow 13.0

The model is the one that ships, data/models/fashion-mnist-vit. Of each frame: its time in seconds, and the best
label and its score.
"""
import json
from pathlib import Path

import cv2
import torch
from PIL import Image
from transformers import ViTForImageClassification, ViTImageProcessorPil

HERE = Path(__file__).parent
MODEL = HERE.parent.parent / "data/models/fashion-mnist-vit"


def main():
    model = ViTForImageClassification.from_pretrained(MODEL).eval()
    processor = ViTImageProcessorPil.from_pretrained(MODEL)
    clips = {}
    for path in sorted(p for p in (HERE / "videos").iterdir() if p.suffix != ".json"):
        capture = cv2.VideoCapture(str(path))
        rows = []
        while True:
            ok, bgr = capture.read()
            if not ok:
                break
            picture = Image.fromarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB))
            with torch.no_grad():
                scores = model(**processor(picture, return_tensors="pt")).logits.softmax(-1)[0]
            best = int(scores.argmax())
            rows.append([round(capture.get(cv2.CAP_PROP_POS_MSEC) / 1000, 6), model.config.id2label[best],
                         round(float(scores[best]), 6)])
        clips[path.name] = rows
    lines = [f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in clips.items()]
    (HERE / "videos/labels.json").write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
