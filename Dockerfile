# The book and its commands:  docker build -t fslcore .
#   docker run -p 127.0.0.1:8000:8000 fslcore                              # the site, at http://localhost:8000
#   docker run --user "$(id -u):$(id -g)" -v "$PWD:/work" -w /work fslcore fslcore report results.csv   # a command, on the files of this folder
FROM python:3.11.16-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7
RUN apt-get update && apt-get install -y --no-install-recommends make && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home reader && install -d -o reader /fslcore
USER reader
WORKDIR /fslcore
COPY --chown=reader . .
RUN make book
ENV PATH="/fslcore/.venv/bin:$PATH"
EXPOSE 8000
CMD ["python", "-m", "http.server", "8000", "--directory", "/fslcore/_build/html"]
