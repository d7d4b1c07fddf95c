"""The Gradio theme: colours, type and edges of the page, in light and dark mode."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import gradio as gr

from explorer.settings import ASSETS

_SANS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "sans-serif"]
_MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]

# light and dark of each surface; contrast of text on its surface is 4.5 or more in both
_COLOURS = {
    "body_background_fill": ("#fafafd", "#101218"),
    "background_fill_primary": ("#ffffff", "#181b23"),
    "background_fill_secondary": ("#fafafd", "#13161d"),
    "block_background_fill": ("transparent", "transparent"),
    "panel_background_fill": ("#ffffff", "#181b23"),
    "body_text_color": ("#16181f", "#eceef4"),
    "body_text_color_subdued": ("#565b6b", "#a9afc0"),
    "block_label_text_color": ("#16181f", "#eceef4"),
    "block_title_text_color": ("#16181f", "#eceef4"),
    "block_info_text_color": ("#565b6b", "#a9afc0"),
    "border_color_primary": ("#e2e4ec", "#2b2f3b"),
    "border_color_accent": ("#0b5fc0", "#6cb2ff"),
    "block_border_color": ("#e2e4ec", "#2b2f3b"),
    "input_background_fill": ("#fbfbfe", "#13161d"),
    "input_background_fill_focus": ("#ffffff", "#181b23"),
    "input_border_color": ("#d5d8e3", "#353a48"),
    "input_border_color_focus": ("#0b5fc0", "#6cb2ff"),
    "input_placeholder_color": ("#646a7b", "#9aa1b3"),
    "color_accent_soft": ("#eaf2fc", "#1c2a3d"),
    "link_text_color": ("#0b5fc0", "#6cb2ff"),
    "link_text_color_hover": ("#084a96", "#9accff"),
    "link_text_color_active": ("#084a96", "#9accff"),
    "link_text_color_visited": ("#0b5fc0", "#6cb2ff"),
    "slider_color": ("#3f4554", "#b9bfce"),
    "button_primary_background_fill": ("#16181f", "#eceef4"),
    "button_primary_background_fill_hover": ("#31353f", "#ffffff"),
    "button_primary_text_color": ("#ffffff", "#16181f"),
    "button_primary_text_color_hover": ("#ffffff", "#16181f"),
    "button_primary_border_color": ("#16181f", "#eceef4"),
    "button_secondary_background_fill": ("#ffffff", "#181b23"),
    "button_secondary_background_fill_hover": ("#f1f2f7", "#232733"),
    "button_secondary_text_color": ("#16181f", "#eceef4"),
    "button_secondary_text_color_hover": ("#16181f", "#eceef4"),
    "button_secondary_border_color": ("#d5d8e3", "#353a48"),
    "table_even_background_fill": ("#ffffff", "#181b23"),
    "table_odd_background_fill": ("#ffffff", "#181b23"),
    "table_row_focus": ("#eaf2fc", "#1c2a3d"),
    "table_border_color": ("#e2e4ec", "#2b2f3b"),
    "error_text_color": ("#a3123f", "#ff9db5"),
    "checkbox_background_color_selected": ("#0b5fc0", "#2f7fd8"),
}

# one value for both modes
_SHAPE = {
    "block_shadow": "none",
    "block_border_width": "0px",
    "block_padding": "0px",
    "button_border_width": "1px",
    "input_border_width": "1px",
    "block_radius": "8px",
    "block_label_text_weight": "600",
    "block_title_text_weight": "600",
    "block_title_text_size": "13px",
    "block_info_text_size": "12px",
    "button_large_radius": "8px",
    "button_medium_radius": "8px",
    "button_small_radius": "8px",
    "button_large_text_weight": "600",
    "button_medium_text_weight": "500",
    "button_primary_shadow": "none",
    "button_secondary_shadow": "none",
    "container_radius": "12px",
    "input_radius": "8px",
    "input_shadow": "none",
    "input_shadow_focus": "none",
    "layout_gap": "12px",
    "shadow_drop": "none",
    "shadow_drop_lg": "0 0 0 1px var(--border-color-primary), 0 8px 28px rgb(0 0 0 / 0.17)",  # of open menus
}


def styles() -> str:
    """Return the rules that Gradio repeats with a stronger selector, so that they win over its own; it drops container
    queries. Without comments and indents, since they are part of every page.
    """
    sheets = "".join(path.read_text(encoding="utf-8") for path in sorted((ASSETS / "page").glob("*.css")))
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", sheets, flags=re.DOTALL))


def sheet(folders: Iterable[Path]) -> str:
    """Return the shared styles, those of components and those of the tabs' ``folders``, one after the other."""
    return "\n".join(
        path.read_text(encoding="utf-8")
        for folder in (ASSETS / "common", ASSETS / "components", *folders)
        for path in sorted(folder.rglob("*.css"))
    )


def theme() -> gr.themes.Base:
    """Return the theme."""
    base = gr.themes.Base(
        primary_hue="blue", neutral_hue="slate", font=_SANS, font_mono=_MONO, radius_size="md", text_size="md"
    )
    values = dict(_SHAPE)
    for name, (light, dark) in _COLOURS.items():
        values[name] = light
        values[f"{name}_dark"] = dark
    return base.set(**values)
