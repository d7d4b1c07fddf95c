"""A dropdown whose entries the server changes."""

from __future__ import annotations

from typing import Any

import gradio as gr


class Menu(gr.Dropdown):
    """A dropdown that takes whatever the page sends; who reads it checks it.

    Gradio remembers the entries of a visit, and refuses others; it forgets old visits, and all when it is started anew,
    and would then refuse what an open page shows.
    """

    is_template = True  # to its scripts it is a dropdown

    def preprocess(self, payload: Any) -> Any:
        """See Gradio."""
        if isinstance(payload, list):
            return [one for one in payload if isinstance(one, (str, int, float))]
        return payload if isinstance(payload, (str, int, float)) else None
