"""What a trained model is exported to: a folder with a card, ONNX, an HTML page."""
