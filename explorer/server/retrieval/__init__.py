"""The server of the tab "Retrieve": galleries, images to search with, searches in several runs, tables of results.

from explorer.server.retrieval.service import RetrievalService
from explorer.server.retrieval.routes import retrieval_routes
"""
