"""Symbols that the formulas of several metrics share, with their meanings."""

CUT_OFF = {"k": "the cut-off"}
RELEVANCE = {r"\mathrm{rel}(r)": "1 if the result at rank r is of the query's class, else 0"}
RELEVANT = {"R": "number of images of the query's class"}
PRECISION = {"P(r)": "share of the first r results that are of the query's class"}
INDICATOR = {r"\mathbf 1": "1 if what stands in the brackets holds, else 0"}
