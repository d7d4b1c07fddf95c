"""Drawn scenes: objects that often occur together, with boxes and captions, for use without a network.

from trainers.data.synthetic.scenes import DrawnScenes, drawn_scenes
data = drawn_scenes(DrawnScenes(bias=0.9))
"""

from trainers.data.synthetic.scenes.build import Drawing, are_drawn, code_digest, drawing_of, drawn_scenes, pixels
from trainers.data.synthetic.scenes.scene import DrawnScenes

__all__ = ["Drawing", "DrawnScenes", "are_drawn", "code_digest", "drawing_of", "drawn_scenes", "pixels"]
