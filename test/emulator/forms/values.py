"""Operands: the edges of every type, and the tuples of them that a form is tried with."""

from itertools import product

from candidates import size

FLOAT_EDGES = {
    "f16": [0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x7bff, 0xfbff,
            0x7c00, 0xfc00, 0x7e00, 0x3555, 0x3800, 0xb800, 0x3e00, 0x4100, 0x6400, 0xd7ff, 0x5bf8,
            0x3bff, 0x0200],
    "f32": [0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001, 0x007fffff,
            0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
            0x3eaaaaab, 0x3f000000, 0xbf000000, 0x3f7fffff, 0x33800001, 0x4b000001, 0xcf000000,
            0x4effffff, 0x5f000000, 0x477fefff, 0x33000000, 0x387fc000, 0x7e800001, 0x40490fdb,
            0x42c80000, 0xc2fc0000, 0x3fc00000, 0x40200000, 0x437f8000, 0xc3008000],
    "f64": [0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
            0x0000000000000001, 0x800fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
            0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
            0x3fd5555555555555, 0x3fe0000000000000, 0xbfe0000000000000, 0x3fefffffffffffff,
            0x3ca0000000000001, 0x4340000000000001, 0x41dfffffffe00000, 0xc1e0000000200000,
            0x43e0000000000000, 0x47efffffe0000000, 0x47effffff0000000, 0x3690000000000000,
            0x380fffffe0000000, 0x3e60000000000000, 0x3f0ffe0000000000, 0x40effdffffffffff,
            0xc1e0000000000000, 0x406fe80000000000, 0x3ff8000000000000, 0x4004000000000000],
}
AMOUNTS = [0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 255, 256, 0x80000000, 0xffffffff]
MOST = 3000  # tuples for one form


def integer_edges(width):
    """Zero, one, the ends of the signed and unsigned ranges, and mixed patterns."""
    top = 1 << (width - 1)
    mixed = [0x0123456789abcdef, 0xf0f0f0f0f0f0f0f0, 0x5555555555555555, 0x00ff00ff00ff00ff,
             0x00000000ffffffff, 0x8000000080000000, 0x000000000000fffe, 0x7f80807f00ff8000]
    edges = [0, 1, -1, top, top - 1, top + 1, 2, -2, 3, 31, 32, 33] + mixed
    return list(dict.fromkeys(e & ((1 << width) - 1) for e in edges))


def edges(kind):
    """All edges of a type, the most telling first."""
    if kind == "pred":
        return [0, 1]
    if kind == "f16x2":
        narrow = FLOAT_EDGES["f16"]
        return [a | narrow[(7 * i + 5) % len(narrow)] << 16 for i, a in enumerate(narrow)]
    return FLOAT_EDGES.get(kind) or integer_edges(size(kind))


def tuples(opcode, kinds):
    """The operands that forms over these types are tried with."""
    columns = [edges(kind) for kind in kinds]
    amounts = {"shl": (1,), "shr": (1,), "shf": (2,), "bfe": (1, 2), "bfi": (2, 3)}
    for column in amounts.get(opcode, ()):
        columns[column] = AMOUNTS
    limits = [len(column) for column in columns]
    while True:  # shorten the longest until the product fits
        count = 1
        for limit in limits:
            count *= limit
        if count <= MOST:
            break
        limits[limits.index(max(limits))] -= 1
    return list(product(*[column[:limit] for column, limit in zip(columns, limits)]))
