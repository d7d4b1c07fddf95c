"""The page and what serves it; :mod:`explorer.explorer` puts it together."""
