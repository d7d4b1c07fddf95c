"""The server of the tab "Remove an object": images, removal, retrieval before and after, scores, neighbours.

from explorer.object_removal.service import Objects
from explorer.object_removal.routes import objects_routes
"""
