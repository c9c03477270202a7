"""Drawing: attention, matrices, curves and bars, as pictures and as text. Imports no other room."""
