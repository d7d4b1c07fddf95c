"""A dropdown whose entries the server changes."""

from __future__ import annotations

from typing import Any

import gradio as gr


class Menu(gr.Dropdown):
    """A dropdown of texts that takes whichever the page sends; who reads it checks it.

    Gradio remembers the entries of a visit, and refuses others; it forgets old visits, and all when it is started anew,
    and would then refuse what an open page shows.
    """

    is_template = True  # to its scripts it is a dropdown

    def preprocess(self, payload: Any) -> Any:
        """See Gradio."""
        if not self.multiselect:
            return payload if isinstance(payload, str) else None
        return [one for one in payload if isinstance(one, str)] if isinstance(payload, list) else []

    def _warn_if_invalid_choice(self, value: Any) -> None:
        """Say nothing: it may be a visitor's text, and Python keeps the text of every warning for ever."""
