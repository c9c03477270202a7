"""The program from Python, in a notebook above all: the same runs by functions."""
