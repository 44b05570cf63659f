"""Scaled dot-product attention and the reason for its 1/√d_k, in NumPy.

The modules directly in this package are the core: NumPy and the standard library alone.
``sdpa.views`` draws, ``sdpa.ui`` shows; neither is loaded by ``import sdpa``.
"""
