"""The tree of the dataset's own folders or label columns."""

from trainers.data.labelled.hierarchies.base import HierarchyDescriptor

DESCRIPTOR = HierarchyDescriptor(
    name="as_read",
    title="As the images have it",
    sentence="Folders or label columns, as they are read.",
    levels=None,
    order=0,
)
