"""What images show without training, beside what training makes of them."""
