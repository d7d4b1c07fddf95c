"""Claims of the papers: the rule on made-up numbers, every descriptor, the command, the results that ship."""
