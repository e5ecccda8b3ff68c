#!/usr/bin/env python3
"""Writes tests/data/images/: small pictures of every kind that io/image decodes, and the pixels that Pillow 13.0.0 gives.

    python tests/data/make_images.py [OUT [SEED [SIDE]]]      # needs Pillow 13.0.0 and numpy

expected.ppm is a row of binary PPMs, each with the picture's name and one of three words in its comment:
  exif   ImageOps.exif_transpose(Image.open(NAME)).convert("RGB"), as Hugging Face's load_image
  plain  Image.open(NAME).convert("RGB"), where that differs from exif
  white  exif and then transformers' convert_to_rgb, where that differs from exif
Pictures that Pillow refuses are not in it. Other seeds and sides give other pictures of the same kinds.
"""
import io
import struct
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import PIL
from PIL import Image, ImageOps

warnings.simplefilter("ignore")


# ------------------------------------------------------------------------------------------------ sample pictures
def smooth(rng, height, width, channels):
    """A picture with gradients, edges and a little noise, uint8 [height, width, channels]."""
    y, x = np.mgrid[0:height, 0:width].astype(float)
    planes = []
    for _ in range(channels):
        angle, phase = rng.random() * 6.3, rng.random() * 6.3
        wave = np.sin((np.cos(angle) * x + np.sin(angle) * y) / (2 + 6 * rng.random()) + phase)
        plane = 128 + 90 * wave + 20 * rng.standard_normal((height, width))
        if rng.random() < 0.5:
            plane[height // 3 : height // 2, width // 4 : width // 2] = rng.choice([0, 255])
        planes.append(plane)
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def pack_bits(values, bits):
    """Rows of small integers [height, width] to packed bytes, the first in the highest bits; rows padded."""
    rows = []
    for row in values:
        expanded = ((row[:, None].astype(int) >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8).reshape(-1)
        rows.append(np.packbits(expanded).tobytes())
    return rows


def exif_block(orientation, order="<", kind=3, count=1):
    """A TIFF header and a directory with two entries, the second the orientation."""
    value = struct.pack(order + ("HH" if kind == 3 else "I"), *((orientation, 0) if kind == 3 else (orientation,)))
    entries = struct.pack(order + "HHI4s", 271, 2, 4, b"abc\0") + struct.pack(order + "HHI4s", 274, kind, count, value)
    head = b"II*\0" if order == "<" else b"MM\0*"
    return head + struct.pack(order + "IH", 8, 2) + entries + b"\0\0\0\0"


XMP = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="%d"/></x:xmpmeta>'


# ------------------------------------------------------------------------------------------------ PNG
def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_filter(rng, rows, pixel_bytes):
    out, previous = [], bytes(len(rows[0]) if rows else 0)
    for row in rows:
        kind = int(rng.integers(0, 5))
        coded = bytearray()
        for i, value in enumerate(row):
            a = row[i - pixel_bytes] if i >= pixel_bytes else 0
            b = previous[i]
            c = previous[i - pixel_bytes] if i >= pixel_bytes else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            coded.append((value - (0, a, b, (a + b) // 2, nearest)[kind]) & 255)
        out.append(bytes([kind]) + bytes(coded))
        previous = row
    return b"".join(out)


def png(rng, samples, depth, colour, interlace=False, before=b"", after=b"", pieces=1):
    """`samples` [height, width, channels] of `depth` bits; extra chunks before and after the image data."""
    height, width, channels = samples.shape

    def rows_of(part):
        if depth == 16:
            return [row.astype(">u2").tobytes() for row in part.reshape(part.shape[0], -1)]
        return pack_bits(part.reshape(part.shape[0], -1), depth)

    pixel_bytes = max(1, depth * channels // 8)
    raw = b""
    if interlace:
        for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
            part = samples[y0::dy, x0::dx]
            if part.size:
                raw += png_filter(rng, rows_of(part), pixel_bytes)
    else:
        raw = png_filter(rng, rows_of(samples), pixel_bytes)
    data = zlib.compress(raw)
    step = -(-len(data) // pieces)
    image_data = b"".join(png_chunk(b"IDAT", data[i : i + step]) for i in range(0, len(data), step))
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlace))
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + before + image_data + after + png_chunk(b"IEND", b"")


def png_cases(rng, side):
    def samples(channels, depth):
        height, width = int(rng.integers(1, side + 1)), int(rng.integers(1, side + 1))
        wide = smooth(rng, height, width, channels).astype(int)
        return wide * 257 + rng.integers(-99, 99, wide.shape) * (wide % 255 > 0) if depth == 16 else wide >> (8 - depth)

    def palette(count):
        return png_chunk(b"PLTE", rng.integers(0, 256, 3 * count, np.uint8).tobytes())

    for interlace in (False, True):
        tag = "_adam7" if interlace else ""
        for depth in (1, 2, 4, 8, 16):
            yield f"png_gray{depth}{tag}.png", png(rng, samples(1, depth), depth, 0, interlace)
        for depth in (8, 16):
            yield f"png_rgb{depth}{tag}.png", png(rng, samples(3, depth), depth, 2, interlace, pieces=3)
            yield f"png_la{depth}{tag}.png", png(rng, samples(2, depth), depth, 4, interlace)
            yield f"png_rgba{depth}{tag}.png", png(rng, samples(4, depth), depth, 6, interlace)
        for depth in (1, 2, 4, 8):
            yield f"png_palette{depth}{tag}.png", png(rng, samples(1, depth), depth, 3, interlace, palette(1 << depth))
    yield "png_palette8_short.png", png(rng, samples(1, 8), 8, 3, before=palette(100))
    dark = np.minimum(samples(1, 16), 300)
    yield "png_gray16_dark.png", png(rng, dark, 16, 0)

    # Colour keys: the key is the value of a pixel in the middle.
    for depth, colour in ((1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (16, 2)):
        picture = samples(1 if colour == 0 else 3, depth)
        if depth == 16:
            picture //= 257  # so that clipping and dropping bytes leave something to compare
        key = picture[picture.shape[0] // 2, picture.shape[1] // 2]
        name = f"png_{'gray' if colour == 0 else 'rgb'}{depth}_trns"
        yield f"{name}.png", png(rng, picture, depth, colour, before=png_chunk(b"tRNS", key.astype(">u2").tobytes()))
    for value in (0, 1):
        yield f"png_gray1_trns{value}.png", png(rng, samples(1, 1), 1, 0, before=png_chunk(b"tRNS", bytes([0, value])))
    zero = samples(1, 16)
    zero[0] = 0
    yield "png_gray16_trns0.png", png(rng, zero, 16, 0, before=png_chunk(b"tRNS", b"\1\0"))
    high = samples(3, 16)
    key = (high[0, 0] >> 8) + 256 * rng.integers(0, 256, 3)  # low bytes of the key = high bytes of the pixel
    yield "png_rgb16_trns_low.png", png(rng, high, 16, 2, before=png_chunk(b"tRNS", key.astype(">u2").tobytes()))
    yield "png_gray4_trns_big.png", png(rng, samples(1, 4), 4, 0, before=png_chunk(b"tRNS", b"\1\0"))
    indices = samples(1, 4)
    used = int(indices[0, 0, 0])
    yield "png_palette4_trns_one.png", png(rng, indices, 4, 3, before=palette(16) + png_chunk(b"tRNS", b"\xff" * used + b"\0"))
    yield "png_palette4_trns_many.png", png(rng, indices, 4, 3, before=palette(16) + png_chunk(b"tRNS", bytes(range(0, 160, 10))))
    yield "png_palette4_trns_opaque.png", png(rng, indices, 4, 3, before=palette(16) + png_chunk(b"tRNS", b"\xff" * 16))
    twice = png_chunk(b"PLTE", bytes([9, 9, 9] * 8 + list(range(24))))  # the key's colour has other indices too
    yield "png_palette4_trns_same.png", png(rng, indices, 4, 3, before=twice + png_chunk(b"tRNS", b"\xff\xff\0\xff"))
    yield "png_rgba8_trns.png", png(rng, samples(4, 8), 8, 6, before=png_chunk(b"tRNS", bytes(6)))
    late = samples(3, 8)
    yield "png_trns_late.png", png(rng, late, 8, 2, after=png_chunk(b"tRNS", late[0, 0].astype(">u2").tobytes()))

    # Which way up.
    for orientation in range(1, 9):
        block = png_chunk(b"eXIf", exif_block(orientation, "<>"[orientation % 2]))
        place = {"before": block} if orientation < 5 else {"after": block}
        yield f"png_exif{orientation}.png", png(rng, samples(3, 8), 8, 2, **place)
    yield "png_exif_palette.png", png(rng, indices, 4, 3, before=palette(16) + png_chunk(b"tRNS", b"\xff" * used + b"\0") + png_chunk(b"eXIf", exif_block(6)))
    yield "png_exif0.png", png(rng, samples(3, 8), 8, 2, before=png_chunk(b"eXIf", exif_block(0)))
    yield "png_exif_long.png", png(rng, samples(3, 8), 8, 2, before=png_chunk(b"eXIf", exif_block(8, ">", 4)))
    profile = b"\nexif\n%8d\n" % 44 + exif_block(6).hex().encode() + b"\n"
    yield "png_raw_profile.png", png(rng, samples(3, 8), 8, 2, before=png_chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(profile)))
    packet = (XMP % 3).encode()
    yield "png_xmp.png", png(rng, samples(3, 8), 8, 2, before=png_chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet))
    yield "png_xmp_zip.png", png(rng, samples(3, 8), 8, 2, before=png_chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(packet)))
    yield "png_exif_over_xmp.png", png(rng, samples(3, 8), 8, 2, before=png_chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet) + png_chunk(b"eXIf", exif_block(1)))

    # Chunks that must not count.
    gamma = png_chunk(b"gAMA", struct.pack(">I", 100000)) + png_chunk(b"iCCP", b"odd\0\0" + zlib.compress(b"no profile"))
    yield "png_gamma_icc.png", png(rng, samples(3, 8), 8, 2, before=gamma + png_chunk(b"bKGD", bytes(6)) + png_chunk(b"tEXt", b"key\0value"))
    picture = samples(3, 8)
    size = (picture.shape[1], picture.shape[0])
    other = png(rng, samples(3, 8)[:1, :1], 8, 2)
    frame = zlib.compress(b"\0" + bytes(3))
    control = lambda number, w, h: png_chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, w, h, 0, 0, 1, 10, 0, 0))
    later = control(1, 1, 1) + png_chunk(b"fdAT", struct.pack(">I", 2) + frame)
    yield "png_apng.png", png(rng, picture, 8, 2, before=png_chunk(b"acTL", struct.pack(">II", 2, 0)) + control(0, *size), after=later)
    only = control(0, 1, 1) + png_chunk(b"fdAT", struct.pack(">I", 1) + frame)
    yield "png_apng_default.png", png(rng, picture, 8, 2, before=png_chunk(b"acTL", struct.pack(">II", 1, 0)), after=only)
    yield "png_trailing.png", other + b"trailing bytes"


# ------------------------------------------------------------------------------------------------ JPEG
def canonical_codes(symbols, length):
    return {symbol: (code, length) for code, symbol in enumerate(symbols)}


def jpeg_segment(marker, data):
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def jpeg_coded(rng, width, height, sampling, ids, extra=b"", restart=0):
    """A baseline JPEG of random coefficients: any sampling factors, any component ids."""
    dc = canonical_codes(range(12), 4)
    ac = canonical_codes([0x00, 0xF0] + [run << 4 | size for run in range(16) for size in range(1, 7)], 8)
    table = lambda kind, codes: bytes([kind]) + bytes(len(codes) if length == list(codes.values())[0][1] else 0 for length in range(1, 17)) + bytes(codes)
    quantisation = bytes([0]) + bytes(int(v) for v in np.linspace(6, 40, 64))
    frame = struct.pack(">BHHB", 8, height, width, len(ids)) + b"".join(bytes([i, h << 4 | v, 0]) for i, (h, v) in zip(ids, sampling))
    scan = bytes([len(ids)]) + b"".join(bytes([i, 0]) for i in ids) + bytes([0, 63, 0])
    out = b"\xff\xd8" + extra + jpeg_segment(0xDB, quantisation) + jpeg_segment(0xC0, frame)
    out += jpeg_segment(0xC4, table(0, dc)) + jpeg_segment(0xC4, table(16, ac))
    if restart:
        out += jpeg_segment(0xDD, struct.pack(">H", restart))
    out += jpeg_segment(0xDA, scan)

    bits = []

    def put(value, count):
        bits.extend((value >> (count - 1 - i)) & 1 for i in range(count))

    def put_number(value, size):
        put(value if value > 0 else value + (1 << size) - 1, size)

    def flush():
        nonlocal bits
        while len(bits) % 8:
            bits.append(1)
        coded = bytes(int("".join(map(str, bits[i : i + 8])), 2) for i in range(0, len(bits), 8))
        bits = []
        return coded.replace(b"\xff", b"\xff\0")

    h_max, v_max = max(h for h, _ in sampling), max(v for _, v in sampling)
    if len(ids) == 1:
        h_max = v_max = 1
    level = [0] * len(ids)
    mcus = -(-width // (8 * h_max)) * -(-height // (8 * v_max))
    for mcu in range(mcus):
        if restart and mcu and mcu % restart == 0:
            out += flush() + bytes([0xFF, 0xD0 + (mcu // restart - 1) % 8])
            level = [0] * len(ids)
        for c, (h, v) in enumerate(sampling if len(ids) > 1 else [(1, 1)]):
            for _ in range(h * v):
                target = int(rng.integers(-110, 111))
                difference, level[c] = target - level[c], target
                size = abs(difference).bit_length()
                put(*dc[size])
                if size:
                    put_number(difference, size)
                at = 1
                while at < 64 and rng.random() < 0.8:
                    run = int(rng.integers(0, 6))
                    if at + run > 63:
                        break
                    value = int(rng.integers(1, max(2, 14 - at // 5))) * (1 if rng.random() < 0.5 else -1)
                    put(*ac[run << 4 | abs(value).bit_length()])
                    put_number(value, abs(value).bit_length())
                    at += run + 1
                if at < 64:
                    put(*ac[0])
    return out + flush() + b"\xff\xd9"


def pillow(array, kind, mode=None, **options):
    stream = io.BytesIO()
    image = Image.fromarray(array if array.shape[-1] > 1 else array[..., 0])
    if mode:
        image = image.convert(mode)
    image.save(stream, kind, **options)
    return stream.getvalue()


def insert_app1(jpeg, *segments):
    return jpeg[:2] + b"".join(jpeg_segment(0xE1, s) for s in segments) + jpeg[2:]


def jpeg_cases(rng, side):
    def picture(channels=3):
        return smooth(rng, int(rng.integers(1, 2 * side)), int(rng.integers(1, 2 * side)), channels)

    for subsampling in ("4:4:4", "4:2:2", "4:2:0"):
        for progressive in (False, True):
            name = f"jpg_{subsampling.replace(':', '')}{'_progressive' if progressive else ''}.jpg"
            yield name, pillow(picture(), "JPEG", subsampling=subsampling, progressive=progressive, quality=int(rng.integers(20, 96)))
    yield "jpg_gray.jpg", pillow(picture(1), "JPEG")
    yield "jpg_gray_progressive.jpg", pillow(picture(1), "JPEG", progressive=True)
    yield "jpg_rgb.jpg", pillow(picture(), "JPEG", keep_rgb=True)
    yield "jpg_restart.jpg", pillow(picture(), "JPEG", quality=15, restart_marker_blocks=2)
    yield "jpg_q100.jpg", pillow(picture(), "JPEG", quality=100)
    yield "jpg_optimised.jpg", pillow(picture(), "JPEG", quality=5, optimize=True)
    cmyk = pillow(picture(), "JPEG", mode="CMYK")
    yield "jpg_cmyk_adobe.jpg", cmyk
    at = cmyk.index(b"Adobe")
    yield "jpg_ycck.jpg", cmyk[: at + 11] + b"\2" + cmyk[at + 12 :]
    yield "jpg_cmyk_plain.jpg", cmyk[: at - 4] + cmyk[at + 12 :]
    adobe = lambda transform: jpeg_segment(0xEE, b"Adobe\0\x64\0\0\0\0" + bytes([transform]))
    jfif = jpeg_segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0")

    def coded(sampling, ids=(1, 2, 3, 4), **options):
        return jpeg_coded(rng, int(rng.integers(1, 3 * side)), int(rng.integers(1, 3 * side)), sampling, ids[: len(sampling)], **options)

    one = (1, 1)
    for name, luma in (("440", (1, 2)), ("411", (4, 1)), ("410", (4, 2)), ("441", (1, 4)), ("420", (2, 2)), ("422", (2, 1))):
        yield f"jpg_coded_{name}.jpg", coded([luma, one, one], extra=jfif)
    yield "jpg_coded_odd.jpg", coded([(2, 2), (2, 1), (1, 2)], extra=jfif)
    yield "jpg_coded_chroma_big.jpg", coded([(1, 1), (2, 2), (1, 1)], extra=jfif)
    yield "jpg_coded_restart.jpg", coded([(2, 2), one, one], extra=jfif, restart=2)
    yield "jpg_coded_no_jfif.jpg", coded([one] * 3)
    yield "jpg_coded_ids_rgb.jpg", coded([one] * 3, ids=(82, 71, 66))
    yield "jpg_coded_ids_other.jpg", coded([(2, 2), one, one], ids=(0, 1, 2))
    yield "jpg_coded_adobe_rgb.jpg", coded([one] * 3, extra=adobe(0))
    yield "jpg_coded_adobe_ycc.jpg", coded([(2, 1), one, one], extra=adobe(1))
    yield "jpg_coded_cmyk.jpg", coded([one] * 4)
    yield "jpg_coded_cmyk_adobe.jpg", coded([one] * 4, extra=adobe(0))
    yield "jpg_coded_ycck.jpg", coded([(2, 2), one, one, (2, 2)], extra=adobe(2))
    yield "jpg_coded_gray_22.jpg", coded([(2, 2)])

    for orientation in range(1, 9):
        yield f"jpg_exif{orientation}.jpg", insert_app1(pillow(picture(), "JPEG"), b"Exif\0\0" + exif_block(orientation, "<>"[orientation % 2]))
    base = pillow(picture(), "JPEG")
    xmp = b"http://ns.adobe.com/xap/1.0/\0"
    yield "jpg_exif9.jpg", insert_app1(base, b"Exif\0\0" + exif_block(9))
    yield "jpg_exif_broken.jpg", insert_app1(base, b"Exif\0\0" + b"no TIFF header")
    yield "jpg_exif_cut.jpg", insert_app1(base, b"Exif\0\0" + exif_block(6)[:30])
    yield "jpg_exif_two_segments.jpg", insert_app1(base, b"Exif\0\0" + exif_block(6)[:20], b"Exif\0\0" + exif_block(6)[20:])
    yield "jpg_xmp.jpg", insert_app1(base, xmp + (XMP % 8).encode())
    yield "jpg_xmp_element.jpg", insert_app1(base, xmp + b"<tiff:Orientation>2</tiff:Orientation>")
    yield "jpg_exif_over_xmp.jpg", insert_app1(base, xmp + (XMP % 8).encode(), b"Exif\0\0" + exif_block(3))
    yield "jpg_gray_exif.jpg", insert_app1(pillow(picture(1), "JPEG"), b"Exif\0\0" + exif_block(7, ">"))
    yield "jpg_trailing.jpg", base + b"trailing bytes" * 3
    yield "jpg_stray_bytes.jpg", base[:-2] + b"\0\0\0\0" + base[-2:]


# ------------------------------------------------------------------------------------------------ GIF
def lzw(indices, size):
    """GIF's variable-length codes in blocks of up to 255 bytes."""
    clear, end = 1 << size, (1 << size) + 1
    bits = []
    table, width = {}, size + 1

    def put(code):
        bits.extend((code >> i) & 1 for i in range(width))

    put(clear)
    table = {(i,): i for i in range(clear)}
    following, run = end + 1, ()
    for index in indices:
        if run + (index,) in table:
            run += (index,)
            continue
        put(table[run])
        if following < 4096:
            table[run + (index,)] = following
            if following == 1 << width and width < 12:
                width += 1
            following += 1
        else:
            put(clear)
            table, width, following = {(i,): i for i in range(clear)}, size + 1, end + 1
        run = (index,)
    put(table[run])
    if following == 1 << width and width < 12:
        width += 1
    put(end)
    data = np.packbits(np.array(bits, np.uint8), bitorder="little").tobytes()
    return bytes([size]) + b"".join(bytes([len(data[i : i + 255])]) + data[i : i + 255] for i in range(0, len(data), 255)) + b"\0"


def gif_frame(indices, bits, at=(0, 0), palette=b"", interlace=False):
    height, width = indices.shape
    flags = (0x80 | (bits - 1) if palette else 0) | (0x40 if interlace else 0)
    order = sum((list(range(start, height, step)) for start, step in ((0, 8), (4, 8), (2, 4), (1, 2))), []) if interlace else range(height)
    flat = [int(i) for y in order for i in indices[y]]
    return b"," + struct.pack("<HHHHB", *at, width, height, flags) + palette + lzw(flat, max(2, bits))


def gif_control(transparent=None, disposal=0):
    return b"!\xf9\4" + struct.pack("<BHB", disposal << 2 | (transparent is not None), 5, transparent or 0) + b"\0"


def gif(canvas, blocks, bits=0, palette=b"", background=0, trailer=b";"):
    return b"GIF89a" + struct.pack("<HHBBB", *canvas, 0x80 | (bits - 1) if palette else 0, background, 0) + palette + b"".join(blocks) + trailer


def gif_cases(rng, side):
    def indices(bits, low=1):
        height, width = int(rng.integers(low, side + 1)), int(rng.integers(low, side + 1))
        return smooth(rng, height, width, 1)[..., 0] >> (8 - bits)

    colours = lambda bits: rng.integers(0, 256, 3 << bits, np.uint8).tobytes()
    canvas = lambda frame, more=0: (frame.shape[1] + more, frame.shape[0] + more)
    for bits in range(1, 9):
        frame = indices(bits)
        yield f"gif_{bits}bit.gif", gif(canvas(frame), [gif_frame(frame, bits, interlace=bits % 2 == 0)], bits, colours(bits))
    frame = indices(4)
    ramp = bytes(i for i in range(16) for _ in range(3))
    yield "gif_offset.gif", gif(canvas(frame, 5), [gif_frame(frame, 4, (2, 3))], 4, colours(4), background=7)
    yield "gif_offset_transparent.gif", gif(canvas(frame, 5), [gif_control(int(frame[0, 0])), gif_frame(frame, 4, (3, 1))], 4, colours(4))
    yield "gif_over_canvas.gif", gif(canvas(frame), [gif_frame(frame, 4, (2, 1))], 4, colours(4))
    yield "gif_no_canvas.gif", gif((0, 0), [gif_frame(frame, 4)], 4, colours(4))
    yield "gif_local.gif", gif(canvas(frame), [gif_frame(frame, 4, palette=colours(4))], 3, colours(3))
    yield "gif_local_only.gif", gif(canvas(frame, 2), [gif_frame(frame, 4, palette=colours(4))])
    yield "gif_no_palette.gif", gif(canvas(frame), [gif_frame(frame, 4)])
    yield "gif_gray_ramp.gif", gif(canvas(frame), [gif_frame(indices(8), 8)], 4, ramp)
    yield "gif_local_ramp.gif", gif(canvas(frame), [gif_control(3), gif_frame(frame, 4, palette=ramp)], 4, colours(4))
    yield "gif_short_palette.gif", gif(canvas(frame), [gif_frame(indices(8), 8)], 4, colours(4))
    yield "gif_transparent.gif", gif(canvas(frame), [gif_control(int(frame[0, 0])), gif_frame(frame, 4)], 4, colours(4))
    yield "gif_transparent_gray.gif", gif(canvas(frame), [gif_control(int(frame[0, 0])), gif_frame(frame, 4)], 4, ramp)
    yield "gif_transparent_beyond.gif", gif(canvas(frame, 1), [gif_control(200), gif_frame(frame, 4)], 4, colours(4))
    yield "gif_two_controls.gif", gif(canvas(frame), [gif_control(int(frame[0, 0])), gif_control(), gif_frame(frame, 4)], 4, colours(4))
    texts = b"!\xfe\5hello\0" + b"!\xff\x0bNETSCAPE2.0\3\1\0\0\0"
    second = [gif_control(1, 2), gif_frame(indices(4), 4)]
    yield "gif_animated.gif", gif(canvas(frame), [texts, gif_control(None, 2), gif_frame(frame, 4)] + second, 4, colours(4))
    yield "gif_no_trailer.gif", gif(canvas(frame), [gif_frame(frame, 4)], 4, colours(4), trailer=b"")
    noise = rng.integers(0, 256, (side * 2, side * 3), np.uint8)  # fills the code table
    yield "gif_noise.gif", gif(canvas(noise), [gif_frame(noise, 8)], 8, colours(8))
    yield "gif_pillow.gif", pillow(smooth(rng, side, side, 3), "GIF")


# ------------------------------------------------------------------------------------------------ WebP
def riff(*chunks):
    body = b"".join(kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in chunks)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def u24(value):
    return struct.pack("<I", value)[:3]


def webp_frames(width, height, frames, *extra, flags=0x02):
    """Frames: (x, y, w, h, the chunks of a simple WebP file); x and y even."""
    chunks = [(b"VP8X", bytes([flags, 0, 0, 0]) + u24(width - 1) + u24(height - 1)), (b"ANIM", b"\x10\x20\x30\xff\0\0")]
    for x, y, w, h, body in frames:
        chunks.append((b"ANMF", u24(x // 2) + u24(y // 2) + u24(w - 1) + u24(h - 1) + u24(100) + b"\0" + body))
    return riff(*chunks, *extra)


def webp_cases(rng, side):
    def picture(channels=3):
        return smooth(rng, int(rng.integers(1, 2 * side)), int(rng.integers(1, 2 * side)), channels)

    yield "webp_lossy.webp", pillow(picture(), "WEBP", quality=60)
    yield "webp_lossy_low.webp", pillow(picture(), "WEBP", quality=1)
    yield "webp_lossless.webp", pillow(picture(), "WEBP", lossless=True)
    for name, options in (("lossy", {}), ("lossless", {"lossless": True}), ("exact", {"lossless": True, "exact": True})):
        yield f"webp_alpha_{name}.webp", pillow(picture(4), "WEBP", **options)
    for orientation in (1, 3, 6, 8):
        yield f"webp_exif{orientation}.webp", pillow(picture(), "WEBP", exif=exif_block(orientation, "<>"[orientation % 3 % 2]))
    yield "webp_exif_prefix.webp", pillow(picture(), "WEBP", exif=b"Exif\0\0" + exif_block(5), lossless=True)
    yield "webp_xmp.webp", pillow(picture(), "WEBP", xmp=(XMP % 7).encode())
    yield "webp_trailing.webp", pillow(picture(), "WEBP") + b"trailing bytes"
    for name, channels, options in (("lossy", 3, {}), ("lossless", 4, {"lossless": True, "exact": True}), ("alpha", 4, {})):
        array = smooth(rng, int(rng.integers(2, side + 1)), int(rng.integers(2, side + 1)), channels)
        h, w = array.shape[:2]
        body = pillow(array, "WEBP", **options)[12:]
        if body.startswith(b"VP8X"):
            body = body[18:]
        other = pillow(smooth(rng, h, w, 3), "WEBP")[12:]
        yield f"webp_animated_{name}.webp", webp_frames(w + 7, h + 5, [(4, 2, w, h, body), (0, 0, w, h, other)], flags=0x12)


# ------------------------------------------------------------------------------------------------ BMP
def bmp(rows, width, height, bits, header=40, compression=0, palette=b"", masks=b"", colours=0, offset=None, gap=b""):
    if header == 12:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, 0, 2835, 2835, colours, 0)
        if header > 40:
            info += (masks + bytes(header))[: header - 40]
            masks = b""
    head = info + masks + palette + gap
    begin = 14 + len(head) if offset is None else offset
    return b"BM" + struct.pack("<IHHI", 14 + len(head) + len(rows), 0, 0, begin) + head + rows


def pad4(rows):
    return b"".join(row + b"\0" * (-len(row) % 4) for row in rows)


def bmp_cases(rng, side):
    def indices(bits):
        height, width = int(rng.integers(1, side + 1)), int(rng.integers(1, side + 1))
        return smooth(rng, height, width, 1)[..., 0] >> (8 - bits)

    colours = lambda count, entry=4: rng.integers(0, 256, entry * count, np.uint8).tobytes()
    for bits in (1, 4, 8):
        for header in (12, 40, 108):
            pixels = indices(bits)
            h, w = pixels.shape
            yield f"bmp_{bits}bit_{header}.bmp", bmp(pad4(pack_bits(pixels, bits)), w, h, bits, header, palette=colours(1 << bits, 3 if header == 12 else 4))
    pixels = indices(8)
    h, w = pixels.shape
    packed = pad4(pack_bits(pixels, 8))
    gray = lambda count: b"".join(bytes([i, i, i, 0]) for i in range(count))
    yield "bmp_top_down.bmp", bmp(packed, w, -h, 8, palette=colours(256))
    yield "bmp_few_colours.bmp", bmp(packed, w, h, 8, palette=colours(60), colours=60)
    yield "bmp_gray.bmp", bmp(packed, w, h, 8, palette=gray(256))
    yield "bmp_gray_few.bmp", bmp(packed, w, h, 8, palette=gray(90), colours=90)
    yield "bmp_gap.bmp", bmp(packed, w, h, 8, palette=colours(256), gap=b"gap")
    yield "bmp_offset_forgotten.bmp", bmp(packed, w, h, 8, palette=colours(256), offset=54)
    yield "bmp_offset_zero.bmp", bmp(packed, w, h, 8, palette=colours(256), offset=0)
    bit = indices(1)
    for name, palette in (("black_white", b"\0\0\0\0\xff\xff\xff\0"), ("white_black", b"\xff\xff\xff\0\0\0\0\0"), ("coloured", colours(2))):
        yield f"bmp_1bit_{name}.bmp", bmp(pad4(pack_bits(bit, 1)), bit.shape[1], bit.shape[0], 1, palette=palette)
    yield "bmp_1bit_one_colour.bmp", bmp(pad4(pack_bits(bit, 1)), bit.shape[1], bit.shape[0], 1, palette=bytes(4), colours=1)

    h, w = int(rng.integers(1, side + 1)), int(rng.integers(1, side + 1))
    wide = rng.integers(0, 256, (h, w * 4), np.uint8)
    rows = lambda count: pad4([row[: w * count].tobytes() for row in wide])
    masks = lambda *values: struct.pack(f"<{len(values)}I", *values)
    yield "bmp_16bit.bmp", bmp(rows(2), w, h, 16)
    yield "bmp_16bit_top_down.bmp", bmp(rows(2), w, -h, 16)
    yield "bmp_24bit.bmp", bmp(rows(3), w, h, 24)
    yield "bmp_24bit_core.bmp", bmp(rows(3), w, h, 24, 12)
    yield "bmp_24bit_v5.bmp", bmp(rows(3), w, h, 24, 124)
    yield "bmp_24bit_os2.bmp", bmp(rows(3), w, h, 24, 64)
    yield "bmp_24bit_masks.bmp", bmp(rows(3), w, h, 24, compression=3, masks=masks(0xFF0000, 0xFF00, 0xFF))
    yield "bmp_32bit.bmp", bmp(rows(4), w, h, 32)
    yield "bmp_unpadded.bmp", bmp(rows(3), w, h, 24)[: 54 + (h - 1) * (-(-3 * w // 4) * 4) + 3 * w]
    yield "bmp_555.bmp", bmp(rows(2), w, h, 16, compression=3, masks=masks(0x7C00, 0x3E0, 0x1F))
    yield "bmp_565.bmp", bmp(rows(2), w, h, 16, compression=3, masks=masks(0xF800, 0x7E0, 0x1F))
    yield "bmp_565_v4.bmp", bmp(rows(2), w, h, 16, 108, 3, masks=masks(0xF800, 0x7E0, 0x1F, 0))
    yield "bmp_444.bmp", bmp(rows(2), w, h, 16, compression=3, masks=masks(0xF00, 0xF0, 0xF))
    four = {"bgrx": (0xFF0000, 0xFF00, 0xFF, 0), "xbgr": (0xFF000000, 0xFF0000, 0xFF00, 0), "bgxr": (0xFF000000, 0xFF00, 0xFF, 0),
            "abgr": (0xFF000000, 0xFF0000, 0xFF00, 0xFF), "rgba": (0xFF, 0xFF00, 0xFF0000, 0xFF000000),
            "bgra": (0xFF0000, 0xFF00, 0xFF, 0xFF000000), "bgar": (0xFF000000, 0xFF00, 0xFF, 0xFF0000), "zero": (0, 0, 0, 0),
            "odd": (0xFF, 0xFF0000, 0xFF00, 0)}
    for name, values in four.items():
        yield f"bmp_32bit_{name}.bmp", bmp(rows(4), w, h, 32, 56, 3, masks=masks(*values))
    yield "bmp_32bit_v3.bmp", bmp(rows(4), w, h, 32, compression=3, masks=masks(0xFF000000, 0xFF0000, 0xFF00))
    yield "bmp_32bit_v2.bmp", bmp(rows(4), w, h, 32, 52, 3, masks=masks(0xFF0000, 0xFF00, 0xFF))

    for bits in (4, 8):
        pixels = indices(bits)
        h, w = pixels.shape
        w += w < 5 and 5
        pixels = np.resize(pixels, (h, w))
        coded = b""
        for y, row in enumerate(pixels):
            x = 0
            while x < w:
                left = w - x
                if left >= 4 and rng.random() < 0.5:  # literals, padded to a word
                    count = int(rng.integers(3, min(left, 255) + 1))
                    part = row[x : x + count]
                    data = part.tobytes() if bits == 8 else pack_bits(part[None], 4)[0]
                    coded += bytes([0, count]) + data + b"\0" * (len(data) % 2)
                else:
                    count = int(rng.integers(1, min(left, 255) + 1))
                    coded += bytes([count, int(row[x]) if bits == 8 else int(row[x]) << 4 | int(row[x - 1])])
                x += count
            coded += b"\0\0"
        yield f"bmp_rle{bits}.bmp", bmp(coded + b"\0\1", w, h, bits, compression=1 if bits == 8 else 2, palette=colours(1 << bits))
        delta = b"\2\x31\0\2\1\1\2\x32\0\0" + b"\0\2\0" + bytes([max(h - 2, 0)]) + b"\2\x33\0\0"
        yield f"bmp_rle{bits}_delta.bmp", bmp(delta + b"\0\1", w, h, bits, compression=1 if bits == 8 else 2, palette=colours(1 << bits))
        yield f"bmp_rle{bits}_gray.bmp", bmp(coded + b"\0\1", w, h, bits, compression=1 if bits == 8 else 2, palette=gray(1 << bits))
        yield f"bmp_rle{bits}_short.bmp", bmp(b"\2\1\0\1", w, h + 1, bits, compression=1 if bits == 8 else 2, palette=colours(1 << bits))
        long_run = b"".join(bytes([255, 0x12 + y]) + b"\0\0" for y in range(h))
        yield f"bmp_rle{bits}_long_runs.bmp", bmp(long_run + b"\0\1", w, h, bits, compression=1 if bits == 8 else 2, palette=colours(1 << bits))


# ------------------------------------------------------------------------------------------------ TIFF
def tiff(samples, bits, photometric, order="<", extra=(), sample_format=1, compression=1, planar=1, rows_per_strip=None,
         tile=None, predictor=1, fill_order=1, tags=(), colour_map=None):
    """`samples` [height, width, n]: unsigned integers of `bits` (floats: their bit patterns)."""
    height, width, count = samples.shape

    def coded(part):
        part = part.reshape(part.shape[0], -1)
        if bits >= 16:
            data = part.astype(f"{order}u{bits // 8}").tobytes()
        else:
            data = b"".join(pack_bits(part, bits))
        if predictor == 2:
            step = 1 if planar == 2 else count
            wide = part.reshape(part.shape[0], -1, step).astype(np.int64)
            wide = np.diff(wide, axis=1, prepend=0) & ((1 << bits) - 1)
            data = wide.reshape(part.shape[0], -1).astype(f"{order}u{bits // 8}" if bits > 8 else "u1").tobytes()
        if fill_order == 2:
            data = bytes(int(f"{b:08b}"[::-1], 2) for b in data)
        if compression == 8:
            data = zlib.compress(data)
        elif compression == 32773:  # one literal run after the other
            data = b"".join(bytes([len(data[i : i + 128]) - 1]) + data[i : i + 128] for i in range(0, len(data), 128))
        return data

    blocks = []
    rows_per_strip = rows_per_strip or height
    for plane in range(count) if planar == 2 else [slice(None)]:
        layer = samples[..., plane] if planar == 1 else samples[..., plane : plane + 1]
        if tile:
            for y in range(0, height, tile[1]):
                for x in range(0, width, tile[0]):
                    part = layer[y : y + tile[1], x : x + tile[0]]
                    blocks.append(coded(np.pad(part, ((0, tile[1] - part.shape[0]), (0, tile[0] - part.shape[1]), (0, 0)))))
        else:
            for y in range(0, height, rows_per_strip):
                blocks.append(coded(layer[y : y + rows_per_strip]))

    entries = {256: (3, [width]), 257: (3, [height]), 258: (3, [bits] * count), 259: (3, [compression]), 262: (3, [photometric]),
               277: (3, [count]), 284: (3, [planar])}
    if sample_format != 1:
        entries[339] = (3, [sample_format] * count)
    if extra:
        entries[338] = (3, list(extra))
    if predictor != 1:
        entries[317] = (3, [predictor])
    if fill_order != 1:
        entries[266] = (3, [fill_order])
    if colour_map is not None:
        entries[320] = (3, [int(v) for v in colour_map])
    entries.update(dict(tags))
    body, offsets = b"", []
    for block in blocks:
        offsets.append(8 + len(body))
        body += block + b"\0" * (len(block) % 2)
    entries[324 if tile else 273] = (4, offsets)
    entries[325 if tile else 279] = (4, [len(b) for b in blocks])
    if tile:
        entries[322], entries[323] = (3, [tile[0]]), (3, [tile[1]])
    else:
        entries[278] = (3, [rows_per_strip])

    directory_at = 8 + len(body)
    after = directory_at + 2 + 12 * len(entries) + 4
    directory, tail = struct.pack(order + "H", len(entries)), b""
    for tag, (kind, values) in sorted(entries.items()):
        data = struct.pack(f"{order}{len(values)}{ {1: 'B', 3: 'H', 4: 'I'}[kind] }", *values)
        if len(data) > 4:
            pointer = struct.pack(order + "I", after + len(tail))
            tail += data + b"\0" * (len(data) % 2)
        else:
            pointer = data.ljust(4, b"\0")
        directory += struct.pack(order + "HHI", tag, kind, len(values)) + pointer
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", directory_at)
    return head + body + directory + b"\0\0\0\0" + tail


def tiff_cases(rng, side):
    def samples(channels, bits=8):
        height, width = int(rng.integers(1, side + 1)), int(rng.integers(1, side + 1))
        wide = smooth(rng, height, width, channels).astype(np.int64)
        if bits > 8:
            return wide * ((1 << bits) - 1) // 255
        return wide >> (8 - bits)

    strips = lambda: {"rows_per_strip": int(rng.integers(1, 5))}
    order = lambda: "<>"[int(rng.integers(0, 2))]
    for photometric, name in ((1, "gray"), (0, "inverted")):
        for bits in (1, 2, 4, 8):
            yield f"tif_{name}{bits}.tif", tiff(samples(1, bits), bits, photometric, order(), **strips())
            yield f"tif_{name}{bits}_deflate.tif", tiff(samples(1, bits), bits, photometric, order(), compression=8, **strips())
    for bits in (1, 2, 4, 8):
        yield f"tif_gray{bits}_fill2.tif", tiff(samples(1, bits), bits, 1, fill_order=2)
    for end in "<>":
        tag = "_be" if end == ">" else ""
        dark = samples(1, 16) // 200
        yield f"tif_gray16{tag}.tif", tiff(dark, 16, 1, end, **strips())
        yield f"tif_gray16_deflate{tag}.tif", tiff(dark, 16, 1, end, compression=8, predictor=2)
        yield f"tif_gray16_signed{tag}.tif", tiff((dark - 100) & 0xFFFF, 16, 1, end, sample_format=2)
        yield f"tif_gray32_signed{tag}.tif", tiff((dark - 100) & 0xFFFFFFFF, 32, 1, end, sample_format=2)
        floats = (dark * 1.7 - 100.3).astype("<f4").view("<u4").astype(np.int64)
        yield f"tif_float{tag}.tif", tiff(floats, 32, 1, end, sample_format=3)
        if end == "<":  # Pillow swaps the bytes of the other once too often
            yield "tif_float_deflate.tif", tiff(floats, 32, 1, end, sample_format=3, compression=8)
        yield f"tif_rgb16{tag}.tif", tiff(samples(3, 16), 16, 2, end, **strips())
        yield f"tif_rgb16_deflate{tag}.tif", tiff(samples(3, 16), 16, 2, end, compression=8, predictor=2)
        yield f"tif_rgba16{tag}.tif", tiff(samples(4, 16), 16, 2, end, extra=(2,))
        yield f"tif_rgba16_premultiplied{tag}.tif", tiff(samples(4, 16), 16, 2, end, extra=(1,))
        yield f"tif_cmyk16{tag}.tif", tiff(samples(4, 16), 16, 5, end)
    yield "tif_inverted16.tif", tiff(samples(1, 16) // 200, 16, 0)
    yield "tif_inverted16_be.tif", tiff(samples(1, 16) // 200, 16, 0, ">")
    yield "tif_gray32.tif", tiff(samples(1, 32) >> 22, 32, 1)
    yield "tif_gray12.tif", tiff(samples(1, 12) // 9, 12, 1)
    yield "tif_gray8_signed.tif", tiff(samples(1), 8, 1, sample_format=2)
    yield "tif_la.tif", tiff(samples(2), 8, 1, extra=(2,))
    yield "tif_lx.tif", tiff(samples(2), 8, 1, ">", extra=(0,))
    yield "tif_la_premultiplied.tif", tiff(samples(2), 8, 1, extra=(1,))
    yield "tif_rgb.tif", tiff(samples(3), 8, 2, order(), **strips())
    yield "tif_rgb_be.tif", tiff(samples(3), 8, 2, ">")
    yield "tif_rgb_fill2.tif", tiff(samples(3), 8, 2, fill_order=2)
    yield "tif_rgb_deflate.tif", tiff(samples(3), 8, 2, order(), compression=8, predictor=2, **strips())
    yield "tif_rgb_packbits.tif", tiff(samples(3), 8, 2, order(), compression=32773, **strips())
    yield "tif_rgb_float.tif", tiff(samples(3, 32), 32, 2, sample_format=3)
    for name, extra in (("unnamed", ()), ("x", (0,)), ("premultiplied", (1,)), ("alpha", (2,)), ("corel", (999,))):
        yield f"tif_rgba_{name}.tif", tiff(samples(4), 8, 2, order(), extra=extra, compression=[1, 8][int(rng.integers(0, 2))])
    for name, extra in (("xx", (0, 0)), ("alpha_x", (2, 0)), ("premultiplied_x", (1, 0)), ("alpha_xx", (2, 0, 0))):
        yield f"tif_rgb_{name}.tif", tiff(samples(3 + len(extra)), 8, 2, order(), extra=extra)
    colours = lambda bits: rng.integers(0, 65536, 3 << bits)
    for bits in (1, 2, 4, 8):
        yield f"tif_palette{bits}.tif", tiff(samples(1, bits), bits, 3, order(), colour_map=colours(bits), compression=[1, 8][bits % 3 % 2])
    yield "tif_palette_x.tif", tiff(samples(2), 8, 3, colour_map=colours(8), extra=(0,))
    yield "tif_palette_alpha.tif", tiff(samples(2), 8, 3, colour_map=colours(8), extra=(2,))
    yield "tif_cmyk.tif", tiff(samples(4), 8, 5, order(), **strips())
    yield "tif_cmyk_deflate.tif", tiff(samples(4), 8, 5, order(), compression=8)
    yield "tif_cmyk_x.tif", tiff(samples(5), 8, 5, extra=(0,))
    yield "tif_ycbcr.tif", tiff(samples(3), 8, 6, tags={530: (3, [1, 1])})
    yield "tif_ycbcr_deflate.tif", tiff(samples(3), 8, 6, tags={530: (3, [1, 1])}, compression=8)
    for compression in (1, 8):
        tag = "_deflate" if compression == 8 else ""
        yield f"tif_tiles{tag}.tif", tiff(samples(3), 8, 2, order(), tile=(16, 16), compression=compression)
        yield f"tif_tiles_gray{tag}.tif", tiff(samples(1), 8, 1, order(), tile=(16, 32), compression=compression)
        yield f"tif_planes{tag}.tif", tiff(samples(3), 8, 2, order(), planar=2, compression=compression, **strips())
        yield f"tif_planes_rgba{tag}.tif", tiff(samples(4), 8, 2, order(), planar=2, extra=(2,), compression=compression)
        yield f"tif_planes_cmyk{tag}.tif", tiff(samples(4), 8, 5, order(), planar=2, compression=compression)
        if compression == 8:  # Pillow stumbles over the raw one
            yield "tif_planes_x_deflate.tif", tiff(samples(4), 8, 2, order(), planar=2, extra=(0,), compression=8)
        yield f"tif_planes_tiles{tag}.tif", tiff(samples(3), 8, 2, order(), planar=2, tile=(16, 16), compression=compression)
    yield "tif_tiles_bits_deflate.tif", tiff(samples(1, 1), 1, 1, tile=(32, 16), compression=8)
    yield "tif_planes16_deflate.tif", tiff(samples(3, 16), 16, 2, planar=2, compression=8)
    yield "tif_planes_premultiplied_deflate.tif", tiff(samples(4), 8, 2, planar=2, extra=(1,), compression=8)
    for orientation in range(1, 9):
        yield f"tif_orientation{orientation}.tif", tiff(samples(3), 8, 2, order(), tags={274: (3, [orientation])}, compression=[1, 8][orientation % 2])
    yield "tif_xmp.tif", tiff(samples(3), 8, 2, tags={700: (1, list((XMP % 6).encode()))})
    for name, options in (("lzw", {"compression": "tiff_lzw"}), ("lzw_predictor", {"compression": "tiff_lzw", "tiffinfo": {317: 2}}),
                          ("jpeg", {"compression": "jpeg"}), ("packbits", {"compression": "packbits"}), ("deflate", {"compression": "tiff_adobe_deflate"})):
        yield f"tif_pillow_{name}.tif", pillow(samples(3).astype(np.uint8), "TIFF", **options)
    for mode in ("1", "L", "P", "LA", "CMYK", "YCbCr", "I;16"):
        array = samples(1 if mode == "I;16" else 3).astype(np.uint8)
        yield f"tif_pillow_{mode.replace(';', '')}_lzw.tif", pillow(array, "TIFF", mode, compression="tiff_lzw")
    yield "tif_pillow_gray_jpeg.tif", pillow(samples(1).astype(np.uint8), "TIFF", compression="jpeg")
    yield "tif_pillow_ycbcr.tif", pillow(samples(3).astype(np.uint8), "TIFF", "YCbCr")
    yield "tif_pillow_ycbcr_jpeg.tif", pillow(samples(3).astype(np.uint8), "TIFF", "YCbCr", compression="jpeg")
    yield "tif_pillow_group4.tif", pillow(samples(3).astype(np.uint8), "TIFF", "1", compression="group4")
    yield "tif_pillow_big.tif", pillow(samples(3).astype(np.uint8), "TIFF", big_tiff=True)


# ------------------------------------------------------------------------------------------------ PNM
def pnm_cases(rng, side):
    def samples(channels, most):
        height, width = int(rng.integers(1, side + 1)), int(rng.integers(1, side + 1))
        return smooth(rng, height, width, channels).astype(np.int64) * most // 255

    plain = lambda values: b" ".join(b"%d" % v for v in values.reshape(-1))
    bits = samples(1, 1)[..., 0]
    size = lambda values: b"%d %d\n" % (values.shape[1], values.shape[0])
    yield "pnm_p1.pbm", b"P1\n# a comment\n" + size(bits) + plain(bits) + b"\n"
    yield "pnm_p1_dense.pbm", b"P1 " + size(bits) + b"\n".join(b"".join(b"%d" % v for v in row) for row in bits)
    yield "pnm_p4.pbm", b"P4\n" + size(bits) + b"".join(pack_bits(bits, 1))
    for most in (1, 15, 100, 255, 256, 300, 1000, 65535):
        gray, colour = samples(1, most), samples(3, most)
        binary = lambda values: values.astype(">u2" if most > 255 else "u1").tobytes()
        yield f"pnm_p2_{most}.pgm", b"P2\n" + size(gray) + b"%d\n" % most + plain(gray)
        yield f"pnm_p5_{most}.pgm", b"P5\n" + size(gray) + b"%d\n" % most + binary(gray)
        yield f"pnm_p3_{most}.ppm", b"P3 " + size(colour) + b"%d " % most + plain(colour) + b" "
        yield f"pnm_p6_{most}.ppm", b"P6\r\n" + size(colour) + b"%d\n" % most + binary(colour)
    dark = samples(1, 65535) // 250
    yield "pnm_p5_dark.pgm", b"P5\n" + size(dark) + b"65535\n" + dark.astype(">u2").tobytes()
    over = samples(3, 255)
    yield "pnm_p6_over.ppm", b"P6\n" + size(over) + b"200\n" + over.astype(np.uint8).tobytes() + b"trailing"
    yield "pnm_comments.ppm", b"P6\n#one\n%d #two\n#three\n %d\n#four\n255\n" % (over.shape[1], over.shape[0]) + over.astype(np.uint8).tobytes()
    yield "pnm_plain_comments.pgm", b"P2\n2 2 9\n1 2 # a\n#b 7\n3 4#c\n"


ALL = (png_cases, jpeg_cases, gif_cases, webp_cases, bmp_cases, tiff_cases, pnm_cases)


# ------------------------------------------------------------------------------------------------ the reference
def exif_applied(data):
    return ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")


def plain(data):
    return Image.open(io.BytesIO(data)).convert("RGB")


def on_white(data):
    """transformers.image_transforms.convert_to_rgb on load_image's result."""
    image = exif_applied(data)
    if image.info.get("transparency") is not None:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, (255, 255, 255, 255)), image).convert("RGB")
    return image


def expected(name, data):
    """The reference's pictures, as PPMs, or why there are none."""
    try:
        reference = exif_applied(data)
    except Exception as error:  # Pillow has many
        return b"", f"{type(error).__name__}: {error}"
    pictures = {"exif": reference, "plain": plain(data), "white": on_white(data)}
    return b"".join(
        b"P6 # %s %s\n%d %d 255\n" % (name.encode(), kind.encode(), *image.size) + image.tobytes()
        for kind, image in pictures.items()
        if kind == "exif" or (image.size, image.tobytes()) != (reference.size, reference.tobytes())
    ), None


def main():
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    side = int(sys.argv[3]) if len(sys.argv) > 3 else 17
    if PIL.__version__ != "13.0.0":
        sys.exit(f"Pillow 13.0.0 is the reference, this is {PIL.__version__}")
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()) and not (out / "expected.ppm").exists():
        sys.exit(f"{out} holds something else")
    for old in out.iterdir():
        old.unlink()
    count = 0
    with open(out / "expected.ppm", "wb") as stream:
        for cases in ALL:
            rng = np.random.default_rng([seed, ALL.index(cases)])
            for name, data in cases(rng, side):
                (out / name).write_bytes(data)
                pixels, refusal = expected(name, data)
                stream.write(pixels)
                count += 1
                if refusal:
                    print(f"Pillow refuses {name}: {refusal}")
    print(f"{count} pictures in {out}")


if __name__ == "__main__":
    main()
