# docker build -t seq2seq . && docker run --rm -p 8000:8000 seq2seq              a bundled model, by its name
# docker run --rm -p 8000:8000 -v "$PWD/runs/baseline/default:/model:ro" seq2seq /model    your own: a run or model folder
FROM python:3.12-slim
ARG TORCH_INDEX
ENV PIP_NO_CACHE_DIR=1 PIP_CONSTRAINT=/build/constraints.txt
WORKDIR /build
# PyTorch, the packages and the program are layers of their own: a change of the source builds the last one only.
COPY constraints.txt ./
RUN pip install ${TORCH_INDEX:+--index-url $TORCH_INDEX} torch
COPY pyproject.toml ./
RUN python -c "import tomllib; given = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
    needed = given['dependencies'] + given['optional-dependencies']['serve']; \
    print(*(each for each in needed if not each.startswith(('tensorboard-attention', 'hydra-checked', 'hydra-subprocess', 'hydra-optuna-racing', 'bitext-files', 'joined-words', 'lightning-exact', 'judged-seeds'))), sep='\n')" \
    > needed.txt && pip install --requirement needed.txt
COPY README.md LICENSE NOTICE ./
COPY src src
COPY packages packages
COPY conf conf
COPY data data
RUN pip install ./packages/*/ '.[serve]'
USER nobody
EXPOSE 8000
HEALTHCHECK --start-period=60s --interval=30s --timeout=5s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["seq2seq", "serve", "--host", "0.0.0.0"]
CMD ["grammar-en-fr"]
