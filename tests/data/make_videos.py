#!/usr/bin/env python3
"""Writes tests/data/videos/: small clips, and what Python's OpenCV reads out of them.

    python tests/data/make_videos.py [OUT]      # needs ffmpeg (5.1 was used) and opencv-python (5.0)

clip.mp4       50 frames of FFmpeg's test pattern, 64x48, 25 a second     rate.webm   30 frames, 30000/1001 a second
variable.mkv   every third of the first 30 frames, then each: not evenly spaced
turned.mp4     clip.mp4 marked as to be shown turned by 90 degrees: 48x64 for whoever heeds that
expected.json  of each clip the size, and of each frame its time in seconds and its mean R, G, B
"""
import json
import subprocess
import sys
from pathlib import Path

import cv2

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "videos")


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-y", "-loglevel", "error", *map(str, arguments)], check=True)


def pattern(rate, seconds):
    return ["-f", "lavfi", "-i", f"testsrc=size=64x48:rate={rate}", "-t", seconds]


def read(path):
    capture = cv2.VideoCapture(str(path))
    frames = []
    while True:
        ok, bgr = capture.read()
        if not ok:
            break
        mean = bgr.reshape(-1, 3).mean(axis=0)[::-1]
        frames.append({"seconds": round(capture.get(cv2.CAP_PROP_POS_MSEC) / 1000, 6),
                       "mean": [round(float(x), 3) for x in mean]})
    return {"height": bgr_shape(path)[0], "width": bgr_shape(path)[1], "frames": frames}


def bgr_shape(path):
    return cv2.VideoCapture(str(path)).read()[1].shape


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    ffmpeg(*pattern(25, 2), OUT / "clip.mp4")
    ffmpeg(*pattern("30000/1001", 1), OUT / "rate.webm")
    ffmpeg(*pattern(25, 2), "-vf", r"select='not(mod(n,3))+gt(n,30)'", "-vsync", "vfr", OUT / "variable.mkv")
    ffmpeg("-i", OUT / "clip.mp4", "-metadata:s:v", "rotate=90", "-codec", "copy", OUT / "turned.mp4")
    clips = sorted(p for p in OUT.iterdir() if p.suffix != ".json")
    (OUT / "expected.json").write_text(json.dumps({p.name: read(p) for p in clips}, indent=None) + "\n")


if __name__ == "__main__":
    main()
