"""Mutated PTX, seeded: the driver loads it or refuses it, and neither crashes nor hangs.

Bytes are changed, lines are removed, doubled and swapped, and numbers grow. Nothing is
launched. A crash ends the whole run, which tools/test.sh counts as a failure.
"""

import random
import re

import driver

NUMBERS = ["0", "-1", "4294967296", "18446744073709551615", "99999999999999999999", "0x7fffffff"]


def mutated(text, chance):
    """A PTX text with one to three faults."""
    for _ in range(chance.randint(1, 3)):
        lines = text.split("\n")
        first, second = (chance.randrange(len(lines)) for _ in range(2))
        kind = chance.randrange(6)
        if kind == 0:
            place = chance.randrange(len(text))
            text = text[:place] + chr(chance.randrange(1, 128)) + text[place + 1:]
            continue
        if kind == 1:
            numbers = list(re.finditer(r"\d+", text))
            if numbers:
                match = chance.choice(numbers)
                text = text[:match.start()] + chance.choice(NUMBERS) + text[match.end():]
            continue
        if kind == 2:
            del lines[first]
        elif kind == 3:
            lines.insert(second, lines[first])
        elif kind == 4:
            lines[first], lines[second] = lines[second], lines[first]
        else:
            lines = lines[:first + 1]
        text = "\n".join(lines)
    return text


def check(device, ptx, seed, rounds):
    """Load mutations of one module; returns how many were refused."""
    chance, refused = random.Random(seed), 0
    for _ in range(rounds):
        text = mutated(ptx.decode(), chance)
        try:
            driver.Module(device, text.encode() + b"\0", "k").close()
        except RuntimeError as error:
            refused += 1
            if not re.search(r"error (200|209|218|301|701|801|2|222)\b", str(error)):
                raise
    return refused
