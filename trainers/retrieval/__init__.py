"""Searches galleries of images under the encoders of runs, without a browser.

from trainers.retrieval.results import Query, RunArm
from trainers.retrieval.retriever import Retriever
answer = Retriever().retrieve([RunArm(folder=folder, arm=0)], Query(row=7), Choice(name="test"), k=10)
"""
