"""Links between the words of sentence pairs, by the attention of a trained model. Nothing of training imports them."""
