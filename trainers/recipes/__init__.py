"""The papers' training recipes, a TOML file for each paper: settings with their sources, published figures."""
