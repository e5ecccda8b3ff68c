"""Writes tests/data/animations: small animated GIFs and WebPs, and what Pillow shows of them.

    python3 make_animations.py [FOLDER [HOW_MANY]]      (Pillow 13.0.0, NumPy 2)

GIF frames are written here byte by byte, since Pillow's writer leaves out what readers differ in: frames that lie
partly on or beyond the canvas, own palettes, transparent indices, every disposal method, missing control blocks.
expected.json has for each frame its time in seconds, its size, and the FNV-1a hash of its RGB pixels.
"""

import json
import pathlib
import sys

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent


def fnv(data: bytes) -> str:
    value = 14695981039346656037
    for byte in data:
        value = (value ^ byte) * 1099511628211 % 2**64
    return f"{value:016x}"


def lzw(indices: bytes, bits: int) -> bytes:
    """Codes of one size: a clear code before the table could grow."""
    clear, size = 1 << bits, bits + 1
    codes, room = [], 0
    for index in indices:
        if room == 0:
            codes.append(clear)
            room = (1 << size) - clear - 3
        codes.append(index)
        room -= 1
    codes.append(clear + 1)
    number = sum(code << (size * i) for i, code in enumerate(codes))
    return number.to_bytes((size * len(codes) + 7) // 8, "little")


def blocks(data: bytes) -> bytes:
    parts = [data[i : i + 255] for i in range(0, len(data), 255)]
    return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"


def palette(rng, bits: int) -> bytes:
    return rng.integers(0, 256, 3 << bits, dtype=np.uint8).tobytes()


def make_gif(seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    width, height = (int(n) for n in rng.integers(6, 20, 2))
    bits = int(rng.integers(2, 6))
    with_global = rng.random() < 0.8
    out = b"GIF89a" + width.to_bytes(2, "little") + height.to_bytes(2, "little")
    out += bytes([(0x80 | (bits - 1)) if with_global else 0, int(rng.integers(0, 1 << bits)), 0])
    if with_global:
        out += palette(rng, bits)
    beyond = rng.random() < 0.2
    for number in range(int(rng.integers(2, 6))):
        transparent = rng.random() < 0.5
        if number == 0 or rng.random() < 0.9:
            disposal = int(rng.choice([0, 1, 2, 3, 3, 2]))
            out += b"\x21\xf9\x04" + bytes([disposal << 2 | transparent])
            out += int(rng.integers(0, 30)).to_bytes(2, "little")
            out += bytes([int(rng.integers(0, 1 << bits)), 0])
        if rng.random() < 0.2:
            out += b"\x21\xfe\x03abc\0"
        whole = number == 0 and rng.random() < 0.7
        w = width if whole else int(rng.integers(1, width + 1))
        h = height if whole else int(rng.integers(1, height + 1))
        left = 0 if whole else int(rng.integers(0, width - w + 1 + 4 * beyond))
        top = 0 if whole else int(rng.integers(0, height - h + 1 + 4 * beyond))
        interlaced = rng.random() < 0.3
        local = not with_global or rng.random() < 0.4
        out += b"," + b"".join(n.to_bytes(2, "little") for n in (left, top, w, h))
        out += bytes([(0x80 | (bits - 1) if local else 0) | (0x40 if interlaced else 0)])
        if local:
            out += palette(rng, bits)
        indices = rng.integers(0, 1 << bits, w * h, dtype=np.uint8).tobytes()
        out += bytes([bits]) + blocks(lzw(indices, bits))
    return out + b";"


def make_webp(seed: int, path: pathlib.Path) -> None:
    rng = np.random.default_rng(seed)
    width, height = (int(n) for n in rng.integers(8, 24, 2))
    with_alpha = bool(seed % 2)
    frames = []
    for _ in range(4):
        pixels = rng.integers(0, 256, (height, width, 4), dtype=np.uint8)
        pixels[..., 3] = rng.choice([0, 128, 255], (height, width)) if with_alpha else 255
        frames.append(Image.fromarray(pixels).convert("RGBA" if with_alpha else "RGB"))
    durations = [int(n) for n in rng.integers(10, 200, 4)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, lossless=seed % 4 < 2, loop=0)


def expected(path: pathlib.Path) -> list:
    frames = []
    seconds = 0.0
    with Image.open(path) as image:
        for number in range(image.n_frames):
            image.seek(number)
            rgb = image.convert("RGB")
            frames.append({"seconds": round(seconds, 6), "size": [rgb.height, rgb.width], "hash": fnv(rgb.tobytes())})
            seconds += image.info.get("duration", 0) / 1000
    return frames


def main() -> None:
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "animations"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    folder.mkdir(exist_ok=True)
    answers = {}
    for seed in range(count):
        path = folder / f"{seed:02}.gif"
        path.write_bytes(make_gif(seed))
        answers[path.name] = expected(path)
    for seed in range(max(4, count // 20)):
        path = folder / f"{seed:02}.webp"
        make_webp(seed, path)
        answers[path.name] = expected(path)
    lines = [f"{json.dumps(name)}: {json.dumps(frames)}" for name, frames in answers.items()]
    (folder / "expected.json").write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
