"""Images with labels: folders, zip files and Hub datasets, read into a label tree."""
