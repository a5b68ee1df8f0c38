"""What derivatives of the dynamics are made of."""
