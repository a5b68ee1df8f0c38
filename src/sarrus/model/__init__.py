"""What a robot is: joints, bodies, frames, declared constraints, state layout, computational frames."""
