"""A kind of run that lies in another folder: learns to tell clusters of points apart."""

from trainers.kinds.toy.kind import Toy

DESCRIPTOR = Toy()
