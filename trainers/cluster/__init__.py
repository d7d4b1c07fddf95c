"""Runs on the machines of a Ray cluster.

For each run a process of this machine, :mod:`trainers.cluster.proxy`, holds the run's lock, has an actor of the cluster
train a copy of its folder (:mod:`trainers.cluster.remote`), writes what comes of it into the folder here
and passes commands on. Nothing else of the program knows where a run trains.
"""
