# For graders: docker build -t attention-course .
# docker run --rm --user "$(id -u)" -v "$PWD:/data" attention-course grade submissions --out graded
FROM python:3.12-slim
WORKDIR /course
COPY . .
# torch without the libraries of a graphics card; pip reads this from the environment
ARG PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
RUN python -m venv .venv
RUN .venv/bin/python -m pip install --no-cache-dir -c requirements/lock.txt -e ".[torch,grade]"
RUN .venv/bin/attn check notebooks/00_start_here.ipynb
ENV PATH=/course/.venv/bin:$PATH HOME=/tmp
USER 10001:10001
WORKDIR /data
ENTRYPOINT ["attn"]
CMD ["--help"]
