# The page for strangers, in a container: docker compose up, or docker build -t rankscope . && docker run --init -p 7860:7860 rankscope
#
# TORCH_INDEX: the address of PyTorch's index of CPU wheels, for an image without CUDA (2 GB less). Without it torch and torchvision come from the
# same index as all else, with CUDA where there is a GPU; the image then works on both.
FROM python:3.12-slim

ARG TORCH_INDEX=
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

RUN useradd --create-home --uid 1000 rankscope && mkdir /data && chown rankscope /data
WORKDIR /app

COPY requirements.txt ./
RUN grep -E '^torch(vision)?\b' requirements.txt > /tmp/torch.txt \
    && pip install ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} -r /tmp/torch.txt \
    && pip install -r requirements.txt \
    && rm /tmp/torch.txt

COPY app.py ./
COPY assets assets
COPY docs docs
COPY explorer explorer
COPY trainers trainers

# what is written: runs, decoded images, downloads and compiled code, all on one local volume
ENV RANKSCOPE_RUNS=/data/runs RANKSCOPE_CACHE=/data/cache HF_HOME=/data/huggingface NUMBA_CACHE_DIR=/data/numba
VOLUME /data
USER rankscope

EXPOSE 7860
STOPSIGNAL SIGINT
HEALTHCHECK --start-period=60s --interval=30s --timeout=10s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/', timeout=8)"]
CMD ["python", "app.py", "--host", "0.0.0.0", "--port", "7860", "--public"]
