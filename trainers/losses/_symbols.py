"""Symbols that the formulas of several losses share, with their meanings."""

BATCH = {"B": "number of images in the batch"}
QUERY = BATCH | {"q": "the query: every image of the batch in turn"}
SCORES = {
    "s_i,\\,s_j": "cosines of the query with images i and j",
}
SIGMOID = SCORES | {
    r"\sigma_\tau": "sigmoid of width τ (`tau`): from 0 to 1 as image j passes image i",
}
BOUND = SCORES | {
    "H^-": "what an image j costs image i: a sigmoid (`tau`), beyond a small gap a line that keeps rising (`rho`)",
}
STEP = {"H": "1 where the gap is 0 or more, else 0; without gradient"}
RANKED = {r"\mathrm{rank}_i": "rank of image i in the query's list, softly counted"}
RANK_PLUS = {r"\mathrm{rank}^+_i": "rank of image i among the images of the query's class, counted without gradient"}
RANK_LEVELS = {
    r"\mathrm{rank}^+_i": "rank of image i among images that share as many levels or more, counted without gradient"
}
LEVELS = {"l_i": "number of levels of the label tree that image i shares with the query"}
SOFTMAX = BATCH | {
    "x_i": "embedding of image i, of length 1",
    "y_i": "class of image i",
    "p_z": "proxy of class z: a learned direction, of length 1",
    "T": "temperature (`temperature`)",
}
LEVEL_SOFTMAX = BATCH | {
    "x_i": "embedding of image i, of length 1",
    "y_i": "class of image i at the level",
    "p^{(l)}_z": "proxy of class z of level l: a learned direction, of length 1",
    "T": "temperature (`temperature`)",
}
SAME = {"y_{ij}": "1 if images i and j are of one class, else 0"}
COSINE = {"s_{ij}": "cosine of images i and j"}
DISTANCE = {"d_{ij}": "Euclidean distance of images i and j"}
HINGE = {r"[\,\cdot\,]_+": "the value where it is positive, else 0"}
TRIPLET = HINGE | {
    "a": "the anchor: every image of the batch in turn",
    "d_{ap}": "Euclidean distance of a and an image p of its class",
    "d_{an}": "Euclidean distance of a and an image n of another class",
    "m": "margin (`margin`)",
}
CONTRAST = {
    r"\tau": "temperature (`temperature`)",
    r"\tau_0": "base temperature (`base_temperature`)",
    "s_{ab}": "cosine of the views a and b",
}
