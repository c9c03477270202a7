"""Fast ways of the decoder and the encoder: a recurrence over whole sentences as one operation.

They compute what `BahdanauDecoder.step` defines, and are held to it by the oracles in
``tests/oracles``. `choice` decides who takes them; the definition knows nothing of this room. What
autograd would do anew at every step is done once: no activation of size (B, T, S, A) is kept, and
the gradient of a weight is one product over all steps. So the backward pass is written by hand.

Forward, a step of one sentence
-------------------------------
With `token_gates` W_x e(y) + b_x, `operands` the states h before the step, `products` W_h h + b_h:

    query   q = W_q h_top (+ W_y e(y), `token_queries`)     scores  a_j = score(q, k_j)
    weights w = softmax(a)                                  context c = sum over j of w_j m_j
    inputs  x = token_gates + W_c c;  in a layer above another, x = W_x (mask * h' of the one below)
    r = sigmoid(x_r + h_r),  z = sigmoid(x_z + h_z),  n = tanh(x_n + r * h_n),  h' = n + z * (h - n)

Backward, the same step
-----------------------
Write ∂v for the gradient of the loss with respect to v: `of_v` in the code. The steps are undone
from the last to the first; `of_states` holds ∂h', from the step after and from the results, and
becomes ∂h. It begins with the layers, the top one first (`LayerPass.backward_step`):

    kept = z * ∂h'                                          the direct share of ∂h
    ∂n before its tanh = (∂h' - kept) * (1 - n²)            = ∂x_n;  ∂h_n = r * ∂x_n
    ∂r before its sigmoid = ∂x_n * h_n * r * (1 - r)        = ∂x_r = ∂h_r
    ∂z before its sigmoid = ∂h' * (h - n) * z * (1 - z)     = ∂x_z = ∂h_z

∂x (`of_inputs`) goes down: to the layer below as mask * (W_x^T ∂x), or, from the first layer, to
the context as W_c^T ∂x. ∂products goes back in time as W_h^T ∂products, added to `kept`. Then the
attention (`DecoderGradients._backward_attention`), with the derivative of the softmax:

    ∂w_j = ∂c · m_j (`through_context`) + what comes from the result
    ∂a_j = w_j * (∂w_j - sum over i of w_i ∂w_i)            `of_scores`

and its score. Additive: a_j = w_v · tanh(q + k_j) = w_v · (2 g_j - 1), g_j = sigmoid(2 (q + k_j)):

    slope_j = ∂a_j * g_j * (1 - g_j)
    ∂q = 4 w_v * sum over j of slope_j,  ∂k_j += 4 w_v * slope_j,  ∂w_v += 2 sum over j of ∂a_j g_j

(tanh' = 4 g (1 - g); the -1 is lost in the softmax). Dot: ∂q = scale * sum over j of ∂a_j k_j. At
last ∂h_top += W_q^T ∂q, in one product with W_h^T, since the query shares the top layer's product.

After all steps, one product each (`DecoderGradients.collect`), sums over all tokens t:

    ∂W_h = sum ∂products h^T,  ∂W_c = sum ∂x c^T,  ∂W_x = sum ∂x (mask * h' below)^T
    ∂m_j = sum w_tj ∂c_t,      dot: ∂k_j = scale * sum ∂a_tj q_t

Tokens are packed (`Steps`): all first tokens come before all second ones, the longest sentences
first, so that the sentences of a step are the first rows of the step before.
"""
