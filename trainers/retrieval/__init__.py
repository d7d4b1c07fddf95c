"""Retrieval with trained runs: results, re-ranking, curves of a query, mistakes, disagreements. Nothing of the page.

from trainers.retrieval.results import Query, RunArm
from trainers.retrieval.retriever import Retriever
answer = Retriever().retrieve([RunArm(folder=folder, arm=0)], Query(row=7), Choice(name="test"), k=10)
"""
