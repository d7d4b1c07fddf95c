"""A progress bar in percent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trainers.progress import Progress


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show a bar; yields the function that moves it, with what is being done and the fraction done."""
    from tqdm import tqdm

    with tqdm(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed} {postfix}", disable=None) as bar:

        def tell(text: str, fraction: float) -> None:
            bar.n = min(100, round(100 * fraction))
            bar.set_postfix_str(text)

        yield tell
