"""Shoal: clustered federated learning."""
