"""What every kind of run trains with: loop, optimizer, schedule, augmentation, worker."""
