# docker build -t seq2seq . && docker run --rm -p 8000:8000 seq2seq     (docs/howto/serving.md)
FROM python:3.12-slim
ARG TORCH_INDEX
WORKDIR /build
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
COPY packages packages
COPY conf conf
COPY data data
RUN pip install --no-cache-dir --constraint constraints.txt ${TORCH_INDEX:+--index-url $TORCH_INDEX} torch \
    && pip install --no-cache-dir --constraint constraints.txt ./src/tensorboard_attention ./packages/*/ '.[serve]'
USER nobody
CMD ["seq2seq", "serve", "grammar-en-fr", "--host", "0.0.0.0"]
