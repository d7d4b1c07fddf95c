"""Errors of a classifier on corrupted images against those of a reference (Hendrycks and Dietterich 2019, section 4.2).

Computed by :class:`trainers.metrics.corrupted_accuracy.CorruptedAccuracy`.
"""

from __future__ import annotations

from trainers.metrics.measure import Measure, Source

MCE, RELATIVE = "mCE", "relative_mCE"
_PAPER: Source = {
    "paper": "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations, Hendrycks and "
    "Dietterich, ICLR 2019",
    "url": "https://arxiv.org/abs/1903.12261",
}
DESCRIPTORS = (
    Measure(
        name=MCE,
        title="mCE",
        sentence="Errors of the linear probe on corrupted images, summed over severities and divided by those of the "
        "reference arm, which has 1 itself; mean over corruptions.",
        family="representation",
        unit="number",
        better="down",
        equation=r"\frac1{|C|}\sum_{c\in C}\frac{\sum_s E_{s,c}}{\sum_s E^{\mathrm{ref}}_{s,c}}",
        symbols={
            "C": "the corruptions",
            "E_{s,c}": "error of the probe on images with corruption c at severity s",
            r"E^{\mathrm{ref}}_{s,c}": "the same of the reference arm",
        },
        order=193,
        **_PAPER,
    ),
    Measure(
        name=RELATIVE,
        title="Relative mCE",
        short="rel. mCE",
        sentence="The same of the errors that corruption adds to those on the same images without it.",
        family="representation",
        unit="number",
        better="down",
        equation=r"\frac1{|C|}\sum_{c\in C}\frac{\sum_s (E_{s,c}-E_{\mathrm{clean}})}"
        r"{\sum_s (E^{\mathrm{ref}}_{s,c}-E^{\mathrm{ref}}_{\mathrm{clean}})}",
        symbols={
            "C": "the corruptions",
            "E_{s,c}": "error of the probe on images with corruption c at severity s",
            r"E^{\mathrm{ref}}_{s,c}": "the same of the reference arm",
            r"E_{\mathrm{clean}}": "error on the same images without corruption",
            r"E^{\mathrm{ref}}_{\mathrm{clean}}": "the same of the reference arm",
        },
        order=194,
        **_PAPER,
    ),
)
