"""What integer instructions give, by the PTX ISA's text, in Python's unbounded integers.

Each entry of REFERENCES takes a form and returns a function from the operands' bits to the
results' bits (a tuple), or to None where the ISA leaves the result open.
"""

from candidates import size


def signed(bits, kind):
    """The number that bits of a type stand for."""
    width = size(kind)
    bits &= (1 << width) - 1
    return bits - (1 << width) if kind[0] == "s" and bits >> (width - 1) else bits


def wrapped(value, kind):
    """A number's low bits."""
    return value & ((1 << size(kind)) - 1)


def clamped(value, kind):
    """A number, held in the type's range."""
    width = size(kind)
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (
        0, (1 << width) - 1)
    return min(max(value, low), high)


def finished(form, value, kind):
    """.sat and the bits."""
    return wrapped(clamped(value, kind) if form.has("sat") else value, kind)


def carried(value, kind):
    """The carry or borrow out of an unsigned sum."""
    return int(not 0 <= value < 1 << size(kind))


def add(form):
    """add, sub, addc, subc; the last result is the carry after it."""
    kind = form.operands[0]
    sign = -1 if form.opcode.startswith("sub") else 1
    chained = form.opcode.endswith("c")

    def value(a, b, before=0):
        before = int(before != 0) if chained else 0
        if not (chained or form.has("cc")):
            return (finished(form, signed(a, kind) + sign * signed(b, kind), kind),)
        total = a + sign * (b + before)
        after = carried(total, kind) if form.has("cc") else before
        return wrapped(total, kind), after
    return value


def part(form, product):
    """.lo, .hi or .wide of a product."""
    return product >> size(form.operands[1]) if form.has("hi") else product


def multiply(form):
    """mul, mad, madc."""
    to, kind = form.operands[:2]
    chained = form.opcode == "madc"

    def value(a, b, c=0, before=0):
        product = part(form, signed(a, kind) * signed(b, kind))
        before = int(before != 0) if chained else 0
        if not (chained or form.has("cc")):
            if form.has("sat"):
                return (finished(form, signed(wrapped(product, to), to) + signed(c, to), to),)
            return (wrapped(product + signed(c, to), to),)
        total = wrapped(product, to) + c + before
        return wrapped(total, to), carried(total, to) if form.has("cc") else before
    return value


def multiply24(form):
    """mul24, mad24."""
    kind = form.operands[0]

    def low24(bits):
        bits &= 0xffffff
        return bits - (1 << 24) if kind[0] == "s" and bits >> 23 else bits

    def value(a, b, c=0):
        product = low24(a) * low24(b)
        product = wrapped(product >> 16 if form.has("hi") else product, kind)
        return (finished(form, signed(product, kind) + signed(c, kind), kind),)
    return value


def divide(form):
    """div, rem: towards zero; by zero is left open."""
    kind = form.operands[0]

    def value(a, b):
        x, y = signed(a, kind), signed(b, kind)
        if y == 0:
            return None
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return (wrapped(x - quotient * y if form.opcode == "rem" else quotient, kind),)
    return value


def unary(function):
    """A function of one signed number."""
    return lambda form: lambda a: (wrapped(function(signed(a, form.operands[0])),
                                           form.operands[0]),)


def binary(function):
    """A function of two numbers of one type."""
    return lambda form: lambda a, b: (wrapped(function(signed(a, form.operands[0]),
                                                       signed(b, form.operands[0])),
                                              form.operands[0]),)


def absolute_differences(form):
    """sad."""
    kind = form.operands[0]
    return lambda a, b, c: (wrapped(abs(signed(a, kind) - signed(b, kind)) + c, kind),)


def fields(bits, width, kind):
    """An operand's fields of some width, lowest first."""
    narrow = kind[0] + str(width)
    return [signed(bits >> at, narrow) for at in range(0, 32, width)]


def dot4(form):
    """dp4a."""
    kinds = form.operands[1:3]
    return lambda a, b, c: (wrapped(c + sum(x * y for x, y in zip(
        fields(a, 8, kinds[0]), fields(b, 8, kinds[1]))), "u32"),)


def dot2(form):
    """dp2a: halves of a, two bytes of b."""
    kinds, high = form.operands[1:3], 2 if form.has("hi") else 0
    return lambda a, b, c: (wrapped(c + sum(x * y for x, y in zip(
        fields(a, 16, kinds[0]), fields(b, 8, kinds[1])[high:])), "u32"),)


def shift(form):
    """shl, shr: amounts beyond the width take everything out."""
    kind = form.operands[0]
    if form.opcode == "shl":
        return lambda a, n: (wrapped(a << min(n, 64), kind),)
    return lambda a, n: (wrapped(signed(a, kind) >> min(n, 64), kind),)


def funnel(form):
    """shf: of b's and a's 64 bits, the upper half shifted left or the lower shifted right."""
    def value(a, b, n):
        n = n & 31 if form.has("wrap") else min(n, 32)
        both = b << 32 | a
        return (wrapped(both << n >> 32 if form.has("l") else both >> n, "b32"),)
    return value


def logic3(form):
    """lop3 for every table: one result each."""
    def value(a, b, c):
        results = []
        for table in range(256):
            result = 0
            for index in range(8):
                if table >> index & 1:
                    result |= ((a if index & 4 else ~a) & (b if index & 2 else ~b) &
                               (c if index & 1 else ~c))
            results.append(wrapped(result, "b32"))
        return tuple(results)
    return value


def permute(form):
    """prmt: the ISA's tables of selectors, lowest byte first."""
    def selectors(c):
        low = c & 3
        if form.has("f4e"):
            return [low, low + 1, low + 2, low + 3]
        if form.has("b4e"):
            return [low, (low - 1) & 7, (low - 2) & 7, (low - 3) & 7]
        if form.has("rc8"):
            return [low] * 4
        if form.has("ecl"):
            return [max(low, i) for i in range(4)]
        if form.has("ecr"):
            return [min(low, i) for i in range(4)]
        if form.has("rc16"):
            return [2 * (low & 1), 2 * (low & 1) + 1] * 2
        return [c >> 4 * i & 15 for i in range(4)]

    def value(a, b, c):
        result, both = 0, b << 32 | a
        for place, selector in enumerate(selectors(c)):
            byte = both >> 8 * (selector & 7) & 0xff
            if selector & 8:
                byte = 0xff if byte & 0x80 else 0
            result |= byte << 8 * place
        return (result,)
    return value


def extract(form):
    """bfe, bit by bit."""
    kind = form.operands[0]
    top = size(kind) - 1

    def value(a, position, length):
        position, length = position & 0xff, length & 0xff
        sign = 0
        if kind[0] == "s" and length:
            sign = a >> min(position + length - 1, top) & 1
        result = 0
        for i in range(top + 1):
            inside = i < length and position + i <= top
            result |= (a >> (position + i) & 1 if inside else sign) << i
        return (result,)
    return value


def insert(form):
    """bfi, bit by bit."""
    top = size(form.operands[0]) - 1

    def value(a, b, position, length):
        position, length = position & 0xff, length & 0xff
        for i in range(length):
            if position + i <= top:
                b = b & ~(1 << (position + i)) | (a >> i & 1) << (position + i)
        return (b,)
    return value


def find(form):
    """bfind: the highest bit that is not a sign bit."""
    kind = form.operands[1]

    def value(a):
        number = signed(a, kind)
        found = (~number if number < 0 else number).bit_length() - 1
        if found < 0:
            return (0xffffffff,)
        return (size(kind) - 1 - found if form.has("shiftamt") else found,)
    return value


def reverse(form):
    """brev."""
    width = size(form.operands[0])
    return lambda a: (int(format(a, f"0{width}b")[::-1], 2),)


def leading(form):
    """clz."""
    width = size(form.operands[1])
    return lambda a: (width - a.bit_length(),)


def logical_not(form):
    """cnot."""
    return lambda a: (int(a == 0),)


REFERENCES = {
    "add": add, "sub": add, "addc": add, "subc": add, "mul": multiply, "mad": multiply,
    "madc": multiply, "mul24": multiply24, "mad24": multiply24, "div": divide, "rem": divide,
    "abs": unary(abs), "neg": unary(lambda a: -a), "min": binary(min), "max": binary(max),
    "sad": absolute_differences, "dp4a": dot4, "dp2a": dot2, "and": binary(lambda a, b: a & b),
    "or": binary(lambda a, b: a | b), "xor": binary(lambda a, b: a ^ b),
    "not": unary(lambda a: ~a), "cnot": logical_not, "shl": shift, "shr": shift, "shf": funnel,
    "lop3": logic3, "prmt": permute, "bfe": extract, "bfi": insert, "bfind": find,
    "brev": reverse, "clz": leading, "popc": lambda form: lambda a: (a.bit_count(),),
}
