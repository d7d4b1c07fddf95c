"""The server of the tab "Remove an object": photos, removal, what models say before and after, scores, neighbours.

from explorer.objects.service import Objects
from explorer.objects.routes import objects_routes
"""
