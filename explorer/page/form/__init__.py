"""The form in the sidebar: its fields as JSON, derived from the settings of the kinds of run, and the way back."""

from explorer.page.form.form import Form

__all__ = ["Form"]
