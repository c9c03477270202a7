"""What a trained model is exported to: a model folder, ONNX, an HTML page."""
