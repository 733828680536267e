"""Mutations of PTX text, seeded: of bytes, lines and numbers, and of its words.

Words change into others of their kind (a type into a type, a register into a register of the
same text), so that many mutations are still PTX and are compiled and run.
"""

import re

NUMBERS = ["0", "-1", "4294967296", "18446744073709551615", "99999999999999999999", "0x7fffffff",
           "0x80000000", "1", "4", "31", "1024"]
TYPES = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2", "f32", "f64", "b8",
         "b16", "b32", "b64", "pred"]
MODIFIERS = ["rn", "rz", "rm", "rp", "rni", "ftz", "sat", "approx", "full", "lo", "hi", "wide",
             "eq", "ne", "lt", "ge", "equ", "nan", "global", "shared", "local", "const", "param",
             "v2", "v4", "volatile", "nc", "sync", "arrive", "add", "min", "cas", "exch", "up",
             "idx", "all", "ballot", "and", "xor", "cc", "to", "uni"]
# What a word may become: a pattern, and the words that take its place (None: others it matches).
KINDS = [
    (re.compile(r"(?<=\.)(?:" + "|".join(TYPES) + r")\b"), TYPES),
    (re.compile(r"(?<=[a-z0-9]\.)(?:" + "|".join(MODIFIERS) + r")\b"), MODIFIERS),
    (re.compile(r"%[a-z]+\d+"), None),
    (re.compile(r"\$L_\w+"), None),
    (re.compile(r"(?<=^\t)[a-z]+\d*(?=\.)", re.MULTILINE), None),
    (re.compile(r"\b\d+\b"), NUMBERS),
    (re.compile(r"\bbar\.sync\b|\bbarrier\.sync\b"), ["bar.arrive", "membar.gl; //"]),
]


def _other_word(text, chance):
    pattern, words = chance.choice(KINDS)
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = chance.choice(found)
    word = chance.choice(words) if words else chance.choice(found).group()
    return text[:match.start()] + word + text[match.end():]


def _other_lines(text, chance):
    lines = text.split("\n")
    first, second = (chance.randrange(len(lines)) for _ in range(2))
    match chance.randrange(4):
        case 0:
            del lines[first]
        case 1:
            lines.insert(second, lines[first])
        case 2:
            lines[first], lines[second] = lines[second], lines[first]
        case 3:
            if chance.random() < 0.2:
                lines = lines[:first + 1]
    return "\n".join(lines)


def _other_byte(text, chance):
    place = chance.randrange(len(text))
    return text[:place] + chr(chance.randrange(1, 128)) + text[place + 1:]


def mutated(text, chance):
    """A PTX text with one to three faults."""
    for _ in range(chance.randint(1, 3)):
        change = chance.choices([_other_word, _other_lines, _other_byte], [6, 3, 1])[0]
        text = change(text, chance) or "\n"
    return text
