"""The page: shell, sidebar, controls and tabs, built with Gradio."""
