"""sadeghi V: quantising to cell keys, Examples 2 and 3, and the study of key sizes."""

from __future__ import annotations

from bisect import bisect_right

import discreet as dc

from .bench import Bench, Figure, Picture, Section, compare, differs, holds


def section(bench: Bench) -> Section:
    """Examples 2 and 3, Figures 4 and 5."""
    figures = [*_examples(bench), *_study(bench)]
    shows = "Figures 4 and 5, and the errors of bias and variance; full supports only"
    pictures = (Picture("sadeghi-figures-4-5.svg", shows),)
    return Section("sadeghi", "V: cell keys", tuple(figures), bench.commands(), pictures=pictures)


def _examples(bench: Bench) -> list[Figure]:
    words = ("law", "max-entropy", "--epsilon", "0.5", "-m", "25", "--key-bits", "32")
    told = bench.run(*words, "--quantiser", "ceil")
    law = dc.max_entropy_for("0.5", 25, key_bits=32, quantiser="ceil")
    small = dc.max_entropy_for("0.5", 25, key_bits=8, quantiser="ceil")
    at = dict(zip(range(-25, 26), law.thresholds, strict=True))
    both = dc.audit(dc.max_entropy_for("0.5", 25, key_bits=16, quantiser="ceil"))
    assert both.epsilon is not None
    assert both.epsilon_forward is not None

    def sample(key: int) -> int:
        return law.start + bisect_right(law.thresholds, key)

    return [
        compare("(41): c(−25)", "425760", at[-25]),
        compare("(41): c(−24)", "1126343", at[-24]),
        compare("(41): c(−23)", "2255949", at[-23]),
        compare("(41): c(25)", str(2**32), at[25]),
        compare("Example 2: key 2552", "-25", sample(2552)),
        compare("Example 2: key 1200124", "-23", sample(1200124)),
        compare(
            "Example 2: 2^8 keys, c(−25), c(−24), c(−23)",
            "1 1 1",
            " ".join(map(str, small.thresholds[:3])),
        ),
        compare("(47): p(−25)", "0.000099129974842", told["pmf"]["-25"]),
        compare("(47): p(−24)", "0.000163117190823", told["pmf"]["-24"]),
        compare("(47): p(−23)", "0.0002630068920552731", told["pmf"]["-23"]),
        compare("(47): p(25)", "0.00009912974201142788", told["pmf"]["25"]),
        compare("Example 3: bias", "-5.820766091346741E-9", told["mean"]),
        compare("Example 3: variance", "49.0021671752911", told["variance"]),
        compare("Example 3: ε by (45)", "0.498037038", told["audit"]["epsilon_forward"]),
        compare("Example 3: δ", "0.000099129974842", told["delta"]),
        differs(
            "(45): ε after, 2^32 keys",
            "0.498037038, looking forward only",
            f"{told['audit']['epsilon_backward']:.9f} backward",
            "rounding up is not symmetric: both directions must be bounded",
        ),
        differs(
            "(45): ε after, 2^16 keys",
            f"{float(both.epsilon_forward):.4f} looking forward only",
            f"{float(both.epsilon):.4f} both ways, above 0.5",
            "as above; the law asked for has ε = 0.5",
        ),
    ]


def _study(bench: Bench) -> list[Figure]:
    words = ("law", "key-sizes", "-m", "10", "--epsilon", "0.1:2.5:0.1", "--key-bits", "8,16,32")
    rows = bench.draw("sadeghi-figures-4-5.svg", *words)["rows"]
    by = {bits: [row for row in rows if row["key_bits"] == bits] for bits in (8, 16, 32)}
    full = {bits: [row for row in found if not row["unreachable"]] for bits, found in by.items()}
    last = {bits: max(row["epsilon"] for row in found) for bits, found in full.items()}
    off = {bits: [abs(row["variance_error"]) for row in found] for bits, found in full.items()}

    def span(bits: int) -> str:
        return f"{min(off[bits]):.1e} to {max(off[bits]):.1e}"

    above = sum(row["epsilon_both"] > row["epsilon"] for row in full[16])
    return [
        compare("V-C: bias, 2^32 keys", "-2.3E-9", by[32][0]["bias"]),
        compare("V-C: bias, 2^16 keys", "-0.00015", by[16][0]["bias"]),
        compare("V-C: bias, 2^8 keys", "-0.04", by[8][0]["bias"]),
        compare("V-C: full support up to ε, 2^8 keys", "0.6", last[8]),
        compare("V-C: full support up to ε, 2^16 keys", "1.7", last[16]),
        compare("V-C: full support up to ε, 2^32 keys", "2.5", last[32]),
        compare("V-C: largest variance error, 2^8 keys", "0.01", max(off[8])),
        differs(
            "V-C: variance error, 2^32 keys", "in the order of 1e-11", span(32), "at full support"
        ),
        differs(
            "V-C: variance error, 2^16 keys", "in the order of 1e-10", span(16), "at full support"
        ),
        holds(
            "Fig. 4: 2^8 keys",
            "ε after > ε",
            all(row["epsilon_both"] > row["epsilon"] for row in full[8]),
            "at every ε with full support",
        ),
        holds(
            "Fig. 4: 2^32 keys",
            "ε after ≈ ε",
            all(0.98 < row["epsilon_both"] / row["epsilon"] <= 1 for row in by[32]),
            "within 2 % below, both ways, at all 25",
        ),
        differs(
            "Fig. 4: 2^16 keys",
            "ε after close or slightly lower",
            f"above ε at {above} of {len(full[16])}, both ways",
            "(45) looks forward only",
        ),
        holds(
            "Fig. 5: 2^8 keys",
            "δ after > δ",
            all(row["boundary_mass"] > row["designed_delta"] for row in full[8]),
            "at every ε with full support",
        ),
        holds(
            "Fig. 5: 2^32 keys",
            "δ after almost identical",
            all(abs(row["boundary_mass"] / row["designed_delta"] - 1) < 1e-3 for row in by[32]),
            "within 0.1 % at all 25",
        ),
    ]
