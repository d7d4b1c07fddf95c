"""Contrastive pretraining in the sidebar: images, methods, augmentation with views, encoder, budget and the rest."""

from __future__ import annotations

from explorer.page.form.kind_page import CONDITIONS, IMAGES, MORE, READING, START, KindPage, Section
from trainers.encoders import ENCODERS
from trainers.kinds.contrastive import DESCRIPTOR as KIND
from trainers.kinds.contrastive.methods import METHODS

DESCRIPTOR = KindPage(
    name=KIND.name,
    sections=[
        IMAGES,
        Section(names=["data.image_size", *READING.names], title=READING.title, folded=True),
        Section(
            names=["methods"],
            title="Methods",
            about="They start with the same weights and see the same views; only the method differs.",
        ),
        Section(names=["augmentation"], views=True),
        Section(names=["encoder"]),
        START,
        Section(names=KIND.main),
        Section(names=KIND.more, title=MORE, folded=True),
        Section(names=["head_augmentation"], title="Augmentation of the second stage", folded=True),
        CONDITIONS,
    ],
    entries={"encoder": [name for name, encoder in ENCODERS.items() if not encoder.frozen]},
    unlabelled=f"{', '.join(one.title for one in METHODS.values() if one.labels)} need classes, as do "
    "hard conditions and further metrics; the other methods do without.",
    added=("supcon", "moco_v1", "cross_entropy"),
)
