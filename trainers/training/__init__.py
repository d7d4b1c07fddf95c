"""The training of every kind of run: loop, optimizer, schedule, augmentation, worker."""
