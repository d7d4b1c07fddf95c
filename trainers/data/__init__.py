"""Images with a label tree: drawn worlds, folders and Hub sets."""
