"""Carry memories away and back: the lossless bundle, other formats, import."""
