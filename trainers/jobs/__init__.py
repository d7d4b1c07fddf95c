"""A run trained by Hugging Face Jobs, in the name and at the cost of whoever submits it.

The run and this program go to a private dataset repository of theirs. The job installs what the program needs, trains
the run, and brings the copy in the repository up to date while it does; from there the run is fetched.
"""
