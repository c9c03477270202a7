"""The Attention tab of TensorBoard, and the same viewer as one HTML file. Imports no torch."""
