"""What a trained encoder looks at: queries without their object, and queries with nothing but their object.

from trainers.background.measure import measure
from trainers.background.settings import Settings
result = measure(folder, Settings(queries=200))

``own_image`` does the same for one image whose object a visitor brushed.
"""
