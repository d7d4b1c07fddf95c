"""Fine-tuning: its runs are started in the tab "Remove an object"."""

from __future__ import annotations

from explorer.page.form.kind_page import KindPage

DESCRIPTOR = KindPage(name="finetuning", sidebar=False)
