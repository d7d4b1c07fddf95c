"""Components of our own: subclasses of Gradio's."""
