"""What runs say of the papers' statements, of their items and of settings that they leave open."""
