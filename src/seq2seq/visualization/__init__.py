"""Heatmaps and plots, drawn by matplotlib."""

from seq2seq.visualization.heatmap import AttentionFigure, save_heatmap

__all__ = ["AttentionFigure", "save_heatmap"]
