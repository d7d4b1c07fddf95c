"""The papers' training recipes as files: settings with their sources, published figures, a rehearsal at small scale."""
