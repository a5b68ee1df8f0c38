"""Spatial algebra that runs on floats and symbols alike."""
