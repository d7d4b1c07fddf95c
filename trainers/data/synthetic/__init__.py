"""Images that are drawn here, for use without a network: ``pottery`` has labels, ``scenes`` has captions and boxes.

Both use ``engine``, and each sets its pixels in its own way:

- Pottery is numpy arithmetic in +, -, *, / and sqrt (``engine.exact_math``) with its own random numbers
  (``engine.rng``). IEEE 754 fixes those operations to the last bit, so a seed gives the same bytes on every machine
  and with every version of a library; a test holds their digest. Pillow cannot replace it: it has no soft edges, no
  linear light and no shading by normals, and its shapes have changed between versions.
- Scenes are flat shapes drawn with Pillow (``engine.pen``) and numpy's random generators. The same versions of both
  libraries give the same bytes; other versions may not, since neither library promises it. Nothing relies on it: what
  is kept of a scene carries a digest of its pixels or of this code. Drawing them in exact arithmetic would change
  every pixel that the shipped models were trained on.
"""
