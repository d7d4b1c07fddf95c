"""What ``import rankscope`` offers beside losses and metrics: training, and runs as arrays and tables."""
