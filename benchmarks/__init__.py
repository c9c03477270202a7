"""Measurements: the model beside a plain textbook decoder (`speed`), what much text costs.

No part of the installed package; run from the repository, such as ``python -m benchmarks.speed``.
"""
