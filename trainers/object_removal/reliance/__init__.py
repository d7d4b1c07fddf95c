"""The reliance of a trained encoder: queries without their object, and queries with nothing but their object.

from trainers.object_removal.reliance.measure import measure from trainers.object_removal.reliance.settings import
Settings from trainers.retrieval.encoders import encoders_of_run result = measure(encoders_of_run(folder),
Settings(queries=200))
"""
