"""Makes vectors.json: python3 vectors.py > vectors.json (needs mpmath).

Everything that is a ratio of whole numbers is worked out as one (fractions.Fraction); square roots,
the normal and Student's t come from mpmath with 50 digits, by other formulas than those of
the Go code; what is drawn at random comes from PCG-DXSM written out in whole numbers.
"""
import itertools
import json
import random
from fractions import Fraction as F
from math import comb, gcd

import mpmath as mp

mp.mp.dps = 50
dice = random.Random(14)  # only picks the arguments


def number(x):
    return float(x)  # the nearest double, of a Fraction and of an mpf


def rational(x):
    return mp.mpf(x.numerator) / x.denominator


Z = mp.sqrt(2) * mp.erfinv(mp.mpf("0.95"))


def wilson(c, n):
    # The roots of (rate - p)^2 = z^2 p (1 - p) / n.
    rate = rational(F(c, n))
    a, b, k = 1 + Z**2 / n, -(2 * rate + Z**2 / n), rate**2
    root = mp.sqrt(max(b * b - 4 * a * k, mp.mpf(0)))
    return [number((-b - root) / (2 * a)), number((-b + root) / (2 * a))]


def student(p, v):
    p = mp.mpf(p)
    cdf = lambda t: 1 - mp.betainc(mp.mpf(v) / 2, mp.mpf(1) / 2, 0, v / (v + t * t), regularized=True) / 2
    high = mp.mpf(1)
    while cdf(high) < p:
        high *= 2
    return mp.findroot(lambda t: cdf(t) - p, (mp.mpf(0) + mp.mpf("1e-9"), high), solver="anderson", tol=mp.mpf("1e-40"))


def clustered(clusters):
    values = [v for c in clusters for v in c]
    groups = sum(1 for c in clusters if c)
    mean = sum(values, F(0)) / len(values)
    squares = sum((sum((v - mean for v in c), F(0)) ** 2 for c in clusters), F(0))
    error = mp.sqrt(rational(F(groups, groups - 1) * squares)) / len(values)
    t = student("0.975", groups - 1)
    m = rational(mean)
    return {"mean": number(mean), "error": number(error), "low": number(m - t * error), "high": number(m + t * error),
            "visible": number((t + student("0.8", groups - 1)) * error)}


def mcnemar(b, c):
    n = b + c
    return number(min(F(1), 2 * sum(F(comb(n, k), 2**n) for k in range(min(b, c) + 1)))) if n else 1.0


class PCG:
    """PCG-DXSM with 128 bits of state, seeded as Go's math/rand/v2 does it."""

    def __init__(self, high, low):
        self.state = high << 64 | low

    def next(self):
        self.state = (self.state * 0x2360ED051FC65DA44385DF649FCCF645 + 0x5851F42D4C957F2D14057B7EF767814F) % 2**128
        high, low, cheap = self.state >> 64, self.state % 2**64, 0xDA942042E4DD58B5
        high ^= high >> 32
        high = high * cheap % 2**64
        high ^= high >> 48
        return high * (low | 1) % 2**64


def sign_flip(clusters, seed):
    sums = [s for s in (sum(c, F(0)) for c in clusters) if s]
    if not sums:
        return 1.0
    observed = abs(sum(sums))
    if len(sums) <= 13:
        hits = sum(1 for signs in itertools.product((1, -1), repeat=len(sums)) if abs(sum(s * x for s, x in zip(signs, sums))) >= observed)
        return number(F(hits, 2 ** len(sums)))
    pcg, hits = PCG(seed, 1), 0
    scale = 1
    for s in sums:
        scale = scale * s.denominator // gcd(scale, s.denominator)
    whole, limit = [int(s * scale) for s in sums], int(observed * scale)
    for _ in range(10_000):
        words = [pcg.next() for _ in range((len(whole) + 63) // 64)]
        total = sum(-x if words[i // 64] >> (i % 64) & 1 else x for i, x in enumerate(whole))
        hits += abs(total) >= limit
    return number(F(hits + 1, 10_001))


def bootstrap(clusters, seed):
    clusters = [c for c in clusters if c]
    sums, sizes = [sum(c, F(0)) for c in clusters], [len(c) for c in clusters]
    pcg, means = PCG(seed, 2), []
    for _ in range(10_000):
        picks = [pcg.next() * len(clusters) >> 64 for _ in clusters]
        means.append(sum((sums[i] for i in picks), F(0)) / sum(sizes[i] for i in picks))
    means.sort()

    def quantile(p):
        at = p * (len(means) - 1)
        below = int(at)
        above = min(below + 1, len(means) - 1)
        return number(means[below] + (at - below) * (means[above] - means[below]))

    return [quantile(F(25, 1000)), quantile(F(975, 1000))]


def holm(ps):
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    out = [F(0)] * len(ps)
    for place, i in enumerate(order):
        out[i] = max(min(F(1), (len(ps) - j) * ps[order[j]]) for j in range(place + 1))
    return [number(p) for p in out]


def kappa(first, second):
    n = len(first)
    same = F(sum(a == b for a, b in zip(first, second)), n)
    chance = sum(F(first.count(r), n) * F(second.count(r), n) for r in set(first))
    return {"share": number(same), "kappa": number((same - chance) / (1 - chance)) if chance != 1 else 0, "defined": chance != 1}


def floats(clusters):
    return [[number(v) for v in c] for c in clusters]


def draw(groups, sizes, steps=8, low=-8, high=8):
    # Multiples of 1/8 are the same in binary.
    return [[F(dice.randint(low, high), steps) for _ in range(dice.choice(sizes))] for _ in range(groups)]


cases = [(3, 3), (10, 10), (0, 1), (1, 1), (16, 16), (0, 10), (999, 1000), (0, 100000), (100000, 100000)]
cases += [(dice.randint(0, n), n) for n in [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 64, 75, 100, 150, 200, 333, 500, 750, 1000, 2000, 5000, 10000, 20000, 50000, 99999]]
out = {"wilson": [{"passed": c, "n": n, "want": wilson(c, n)} for c, n in cases]}

samples = [(10, 8, 1), (10, 8, 3), (10, 2, 9), (5, 0, 2), (5, 5, 5), (1000, 3, 500), (1000, 997, 500), (3000, 2990, 1000)]
samples += [(n, dice.randint(0, n), dice.randint(1, n)) for n in [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 30, 36, 40, 50, 60, 80, 100]]
out["pass_k"] = [{"n": n, "passed": c, "k": k, "at": number(1 - F(comb(n - c, k), comb(n, k))), "all": number(F(comb(c, k), comb(n, k)))} for n, c, k in samples]

splits = [(0, 0), (6, 0), (5, 0), (0, 5), (1, 7), (10, 10), (0, 60), (400, 460), (3, 300), (1500, 1400)]
splits += [(dice.randint(0, 30), dice.randint(0, 30)) for _ in range(40)] + [(n, 0) for n in range(1, 13)]
out["mcnemar"] = [{"worse": b, "better": c, "want": mcnemar(b, c)} for b, c in splits]

groups = [draw(2, [1]), draw(3, [1]), draw(4, [2]), draw(5, [1, 2, 3]), draw(6, [4]), draw(7, [1, 5]), draw(8, [3]), draw(10, [1]), draw(12, [2, 9]),
          draw(16, [1]), draw(20, [5]), draw(25, [1, 2]), draw(31, [1]), draw(40, [3]), draw(60, [1]), draw(100, [2]), draw(150, [1, 3]), draw(200, [1]),
          [[F(1), F(1), F(0)], [], [F(0), F(1)], [F(1)]], [[F(0)], [F(0)]]]
out["mean"] = [dict(clusters=floats(g), **clustered(g)) for g in groups]

flips = [draw(n, [1]) for n in range(1, 13)] + [draw(n, [1, 2, 3]) for n in (3, 6, 9, 12, 13)]
flips += [draw(n, [1, 2]) for n in (15, 20, 30, 64, 65, 130)] + [[[F(1, 8)]] * 8, [[F(0)]] * 5, [[F(3, 8)]] * 14]
out["sign_flip"] = [{"clusters": floats(g), "seed": i, "want": sign_flip(g, i)} for i, g in enumerate(flips)]

resamples = [draw(2, [1]), draw(5, [1]), draw(8, [2]), draw(10, [1, 4]), draw(20, [1]), draw(33, [3])]
out["bootstrap"] = [{"clusters": floats(g), "seed": 100 + i, "want": bootstrap(g, 100 + i)} for i, g in enumerate(resamples)]

lists = [[F(dice.randint(0, 64), 64) for _ in range(n)] for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 20)] + [[F(1, 128), F(1, 64), F(1, 32)], [F(1, 64)] * 4]
out["holm"] = [{"ps": [number(p) for p in ps], "want": holm(ps)} for ps in lists]

pairs = []
for n in (1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 75, 100, 200):
    a = [dice.choice("pf") for _ in range(n)]
    pairs.append(("".join(a), "".join(x if dice.random() < 0.8 else dice.choice("pf") for x in a)))
for n in (10, 40, 90):
    a = [dice.choice("abc") for _ in range(n)]
    pairs.append(("".join(a), "".join(x if dice.random() < 0.6 else dice.choice("abc") for x in a)))
pairs += [("pppp", "pppp"), ("pppp", "ffff"), ("pfpf", "fpfp")]
out["kappa"] = [dict(first=a, second=b, **kappa(a, b)) for a, b in pairs]

print("{")
for i, (name, vectors) in enumerate(out.items()):
    print(f' "{name}": [')
    print(",\n".join("  " + json.dumps(v) for v in vectors))
    print(" ]" + ("," if i + 1 < len(out) else ""))
print("}")
