"""Words of the field that the page uses, a line each."""

from __future__ import annotations

GLOSSARY = {
    "anchor": "The image that the others of its batch are compared with; at test time it is called the query.",
    "embedding": "The vector that an encoder makes of an image; images are compared by the cosine of their vectors.",
    "encoder": "The network that makes embeddings.",
    "positive, negative": "An image of the query's class; an image of another class.",
    "gallery": "The images that are searched with a query.",
    "rank": "The place of an image among the results of a query, from 1.",
    "R@k": "The share of queries that have an image of their class among the first k results.",
    "AP, mAP": "Average precision of the results of one query; its mean over the queries.",
    "level": "One of the label sets of the images, such as species, genus and family; level 0 is the finest.",
    "label tree": "How the classes of one level lie in those of the next.",
    "relevance": "How much a result counts: the more levels it shares with the query, the more.",
    "severity": "How bad a wrong result is: how many levels it does not share with the query.",
    "H-AP": "Average precision in which every result counts by its relevance.",
    "NDCG": "Relevance of the results, discounted by the logarithm of their rank, as a share of the best possible.",
    "ASI": "How many images the results share with those of the perfect ranking, over all depths.",
    "surrogate": "A smooth bound or approximation of a metric that has gradients.",
    "decomposability gap": "How much a metric differs when it is computed in batches and over the whole set.",
    "proxy": "A learned vector that stands for a class in a loss.",
    "cross-batch memory": "Embeddings of earlier batches that a loss also compares with.",
    "temperature": "What similarities are divided by; the smaller it is, the more the nearest images count.",
    "neighbourhood": "The k images nearest to an image; the contextual loss compares neighbourhoods.",
    "UMAP": "A method that draws embeddings on a plane so that near images stay near.",
    "object-removed query": "The query without an object: its part of the image is filled.",
    "ODmAP@k": "AP@k of object-removed queries: a caption is right if it names something still there, nothing removed.",
    "seed": "What fixes the random numbers of a training; differences between seeds are chance.",
}
"""At most 25."""


def markdown() -> str:
    """Return all of them as a list."""
    return "\n".join(f"- **{word}**: {meaning}" for word, meaning in GLOSSARY.items())
