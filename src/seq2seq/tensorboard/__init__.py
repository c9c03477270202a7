"""What a person looks at in TensorBoard: attention records, the Attention tab, callbacks."""
