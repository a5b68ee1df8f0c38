"""A step on the ground: motion without contacts, contacts, their impulses, and the motion with them."""
