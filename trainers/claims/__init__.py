"""Claims of the papers, rerun here: what is said, what is run, and a verdict by a rule that was fixed beforehand."""
